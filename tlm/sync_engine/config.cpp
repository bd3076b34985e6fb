// SPDX-License-Identifier: Apache-2.0
#include "tlm/sync_engine/config.h"

#include "tlm/common/error.h"
#include "tlm/common/units.h"

namespace azulejo {

std::vector<std::string> validate(const SyncEngineConfig& config) {
  std::vector<std::string> problems;
  check_range(problems, "clock", Quantity::Frequency, config.clock, 1, kMaxClock);
  check_range(problems, "issue_cycles", config.issue_cycles, 1, kMaxCycles);
  return problems;
}

}  // namespace azulejo
