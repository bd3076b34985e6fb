// SPDX-License-Identifier: Apache-2.0
#include "tlm/dma/dma_timing.h"

#include "tlm/isa/dma_descriptor.h"

namespace azulejo {

DescriptorTime descriptor_time(const DmaConfig& config, std::uint64_t row_bytes, std::uint64_t rows) {
  DescriptorTime time;
  const auto add = [&](std::uint64_t bytes, std::uint64_t count) {
    if (bytes == 0 || count == 0) return;
    const Femtoseconds transfer = transfer_time(bytes, config.bandwidth);
    time.descriptors += count;
    if (transfer > config.descriptor_time) {
      time.transfer_bound = add_time(time.transfer_bound, saturated(Wide{count} * transfer));
    } else {
      time.descriptor_bound = add_time(time.descriptor_bound, saturated(Wide{count} * config.descriptor_time));
    }
  };
  add(kDmaMaxDescriptorBytes, rows * (row_bytes / kDmaMaxDescriptorBytes));
  add(row_bytes % kDmaMaxDescriptorBytes, rows);
  return time;
}

}  // namespace azulejo
