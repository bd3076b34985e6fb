// SPDX-License-Identifier: Apache-2.0
// Messages of the command line tool on stderr, by level.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace azulejo::cli {

enum class LogLevel : int { Error, Warning, Info, Debug };

std::optional<LogLevel> parse_log_level(std::string_view word);  // error, warning, info, debug
void set_log_level(LogLevel level);
void log(LogLevel level, const std::string& message);  // "azulejo: warning: …"

}  // namespace azulejo::cli
