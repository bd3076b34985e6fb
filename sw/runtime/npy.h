// SPDX-License-Identifier: Apache-2.0
// Matrices in NumPy's .npy files (numpy.lib.format): versions 1.0, 2.0 and 3.0, two dimensions, C order, little-endian
// float32 ('<f4') or float16 ('<f2').
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/numerics/format.h"

namespace azulejo {

struct NpyMatrix {
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  Format format = Format::Fp32;    // Fp32 or Fp16
  std::vector<std::uint8_t> data;  // [rows, cols], row after row, little-endian
};

// Throws ConfigError with the file's name and a remedy. Nothing is allocated for a shape that the file's size does not
// bear out.
NpyMatrix read_npy(const std::string& path);

// As read_npy(), of a whole file in memory; `name` stands for it in messages.
NpyMatrix parse_npy(std::string_view bytes, const std::string& name);

// The file's bytes, version 1.0. Throws std::invalid_argument for another format or a size that is not the shape's.
std::string npy_bytes(const NpyMatrix& matrix);

// Writes the file; see write_file_atomically() for how and for its errors.
void write_npy(const std::string& path, const NpyMatrix& matrix);

}  // namespace azulejo
