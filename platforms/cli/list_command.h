// SPDX-License-Identifier: Apache-2.0
// `azulejo list WHAT`, `config`, `asm` and `disasm`: everything that simulates nothing.
#pragma once

#include <string>
#include <vector>

#include "platforms/builder/platform.h"
#include "tlm/wave/wave_file.h"

namespace azulejo::cli {

// WHAT: platforms, workloads, keys, signals PLATFORM [GLOB], instructions, formats, causes, faults. Throws ConfigError.
int list_command(const std::string& what, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& settings);

int config_command(const std::string& platform, const std::vector<std::string>& settings);

// Text to a binary program; to `output` (empty: only checks).
int asm_command(const std::string& input, const std::string& output);
// A binary or text program as canonical text; to `output` (empty: stdout).
int disasm_command(const std::string& input, const std::string& output);

// For scope patterns that select no signal of a wave that has begun: one sentence each, with the nearest signal.
// `platform` may be empty.
std::vector<std::string> unmatched_signals(const std::string& place, const std::string& platform, const WaveFile& wave);

}  // namespace azulejo::cli
