// SPDX-License-Identifier: Apache-2.0
// Errors of the person who configures or calls: one exception that carries every problem found.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace azulejo {

// One sentence per problem, each with its place, the value, and what is allowed ("trn.yaml:12:9: chip.hbm.stacks: …").
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::string problem) : ConfigError(std::vector<std::string>{std::move(problem)}) {}
  // what() has one problem a line. REQUIRES: at least one problem.
  explicit ConfigError(std::vector<std::string> problems);

  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> problems_;
};

// For validate(): its sentences begin with the key they are about ("clock: …"), so that the owner of a part can put the
// part's own key before them.

// Adds "key: 0 is outside 1 to 128" unless low <= value <= high. The twin for quantities with units is in units.h.
void check_range(std::vector<std::string>& problems, std::string_view key, std::uint64_t value, std::uint64_t low,
                 std::uint64_t high);

// Adds the sentences of the part `key`: "rows: …" becomes "tensor_engine.rows: …".
void add_problems(std::vector<std::string>& problems, std::string_view key, const std::vector<std::string>& of_part);

}  // namespace azulejo
