// SPDX-License-Identifier: Apache-2.0
// The DMA of one NeuronCore: takes transfers from the five engines' queues, keeps the rings' room, and splits each
// transfer over the 16 DMA engines by partition.
//
// Source: NKI DMA overview (each engine serves 8 partitions of a 128-partition transfer; each of the 16 engines makes
// the transfer's semaphore increment, so a finished transfer is always +16).
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>

#include <deque>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "tlm/common/dma_request.h"
#include "tlm/common/instruments.h"
#include "tlm/dma/config.h"
#include "tlm/dma/dma_engine.h"

namespace azulejo {

class Dma : public sc_core::sc_module, private DmaEngine::Listener {
 public:
  // A TLM write whose data is a DmaRequest; answered by BEGIN_RESP when it has entered the rings, or at once with
  // TLM_BURST_ERROR_RESPONSE (no such queue, empty transfer, sides of different shape, a row
  // longer than a packet, a conversion of elements shorter than a byte); the semaphore moves all the same.
  tlm_utils::multi_passthrough_target_socket<Dma> request_target{"request_target"};

  struct Stats {
    std::uint64_t transfers = 0;
    std::uint64_t ring_waits = 0;  // transfers that found their ring full
  };

  // `first_initiator` numbers the core's first DMA engine within the chip; `semaphore_block` as in DmaEngine.
  // REQUIRES: validate(config) is empty.
  Dma(const sc_core::sc_module_name& name, const DmaConfig& config, std::uint32_t first_initiator,
      std::uint64_t semaphore_block, bool keep_data);

  std::size_t size() const { return engines_.size(); }
  DmaEngine& engine(std::size_t index) { return *engines_[index]; }
  const DmaEngine& engine(std::size_t index) const { return *engines_[index]; }
  bool idle() const;
  const Stats& stats() const { return stats_; }
  void attach(const Instruments& instruments);
  void finish_account(Femtoseconds end);

 private:
  struct Waiting {
    int binding;
    tlm::tlm_generic_payload* payload;
    DmaRequest request;
    bool counted = false;
  };

  tlm::tlm_sync_enum nb_transport_fw(int binding, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay);
  void admit();
  bool acceptable(const DmaRequest& request) const;
  bool fits(const DmaRequest& request) const;
  void enter(const DmaRequest& request);
  void ring_freed(std::uint32_t queue, std::uint64_t descriptors) override;
  void show_pending(std::uint32_t queue);  // after a change of that queue's

  const DmaConfig config_;
  std::vector<std::unique_ptr<DmaEngine>> engines_;
  std::vector<Waiting> arriving_;             // of this instant
  std::vector<std::deque<Waiting>> waiting_;  // per queue, in order
  std::size_t waiting_count_ = 0;
  sc_core::sc_event admit_;
  Stats stats_;
  std::uint64_t pending_ = 0;                    // descriptors in all rings
  std::vector<std::uint64_t> pending_of_queue_;  // in those of a queue, over all engines
  TraceSink* trace_ = &TraceSink::none();
  TrackId track_ = 0;
  WaveSignal wave_transfers_;
  WaveSignal wave_waiting_;
  std::vector<WaveSignal> wave_queues_;
};

}  // namespace azulejo
