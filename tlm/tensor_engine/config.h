// SPDX-License-Identifier: Apache-2.0
// Configuration of the tensor engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tlm/common/fidelity.h"

namespace azulejo {

struct TensorEngineConfig {
  std::uint64_t clock = 2'800'000'000;         // Hz
  std::uint32_t rows = 128;                    // PEs along the contraction dimension K
  std::uint32_t cols = 128;                    // PEs along the stationary free dimension M
  std::uint32_t max_moving = 512;              // largest moving free size N of one matmul
  std::uint32_t matmul_start_cycles = 64;      // start of each matmul that nothing hides
  std::uint32_t load_stationary_cycles = 128;  // weight load, behind the running matmul
  std::uint32_t issue_cycles = 1;              // sequencer's own instructions
  std::uint32_t pe_stages = 1;                 // pipeline stages of one PE
  Fidelity pe = Fidelity::Tlm;                 // of the PE array
  bool flush_denormals = false;                // set by the core
  bool takes_e4m3fn = false;                   // set by the core: NeuronCore-v4; SDK error NCC_EVRF051 on the others
};

std::vector<std::string> validate(const TensorEngineConfig& config);

}  // namespace azulejo
