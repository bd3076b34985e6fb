// SPDX-License-Identifier: Apache-2.0
// The host: fills and reads device memory, loads programs and starts cores.
//
// Abstraction: loads take no simulated time (device time is what the published kernel measurements count).
#pragma once

#include <tlm_utils/multi_passthrough_initiator_socket.h>

#include <systemc>
#include <tlm>
#include <vector>

#include "tlm/isa/instruction.h"

namespace azulejo {

class Host : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_initiator_socket<Host> memory_initiator{"memory_initiator"};  // one per chip
  tlm_utils::multi_passthrough_initiator_socket<Host> program_initiator{
      "program_initiator"};  // one per core, chip by chip

  explicit Host(const sc_core::sc_module_name& name) : sc_module(name) {}

  // Debug accesses. False if a byte is outside every memory (or no data is kept).
  bool write(std::uint32_t chip, std::uint64_t address, const void* data, std::uint64_t bytes);
  bool read(std::uint32_t chip, std::uint64_t address, void* data, std::uint64_t bytes);

  // Loads the program of core `core` (counted over all chips). Throws ConfigError if an engine refuses it.
  void load(std::uint32_t core, const Program& program);
  // Starts the core now.
  void start(std::uint32_t core);

 private:
  bool debug(std::uint32_t chip, tlm::tlm_command command, std::uint64_t address, unsigned char* data,
             std::uint64_t bytes);
  void program_write(std::uint32_t core, std::uint64_t address, unsigned char* data, std::size_t bytes);
};

}  // namespace azulejo
