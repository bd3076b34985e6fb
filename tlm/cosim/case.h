// SPDX-License-Identifier: Apache-2.0
// One operation of a co-verified unit with all its operands, as a text file (JSON): what a difference leaves behind,
// what a platform run captures, and what `azulejo cosim replay` runs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tlm/cosim/rtl_abi.h"
#include "tlm/numerics/format.h"
#include "tlm/numerics/random.h"

namespace azulejo {

// A sequence of cycles of one PE, from reset.
struct PeCase {
  std::vector<rtl::PeInputs> inputs;
};

// One matmul on an array: load, then multiply.
struct ArrayCase {
  std::uint32_t rows = 128, cols = 128;  // of the array
  std::uint32_t k = 0, m = 0, n = 0;
  Format stationary_format = Format::Bf16;
  Format moving_format = Format::Bf16;
  bool accumulate = false;
  bool stationary_one_zero = false;
  bool moving_one_zero = false;
  std::vector<std::uint32_t> stationary;  // codes [k][m]
  std::vector<std::uint32_t> moving;      // codes [k][n]
  std::vector<std::uint32_t> psum;        // old values [m][n], empty unless accumulate
};

// A row of conversions of one lane.
struct RoundingCase {
  RandomSource source = RandomSource::Lfsr;
  std::array<std::uint32_t, 6> state{};
  Format format = Format::Bf16;
  ConversionMode mode;
  std::vector<std::uint32_t> values;  // FP32
  // Of a campaign, with stalls and loads: the unit's inputs from reset on, instead of state, format, mode and values.
  std::vector<rtl::RoundingInputs> cycles;
};

struct CosimCase {
  std::variant<std::monostate, PeCase, ArrayCase, RoundingCase> operation;
  // What ran it.
  std::uint32_t pipeline_stages = 1;
  bool flush_denormals = false;
  std::string fault;         // NAME[@PATH]; empty: none
  std::string pe_directory;  // of a PE of one's own
  std::string pe_top = "pe";
  std::string note;  // where it comes from: command, unit, cycle
};

// A file of cases. read_cases throws ConfigError with file, place, value and remedy for anything that is not one: wrong
// JSON, version, key, format, hex, or sizes that do not fit each other.
std::string cases_to_json(const std::vector<CosimCase>& cases);
std::vector<CosimCase> read_cases(const std::string& path);
// The same from text; `file` is its name in messages.
std::vector<CosimCase> parse_cases(const std::string& text, const std::string& file);

}  // namespace azulejo
