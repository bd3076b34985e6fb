// SPDX-License-Identifier: Apache-2.0
// The blocking around the kernels of matmul_kernels.h, and the FP32 matmul of four passes.
#include "tlm/numerics/matmul.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tlm/numerics/float_bits.h"
#include "tlm/numerics/matmul_kernels.h"
#include "tlm/numerics/simd.h"

namespace azulejo {
namespace {

constexpr std::uint32_t kHighHalfMask = 0xFFFFF000;  // sign, exponent and the upper 11 stored fraction bits

float high_half(float value) { return bits_to_float(float_to_bits(value) & kHighHalfMask); }

// The difference is exact; a zero low half takes the sign of the whole.
float low_half(float value) {
  const std::uint32_t difference = float_to_bits(value - high_half(value)) & kFp32MagnitudeMask;
  return bits_to_float(difference | (float_to_bits(value) & kFp32SignMask));
}

enum class Part : std::uint8_t { Whole, High, Low };

// One column sum of a matmul: which part of each operand it multiplies.
struct Pass {
  Part stationary;
  Part moving;
};

// The passes in order; the first stores or accumulates, the others accumulate.
struct PassList {
  std::array<Pass, 4> passes{};
  std::size_t count = 0;

  void add(Pass pass) { passes[count++] = pass; }
  const Pass* begin() const { return passes.data(); }
  const Pass* end() const { return passes.data() + count; }
};

struct Matrix {
  const float* data;
  std::size_t stride;
  std::size_t cols;
};

float part_of_value(Part part, float value) {
  switch (part) {
    case Part::High:
      return high_half(value);
    case Part::Low:
      return low_half(value);
    case Part::Whole:
      break;
  }
  return value;
}

// Columns [first, first + width) of `matrix` as k contiguous rows of `panel_width` floats, zeros beyond `width`.
// A width known at compile time (0: not known) makes the inner loop a few vector moves.
template <Part kPart, std::size_t kWidth>
void pack_rows(const Matrix& matrix, std::size_t k, std::size_t first, std::size_t width, std::size_t panel_width,
               float* panel) {
  for (std::size_t i = 0; i < k; ++i) {
    const float* const row = matrix.data + i * matrix.stride + first;
    if constexpr (kWidth != 0) {
      for (std::size_t j = 0; j < kWidth; ++j) panel[j] = part_of_value(kPart, row[j]);
    } else {
      for (std::size_t j = 0; j < width; ++j) panel[j] = part_of_value(kPart, row[j]);
      for (std::size_t j = width; j < panel_width; ++j) panel[j] = 0.0F;
    }
    panel += panel_width;
  }
}

template <Part kPart>
void pack_panel_part(const Matrix& matrix, std::size_t k, std::size_t first, std::size_t width, std::size_t panel_width,
                     float* panel) {
  const auto pack = width != panel_width ? &pack_rows<kPart, 0>
                    : width == 6         ? &pack_rows<kPart, 6>
                    : width == 8         ? &pack_rows<kPart, 8>
                    : width == 16        ? &pack_rows<kPart, 16>
                    : width == 32        ? &pack_rows<kPart, 32>
                                         : &pack_rows<kPart, 0>;
  pack(matrix, k, first, width, panel_width, panel);
}

void pack_panel(const Matrix& matrix, Part part, std::size_t k, std::size_t first, std::size_t width,
                std::size_t panel_width, float* panel) {
  switch (part) {
    case Part::Whole:
      return pack_panel_part<Part::Whole>(matrix, k, first, width, panel_width, panel);
    case Part::High:
      return pack_panel_part<Part::High>(matrix, k, first, width, panel_width, panel);
    case Part::Low:
      return pack_panel_part<Part::Low>(matrix, k, first, width, panel_width, panel);
  }
}

// Scratch memory that lives as long as its thread, grown when needed, aligned to a cache line.
class Scratch {
 public:
  float* reserve(std::size_t count) {
    constexpr std::size_t kAlignment = 64;
    if (storage_.size() < count + kAlignment) storage_.resize(count + kAlignment);
    const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(storage_.data()) % kAlignment;
    return storage_.data() + (misaligned == 0 ? 0 : (kAlignment - misaligned) / sizeof(float));
  }

 private:
  std::vector<float> storage_;
};

const BlockKernel& active_kernel() {
  static constexpr BlockKernel kPortable{4, 32, 1, &run_block_portable};
#if AZULEJO_HAS_X86_SIMD
  static constexpr BlockKernel kAvx2{6, 16, 8, &run_block_avx2};
  static constexpr BlockKernel kAvx512{8, 32, 16, &run_block_avx512};
  if (active_simd_path() == SimdPath::Avx512) return kAvx512;
  if (active_simd_path() == SimdPath::Avx2) return kAvx2;
#endif
  return kPortable;
}

std::size_t round_up(std::size_t value, std::size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// psum[row][col] at psum + row * row_stride + col * col_stride.
struct Result {
  float* data;
  std::size_t row_stride;
  std::size_t col_stride;
  bool accumulate;
  bool flush;
};

// Every pass of left^T * right. `left` is the operand that is broadcast, `right` the one read as vectors: stationary
// and moving, or the other way round (`swapped`), which gives the same bits since only NaN payloads depend on the
// order.
void multiply(const Matrix& left, const Matrix& right, std::size_t k, const PassList& passes, bool swapped,
              const Result& result) {
  thread_local Scratch left_scratch;
  thread_local Scratch right_scratch;
  const BlockKernel& kernel = active_kernel();
  const auto left_part = [&](const Pass& pass) { return swapped ? pass.moving : pass.stationary; };
  const auto right_part = [&](const Pass& pass) { return swapped ? pass.stationary : pass.moving; };

  // One slot per part: the whole in slot 0, or the halves in slots 0 and 1.
  const auto slot = [](Part part) { return part == Part::Low ? std::size_t{1} : std::size_t{0}; };
  std::array<bool, 2> left_used{};
  std::array<bool, 2> right_used{};
  for (const Pass& pass : passes) {
    left_used[slot(left_part(pass))] = true;
    right_used[slot(right_part(pass))] = true;
  }
  const bool whole = passes.begin()->stationary == Part::Whole;
  const auto part_of = [&](std::size_t index) { return whole ? Part::Whole : index == 1 ? Part::Low : Part::High; };

  // Each panel is packed once. The left operand's panels serve every right panel; a whole operand that a single panel
  // or block row reads once is used where it lies.
  const bool pack_left = !whole || right.cols > kernel.max_cols;
  const std::size_t left_slot_size = left.cols * k;
  float* const left_panels = pack_left ? left_scratch.reserve(2 * left_slot_size) : nullptr;
  if (pack_left) {
    for (std::size_t part = 0; part < 2; ++part) {
      if (!left_used[part]) continue;
      for (std::size_t row = 0; row < left.cols; row += kernel.max_rows) {
        const std::size_t rows = std::min(kernel.max_rows, left.cols - row);
        pack_panel(left, part_of(part), k, row, rows, rows, left_panels + part * left_slot_size + row * k);
      }
    }
  }
  const std::size_t right_slot_size = kernel.max_cols * k;
  float* const right_panels = right_scratch.reserve(2 * right_slot_size);

  for (std::size_t col = 0; col < right.cols; col += kernel.max_cols) {
    const std::size_t cols = std::min(kernel.max_cols, right.cols - col);
    const std::size_t padded_cols = round_up(cols, kernel.vector);
    const bool pack_right = !whole || padded_cols != cols || left.cols > kernel.max_rows;
    for (std::size_t part = 0; part < 2 && pack_right; ++part) {
      if (right_used[part]) {
        pack_panel(right, part_of(part), k, col, cols, padded_cols, right_panels + part * right_slot_size);
      }
    }

    const bool direct = padded_cols == cols && result.col_stride == 1;
    for (std::size_t row = 0; row < left.cols; row += kernel.max_rows) {
      const std::size_t rows = std::min(kernel.max_rows, left.cols - row);
      float* const target = result.data + row * result.row_stride + col * result.col_stride;
      alignas(64) float buffer[kLargestBlockRows * kLargestBlockCols];
      if (!direct && result.accumulate) {
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t c = 0; c < cols; ++c) {
            buffer[r * padded_cols + c] = target[r * result.row_stride + c * result.col_stride];
          }
          std::fill(buffer + r * padded_cols + cols, buffer + (r + 1) * padded_cols, 0.0F);
        }
      }

      BlockArgs args{};
      args.k = k;
      args.rows = rows;
      args.cols = padded_cols;
      args.result = direct ? target : buffer;
      args.result_stride = direct ? result.row_stride : padded_cols;
      args.accumulate = result.accumulate;
      args.flush = result.flush;
      for (const Pass& pass : passes) {
        args.left = pack_left ? left_panels + slot(left_part(pass)) * left_slot_size + row * k : left.data + row;
        args.left_stride = pack_left ? rows : left.stride;
        args.right = pack_right ? right_panels + slot(right_part(pass)) * right_slot_size : right.data + col;
        args.right_stride = pack_right ? padded_cols : right.stride;
        kernel.run(args);
        args.accumulate = true;
      }

      if (direct) continue;
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < cols; ++c) {
          target[r * result.row_stride + c * result.col_stride] = buffer[r * padded_cols + c];
        }
      }
    }
  }
}

void multiply_tile(const float* stationary, std::size_t stationary_stride, const float* moving,
                   std::size_t moving_stride, const TileShape& shape, const PassList& passes, float* psum,
                   std::size_t psum_stride, bool accumulate, bool flush) {
  const Matrix stationary_matrix{stationary, stationary_stride, shape.m};
  const Matrix moving_matrix{moving, moving_stride, shape.n};
  // A few moving columns would leave most of a vector empty; then the vectors run along the stationary columns.
  const bool swapped = shape.n < active_kernel().vector && shape.n < shape.m;
  if (swapped) {
    multiply(moving_matrix, stationary_matrix, shape.k, passes, true, {psum, 1, psum_stride, accumulate, flush});
  } else {
    multiply(stationary_matrix, moving_matrix, shape.k, passes, false, {psum, psum_stride, 1, accumulate, flush});
  }
}

bool is_finite(float value) { return (float_to_bits(value) & kFp32MagnitudeMask) < kFp32Infinity; }

bool all_finite(const float* data, std::size_t stride, std::size_t rows, std::size_t cols) {
  for (std::size_t i = 0; i < rows; ++i) {
    std::uint32_t largest = 0;
    for (std::size_t j = 0; j < cols; ++j) {
      largest = std::max(largest, float_to_bits(data[i * stride + j]) & kFp32MagnitudeMask);
    }
    if (largest >= kFp32Infinity) return false;
  }
  return true;
}

// One pass of the FP32 matmul for one output, where an operand of the tile is Inf or NaN: such a pair is multiplied
// whole in pass HH and skipped in the others.
float pass_sum_with_specials(const Matrix& stationary, const Matrix& moving, std::size_t k, std::size_t row,
                             std::size_t col, const Pass& pass, bool flush) {
  const bool last_pass = pass.stationary == Part::High && pass.moving == Part::High;
  float sum = 0.0F;
  for (std::size_t i = 0; i < k; ++i) {
    const float a = stationary.data[i * stationary.stride + row];
    const float b = moving.data[i * moving.stride + col];
    if (is_finite(a) && is_finite(b)) {
      sum = std::fma(part_of_value(pass.stationary, a), part_of_value(pass.moving, b), sum);
    } else if (last_pass) {
      sum = std::fma(a, b, sum);
    }
    if (flush) sum = flush_subnormal(sum);
  }
  return canonicalize_nan(sum);
}

PassList fp32_passes(bool exact_stationary, bool exact_moving) {
  PassList list;
  for (const Part stationary : {Part::Low, Part::High}) {
    if (exact_stationary && stationary == Part::Low) continue;
    for (const Part moving : {Part::Low, Part::High}) {
      if (exact_moving && moving == Part::Low) continue;
      list.add({stationary, moving});
    }
  }
  return list;
}

}  // namespace

void run_block_portable(const BlockArgs& args) {
  float sums[kLargestBlockCols];
  for (std::size_t r = 0; r < args.rows; ++r) {
    std::fill_n(sums, args.cols, 0.0F);
    for (std::size_t i = 0; i < args.k; ++i) {
      const float factor = args.left[i * args.left_stride + r];
      const float* const right = args.right + i * args.right_stride;
      for (std::size_t c = 0; c < args.cols; ++c) {
        sums[c] = std::fma(factor, right[c], sums[c]);
        if (args.flush) sums[c] = flush_subnormal(sums[c]);
      }
    }
    float* const result = args.result + r * args.result_stride;
    for (std::size_t c = 0; c < args.cols; ++c) {
      result[c] = args.accumulate ? add_fp32(sums[c], result[c], args.flush) : canonicalize_nan(sums[c]);
    }
  }
}

void column_sums(const float* stationary, std::size_t stationary_stride, const float* moving, std::size_t moving_stride,
                 const TileShape& shape, float* sums, std::size_t sums_stride, bool flush_denormals) {
  matmul_into_psum(stationary, stationary_stride, moving, moving_stride, shape, sums, sums_stride, false, false,
                   flush_denormals);
}

void matmul_fp32_passes(const float* stationary, std::size_t stationary_stride, const float* moving,
                        std::size_t moving_stride, const TileShape& shape, float* psum, std::size_t psum_stride,
                        bool accumulate, bool flush_denormals, bool exact_stationary, bool exact_moving) {
  const PassList passes = fp32_passes(exact_stationary, exact_moving);
  if (all_finite(stationary, stationary_stride, shape.k, shape.m) &&
      all_finite(moving, moving_stride, shape.k, shape.n)) {
    multiply_tile(stationary, stationary_stride, moving, moving_stride, shape, passes, psum, psum_stride, accumulate,
                  flush_denormals);
    return;
  }
  const Matrix stationary_matrix{stationary, stationary_stride, shape.m};
  const Matrix moving_matrix{moving, moving_stride, shape.n};
  for (std::size_t row = 0; row < shape.m; ++row) {
    for (std::size_t col = 0; col < shape.n; ++col) {
      float& target = psum[row * psum_stride + col];
      bool add = accumulate;
      for (const Pass& pass : passes) {
        const float sum =
            pass_sum_with_specials(stationary_matrix, moving_matrix, shape.k, row, col, pass, flush_denormals);
        target = add ? add_fp32(target, sum, flush_denormals) : sum;
        add = true;
      }
    }
  }
}

void matmul_into_psum(const float* stationary, std::size_t stationary_stride, const float* moving,
                      std::size_t moving_stride, const TileShape& shape, float* psum, std::size_t psum_stride,
                      bool accumulate, bool fp32, bool flush_denormals) {
  if (fp32) {
    matmul_fp32_passes(stationary, stationary_stride, moving, moving_stride, shape, psum, psum_stride, accumulate,
                       flush_denormals);
    return;
  }
  PassList passes;
  passes.add({Part::Whole, Part::Whole});
  multiply_tile(stationary, stationary_stride, moving, moving_stride, shape, passes, psum, psum_stride, accumulate,
                flush_denormals);
}

SplitHalves split_fp32(float value) { return {high_half(value), low_half(value)}; }

float add_fp32(float a, float b, bool flush_denormals) {
  if (!flush_denormals) return canonicalize_nan(a + b);
  return canonicalize_nan(flush_subnormal(flush_subnormal(a) + flush_subnormal(b)));
}

// One body for several instruction sets: the loader picks what the host has.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void add_fp32_row(const float* a, const float* b, float* sums, std::size_t count, bool flush_denormals) {
  if (flush_denormals) {
    for (std::size_t i = 0; i < count; ++i) sums[i] = add_fp32(a[i], b[i], true);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) sums[i] = canonicalize_nan(a[i] + b[i]);
}

}  // namespace azulejo
