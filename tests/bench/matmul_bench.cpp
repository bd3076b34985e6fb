// SPDX-License-Identifier: Apache-2.0
// How near the functional model of the PE array comes to one core's FP32 FMA peak: the rate of independent FMAs on
// registers, against matmul_into_psum of a 128 x 128 x 512 tile with both operands decoded from BF16 each time.
// Exit status 1 if the ratio is below one half.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "tlm/numerics/format.h"
#include "tlm/numerics/matmul.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

volatile float g_sink;

// `iterations` FMAs on each of as many independent chains as the pack has indices, more than two pipes of four to five
// cycles' latency need to stay busy. The factor below one keeps the values normal for ever; the empty asm
// keeps every accumulator in a register of its own.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) inline void keep_in_register(__m512& value) { asm volatile("" : "+x"(value)); }
__attribute__((target("avx2"))) inline void keep_in_register(__m256& value) { asm volatile("" : "+x"(value)); }

template <std::size_t... kChain>
__attribute__((target("avx512f"), noinline)) float fma_chains_avx512(int iterations, std::index_sequence<kChain...>) {
  __m512 sums[] = {_mm512_set1_ps(static_cast<float>(kChain))...};
  const __m512 factor = _mm512_set1_ps(0.5F);
  const __m512 term = _mm512_set1_ps(1.0F);
  for (int i = 0; i < iterations; ++i) {
    ((sums[kChain] = _mm512_fmadd_ps(sums[kChain], factor, term)), ...);
    (keep_in_register(sums[kChain]), ...);
  }
  __m512 total = _mm512_setzero_ps();
  ((total = _mm512_add_ps(total, sums[kChain])), ...);
  return _mm512_cvtss_f32(total);
}

template <std::size_t... kChain>
__attribute__((target("avx2,fma"), noinline)) float fma_chains_avx2(int iterations, std::index_sequence<kChain...>) {
  __m256 sums[] = {_mm256_set1_ps(static_cast<float>(kChain))...};
  const __m256 factor = _mm256_set1_ps(0.5F);
  const __m256 term = _mm256_set1_ps(1.0F);
  for (int i = 0; i < iterations; ++i) {
    ((sums[kChain] = _mm256_fmadd_ps(sums[kChain], factor, term)), ...);
    (keep_in_register(sums[kChain]), ...);
  }
  __m256 total = _mm256_setzero_ps();
  ((total = _mm256_add_ps(total, sums[kChain])), ...);
  return _mm256_cvtss_f32(total);
}
#endif

template <std::size_t... kChain>
__attribute__((noinline)) float fma_chains_scalar(int iterations, std::index_sequence<kChain...>) {
  float sums[] = {static_cast<float>(kChain)...};
  for (int i = 0; i < iterations; ++i) ((sums[kChain] = __builtin_fmaf(sums[kChain], 0.5F, 1.0F)), ...);
  return (0.0F + ... + sums[kChain]);
}

double peak_flops() {
  constexpr int kIterations = 1 << 18;
  std::size_t fmas_per_iteration = 8;
  const auto start = Clock::now();
#if defined(__x86_64__)
  if (azulejo::simd_path() == "avx512") {
    fmas_per_iteration = 12 * 16;
    g_sink = fma_chains_avx512(kIterations, std::make_index_sequence<12>{});
  } else if (azulejo::simd_path() == "avx2") {
    fmas_per_iteration = 12 * 8;
    g_sink = fma_chains_avx2(kIterations, std::make_index_sequence<12>{});
  } else
#endif
  {
    g_sink = fma_chains_scalar(kIterations, std::make_index_sequence<8>{});
  }
  return 2.0 * static_cast<double>(fmas_per_iteration) * kIterations / seconds_since(start);
}

struct Tile {
  azulejo::TileShape shape{128, 128, 512};
  std::vector<std::uint16_t> stationary_codes = codes(shape.k * shape.m);
  std::vector<std::uint16_t> moving_codes = codes(shape.k * shape.n);
  std::vector<float> stationary = std::vector<float>(shape.k * shape.m);
  std::vector<float> moving = std::vector<float>(shape.k * shape.n);
  std::vector<float> psum = std::vector<float>(shape.m * shape.n);

  // BF16 values of both signs with magnitudes in [1, 2).
  static std::vector<std::uint16_t> codes(std::size_t count) {
    std::vector<std::uint16_t> result(count);
    std::uint32_t state = 1;
    for (auto& code : result) {
      state = state * 1664525 + 1013904223;
      code = static_cast<std::uint16_t>(0x3F80 | (state >> 25) | ((state >> 9) & 0x8000));
    }
    return result;
  }
};

double matmul_flops(Tile& tile, int repeats) {
  const azulejo::TileShape& shape = tile.shape;
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) {
    azulejo::decode_row(azulejo::Format::Bf16, tile.stationary_codes.data(), tile.stationary.data(),
                        tile.stationary.size());
    azulejo::decode_row(azulejo::Format::Bf16, tile.moving_codes.data(), tile.moving.data(), tile.moving.size());
    azulejo::matmul_into_psum(tile.stationary.data(), shape.m, tile.moving.data(), shape.n, shape, tile.psum.data(),
                              shape.n, i != 0, false);
  }
  const double seconds = seconds_since(start);
  g_sink = tile.psum[0];
  return 2.0 * static_cast<double>(shape.k * shape.m * shape.n) * repeats / seconds;
}

}  // namespace

int main() {
  Tile tile;
  matmul_flops(tile, 20);  // warm up
  double peak = 0;
  double rate = 0;
  // Alternate short measurements and keep the best of each: other work on the host interrupts only some of them.
  for (int round = 0; round < 400; ++round) {
    const double round_peak = peak_flops();
    const double round_rate = matmul_flops(tile, 5);
    peak = round_peak > peak ? round_peak : peak;
    rate = round_rate > rate ? round_rate : rate;
  }
  const double ratio = rate / peak;
  std::printf("path %s, one core\n", azulejo::simd_path().data());
  std::printf("FP32 FMA peak      %8.1f GFLOP/s\n", peak / 1e9);
  std::printf("matmul_into_psum   %8.1f GFLOP/s  (BF16 operands, k 128, m 128, n 512, decoding included)\n",
              rate / 1e9);
  std::printf("ratio %.2f of the host's peak\n", ratio);
  return ratio < 0.5 ? 1 : 0;
}
