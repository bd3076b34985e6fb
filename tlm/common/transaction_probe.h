// SPDX-License-Identifier: Apache-2.0
// Shows the transactions of one TLM-2.0 socket in the waveform. A probe sits between an initiator and a target and
// passes every call on within the call: no process, no event, no delay, so nothing else changes.
//
// Signals, below the name of the watched socket:
//   lane0..lane3              a transaction from begin to end, "RD 0x1f4000 64 x 512 B nc0.dma.engine3": command,
//                             address and length at this socket (rows x bytes of a StridedBurst), initiator
//   lane0_phase..lane3_phase  its phase: LT, BEGIN_REQ, END_REQ, BEGIN_RESP (END_RESP is the end), an ignorable phase
//   completed                 the transaction that ended last, its latency from begin to end, and its error
//   transactions, outstanding how many began, and how many of those have not ended: with or without a lane
//   dmi_accesses, dmi_grants  tiles that TileAccess transactions opened to direct access; DMI pointers given out
//   dmi                       the last DMI region granted or invalidated
// Times are the base protocol's, annotated delays included. A transaction without duration is in no lane, but in
// `completed` and the counters. One with TileAccess reads "DMI RD sbuf p0-127 0x800 1024 B tensor_engine" (partitions,
// offset and bytes within each; "+1": one more tile) and lasts for its occupancy, phase DMI, from the grant on.
// Not seen: debug transport, and accesses by a DMI pointer without TileAccess.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <systemc>
#include <tlm>
#include <vector>

#include "tlm/common/payload.h"
#include "tlm/common/wave_sink.h"

namespace azulejo {

class TransactionProbe : public sc_core::sc_module,
                         private tlm::tlm_fw_transport_if<>,
                         private tlm::tlm_bw_transport_if<> {
 public:
  tlm::tlm_target_socket<> target{"target"};
  tlm::tlm_initiator_socket<> initiator{"initiator"};

  static constexpr unsigned kLanes = 4;
  static constexpr unsigned kTextCharacters = 48;

  // `watched` is the name of the socket; `initiators` the names by RequestKey::initiator, which may still grow.
  TransactionProbe(const sc_core::sc_module_name& name, std::string watched,
                   const std::vector<std::string>& initiators);

  void attach(WaveSink& sink);

 private:
  struct Text {
    std::array<char, kTextCharacters> characters;
    std::size_t size = 0;
    operator std::string_view() const { return {characters.data(), size}; }
  };
  struct Lane {
    WaveText text;
    WaveText phase;
    Femtoseconds free_from = 0;  // one after the end, so that a gap keeps two equal texts apart
  };
  struct Transaction {
    std::uint64_t number = 0;  // 1 for the first
    const tlm::tlm_generic_payload* payload = nullptr;
    Femtoseconds begin = 0;
    const char* first_phase = "";
    unsigned lane = kUnplaced;   // kLanes: found none free
    std::uint32_t tiles = 0;     // of a TileAccess
    Femtoseconds occupancy = 0;  // the same's
    Text text;
  };
  static constexpr unsigned kUnplaced = kLanes + 1;

  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) override;
  void invalidate_direct_mem_ptr(sc_dt::uint64 start, sc_dt::uint64 end) override;
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload) override;

  // Counts and describes a transaction that begins at `time`; open_ is for those of nb_transport.
  Transaction begin(const tlm::tlm_generic_payload& payload, Femtoseconds time, const char* phase);
  // Shows the transaction in a free lane, if there is one. Nothing if it was placed before.
  void place(Transaction& transaction);
  // The transaction is in `phase` from `time` on.
  void reach(std::uint64_t number, const tlm::tlm_phase& phase, Femtoseconds time, tlm::tlm_response_status status);
  // The last response of an open transaction; nothing if it is not open (any more).
  void end(std::uint64_t number, Femtoseconds time, tlm::tlm_response_status status);
  void end(Transaction& transaction, Femtoseconds time, tlm::tlm_response_status status);
  Transaction* find(std::uint64_t number);
  std::uint64_t number_of(const tlm::tlm_generic_payload& payload) const;  // 0: not open
  void describe(const tlm::tlm_generic_payload& payload, Text& text) const;
  void show_dmi(const char* what, std::uint64_t start, std::uint64_t end);

  const std::string watched_;
  const std::vector<std::string>& initiators_;
  std::vector<Transaction> open_;  // those of nb_transport that have not ended
  std::uint64_t begun_ = 0;
  bool recorded_ = false;  // any signal
  bool texts_ = false;     // any that shows a transaction's text
  std::array<Lane, kLanes> lanes_;
  WaveText wave_completed_;
  WaveSignal wave_transactions_;
  WaveSignal wave_outstanding_;
  WaveSignal wave_dmi_accesses_;
  WaveSignal wave_dmi_grants_;
  WaveText wave_dmi_;
};

// The probes of one module, put in where it binds its sockets. Off: the sockets are bound to each other.
class TransactionProbes {
 public:
  explicit TransactionProbes(bool on) : on_(on) {}
  TransactionProbes(const TransactionProbes&) = delete;
  TransactionProbes& operator=(const TransactionProbes&) = delete;

  // What texts call the next RequestKey::initiator, from 0.
  void name_initiator(std::string name) { initiators_.push_back(std::move(name)); }

  // `watched` is the one of the two whose name the signals have. REQUIRES: called by the module's constructor.
  template <class Initiator, class Target>
  void bind(Initiator& initiator, Target& target, const sc_core::sc_object& watched) {
    if (!on_) return initiator.bind(target);
    TransactionProbe& probe = add(watched);
    initiator.bind(probe.target);
    probe.initiator.bind(target);
  }

  void attach(WaveSink& sink);

 private:
  TransactionProbe& add(const sc_core::sc_object& watched);

  const bool on_;
  std::vector<std::string> initiators_;
  std::vector<std::unique_ptr<TransactionProbe>> probes_;
};

}  // namespace azulejo
