// SPDX-License-Identifier: Apache-2.0
// An FST file, GTKWave's compressed format, made of VCD text.
//
// A process of its own converts, on another processor if there is one, and completes the file when this program ends,
// however it ends: FST holds the names of its signals at its end, so a writer inside a program that is killed leaves
// nothing to read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tlm/wave/wave_output.h"

namespace azulejo {

// The file is made by the first text. Its size becomes known in steps of `limit_bytes` at most, which is when its user
// wants to end it. Throws OutputError if the process cannot be made.
std::unique_ptr<WaveOutput> make_fst_output(const std::string& path, std::uint64_t limit_bytes);

}  // namespace azulejo
