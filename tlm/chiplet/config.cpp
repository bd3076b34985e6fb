// SPDX-License-Identifier: Apache-2.0
#include "tlm/chiplet/config.h"

#include "tlm/common/error.h"

namespace azulejo {

namespace {

constexpr std::uint32_t kMaxCores = 16;
constexpr std::uint32_t kMaxStacks = 16;

}  // namespace

std::vector<std::string> validate(const ChipConfig& config) {
  std::vector<std::string> problems;
  check_range(problems, "cores", config.cores, 1, kMaxCores);
  check_range(problems, "hbm_stacks", config.hbm_stacks, 1, kMaxStacks);
  if (config.cores != 0 && config.hbm_stacks != 0 && config.cores % config.hbm_stacks != 0 &&
      config.hbm_stacks % config.cores != 0) {
    problems.push_back("cores: " + std::to_string(config.cores) + " do not share " + std::to_string(config.hbm_stacks) +
                       " hbm_stacks evenly; one must be a multiple of the other");
  }
  add_problems(problems, "nc", validate(config.nc));
  add_problems(problems, "hbm", validate(config.hbm));
  return problems;
}

}  // namespace azulejo
