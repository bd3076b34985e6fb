// SPDX-License-Identifier: Apache-2.0
#include "tlm/tensor_engine/config.h"

#include "tlm/common/error.h"
#include "tlm/common/units.h"
#include "tlm/isa/instruction.h"

namespace azulejo {

namespace {

constexpr std::uint32_t kMaxPeStages = 3;  // as rtl/pe/pe.sv

}  // namespace

std::vector<std::string> validate(const TensorEngineConfig& config) {
  std::vector<std::string> problems;
  check_range(problems, "clock", Quantity::Frequency, config.clock, 1, kMaxClock);
  check_range(problems, "rows", config.rows, 1, kPartitions);
  check_range(problems, "cols", config.cols, 1, kPartitions);
  check_range(problems, "max_moving", config.max_moving, 1, 65535);  // FreeDim::size has 16 bits
  check_range(problems, "matmul_start_cycles", config.matmul_start_cycles, 0, kMaxCycles);
  check_range(problems, "load_stationary_cycles", config.load_stationary_cycles, 0, kMaxCycles);
  check_range(problems, "issue_cycles", config.issue_cycles, 1, kMaxCycles);
  check_range(problems, "pe_stages", config.pe_stages, 1, kMaxPeStages);
  return problems;
}

}  // namespace azulejo
