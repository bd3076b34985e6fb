// SPDX-License-Identifier: Apache-2.0
#include "tlm/memory/config.h"

#include <array>

#include "tlm/common/error.h"
#include "tlm/common/units.h"
#include "tlm/isa/opcode_table.h"

namespace azulejo {

namespace {

constexpr std::uint64_t kMaxPartitionSize = 1ULL << 32;  // TensorAccess::offset_bytes has 32 bits
constexpr std::uint64_t kWord = 4;                       // bytes; a bank holds whole FP32 elements

void check_shared_ports(std::vector<std::string>& problems, const PartitionedMemoryConfig& config) {
  std::array<std::uint32_t, kEngines> groups_of{};
  for (const std::vector<EngineId>& group : config.shared_ports) {
    if (group.size() < 2) {
      problems.push_back("shared_ports: a group of " + std::to_string(group.size()) +
                         " engines shares nothing; at least 2 engines");
    }
    for (const EngineId engine : group) ++groups_of[static_cast<std::size_t>(engine)];
  }
  for (std::size_t e = 0; e < kEngines; ++e) {
    if (groups_of[e] > 1) {
      problems.push_back("shared_ports: the " + std::string(engine_name(static_cast<EngineId>(e))) +
                         " engine is named " + std::to_string(groups_of[e]) + " times; at most once");
    }
  }
}

}  // namespace

std::vector<std::string> validate(const PartitionedMemoryConfig& config) {
  std::vector<std::string> problems;
  if (config.partitions != kPartitions) {
    problems.push_back("partitions: " + std::to_string(config.partitions) + " is not " + std::to_string(kPartitions) +
                       ", the number the instruction set has");
  }
  check_range(problems, "partition_size", Quantity::Size, config.partition_size, kWord, kMaxPartitionSize);
  if (config.banks == 0) {
    problems.push_back("banks: 0 is not allowed; at least 1");
  } else if (config.partition_size % (config.banks * kWord) != 0) {
    problems.push_back("partition_size: " + format_quantity(Quantity::Size, config.partition_size) +
                       " is not a multiple of " + std::to_string(config.banks) + " banks of whole " +
                       std::to_string(kWord) + "-byte words");
  }
  check_shared_ports(problems, config);
  return problems;
}

}  // namespace azulejo
