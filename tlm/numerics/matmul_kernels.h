// SPDX-License-Identifier: Apache-2.0
// The inner block of a column sum, one implementation per code path. Internal to the library.
#pragma once

#include <cstddef>

#include "tlm/numerics/simd.h"

namespace azulejo {

// result[r][c] = chain over i = 0 .. k-1 of left[i][r] * right[i][c] from +0, then stored to `result`, or added to it
// with one rounding if `accumulate`; NaN results canonical. With `flush` a subnormal becomes a signed zero after each
// rounding, and so does the old `result` before the addition.
struct BlockArgs {
  const float* left;  // row i holds the `rows` broadcast operands of step i
  std::size_t left_stride;
  const float* right;  // row i holds the `cols` vector operands of step i
  std::size_t right_stride;
  std::size_t k;
  std::size_t rows;
  std::size_t cols;
  float* result;
  std::size_t result_stride;
  bool accumulate;
  bool flush;
};

struct BlockKernel {
  std::size_t max_rows;
  std::size_t max_cols;
  std::size_t vector;  // `cols` must be a multiple of it
  void (*run)(const BlockArgs& args);
};

inline constexpr std::size_t kLargestBlockRows = 8;
inline constexpr std::size_t kLargestBlockCols = 32;

void run_block_portable(const BlockArgs& args);
#if AZULEJO_HAS_X86_SIMD
void run_block_avx2(const BlockArgs& args);
void run_block_avx512(const BlockArgs& args);
#endif

}  // namespace azulejo
