// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/host_peak.h"

#include <cstddef>
#include <ctime>
#include <utility>

#include "tlm/numerics/matmul.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace azulejo::bench {

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

namespace {

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

}  // namespace

double host_peak_flops() {
  constexpr int kIterations = 1 << 18;
  std::size_t fmas_per_iteration = 8;
  const double start = cpu_seconds();
#if defined(__x86_64__)
  if (simd_path() == "avx512") {
    fmas_per_iteration = 12 * 16;
    g_sink = fma_chains_avx512(kIterations, std::make_index_sequence<12>{});
  } else if (simd_path() == "avx2") {
    fmas_per_iteration = 12 * 8;
    g_sink = fma_chains_avx2(kIterations, std::make_index_sequence<12>{});
  } else
#endif
  {
    g_sink = fma_chains_scalar(kIterations, std::make_index_sequence<8>{});
  }
  return 2.0 * static_cast<double>(fmas_per_iteration) * kIterations / (cpu_seconds() - start);
}

}  // namespace azulejo::bench
