// SPDX-License-Identifier: Apache-2.0
// Golden model of the gemm workload: C = A * B bit for bit, and the comparison of a result with it.
//
// Independent by rule: uses nothing of tlm/ or sw/nki, not even their format tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace azulejo::golden {

enum class ElementType : std::uint8_t { Fp32, Tf32, Bf16, Fp16, E4M3, E4M3FN, E5M2, E3M4, Int8 };

struct GemmProblem {
  std::size_t m = 0, k = 0, n = 0;           // all at least 1
  ElementType type = ElementType::Bf16;      // of A and B
  ElementType out_type = ElementType::Bf16;  // of C
  // Sums of up to 128 products are formed in the array and added in PSUM over `k_block_tiles` such sums (0: over all
  // of K). Several K blocks are added in SBUF in FP32, kept as `partial_type` (Fp32 or Bf16) after every block but the
  // last, whose sum is rounded to out_type directly.
  std::size_t k_block_tiles = 0;
  ElementType partial_type = ElementType::Fp32;
  bool flush_denormals = false;
};

struct GemmCheck {
  std::uint64_t elements = 0;  // compared
  std::uint64_t mismatches = 0;
  std::uint64_t max_ulp = 0;  // largest distance in codes of out_type between result and golden
  bool sampled = false;       // a seeded sample instead of every element
  // The first mismatch, if any.
  std::size_t row = 0, column = 0;
  std::uint32_t expected = 0, found = 0;  // codes
};

// Compares `c` ([m, n], codes of out_type) with the golden product of `a` ([k, m], as it lies in HBM) and `b` ([k, n]).
// All row-major without padding. Above `full_check_limit` multiply-adds it checks a seeded sample of at least 10^5
// outputs that touches every 128-row and every 128-column band and says so in `sampled`.
GemmCheck check_gemm(const GemmProblem& problem, const void* a, const void* b, const void* c, std::uint64_t seed,
                     std::uint64_t full_check_limit = 10'000'000'000);

}  // namespace azulejo::golden
