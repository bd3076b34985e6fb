// SPDX-License-Identifier: Apache-2.0
// One NeuronCore: five engines, SBUF, PSUM, 256 semaphores and the DMA, bound to each other.
//
// Source: Trainium/Inferentia2 Architecture Guide for NKI, "NeuronCore-v2".
#pragma once

#include <tlm_utils/multi_passthrough_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "tlm/common/transaction_probe.h"
#include "tlm/dma/dma.h"
#include "tlm/memory/partitioned_memory.h"
#include "tlm/neuron_core/config.h"
#include "tlm/neuron_core/semaphores.h"
#include "tlm/sync_engine/sync_engine.h"
#include "tlm/tensor_engine/tensor_engine.h"
#include "tlm/vector_engine/vector_engine.h"

namespace azulejo {

class NeuronCore : public sc_core::sc_module {
 public:
  // The core's window of the chip's address map (address_map.h, relative to core_base): SBUF, PSUM, semaphores. LT and
  // debug; StridedBurst supported.
  tlm_utils::simple_target_socket<NeuronCore> target{"target"};
  // Programs: instruction i of engine e at (e << 40) + i * 256; a 4-byte write at (5 << 40) starts all engines
  // (TLM_COMMAND_ERROR_RESPONSE while one runs).
  tlm_utils::simple_target_socket<NeuronCore> instr_target{"instr_target"};
  static constexpr unsigned kProgramBits = 40;
  static constexpr std::uint64_t kStart = std::uint64_t{kEngines} << kProgramBits;

  // `chip_core` is the core's index within its chip; `first_initiator` numbers its first DMA engine within the chip;
  // `probes` shows the transactions at the engines' sockets. REQUIRES: validate(config) is empty.
  NeuronCore(const sc_core::sc_module_name& name, const NeuronCoreConfig& config, std::uint32_t chip_core,
             std::uint32_t first_initiator, bool keep_data, bool probes);

  // Engine number e in the order of EngineId.
  Engine& engine(std::size_t index) { return *engines_[index]; }
  const Engine& engine(std::size_t index) const { return *engines_[index]; }

  bool has_program() const;
  // All engines have finished and no transfer is under way.
  bool finished() const;
  // What keeps the core from finishing, one line per engine that waits.
  std::vector<std::string> waiting_for() const;

  void attach(const Instruments& instruments);
  void finish_account(Femtoseconds end);

  TensorEngine tensor_engine;
  VectorEngine vector_engine;
  SyncEngine scalar_engine;
  SyncEngine gpsimd_engine;
  SyncEngine sync_engine;
  PartitionedMemory sbuf;
  PartitionedMemory psum;
  Semaphores semaphores;
  Dma dma;

 private:
  struct Window {
    tlm_utils::simple_initiator_socket<NeuronCore>* socket = nullptr;
    std::uint64_t base = 0;
    std::uint64_t size = 0;
  };

  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload);
  void program_b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  const Window* window_of(std::uint64_t address) const;

  tlm_utils::simple_initiator_socket<NeuronCore> sbuf_initiator_{"sbuf_initiator"};
  tlm_utils::simple_initiator_socket<NeuronCore> psum_initiator_{"psum_initiator"};
  tlm_utils::simple_initiator_socket<NeuronCore> semaphore_initiator_{"semaphore_initiator"};
  std::array<tlm_utils::simple_initiator_socket<NeuronCore>, kEngines> program_initiators_;
  std::array<Window, 3> windows_;
  std::array<Engine*, kEngines> engines_;
  TransactionProbes probes_;
};

}  // namespace azulejo
