// SPDX-License-Identifier: Apache-2.0
// One HBM stack at fidelity `fast`: a server of the stack's peak bandwidth with a fixed latency, and a sparse backing
// store.
//
// Abstraction: approximately timed. A request occupies the stack for its whole accesses / bandwidth, first come first
// served and, within one instant, by (initiator, sequence). Not modelled here: banks, refresh, turnaround.
// A controller with commands offers the same socket.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <systemc>
#include <tlm>
#include <vector>

#include "tlm/common/instruments.h"
#include "tlm/common/payload.h"
#include "tlm/common/sparse_memory.h"
#include "tlm/hbm/config.h"

namespace azulejo {

class Hbm : public sc_core::sc_module {
 public:
  // Base protocol: BEGIN_REQ at the present time (no annotated delay), answered by END_REQ; BEGIN_RESP carries the
  // remaining time as its annotated delay and must be completed at once (TLM_COMPLETED). StridedBurst, TimingOnly and
  // RequestKey are honoured when present. LT, debug transport; no DMI (the store is sparse). Errors:
  // TLM_ADDRESS_ERROR_RESPONSE beyond the stack, TLM_BURST_ERROR_RESPONSE for zero length or a streaming width below
  // the length, TLM_BYTE_ENABLE_ERROR_RESPONSE for byte enables.
  tlm_utils::simple_target_socket<Hbm> target{"target"};

  struct Stats {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t read_bytes = 0;  // asked for
    std::uint64_t written_bytes = 0;
    std::uint64_t moved_bytes = 0;  // whole accesses
    std::uint64_t refused = 0;
  };

  // `keep_data` false stores nothing. REQUIRES: validate(config) is empty.
  Hbm(const sc_core::sc_module_name& name, const HbmConfig& config, bool keep_data);

  const Stats& stats() const { return stats_; }
  const Attribution& attribution() const { return attribution_; }
  const HbmConfig& config() const { return config_; }
  std::uint64_t resident_bytes() const { return store_.resident_bytes(); }
  void attach(const Instruments& instruments);
  void finish_account(Femtoseconds end);

 private:
  struct Burst {
    std::uint64_t rows = 1;
    std::uint64_t row_bytes = 0;
    std::uint64_t stride = 0;
    bool with_data = true;
  };

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload);

  void arbitrate();
  static Burst burst_of(const tlm::tlm_generic_payload& payload);
  bool check(tlm::tlm_generic_payload& payload);
  // Time at which the last byte has moved, counted from the request's arrival.
  Femtoseconds serve(tlm::tlm_generic_payload& payload, Femtoseconds arrival);
  void move(tlm::tlm_generic_payload& payload);

  const HbmConfig config_;
  const bool keep_data_;
  SparseMemory store_;
  std::vector<tlm::tlm_generic_payload*> waiting_;
  std::vector<tlm::tlm_generic_payload*> serving_;  // of the instant being served
  sc_core::sc_event arbitrate_;
  Femtoseconds free_at_ = 0;
  Attribution attribution_;
  Stats stats_;
  TraceSink* trace_ = &TraceSink::none();
  TrackId track_ = 0;
  WaveSignal wave_read_bytes_;
  WaveSignal wave_written_bytes_;
};

}  // namespace azulejo
