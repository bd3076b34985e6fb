// SPDX-License-Identifier: Apache-2.0
// The multiply-accumulate contract of the PE array: a column sum is a chain of fused
// multiply-adds in FP32 from +0, down the partitions 0 .. k-1, one rounding a step.
//
// Pure functions; no SystemC. Fast paths use the host's SIMD, chosen at run time; the
// portable path gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tlm/numerics/format.h"

namespace azulejo {

// Shape of one matmul tile: stationary [k, m], moving [k, n], result [m, n]; all at least 1.
struct TileShape {
  std::size_t k = 0;
  std::size_t m = 0;
  std::size_t n = 0;
};

// sums[m][n] = fma chain over k of stationary[k][m] * moving[k][n], NaN results as 7FC00000.
// Operands are decoded FP32 values, row-major with the given leading dimensions in elements.
// A subnormal result is kept; with `flush_denormals` it becomes a signed zero after each rounding. Operands are used as
// they are: decode() flushes those that are subnormal in their own format. `sums` overlaps neither operand.
void column_sums(const float* stationary, std::size_t stationary_stride, const float* moving, std::size_t moving_stride,
                 const TileShape& shape, float* sums, std::size_t sums_stride, bool flush_denormals = false);

// The FP32 matmul of four passes (LL, LH, HL, HH, stationary half first), each a column sum added into
// `psum` with one rounding; the first pass overwrites psum unless `accumulate`.
// `exact_stationary` / `exact_moving` declare an operand without a low half (0/1 data): the passes with that half are
// left out, which leaves two (or one), and the first of those obeys `accumulate`.
// A pair with an Inf or NaN is multiplied whole in pass HH and skipped in the others; such tiles take a slow path.
void matmul_fp32_passes(const float* stationary, std::size_t stationary_stride, const float* moving,
                        std::size_t moving_stride, const TileShape& shape, float* psum, std::size_t psum_stride,
                        bool accumulate, bool flush_denormals = false, bool exact_stationary = false,
                        bool exact_moving = false);

// One nc_matmul of decoded operands into PSUM: one pass, or four when `fp32`. `psum` is overwritten, or added to
// with one FP32 rounding when `accumulate`.
void matmul_into_psum(const float* stationary, std::size_t stationary_stride, const float* moving,
                      std::size_t moving_stride, const TileShape& shape, float* psum, std::size_t psum_stride,
                      bool accumulate, bool fp32, bool flush_denormals = false);

// Both halves of a finite FP32 value: high has the upper 12 significand bits, high + low == value exactly,
// both carry the value's sign.
struct SplitHalves {
  float high;
  float low;
};
SplitHalves split_fp32(float value);

// FP32 sum with one rounding, canonical NaN. With `flush_denormals` subnormal operands and a subnormal sum become
// signed zeros.
float add_fp32(float a, float b, bool flush_denormals = false);

// sums[i] = add_fp32(a[i], b[i]); `sums` may be `a` or `b`.
void add_fp32_row(const float* a, const float* b, float* sums, std::size_t count, bool flush_denormals = false);

// The code paths the running host offers, fastest first ("avx512", "avx2", "portable"), the one in use, and a way for
// tests to force one. select_simd_path returns false if the host lacks it. Not thread safe.
std::string_view simd_path();
bool select_simd_path(std::string_view name);

}  // namespace azulejo
