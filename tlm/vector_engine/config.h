// SPDX-License-Identifier: Apache-2.0
// Configuration of the vector engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tlm/common/fidelity.h"
#include "tlm/numerics/format.h"
#include "tlm/numerics/random.h"

namespace azulejo {

struct VectorEngineConfig {
  std::uint64_t clock = 1'120'000'000;  // Hz
  std::uint32_t min_cycles = 64;        // initiation interval of the shortest instruction
  std::uint32_t access_latency_cycles =
      60;                          // from the last element's issue to its visibility; not a cost in throughput
  std::uint32_t issue_cycles = 1;  // sequencer's own instructions
  Rounding rounding = Rounding::NearestEven;  // of outputs narrower than FP32
  RandomSource random_source = RandomSource::Lfsr;
  Fidelity rounding_unit = Fidelity::Tlm;
  std::uint64_t seed = 0;        // of the rounding lanes; set by the platform
  bool flush_denormals = false;  // set by the core
};

std::vector<std::string> validate(const VectorEngineConfig& config);

}  // namespace azulejo
