// SPDX-License-Identifier: Apache-2.0
// Configuration of an engine that runs the sequencer's and the DMA's instructions only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace azulejo {

struct SyncEngineConfig {
  std::uint64_t clock = 1'400'000'000;  // Hz
  std::uint32_t issue_cycles = 1;       // of each instruction
};

std::vector<std::string> validate(const SyncEngineConfig& config);

}  // namespace azulejo
