// SPDX-License-Identifier: Apache-2.0
// Configuration of the DMA engines of one NeuronCore.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tlm/common/time.h"

namespace azulejo {

struct DmaConfig {
  std::uint32_t engines = 16;
  std::uint32_t queues = 16;                              // per engine
  std::uint64_t bandwidth = 17'000'000'000;               // bytes/s of one engine
  Femtoseconds descriptor_time = 146 * kFsPerNanosecond;  // shortest time between two descriptors of one engine
  Femtoseconds start_latency = 1300 * kFsPerNanosecond;   // from the trigger to the first descriptor
  std::uint32_t ring_entries = 4096;                      // descriptors a queue's ring holds
  std::uint32_t packet_descriptors = 64;                  // descriptors served before the next queue's turn
  std::uint32_t outstanding_packets = 2;                  // reads ahead of, and writes behind, the one being moved
};

std::vector<std::string> validate(const DmaConfig& config);

}  // namespace azulejo
