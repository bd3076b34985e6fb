// SPDX-License-Identifier: Apache-2.0
#include "tlm/vector_engine/config.h"

#include "tlm/common/error.h"
#include "tlm/common/units.h"

namespace azulejo {

std::vector<std::string> validate(const VectorEngineConfig& config) {
  std::vector<std::string> problems;
  check_range(problems, "clock", Quantity::Frequency, config.clock, 1, kMaxClock);
  check_range(problems, "min_cycles", config.min_cycles, 1, kMaxCycles);
  check_range(problems, "access_latency_cycles", config.access_latency_cycles, 0, kMaxCycles);
  check_range(problems, "issue_cycles", config.issue_cycles, 1, kMaxCycles);
  return problems;
}

}  // namespace azulejo
