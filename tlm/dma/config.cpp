// SPDX-License-Identifier: Apache-2.0
#include "tlm/dma/config.h"

#include "tlm/common/error.h"
#include "tlm/common/units.h"
#include "tlm/isa/instruction.h"

namespace azulejo {

namespace {

// aws-neuron-driver udma: rings of 32 to 2^24 - 16 entries, at most 64 descriptors a packet, 128 outstanding reads.
constexpr std::uint64_t kMinRingEntries = 32;
constexpr std::uint64_t kMaxRingEntries = (1ULL << 24) - 16;
constexpr std::uint64_t kMaxPacketDescriptors = 64;
constexpr std::uint64_t kMaxOutstanding = 128;

}  // namespace

std::vector<std::string> validate(const DmaConfig& config) {
  std::vector<std::string> problems;
  check_range(problems, "engines", config.engines, 1, kDmaEngines);
  check_range(problems, "queues", config.queues, 1, kDmaQueues);
  check_range(problems, "bandwidth", Quantity::Bandwidth, config.bandwidth, 1, kMaxBandwidth);
  check_range(problems, "descriptor_time", Quantity::Time, config.descriptor_time, 0, kMaxLatency);
  check_range(problems, "start_latency", Quantity::Time, config.start_latency, 0, kMaxLatency);
  check_range(problems, "ring_entries", config.ring_entries, kMinRingEntries, kMaxRingEntries);
  check_range(problems, "packet_descriptors", config.packet_descriptors, 1, kMaxPacketDescriptors);
  check_range(problems, "outstanding_packets", config.outstanding_packets, 1, kMaxOutstanding);
  if (config.packet_descriptors > config.ring_entries) {
    problems.push_back("packet_descriptors: " + std::to_string(config.packet_descriptors) + " is more than the " +
                       std::to_string(config.ring_entries) + " ring_entries hold");
  }
  return problems;
}

}  // namespace azulejo
