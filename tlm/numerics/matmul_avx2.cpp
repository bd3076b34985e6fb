// SPDX-License-Identifier: Apache-2.0
#include "tlm/numerics/matmul_kernels.h"

#if AZULEJO_HAS_X86_SIMD

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <utility>

#include "tlm/numerics/float_bits.h"

namespace azulejo {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kMaxRows = 6;
constexpr std::size_t kMaxVectors = 2;

AZULEJO_TARGET_AVX2 inline __m256 flush_subnormals(__m256 value) {
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i field = _mm256_and_si256(bits, _mm256_set1_epi32(static_cast<int>(kFp32Infinity)));
  const __m256i small = _mm256_cmpeq_epi32(field, _mm256_setzero_si256());
  const __m256i dropped = _mm256_and_si256(small, _mm256_set1_epi32(static_cast<int>(kFp32MagnitudeMask)));
  return _mm256_castsi256_ps(_mm256_andnot_si256(dropped, bits));
}

AZULEJO_TARGET_AVX2 inline __m256 canonicalize(__m256 value) {
  const __m256 nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
  const __m256i canonical = _mm256_set1_epi32(static_cast<int>(kFp32CanonicalNan));
  return _mm256_blendv_ps(value, _mm256_castsi256_ps(canonical), nan);
}

// 6 x 2 accumulators, two vectors and one factor fill 15 of the 16 registers.
template <std::size_t kRows, std::size_t kVectors, bool kFlush>
AZULEJO_TARGET_AVX2 void block(const BlockArgs& args) {
  __m256 sums[kRows][kVectors];
#pragma GCC unroll 6
  for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = _mm256_setzero_ps();
  }

  const float* left = args.left;
  const float* right = args.right;
  for (std::size_t i = 0; i < args.k; ++i) {
    __m256 row[kVectors];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) row[v] = _mm256_loadu_ps(right + v * kLanes);
#pragma GCC unroll 6
    for (std::size_t r = 0; r < kRows; ++r) {
      const __m256 factor = _mm256_set1_ps(left[r]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = _mm256_fmadd_ps(factor, row[v], sums[r][v]);
        if constexpr (kFlush) sums[r][v] = flush_subnormals(sums[r][v]);
      }
    }
    left += args.left_stride;
    right += args.right_stride;
  }

#pragma GCC unroll 6
  for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) {
      float* result = args.result + r * args.result_stride + v * kLanes;
      __m256 sum = sums[r][v];
      if (args.accumulate) {
        __m256 old = _mm256_loadu_ps(result);
        if constexpr (kFlush) old = flush_subnormals(old);
        sum = _mm256_add_ps(sum, old);
        if constexpr (kFlush) sum = flush_subnormals(sum);
      }
      _mm256_storeu_ps(result, canonicalize(sum));
    }
  }
}

using Function = void (*)(const BlockArgs&);

template <bool kFlush, std::size_t... kIndex>
constexpr std::array<Function, sizeof...(kIndex)> make_table(std::index_sequence<kIndex...>) {
  return {{&block<kIndex / kMaxVectors + 1, kIndex % kMaxVectors + 1, kFlush>...}};
}
using Indices = std::make_index_sequence<kMaxRows * kMaxVectors>;
constexpr auto kKeep = make_table<false>(Indices{});
constexpr auto kFlush = make_table<true>(Indices{});

}  // namespace

void run_block_avx2(const BlockArgs& args) {
  const std::size_t index = (args.rows - 1) * kMaxVectors + args.cols / kLanes - 1;
  (args.flush ? kFlush : kKeep)[index](args);
}

}  // namespace azulejo

#endif
