// SPDX-License-Identifier: Apache-2.0
// Configuration of one accelerator chip: NeuronCores and HBM stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tlm/hbm/config.h"
#include "tlm/neuron_core/config.h"

namespace azulejo {

struct ChipConfig {
  std::uint32_t cores = 2;
  std::uint32_t hbm_stacks = 2;
  NeuronCoreConfig nc;  // every core
  HbmConfig hbm;        // every stack
};

// Core c's own stack: cores are spread evenly over the stacks in order.
constexpr std::uint32_t local_stack(const ChipConfig& config, std::uint32_t core) {
  return static_cast<std::uint32_t>(std::uint64_t{core} * config.hbm_stacks / config.cores);
}

std::vector<std::string> validate(const ChipConfig& config);

}  // namespace azulejo
