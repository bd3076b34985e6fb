// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/error.h"

namespace azulejo {

namespace {

std::string one_a_line(const std::vector<std::string>& problems) {
  std::string text;
  for (const std::string& problem : problems) {
    if (!text.empty()) text += '\n';
    text += problem;
  }
  return text;
}

}  // namespace

ConfigError::ConfigError(std::vector<std::string> problems)
    : std::runtime_error(one_a_line(problems)), problems_(std::move(problems)) {}

void check_range(std::vector<std::string>& problems, std::string_view key, std::uint64_t value, std::uint64_t low,
                 std::uint64_t high) {
  if (value >= low && value <= high) return;
  problems.push_back(std::string(key) + ": " + std::to_string(value) + " is outside " + std::to_string(low) + " to " +
                     std::to_string(high));
}

void add_problems(std::vector<std::string>& problems, std::string_view key, const std::vector<std::string>& of_part) {
  for (const std::string& problem : of_part) problems.push_back(std::string(key) + "." + problem);
}

}  // namespace azulejo
