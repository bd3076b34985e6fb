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

constexpr std::size_t kLanes = 16;
constexpr std::size_t kMaxRows = 8;
constexpr std::size_t kMaxVectors = 2;

AZULEJO_TARGET_AVX512 inline __m512 flush_subnormals(__m512 value) {
  const __m512i bits = _mm512_castps_si512(value);
  const __mmask16 small = _mm512_testn_epi32_mask(bits, _mm512_set1_epi32(static_cast<int>(kFp32Infinity)));
  const __m512i sign = _mm512_set1_epi32(static_cast<int>(kFp32SignMask));
  return _mm512_castsi512_ps(_mm512_mask_and_epi32(bits, small, bits, sign));
}

AZULEJO_TARGET_AVX512 inline __m512 canonicalize(__m512 value) {
  const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  const __m512i canonical = _mm512_set1_epi32(static_cast<int>(kFp32CanonicalNan));
  return _mm512_mask_mov_ps(value, nan, _mm512_castsi512_ps(canonical));
}

// 8 x 2 accumulators: two FMA pipes of up to four cycles' latency stay full, with 10 loads to 16 FMAs.
template <std::size_t kRows, std::size_t kVectors, bool kFlush>
AZULEJO_TARGET_AVX512 void block(const BlockArgs& args) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
  }

  // The rows of the result lie in different pages; they are wanted when the chain ends.
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) __builtin_prefetch(args.result + r * args.result_stride + v * kLanes, 1);
  }

  const float* left = args.left;
  const float* right = args.right;
  for (std::size_t i = 0; i < args.k; ++i) {
    __m512 row[kVectors];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) row[v] = _mm512_loadu_ps(right + v * kLanes);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
      const __m512 factor = _mm512_set1_ps(left[r]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = _mm512_fmadd_ps(factor, row[v], sums[r][v]);
        if constexpr (kFlush) sums[r][v] = flush_subnormals(sums[r][v]);
      }
    }
    left += args.left_stride;
    right += args.right_stride;
  }

#pragma GCC unroll 8
  for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) {
      float* result = args.result + r * args.result_stride + v * kLanes;
      __m512 sum = sums[r][v];
      if (args.accumulate) {
        __m512 old = _mm512_loadu_ps(result);
        if constexpr (kFlush) old = flush_subnormals(old);
        sum = _mm512_add_ps(sum, old);
        if constexpr (kFlush) sum = flush_subnormals(sum);
      }
      _mm512_storeu_ps(result, canonicalize(sum));
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

void run_block_avx512(const BlockArgs& args) {
  const std::size_t index = (args.rows - 1) * kMaxVectors + args.cols / kLanes - 1;
  (args.flush ? kFlush : kKeep)[index](args);
}

}  // namespace azulejo

#endif
