// SPDX-License-Identifier: Apache-2.0
// `azulejo list WHAT`, `config`, `asm` and `disasm`: everything that simulates nothing.
#pragma once

#include <string>
#include <vector>

#include "platforms/builder/platform.h"

namespace azulejo::cli {

// WHAT: platforms, workloads, keys, signals PLATFORM [GLOB], instructions, formats, causes, faults. Throws ConfigError.
int list_command(const std::string& what, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& settings);

int config_command(const std::string& platform, const std::vector<std::string>& settings);

// Text to a binary program; to `output` (empty: only checks).
int asm_command(const std::string& input, const std::string& output);
// A binary or text program as canonical text; to `output` (empty: stdout).
int disasm_command(const std::string& input, const std::string& output);

// For globs that select no signal of `platform`: one sentence each, with the nearest signal. Ends every attachment to
// the platform's waves.
std::vector<std::string> unmatched_signals(const std::string& place, Platform& platform,
                                           const std::vector<std::string>& globs);

}  // namespace azulejo::cli
