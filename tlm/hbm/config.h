// SPDX-License-Identifier: Apache-2.0
// Configuration of one HBM stack.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tlm/common/time.h"

namespace azulejo {

struct HbmConfig {
  std::uint64_t capacity = 16ULL << 30;       // bytes of one stack
  std::uint64_t bandwidth = 410'000'000'000;  // bytes/s of one stack, peak
  std::uint64_t access_size = 64;  // bytes of the smallest access; shorter or misaligned ones cost whole accesses
  Femtoseconds latency = 120 * kFsPerNanosecond;  // unloaded, from request to last byte of the first access
};

std::vector<std::string> validate(const HbmConfig& config);

}  // namespace azulejo
