// SPDX-License-Identifier: Apache-2.0
// Configuration of SBUF and PSUM.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tlm/isa/instruction.h"

namespace azulejo {

struct PartitionedMemoryConfig {
  std::uint32_t partitions = 128;
  std::uint64_t partition_size = 0;  // bytes
  std::uint32_t banks = 1;           // of equal size, within each partition
  // Engines of one group share a port: only one of them uses the memory at a time.
  std::vector<std::vector<EngineId>> shared_ports;
};

// Everything that makes `config` unbuildable, one sentence each; empty if none.
std::vector<std::string> validate(const PartitionedMemoryConfig& config);

}  // namespace azulejo
