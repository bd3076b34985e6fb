// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/numerics/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tlm/numerics/matmul.h"

namespace azulejo::test {
namespace {

// A few hundred bits: every quantity of these tests is exact in it.
struct Number {
  mpfr_t value;
  explicit Number(mpfr_prec_t bits = 400) { mpfr_init2(value, bits); }
  ~Number() { mpfr_clear(value); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
};

bool is_nan(float value) { return value != value; }
bool negative(float value) { return bits_of(value) >> 31 != 0; }

std::uint32_t sign_code(const FloatFacts& facts, float value) {
  return facts.sign_bits == 1 && negative(value) ? 1U << (facts.storage_bits - 1) : 0;
}

// What a magnitude beyond the largest finite value becomes.
std::uint32_t overflow_code(const ValueList& list, float value, bool saturate) {
  const FloatFacts& facts = list.facts;
  const std::uint32_t largest = list.codes[list.codes.size() - 2];
  if (saturate || facts.nans == Nans::none) return largest | sign_code(facts, value);
  if (!facts.infinity) return facts.canonical_nan;
  const std::uint32_t all_ones = (1U << facts.exponent_bits) - 1;
  return (all_ones << facts.mantissa_bits << facts.container_shift) | sign_code(facts, value);
}

// NaN, Inf, a flushed input and the sign of a scale factor. True if `code` is the answer.
bool special_case(const ValueList& list, float& value, Expected mode, std::uint32_t& code) {
  const FloatFacts& facts = list.facts;
  if (is_nan(value)) {
    code = facts.nans == Nans::none ? list.codes[list.codes.size() - 2] : facts.canonical_nan;
    return true;
  }
  if (mode.flush && std::fabs(static_cast<double>(value)) < 0x1p-126) value = negative(value) ? -0.0F : 0.0F;
  if (facts.sign_bits == 0 && value < 0) {
    code = facts.canonical_nan;
    return true;
  }
  if (std::isinf(value)) {
    code = overflow_code(list, value, mode.saturate);
    return true;
  }
  return false;
}

std::uint32_t finish(const ValueList& list, float value, Expected mode, double rounded) {
  const FloatFacts& facts = list.facts;
  if (rounded > facts.max_finite) return overflow_code(list, value, mode.saturate);
  if (facts.sign_bits == 0) return list.codes[rounded == 0 ? 0 : list.index_of(rounded)];  // no zero: the smallest
  if (mode.flush && rounded < list.min_normal) rounded = 0;
  return list.codes[list.index_of(rounded)] | sign_code(facts, value);
}

// |value| in units of the format's step at that magnitude, and the unit's exponent.
int scale_to_units(const FloatFacts& facts, float value, mpfr_t units) {
  mpfr_set_flt(units, std::fabs(value), MPFR_RNDN);
  const int lowest = facts.sign_bits == 0 ? -facts.bias : 1 - facts.bias;
  const int exponent = std::max(static_cast<int>(mpfr_get_exp(units)) - 1, lowest);
  mpfr_div_2si(units, units, exponent - facts.mantissa_bits, MPFR_RNDN);
  return exponent - facts.mantissa_bits;
}

}  // namespace

std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

bool same(float a, float b) { return bits_of(a) == bits_of(b); }

bool long_run() {
  const char* word = std::getenv("AZULEJO_LONG");
  return word != nullptr && std::string_view(word) == "1";
}

std::uint64_t seed() {
  const char* word = std::getenv("AZULEJO_SEED");
  const std::uint64_t value = word == nullptr ? 20240229 : std::strtoull(word, nullptr, 0);
  std::printf("AZULEJO_SEED=%llu\n", static_cast<unsigned long long>(value));
  return value;
}

std::vector<std::string_view> host_paths() {
  const PathGuard guard;
  std::vector<std::string_view> paths;
  for (const std::string_view path : {"avx512", "avx2", "portable"}) {
    if (select_simd_path(path)) paths.push_back(path);
  }
  return paths;
}

PathGuard::PathGuard() : name_(simd_path()) {}
PathGuard::~PathGuard() { select_simd_path(name_); }

std::uint64_t TestRandom::next64() {
  state_ = state_ * 6364136223846793005 + 1442695040888963407;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93;
  mixed = (mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93;
  return mixed ^ (mixed >> 32);
}

const std::vector<FloatFacts>& float_facts() {
  static const std::vector<FloatFacts> list = {
      {Format::Tf32, "TF32", 1, 8, 10, 127, true, Nans::ieee, 0x7FC00000, 32, 13, 0x1.FFCp127},
      {Format::Bf16, "BF16", 1, 8, 7, 127, true, Nans::ieee, 0x7FC0, 16, 0, 0x1.FEp127},
      {Format::Fp16, "FP16", 1, 5, 10, 15, true, Nans::ieee, 0x7E00, 16, 0, 65504},
      {Format::E4M3, "E4M3", 1, 4, 3, 7, true, Nans::ieee, 0x7C, 8, 0, 240},
      {Format::E4M3FN, "E4M3FN", 1, 4, 3, 7, false, Nans::all_ones, 0x7F, 8, 0, 448},
      {Format::E5M2, "E5M2", 1, 5, 2, 15, true, Nans::ieee, 0x7E, 8, 0, 57344},
      {Format::E3M4, "E3M4", 1, 3, 4, 3, true, Nans::ieee, 0x78, 8, 0, 15.5},
      {Format::E8M0, "E8M0", 0, 8, 0, 127, false, Nans::all_ones, 0xFF, 8, 0, 0x1p127},
      {Format::E2M1, "E2M1", 1, 2, 1, 1, false, Nans::none, 0, 4, 0, 6},
  };
  return list;
}

const FloatFacts& facts_of(Format format) {
  for (const FloatFacts& facts : float_facts()) {
    if (facts.format == format) return facts;
  }
  std::abort();
}

std::uint32_t decode_by_mpfr(const FloatFacts& facts, std::uint32_t code, bool flush) {
  code >>= facts.container_shift;
  const std::uint32_t fraction = code & ((1U << facts.mantissa_bits) - 1);
  const std::uint32_t exponent = (code >> facts.mantissa_bits) & ((1U << facts.exponent_bits) - 1);
  const bool minus = facts.sign_bits == 1 && (code >> (facts.mantissa_bits + facts.exponent_bits) & 1) != 0;
  if (exponent == (1U << facts.exponent_bits) - 1) {
    if (facts.infinity && fraction == 0) return minus ? 0xFF800000 : 0x7F800000;
    if (facts.nans == Nans::ieee) return kNan32;
    if (facts.nans == Nans::all_ones && fraction == (1U << facts.mantissa_bits) - 1) return kNan32;
  }
  const bool scale = facts.sign_bits == 0;
  const bool subnormal = exponent == 0 && !scale;
  Number number;
  mpfr_set_ui(number.value, subnormal ? fraction : fraction | 1U << facts.mantissa_bits, MPFR_RNDN);
  if (subnormal && flush) mpfr_set_zero(number.value, 1);
  mpfr_mul_2si(number.value, number.value,
               (subnormal ? 1 : static_cast<int>(exponent)) - facts.bias - facts.mantissa_bits, MPFR_RNDN);
  if (minus) mpfr_neg(number.value, number.value, MPFR_RNDN);
  return bits_of(mpfr_get_flt(number.value, MPFR_RNDN));
}

ValueList::ValueList(const FloatFacts& the_facts) : facts(the_facts) {
  const bool scale = facts.sign_bits == 0;
  min_normal = std::ldexp(1.0, scale ? -facts.bias : 1 - facts.bias);
  const std::uint32_t count = 1U << (facts.exponent_bits + facts.mantissa_bits);
  for (std::uint32_t magnitude = 0; magnitude < count; ++magnitude) {
    const std::uint32_t code = magnitude << facts.container_shift;
    const float value = float_of(decode_by_mpfr(facts, code, false));
    if (!std::isfinite(value)) break;
    values.push_back(static_cast<double>(value));
    codes.push_back(code);
  }
  const double last = values.back();
  values.push_back(scale ? 2 * last : last + (last - values[values.size() - 2]));
  codes.push_back(0);
}

std::size_t ValueList::index_of(double value) const {
  const auto found = std::lower_bound(values.begin(), values.end(), value);
  if (found == values.end() || *found != value) std::abort();
  return static_cast<std::size_t>(found - values.begin());
}

std::uint32_t encode_by_mpfr(const ValueList& list, float value, Expected mode) {
  std::uint32_t code = 0;
  if (special_case(list, value, mode, code)) return code;
  if (value == 0) return finish(list, value, mode, 0);
  Number units;
  const int unit = scale_to_units(list.facts, value, units.value);
  mpfr_rint(units.value, units.value, MPFR_RNDN);
  mpfr_mul_2si(units.value, units.value, unit, MPFR_RNDN);
  return finish(list, value, mode, mpfr_get_d(units.value, MPFR_RNDN));
}

std::uint32_t encode_by_search(const ValueList& list, float value, Expected mode, std::size_t hint) {
  std::uint32_t code = 0;
  if (special_case(list, value, mode, code)) return code;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude >= list.values.back()) return overflow_code(list, value, mode.saturate);
  const auto above =
      std::upper_bound(list.values.begin() + static_cast<std::ptrdiff_t>(hint), list.values.end(), magnitude);
  if (above == list.values.begin()) return list.codes[0];  // below a scale's smallest
  const std::size_t low = static_cast<std::size_t>(above - list.values.begin()) - 1;
  const double twice = 2 * magnitude;
  const double middle = list.values[low] + list.values[low + 1];
  // Of two neighbours the even one has the lower fraction bit clear. A scale's significand, 1, is odd: up.
  const bool low_is_even = low % 2 == 0 && list.facts.sign_bits == 1;
  const bool up = twice > middle || (twice == middle && !low_is_even);
  return finish(list, value, mode, list.values[low + (up ? 1 : 0)]);
}

std::uint32_t encode_stochastic_by_mpfr(const ValueList& list, float value, Expected mode, std::uint32_t word,
                                        std::uint64_t* threshold) {
  std::uint32_t code = 0;
  if (threshold != nullptr) *threshold = 0;
  if (special_case(list, value, mode, code)) return code;
  if (value == 0) return finish(list, value, mode, 0);
  Number units;
  Number whole;
  const int unit = scale_to_units(list.facts, value, units.value);
  mpfr_floor(whole.value, units.value);
  mpfr_sub(units.value, units.value, whole.value, MPFR_RNDN);
  mpfr_mul_2si(units.value, units.value, 32, MPFR_RNDN);
  mpfr_floor(units.value, units.value);
  const std::uint64_t limit = mpfr_get_ui(units.value, MPFR_RNDN);
  if (threshold != nullptr) *threshold = limit;
  if (word < limit) mpfr_add_ui(whole.value, whole.value, 1, MPFR_RNDN);
  mpfr_mul_2si(whole.value, whole.value, unit, MPFR_RNDN);
  return finish(list, value, mode, mpfr_get_d(whole.value, MPFR_RNDN));
}

float fma_by_mpfr(float a, float b, float c) {
  // The exponent range of binary32, subnormals included, as the MPFR manual gives it.
  const mpfr_exp_t old_min = mpfr_get_emin();
  const mpfr_exp_t old_max = mpfr_get_emax();
  Number x(24);
  Number y(24);
  Number z(24);
  mpfr_set_flt(x.value, a, MPFR_RNDN);
  mpfr_set_flt(y.value, b, MPFR_RNDN);
  mpfr_set_flt(z.value, c, MPFR_RNDN);
  mpfr_set_emin(-148);
  mpfr_set_emax(128);
  const int inexact = mpfr_fma(x.value, x.value, y.value, z.value, MPFR_RNDN);
  mpfr_subnormalize(x.value, inexact, MPFR_RNDN);
  const bool nan = mpfr_nan_p(x.value) != 0;
  const float result = mpfr_get_flt(x.value, MPFR_RNDN);
  mpfr_set_emin(old_min);
  mpfr_set_emax(old_max);
  return nan ? float_of(kNan32) : result;
}

}  // namespace azulejo::test
