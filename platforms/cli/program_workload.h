// SPDX-License-Identifier: Apache-2.0
// Workload `program`: an assembled or binary program on core 0 of chip 0.
#pragma once

#include <memory>
#include <string>

#include "platforms/cli/workload.h"

namespace azulejo::cli {

// Reads assembler text or a binary program file (told apart by its magic). Throws ConfigError with all problems, each
// with file:line:column.
Program read_program_file(const std::string& path);

std::unique_ptr<Workload> make_program(const std::string& path);

}  // namespace azulejo::cli
