// SPDX-License-Identifier: Apache-2.0
// Service time of DMA descriptors as a pure function.
//
// A descriptor takes max(descriptor_time, bytes / bandwidth). Source: SDK figure nki-dma-intro-1 (Trn2, efficiency
// against contiguous bytes per partition), which max(108 ns, bytes / 23 B/ns) reproduces within a few percent; 17, 23
// and 33 B/ns: nki-dma-bandwidth-guide; Trn1's 146 ns = 108 ns * 23 / 17 is derived, not fitted.
#pragma once

#include <cstdint>

#include "tlm/common/time.h"
#include "tlm/dma/config.h"

namespace azulejo {

struct DescriptorTime {
  Femtoseconds descriptor_bound = 0;  // of descriptors shorter than the floor
  Femtoseconds transfer_bound = 0;    // of descriptors bound by the bandwidth
  std::uint64_t descriptors = 0;

  Femtoseconds total() const { return add_time(descriptor_bound, transfer_bound); }
};

// Time of `rows` rows of `row_bytes` contiguous bytes each, one descriptor per 64 KiB begun.
DescriptorTime descriptor_time(const DmaConfig& config, std::uint64_t row_bytes, std::uint64_t rows);

}  // namespace azulejo
