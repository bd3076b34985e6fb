// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/log.h"

#include <array>
#include <cstdio>

namespace azulejo::cli {
namespace {

constexpr std::array<std::string_view, 4> kLevels = {"error", "warning", "info", "debug"};
LogLevel shown = LogLevel::Warning;  // the process has one stderr

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view word) {
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels[i] == word) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

void set_log_level(LogLevel level) { shown = level; }

void log(LogLevel level, const std::string& message) {
  if (level > shown) return;
  const std::string_view name = kLevels[static_cast<std::size_t>(level)];
  std::fprintf(stderr, "azulejo: %.*s: %s\n", static_cast<int>(name.size()), name.data(), message.c_str());
}

}  // namespace azulejo::cli
