// SPDX-License-Identifier: Apache-2.0
// What the numerics tests expect, derived without the library: formats written down a second time, values by MPFR,
// rounding by MPFR and, separately, by a search among a format's values.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/numerics/format.h"

namespace azulejo::test {

inline constexpr std::uint32_t kNan32 = 0x7FC00000;

std::uint32_t bits_of(float value);
float float_of(std::uint32_t bits);
// True if both have the same bits.
bool same(float a, float b);

// AZULEJO_LONG=1 in the environment: the exhaustive sweeps.
bool long_run();
// AZULEJO_SEED in the environment, or a fixed number; printed.
std::uint64_t seed();
// The code paths this host has, by name.
std::vector<std::string_view> host_paths();
// Back to the path in use at the start when it goes out of scope.
class PathGuard {
 public:
  PathGuard();
  ~PathGuard();
  PathGuard(const PathGuard&) = delete;
  PathGuard& operator=(const PathGuard&) = delete;

 private:
  std::string name_;
};

// Test inputs: a plain multiply-and-mix generator, unrelated to the library's sources.
class TestRandom {
 public:
  explicit TestRandom(std::uint64_t start) : state_(start * 2 + 1) {}
  std::uint64_t next64();
  std::uint32_t next32() { return static_cast<std::uint32_t>(next64() >> 32); }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>((next64() >> 32) * limit >> 32); }

 private:
  std::uint64_t state_;
};

enum class Nans { none, ieee, all_ones };

// A floating-point format as the specification gives it.
struct FloatFacts {
  Format format;
  const char* name;
  int sign_bits;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool infinity;
  Nans nans;
  std::uint32_t canonical_nan;
  int storage_bits;
  int container_shift;
  double max_finite;
};
// Every floating-point format but FP32.
const std::vector<FloatFacts>& float_facts();
const FloatFacts& facts_of(Format format);

// All finite values of a format from zero up, with one more beyond the largest (what it would be with an unbounded
// exponent), and the code of each.
struct ValueList {
  explicit ValueList(const FloatFacts& the_facts);
  FloatFacts facts;
  std::vector<double> values;
  std::vector<std::uint32_t> codes;  // of the same length; the last one stands for overflow
  double min_normal = 0;

  std::size_t index_of(double value) const;  // of an exact value
};

// The value of `code` by MPFR as FP32 bits, NaN as 7FC00000.
std::uint32_t decode_by_mpfr(const FloatFacts& facts, std::uint32_t code, bool flush);

struct Expected {
  bool saturate;
  bool flush;
};
// `value` rounded to nearest even, scaled, rounded and compared by MPFR.
std::uint32_t encode_by_mpfr(const ValueList& list, float value, Expected mode);
// The same by searching the two neighbours of `value` in the list. `hint` is an index at or below the result.
std::uint32_t encode_by_search(const ValueList& list, float value, Expected mode, std::size_t hint = 0);
// Stochastic rounding with the random word `word`.
std::uint32_t encode_stochastic_by_mpfr(const ValueList& list, float value, Expected mode, std::uint32_t word,
                                        std::uint64_t* threshold = nullptr);

// One FP32 fused multiply-add by MPFR, IEEE-754 subnormals and all; NaN as 7FC00000.
float fma_by_mpfr(float a, float b, float c);

}  // namespace azulejo::test
