// SPDX-License-Identifier: Apache-2.0
// One DMA engine: 16 queues, served in turns packet by packet; reads ahead, writes behind, one packet at a time in
// between.
//
// Abstraction: approximately timed, a few events per packet of up to 64 descriptors. A packet's reads are issued ahead
// of its turn; the engine then takes descriptor_time() for it; its writes are posted, and the share's semaphore update
// follows the last write's response. Order within a queue is kept. Not modelled: descriptor fetch (part of the start
// latency), CRC, interrupts. Source: NKI DMA overview and bandwidth guide; aws-neuron-driver udma (queues, packets,
// outstanding accesses).
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "tlm/common/attribution.h"
#include "tlm/common/dma_request.h"
#include "tlm/common/instruments.h"
#include "tlm/common/payload.h"
#include "tlm/dma/config.h"

namespace azulejo {

class DmaEngine : public sc_core::sc_module {
 public:
  // Reads and writes of bursts, and semaphore updates; base protocol with TLM_COMPLETED or a later BEGIN_RESP.
  tlm_utils::simple_initiator_socket<DmaEngine> memory_initiator{"memory_initiator"};

  struct Stats {
    std::uint64_t packets = 0;
    std::uint64_t descriptors = 0;
    std::uint64_t bytes = 0;   // at the destination
    std::uint64_t faults = 0;  // packets that a memory refused
  };

  // Told when descriptors left a ring, so that waiting requests may enter.
  class Listener {
   public:
    virtual void ring_freed(std::uint32_t queue, std::uint64_t descriptors) = 0;

   protected:
    ~Listener() = default;
  };

  // `initiator` orders the requests of one instant within the chip; semaphore s of the core lies at
  // `semaphore_block` (address of the read alias of semaphore 0; see address_map.h). REQUIRES: validate(config) is
  // empty.
  DmaEngine(const sc_core::sc_module_name& name, const DmaConfig& config, std::uint32_t initiator,
            std::uint64_t semaphore_block, bool keep_data, Listener& listener);

  // Descriptors of queue `queue` that still wait or are being moved.
  std::uint64_t pending_descriptors(std::uint32_t queue) const { return queues_[queue].descriptors; }

  // Adds rows [first_row, first_row + rows) of the request to its queue, now. No rows: only the semaphore update, in
  // order.
  void push(const DmaRequest& request, std::uint64_t first_row, std::uint64_t rows);

  std::uint32_t queues() const { return config_.queues; }
  bool idle() const { return outstanding_shares_ == 0; }
  const Stats& stats() const { return stats_; }
  const Attribution& attribution() const { return attribution_; }
  // Account of one queue; empty if it was never used.
  const Attribution* queue_attribution(std::uint32_t queue) const {
    return queues_[queue].used ? &queues_[queue].attribution : nullptr;
  }
  void attach(const Instruments& instruments);
  void finish_account(Femtoseconds end);

 private:
  struct Share {
    DmaRequest request;
    std::uint64_t next_row = 0;
    std::uint64_t end_row = 0;
    Femtoseconds arrived = 0;
    Femtoseconds ready = 0;                      // arrival + start latency
    std::array<Femtoseconds, kCauses> before{};  // the engine's account at arrival
    std::uint32_t packets_left = 0;              // formed and not yet retired
    bool all_formed = false;
  };
  struct Queue {
    std::deque<Share*> shares;  // not yet fully formed into packets
    std::uint64_t descriptors = 0;
    bool used = false;
    Attribution attribution;
    TrackId track = 0;
  };
  struct Packet {
    Share* share = nullptr;
    std::uint64_t first_row = 0;
    std::uint64_t rows = 0;
    Femtoseconds formed = 0;
    Femtoseconds ready = 0;  // data read; ~0 while the read is outstanding
    Femtoseconds done = 0;   // written; ~0 while the write is outstanding
    bool refused = false;
    std::vector<std::uint8_t> data;  // rows at the source, then at the destination
    std::vector<Share*> followers;   // shares without rows that complete after this packet
  };

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void step();
  bool form_packet(Femtoseconds now);
  void read(Packet& packet);
  void begin_service(Femtoseconds now);
  void end_service();
  Packet* last_packet_of(std::uint32_t queue) const;  // not yet retired; null if there is none
  void write(Packet& packet);
  bool retire_written(Femtoseconds now);
  void retire(Packet* packet);
  void complete(Share* share);
  PooledPayload& burst_payload(Packet& packet, const DmaAccess& side, std::uint64_t row_bytes, bool write);
  void convert(Packet& packet) const;
  Cause bound_of(const Share& share) const;
  void report_fault(Packet& packet, const tlm::tlm_generic_payload& payload, const char* side);
  std::uint64_t dst_bytes(const DmaRequest& request) const;

  const DmaConfig config_;
  const std::uint32_t initiator_;
  const std::uint64_t semaphore_block_;
  const bool keep_data_;
  Listener& listener_;

  std::vector<Queue> queues_;
  std::uint32_t next_queue_ = 0;  // round robin
  std::deque<Packet*> fetched_;   // read issued, not yet served, in order of service
  Packet* serving_ = nullptr;
  Femtoseconds serve_end_ = 0;
  std::vector<Packet*> writing_;  // posted writes, in order of posting
  std::vector<std::unique_ptr<Packet>> packets_;
  std::vector<Packet*> free_packets_;
  std::vector<std::unique_ptr<Share>> shares_;
  std::vector<Share*> free_shares_;
  std::uint64_t outstanding_shares_ = 0;
  std::uint64_t sequence_ = 0;
  PayloadPool pool_;
  sc_core::sc_event wake_;
  Attribution attribution_;
  Stats stats_;

  Instruments instruments_;
  TrackId track_ = 0;
  std::uint64_t descriptors_pending_ = 0;
  std::uint64_t bytes_in_flight_ = 0;
  WaveSignal wave_pending_;
  WaveSignal wave_in_flight_;
  WaveSignal wave_bytes_;
  WaveSignal wave_busy_;
};

}  // namespace azulejo
