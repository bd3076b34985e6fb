// SPDX-License-Identifier: Apache-2.0
// Is the gemm golden model exact, and does its comparison see and locate what is wrong?
//
// Values are compared with results worked out by hand and with a third, slower derivation in MPFR.
#include "sw/golden/gemm_golden.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace azulejo::golden {
namespace {

constexpr ElementType kAllTypes[] = {ElementType::Fp32, ElementType::Tf32, ElementType::Bf16,
                                     ElementType::Fp16, ElementType::E4M3, ElementType::E4M3FN,
                                     ElementType::E5M2, ElementType::E3M4, ElementType::Int8};

using Codes = std::vector<std::uint32_t>;

// ---- The reference

// A format by its extreme values, with the codes of its specials.
struct Reference {
  const char* name;
  unsigned bytes;
  int precision;     // significand bits with the hidden one
  int min_exponent;  // of the smallest normal number
  double max_finite;
  std::uint32_t infinity;  // positive; 0 if there is none
  std::uint32_t nan;
};

const Reference& reference(ElementType type) {
  static const std::map<ElementType, Reference> table{
      {ElementType::Fp32, {"Fp32", 4, 24, -126, std::ldexp(0xFFFFFF, 104), 0x7F800000, 0x7FC00000}},
      {ElementType::Tf32, {"Tf32", 4, 11, -126, std::ldexp(0x7FF, 117), 0x7F800000, 0x7FC00000}},
      {ElementType::Bf16, {"Bf16", 2, 8, -126, std::ldexp(0xFF, 120), 0x7F80, 0x7FC0}},
      {ElementType::Fp16, {"Fp16", 2, 11, -14, 65504, 0x7C00, 0x7E00}},
      {ElementType::E4M3, {"E4M3", 1, 4, -6, 240, 0x78, 0x7C}},
      {ElementType::E4M3FN, {"E4M3FN", 1, 4, -6, 448, 0, 0x7F}},
      {ElementType::E5M2, {"E5M2", 1, 3, -14, 57344, 0x7C, 0x7E}},
      {ElementType::E3M4, {"E3M4", 1, 5, -2, 15.5, 0x70, 0x78}},
      {ElementType::Int8, {"Int8", 1, 0, 0, 127, 0, 0}},
  };
  return table.at(type);
}

// Bits of the whole code that are the fraction's, and where the sign is.
unsigned fraction_bits(ElementType type) {
  return type == ElementType::Tf32 ? 23 : static_cast<unsigned>(reference(type).precision - 1);
}

std::uint32_t sign_bit(ElementType type) { return std::uint32_t{1} << (8 * reference(type).bytes - 1); }

// The value of a code; NaN for NaN.
double value_of(ElementType type, std::uint32_t code, bool flush = false) {
  const Reference& format = reference(type);
  if (type == ElementType::Int8) return static_cast<std::int8_t>(code);
  if (type == ElementType::Tf32) code &= ~std::uint32_t{0x1FFF};
  const std::uint32_t magnitude = code & (sign_bit(type) - 1);
  const double sign = (code & sign_bit(type)) != 0 ? -1.0 : 1.0;
  if (magnitude == format.infinity && format.infinity != 0) return sign * std::numeric_limits<double>::infinity();
  if (magnitude >= (format.infinity != 0 ? format.infinity : format.nan)) return std::nan("");
  const unsigned bits = fraction_bits(type);
  const int exponent = static_cast<int>(magnitude >> bits);
  const double fraction = std::ldexp(magnitude & ((std::uint32_t{1} << bits) - 1), -static_cast<int>(bits));
  if (exponent == 0) return flush ? sign * 0.0 : sign * std::ldexp(fraction, format.min_exponent);
  return sign * std::ldexp(1.0 + fraction, format.min_exponent + exponent - 1);
}

// An MPFR number and the FP32 rules around it.
class Number {
 public:
  explicit Number(double value = 0, mpfr_prec_t precision = 53) {
    mpfr_init2(number_, precision);
    mpfr_set_d(number_, value, MPFR_RNDN);
  }
  Number(const Number& other) {
    mpfr_init2(number_, mpfr_get_prec(other.number_));
    mpfr_set(number_, other.number_, MPFR_RNDN);
  }
  Number& operator=(const Number& other) {
    mpfr_set_prec(number_, mpfr_get_prec(other.number_));
    mpfr_set(number_, other.number_, MPFR_RNDN);
    return *this;
  }
  ~Number() { mpfr_clear(number_); }

  mpfr_ptr get() { return number_; }
  mpfr_srcptr get() const { return number_; }
  double value() const { return mpfr_get_d(number_, MPFR_RNDN); }

 private:
  mpfr_t number_;
};

// The exponent range of a format while it is alive. MPFR's significands lie in [1/2, 1).
class ExponentRange {
 public:
  ExponentRange(int smallest_bit, int largest_exponent) : min_(mpfr_get_emin()), max_(mpfr_get_emax()) {
    mpfr_set_emin(smallest_bit + 1);
    mpfr_set_emax(largest_exponent + 1);
  }
  ~ExponentRange() {
    mpfr_set_emin(min_);
    mpfr_set_emax(max_);
  }
  ExponentRange(const ExponentRange&) = delete;
  ExponentRange& operator=(const ExponentRange&) = delete;

 private:
  mpfr_exp_t min_, max_;
};

double flushed(double value, bool flush) {
  return flush && std::fabs(value) < 0x1p-126 ? std::copysign(0.0, value) : value;
}

double fp32_fma(double a, double b, double sum, bool flush) {
  const ExponentRange range(-149, 127);
  Number result(0, 24);
  const int ternary = mpfr_fma(result.get(), Number(a).get(), Number(b).get(), Number(sum).get(), MPFR_RNDN);
  mpfr_subnormalize(result.get(), ternary, MPFR_RNDN);
  return flushed(result.value(), flush);
}

double fp32_add(double a, double b, bool flush) {
  const ExponentRange range(-149, 127);
  Number result(0, 24);
  const int ternary = mpfr_add(result.get(), Number(a).get(), Number(b).get(), MPFR_RNDN);
  mpfr_subnormalize(result.get(), ternary, MPFR_RNDN);
  return flushed(result.value(), flush);
}

// The code of an FP32 value, found by its value among the format's.
std::uint32_t code_of(ElementType type, double value, bool flush = false) {
  const Reference& format = reference(type);
  if (type == ElementType::Int8) {
    if (std::isnan(value)) return 0;
    Number integer(value);
    mpfr_rint(integer.get(), integer.get(), MPFR_RNDN);
    return static_cast<std::uint32_t>(static_cast<int>(std::clamp(integer.value(), -128.0, 127.0))) & 0xFF;
  }
  if (std::isnan(value)) return format.nan;
  const std::uint32_t sign = std::signbit(value) ? sign_bit(type) : 0;
  double magnitude = std::fabs(flushed(value, flush));
  if (std::isfinite(magnitude)) {
    const ExponentRange range(format.min_exponent - format.precision + 1, 1000);
    Number rounded(0, format.precision);
    const int ternary = mpfr_set_d(rounded.get(), magnitude, MPFR_RNDN);
    mpfr_subnormalize(rounded.get(), ternary, MPFR_RNDN);
    magnitude = rounded.value();
  }
  if (magnitude > format.max_finite) return format.infinity != 0 ? sign | format.infinity : format.nan;
  const double min_normal = std::ldexp(1.0, format.min_exponent);
  if (magnitude < min_normal) {
    if (flush) return sign;
    return sign |
           static_cast<std::uint32_t>(magnitude / min_normal * std::ldexp(1.0, static_cast<int>(fraction_bits(type))));
  }
  int exponent = 0;
  const double significand = 2 * std::frexp(magnitude, &exponent);  // [1, 2) * 2^(exponent - 1)
  const auto fraction = static_cast<std::uint32_t>(std::ldexp(significand - 1, static_cast<int>(fraction_bits(type))));
  const auto field = static_cast<std::uint32_t>(exponent - 1 - format.min_exponent + 1);
  return sign | (field << fraction_bits(type)) | fraction;
}

// Halves of an FP32 value as NUMERICS defines them: (H * 2^12 + L) * 2^(E - 150).
struct Halves {
  double high, low;
};

Halves halves(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int scale = value == 0 ? -149 : std::max(exponent - 24, -149);  // of the significand's last bit
  const auto significand = static_cast<std::uint32_t>(std::ldexp(std::fabs(value), -scale));
  return {std::copysign(std::ldexp(significand / 4096 * 4096, scale), value),
          std::copysign(std::ldexp(significand % 4096, scale), value)};
}

// C of a problem, [m, n] codes, one output at a time.
Codes reference_gemm(const GemmProblem& p, const Codes& a, const Codes& b) {
  const bool flush = p.flush_denormals;
  Codes c;
  for (std::size_t m = 0; m < p.m; ++m) {
    for (std::size_t n = 0; n < p.n; ++n) {
      const std::size_t block_rows = p.k_block_tiles == 0 ? p.k : 128 * p.k_block_tiles;
      double partial = 0, result = 0;
      for (std::size_t block = 0; block < p.k; block += block_rows) {
        double psum = 0;
        const std::size_t block_end = std::min(p.k, block + block_rows);
        for (std::size_t tile = block; tile < block_end; tile += 128) {
          const int passes = p.type == ElementType::Fp32 ? 4 : 1;
          for (int pass = 0; pass < passes; ++pass) {
            double sum = 0;
            for (std::size_t k = tile; k < std::min(block_end, tile + 128); ++k) {
              double x = value_of(p.type, a[k * p.m + m], flush);
              double y = value_of(p.type, b[k * p.n + n], flush);
              if (passes == 4) {
                if (std::isfinite(x) && std::isfinite(y)) {
                  x = pass < 2 ? halves(x).low : halves(x).high;
                  y = pass % 2 == 0 ? halves(y).low : halves(y).high;
                } else if (pass != 3) {
                  continue;
                }
              }
              sum = fp32_fma(x, y, sum, flush);
            }
            psum = tile == block && pass == 0 ? sum : fp32_add(psum, sum, flush);
          }
        }
        result = block == 0 ? psum : fp32_add(partial, psum, flush);
        partial = value_of(p.partial_type, code_of(p.partial_type, result, flush), flush);
      }
      c.push_back(code_of(p.out_type, result, flush));
    }
  }
  return c;
}

// ---- Problems

std::vector<unsigned char> pack(ElementType type, const Codes& codes) {
  const std::size_t bytes = reference(type).bytes;
  std::vector<unsigned char> packed(bytes * codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      packed[i * bytes + byte] = static_cast<unsigned char>(codes[i] >> (8 * byte));
    }
  }
  return packed;
}

GemmCheck check(const GemmProblem& p, const Codes& a, const Codes& b, const Codes& c, std::uint64_t seed = 1,
                std::uint64_t limit = 10'000'000'000) {
  return check_gemm(p, pack(p.type, a).data(), pack(p.type, b).data(), pack(p.out_type, c).data(), seed, limit);
}

GemmProblem problem(std::size_t m, std::size_t k, std::size_t n, ElementType type, ElementType out_type) {
  GemmProblem p;
  p.m = m;
  p.k = k;
  p.n = n;
  p.type = type;
  p.out_type = out_type;
  return p;
}

std::string describe(const GemmProblem& p, const GemmCheck& result) {
  char text[200];
  std::snprintf(text, sizeof text, "%zu x %zu x %zu, %s to %s, flush %d: at %zu, %zu golden %X, reference %X", p.m, p.k,
                p.n, reference(p.type).name, reference(p.out_type).name, p.flush_denormals, result.row, result.column,
                result.expected, result.found);
  return text;
}

void expect_exact(const GemmProblem& p, const Codes& a, const Codes& b, const Codes& c) {
  const GemmCheck result = check(p, a, b, c);
  EXPECT_EQ(result.elements, p.m * p.n);
  EXPECT_FALSE(result.sampled);
  EXPECT_EQ(result.mismatches, 0u) << describe(p, result);
  EXPECT_EQ(result.max_ulp, 0u);
}

enum class Data { Moderate, Any, Subnormal };

// Moderate: values around 1, of full precision. Any: every code. Subnormal: products at the lower end of FP32.
Codes random_codes(ElementType type, std::size_t count, Data data, std::mt19937& random) {
  const Reference& format = reference(type);
  Codes codes(count);
  for (std::uint32_t& code : codes) {
    const auto bits = static_cast<std::uint32_t>(random());
    code = format.bytes == 4 ? bits : bits & ((std::uint32_t{1} << (8 * format.bytes)) - 1);
    if (data == Data::Any || type == ElementType::Int8) continue;
    const std::uint32_t fraction = code & ((std::uint32_t{1} << fraction_bits(type)) - 1);
    const int spread = static_cast<int>(random() % 4);
    int field = 1 - format.min_exponent - 2 + spread;                                            // 2^-2 to 2^1
    if (data == Data::Subnormal) field = format.min_exponent < -100 ? 60 + 2 * spread : spread;  // about 2^-67
    code = (code & sign_bit(type)) | (static_cast<std::uint32_t>(std::max(field, 0)) << fraction_bits(type)) | fraction;
  }
  return codes;
}

void expect_as_reference(const GemmProblem& p, Data data, std::mt19937& random) {
  const Codes a = random_codes(p.type, p.k * p.m, data, random);
  const Codes b = random_codes(p.type, p.k * p.n, data, random);
  expect_exact(p, a, b, reference_gemm(p, a, b));
}

// ---- Worked by hand

TEST(GemmGolden, AMatrixIsReadTransposedAndTheProductIsRowMajor) {
  // A = [1 2 3; 4 5 6] as [k, m]; B = [1 0 -1; 2 1 0; 0 3 1]; C = [5 11 2; 14 23 2].
  expect_exact(problem(2, 3, 3, ElementType::Int8, ElementType::Int8), {1, 4, 2, 5, 3, 6},
               {1, 0, 0xFF, 2, 1, 0, 0, 3, 1}, {5, 11, 2, 14, 23, 2});
}

TEST(GemmGolden, TheColumnSumIsAChainInAscendingOrder) {
  // 2^24 + 1 = 2^24 (a tie, to even), twice; in the other order 1 + 1 + 2^24 = 2^24 + 2.
  const GemmProblem p = problem(1, 3, 1, ElementType::Bf16, ElementType::Fp32);
  const std::uint32_t one = 0x3F80;
  const std::uint32_t big = 0x4B80;  // 2^24
  expect_exact(p, {one, one, one}, {big, one, one}, {0x4B800000});
  expect_exact(p, {one, one, one}, {one, one, big}, {0x4B800001});
}

TEST(GemmGolden, TheProductIsNotRoundedAlone) {
  // (1 + 2^-10)(1 - 2^-10) - 1 = -2^-20 in FP16; and in TF32 (1 + 2^-10)^2 - (1 + 2^-9) = 2^-20.
  expect_exact(problem(1, 2, 1, ElementType::Fp16, ElementType::Fp32), {0x3C00, 0x3C01}, {0xBC00, 0x3BFE},
               {0xB5800000});
  expect_exact(problem(1, 2, 1, ElementType::Tf32, ElementType::Fp32), {0x3F800000, 0x3F802000},
               {0xBF804000, 0x3F802000}, {0x35800000});
}

TEST(GemmGolden, TilesOf128RowsAreSummedOnTheirOwn) {
  // 2^24, then 127 times 0 in the first tile; 1 + 1 in the second: 2^24 + 2. A single chain would give 2^24.
  GemmProblem p = problem(1, 130, 1, ElementType::Bf16, ElementType::Fp32);
  Codes b(130, 0);
  b[0] = 0x4B80;
  b[128] = b[129] = 0x3F80;
  expect_exact(p, Codes(130, 0x3F80), b, {0x4B800001});
}

TEST(GemmGolden, ABf16PartialIsRoundedBetweenKBlocksAndTheLastSumIsNot) {
  // Three blocks of one tile: 1 + 2^-8 is a tie in BF16 and becomes 1; 1 + 2^-8 again, and 2^-8 more.
  GemmProblem p = problem(1, 384, 1, ElementType::Bf16, ElementType::Fp32);
  Codes b(384, 0);
  b[0] = 0x3F80;
  b[1] = b[128] = b[256] = 0x3B80;  // 2^-8
  const Codes a(384, 0x3F80);
  p.k_block_tiles = 1;
  expect_exact(p, a, b, {0x3F818000});  // 1 + 3 * 2^-8
  p.partial_type = ElementType::Bf16;
  expect_exact(p, a, b, {0x3F808000});  // 1 + 2^-8: two of the three are lost to ties
  p.k_block_tiles = 2;
  expect_exact(p, a, b, {0x3F818000});  // 1 + 2^-7 is exact
}

TEST(GemmGolden, AnUnderflowKeepsItsSignAndAnEmptySumIsPlusZero) {
  const GemmProblem p = problem(1, 1, 2, ElementType::Bf16, ElementType::Bf16);
  // 2^-126 * -2^-126 rounds to -0; 1 * -0 + 0 is +0.
  expect_exact(p, {0x0080}, {0x8080, 0x8000}, {0x8000, 0x0000});
}

TEST(GemmGolden, AnInfinityTimesZeroIsTheCanonicalNan) {
  const GemmProblem p = problem(1, 2, 3, ElementType::Bf16, ElementType::Fp32);
  // Columns: Inf * 0; Inf * 1 + 1 * -Inf; Inf * -1 + 0.
  expect_exact(p, {0x7F80, 0x3F80}, {0x0000, 0x3F80, 0xBF80, 0x3F80, 0xFF80, 0x0000},
               {0x7FC00000, 0x7FC00000, 0xFF800000});
}

TEST(GemmGolden, Fp32PassesAreAddedIntoPsumOneByOne) {
  // a = 1 + 2^-12 (H = 1, L = 2^-12), b = 1 + 2^-23 (H = 1, L = 2^-23). LL = 2^-35, LH = 2^-12, HL = 2^-23, HH = 1.
  // 2^-35 + 2^-12 is exact in 24 bits, + 2^-23 = 2^-12 (1 + 2^-11 + 2^-23) too; + 1 is rounded to 1 + 2^-12 + 2^-23.
  expect_exact(problem(1, 1, 1, ElementType::Fp32, ElementType::Fp32), {0x3F800800}, {0x3F800001}, {0x3F800801});
  // Row 0: (2^23 + 1) * 2, LH = 2, HH = 2^24; row 1: 1 * 1. LH over both rows is 2, HH 2^24 + 1 = 2^24 (a tie): 2^24
  // + 2. One chain would give 2^24 + 2 + 1 = 2^24 + 4 (a tie).
  expect_exact(problem(1, 2, 1, ElementType::Fp32, ElementType::Fp32), {0x4B000001, 0x3F800000},
               {0x40000000, 0x3F800000}, {0x4B800001});
}

TEST(GemmGolden, AnFp32PairWithAnInfinityIsMultipliedUnsplit) {
  // The subnormal 1 * 2^-149 has H = 0: a split pair would make 0 * Inf = NaN.
  const GemmProblem p = problem(1, 1, 3, ElementType::Fp32, ElementType::Fp32);
  expect_exact(p, {0x7F800000}, {0x00000001, 0x80000001, 0x00000000}, {0x7F800000, 0xFF800000, 0x7FC00000});
  expect_exact(problem(3, 1, 1, ElementType::Fp32, ElementType::Fp32), {0x00000001, 0x7F800001, 0xFFFFFFFF},
               {0xFF800000}, {0xFF800000, 0x7FC00000, 0x7FC00000});
}

TEST(GemmGolden, Tf32IgnoresTheLow13Bits) {
  const GemmProblem p = problem(1, 1, 2, ElementType::Tf32, ElementType::Tf32);
  expect_exact(p, {0x3F801FFF}, {0x40003FFF, 0x7F801FFF}, {0x40002000, 0x7F800000});
}

TEST(GemmGolden, OutputsRoundToEvenAndOverflowByTheirFormat) {
  const auto out = [](ElementType type, std::initializer_list<double> values, const Codes& expected) {
    Codes b;
    for (const double value : values) {
      const auto narrow = static_cast<float>(value);
      b.emplace_back();
      std::memcpy(&b.back(), &narrow, sizeof narrow);
    }
    expect_exact(problem(1, 1, b.size(), ElementType::Fp32, type), {0x3F800000}, b, expected);
  };
  const double inf = std::numeric_limits<double>::infinity();
  out(ElementType::E4M3, {240, 247.9, 248, 1e9, -inf, 17, 19, 0x1p-9, 0x1p-10, 0x1.8p-9},
      {0x77, 0x77, 0x78, 0x78, 0xF8, 0x58, 0x5A, 0x01, 0x00, 0x02});
  out(ElementType::E4M3FN, {448, 464, 464.1, -465, inf, std::nan("")}, {0x7E, 0x7E, 0x7F, 0x7F, 0x7F, 0x7F});
  out(ElementType::E5M2, {57344, 61439, 61440, 0x1p-17, 0x1.8p-16}, {0x7B, 0x7B, 0x7C, 0x00, 0x02});
  out(ElementType::E3M4, {15.5, 15.74, 15.75, 1, 0x1p-6, std::nan("")}, {0x6F, 0x6F, 0x70, 0x30, 0x01, 0x78});
  out(ElementType::Fp16, {65504, 65519, 65520, 0x1p-25, 0x1.8p-24}, {0x7BFF, 0x7BFF, 0x7C00, 0x0000, 0x0002});
  out(ElementType::Bf16, {0x1.FEp127, 0x1.FEFFp127, 0x1.FFp127, 1.00390625, 1.01171875},
      {0x7F7F, 0x7F7F, 0x7F80, 0x3F80, 0x3F82});
  out(ElementType::Tf32, {1 + 0x1p-11, 1 + 0x1.8p-10, 0x1p-136, 0x1.FFCp127, 0x1.FFDFp127, 0x1.FFEp127},
      {0x3F800000, 0x3F804000, 0x00002000, 0x7F7FE000, 0x7F7FE000, 0x7F800000});
  out(ElementType::Int8, {0.5, 1.5, -0.5, -1.5, -2.5, 127.5, -200, inf, -inf, std::nan(""), 126.5},
      {0, 2, 0, 0xFE, 0xFE, 127, 0x80, 127, 0x80, 0, 126});
}

TEST(GemmGolden, FlushTakesOperandsInTheirOwnFormatAndResultsInTheOutputs) {
  GemmProblem p = problem(1, 1, 3, ElementType::Fp16, ElementType::Fp16);
  // 2^10 times the largest subnormal, the smallest normal and its negative; then 2^-1 times the same.
  expect_exact(p, {0x6400}, {0x03FF, 0x0400, 0x8400}, {0x2BFE, 0x2C00, 0xAC00});
  p.flush_denormals = true;
  expect_exact(p, {0x6400}, {0x03FF, 0x0400, 0x8400}, {0x0000, 0x2C00, 0xAC00});
  expect_exact(p, {0x3800}, {0x0800, 0x0400, 0x8400}, {0x0400, 0x0000, 0x8000});
}

TEST(GemmGolden, FlushTakesEveryMultiplyAddAndEveryPsumAdd) {
  // Four times 2^-128 is the smallest normal number.
  GemmProblem p = problem(1, 4, 1, ElementType::Bf16, ElementType::Fp32);
  const Codes a(4, 0x1F80);  // 2^-64
  expect_exact(p, a, a, {0x00800000});
  p.flush_denormals = true;
  expect_exact(p, a, a, {0x00000000});
  // Tiles of 1.5 * 2^-126, -2^-126 and 2^-126: the second sum is subnormal.
  p = problem(1, 257, 1, ElementType::Bf16, ElementType::Fp32);
  Codes b(257, 0);
  b[0] = 0x00C0;
  b[128] = 0x8080;
  b[256] = 0x0080;
  expect_exact(p, Codes(257, 0x3F80), b, {0x00C00000});
  p.flush_denormals = true;
  expect_exact(p, Codes(257, 0x3F80), b, {0x00800000});
}

// ---- Against MPFR

TEST(GemmGolden, EveryCodeGoesThroughAndComesOutCanonical) {
  for (const ElementType type : kAllTypes) {
    if (reference(type).bytes == 4) continue;
    const std::size_t count = std::size_t{1} << (8 * reference(type).bytes);
    Codes codes(count);
    for (std::size_t i = 0; i < count; ++i) codes[i] = static_cast<std::uint32_t>(i);
    Codes expected = codes;
    for (std::uint32_t& code : expected) {
      if (std::isnan(value_of(type, code))) code = reference(type).nan;
      if (value_of(type, code) == 0) code = 0;  // 1 * -0 + 0
    }
    const std::uint32_t one = code_of(type, 1);
    expect_exact(problem(1, 1, count, type, type), {one}, codes, expected);
    expect_exact(problem(count, 1, 1, type, type), codes, {one}, expected);
  }
}

TEST(GemmGolden, EveryOutputTypeRoundsAsMpfrDoes) {
  std::mt19937 random(11);
  for (const ElementType type : kAllTypes) {
    const Reference& format = reference(type);
    Codes values;
    for (int i = 0; i < 3000; ++i) {
      // Next to ties and bounds: a value with one bit more than the format has, now and then off by one FP32 code.
      const int low = std::max(format.min_exponent - format.precision - 2, -148);
      const int high = std::min(static_cast<int>(std::ilogb(format.max_finite)) + 2, 127);
      const int exponent = low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
      const double significand = 1.0 + std::ldexp(random() & 0xFFFFFF, -24);
      const double kept = std::ldexp(std::floor(std::ldexp(significand, format.precision)), -format.precision);
      const auto value = static_cast<float>(std::ldexp(kept, exponent));
      std::uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      values.push_back((bits + static_cast<std::uint32_t>(random() % 3) - 1) |
                       (static_cast<std::uint32_t>(random() % 2) << 31));
    }
    const Codes any = random_codes(ElementType::Fp32, 1000, Data::Any, random);
    values.insert(values.end(), any.begin(), any.end());
    GemmProblem p = problem(1, 1, values.size(), ElementType::Fp32, type);
    for (const bool flush : {false, true}) {
      p.flush_denormals = flush;
      expect_exact(p, {0x3F800000}, values, reference_gemm(p, {0x3F800000}, values));
    }
  }
}

TEST(GemmGolden, RaggedKAgreesWithMpfrForEveryOperandType) {
  std::mt19937 random(12);
  for (const ElementType type : kAllTypes) {
    for (const std::size_t k : {1u, 2u, 3u, 5u, 127u, 128u, 129u, 300u}) {
      expect_as_reference(problem(5, k, 18, type, ElementType::Fp32), Data::Moderate, random);
    }
  }
}

TEST(GemmGolden, TheOrderOfTheFp32PassesAgreesWithMpfr) {
  // Each row is followed by one of -H and H, so that HH is zero and the roundings of the other three show.
  std::mt19937 random(19);
  const GemmProblem p = problem(10, 20, 20, ElementType::Fp32, ElementType::Fp32);
  Codes a = random_codes(p.type, p.k * p.m, Data::Moderate, random);
  Codes b = random_codes(p.type, p.k * p.n, Data::Moderate, random);
  for (std::size_t k = 1; k < p.k; k += 2) {
    for (std::size_t m = 0; m < p.m; ++m) a[k * p.m + m] = (a[(k - 1) * p.m + m] & 0xFFFFF000) ^ 0x80000000;
    for (std::size_t n = 0; n < p.n; ++n) b[k * p.n + n] = b[(k - 1) * p.n + n] & 0xFFFFF000;
  }
  expect_exact(p, a, b, reference_gemm(p, a, b));
}

TEST(GemmGolden, EveryPairOfTypesAgreesWithMpfr) {
  std::mt19937 random(13);
  for (const ElementType type : kAllTypes) {
    for (const ElementType out_type : kAllTypes) {
      expect_as_reference(problem(9, 14, 35, type, out_type), Data::Moderate, random);
    }
  }
}

TEST(GemmGolden, KBlocksAgreeWithMpfrForEveryPartialType) {
  std::mt19937 random(14);
  for (const ElementType type : {ElementType::Fp32, ElementType::Bf16, ElementType::E4M3}) {
    for (const ElementType partial_type : {ElementType::Fp32, ElementType::Bf16}) {
      for (const std::size_t block_tiles : {1u, 2u, 3u, 4u, 9u}) {
        GemmProblem p = problem(3, 400, 5, type, ElementType::Bf16);
        p.k_block_tiles = block_tiles;
        p.partial_type = partial_type;
        expect_as_reference(p, Data::Moderate, random);
        p.out_type = ElementType::Fp32;
        expect_as_reference(p, Data::Moderate, random);
      }
    }
  }
}

TEST(GemmGolden, InfinitiesAndNansAgreeWithMpfr) {
  std::mt19937 random(15);
  for (const ElementType type : kAllTypes) {
    for (const bool flush : {false, true}) {
      GemmProblem p = problem(30, 2, 50, type, ElementType::Fp32);
      p.flush_denormals = flush;
      expect_as_reference(p, Data::Any, random);
      // A few specials and zeros among ordinary values, at the corners of the FP32 range.
      p = problem(14, 7, 40, type, ElementType::Fp32);
      p.flush_denormals = flush;
      Codes a = random_codes(type, p.k * p.m, Data::Moderate, random);
      Codes b = random_codes(type, p.k * p.n, Data::Moderate, random);
      const Reference& format = reference(type);
      const Codes corners{format.infinity,    format.infinity | sign_bit(type), format.nan, 0, sign_bit(type), 1,
                          sign_bit(type) | 1, code_of(type, format.max_finite)};
      for (std::size_t i = 0; i < 8; ++i) a[random() % a.size()] = corners[random() % corners.size()];
      for (std::size_t i = 0; i < 24; ++i) b[random() % b.size()] = corners[random() % corners.size()];
      expect_exact(p, a, b, reference_gemm(p, a, b));
    }
  }
}

TEST(GemmGolden, SubnormalSumsAgreeWithMpfr) {
  std::mt19937 random(16);
  for (const ElementType type : kAllTypes) {
    for (const bool flush : {false, true}) {
      GemmProblem p = problem(16, 9, 24, type, ElementType::Fp32);
      p.flush_denormals = flush;
      expect_as_reference(p, Data::Subnormal, random);
      p = problem(3, 260, 4, type, type);
      p.flush_denormals = flush;
      p.k_block_tiles = 1;
      expect_as_reference(p, Data::Subnormal, random);
    }
  }
}

TEST(GemmGolden, EveryBlockOfALargeOutputIsChecked) {
  // Row m of A is a power of two times (m mod 100) and B counts columns: exact products, any block edge shows.
  const std::size_t m = 1301;
  const std::size_t n = 663;
  const GemmProblem p = problem(m, 1, n, ElementType::Bf16, ElementType::Fp32);
  Codes a(m), b(n), c(m * n);
  for (std::size_t i = 0; i < m; ++i) a[i] = code_of(ElementType::Bf16, static_cast<double>(i % 101));
  for (std::size_t i = 0; i < n; ++i) b[i] = code_of(ElementType::Bf16, static_cast<double>(i % 103));
  for (std::size_t i = 0; i < m * n; ++i) {
    const auto product = static_cast<float>((i / n % 101) * (i % n % 103));
    std::memcpy(&c[i], &product, sizeof product);
  }
  expect_exact(p, a, b, c);
}

// ---- The comparison

struct Planted {
  GemmProblem p;
  Codes a, b, c;
};

Planted planted(ElementType out_type) {
  std::mt19937 random(17);
  Planted result{problem(9, 200, 31, ElementType::Bf16, out_type), {}, {}, {}};
  result.a = random_codes(ElementType::Bf16, result.p.k * result.p.m, Data::Moderate, random);
  result.b = random_codes(ElementType::Bf16, result.p.k * result.p.n, Data::Moderate, random);
  result.c = reference_gemm(result.p, result.a, result.b);
  return result;
}

TEST(GemmGolden, ASingleWrongBitIsFoundAndLocated) {
  Planted x = planted(ElementType::Bf16);
  const std::size_t at = 7 * x.p.n + 30;
  const std::uint32_t right = x.c[at];
  x.c[at] ^= 0x10;
  const GemmCheck result = check(x.p, x.a, x.b, x.c);
  EXPECT_EQ(result.elements, x.p.m * x.p.n);
  EXPECT_EQ(result.mismatches, 1u);
  EXPECT_EQ(result.max_ulp, 16u);
  EXPECT_EQ(result.row, 7u);
  EXPECT_EQ(result.column, 30u);
  EXPECT_EQ(result.expected, right);
  EXPECT_EQ(result.found, right ^ 0x10);
}

TEST(GemmGolden, TheFirstMismatchIsTheFirstInRowMajorOrder) {
  const std::size_t m = 700;
  const std::size_t n = 700;
  const GemmProblem p = problem(m, 1, n, ElementType::Int8, ElementType::Int8);
  Codes c(m * n, 1);
  c[650 * n + 2] = 2;  // another block of rows
  c[3 * n + 690] = 3;  // another block of columns than the next one's, and before it
  c[4 * n + 1] = 4;
  const GemmCheck result = check(p, Codes(m, 1), Codes(n, 1), c);
  EXPECT_EQ(result.mismatches, 3u);
  EXPECT_EQ(result.row, 3u);
  EXPECT_EQ(result.column, 690u);
  EXPECT_EQ(result.found, 3u);
  EXPECT_EQ(result.max_ulp, 3u);
}

TEST(GemmGolden, TheDistanceCountsCodesAcrossZeroAndANanIsFarFromEveryNumber) {
  const auto distance = [](ElementType type, std::uint32_t expected_code, std::uint32_t found) {
    const GemmProblem p = problem(1, 1, 1, type, type);
    const GemmCheck result = check(p, {code_of(type, 1)}, {expected_code}, {found});
    EXPECT_EQ(result.mismatches, 1u);
    EXPECT_EQ(result.expected, expected_code);
    return result.max_ulp;
  };
  const std::uint64_t huge = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(distance(ElementType::Fp32, 0x3F800000, 0x3F7FFFFF), 1u);
  EXPECT_EQ(distance(ElementType::Fp32, 0x00000000, 0x80000000), 1u);
  EXPECT_EQ(distance(ElementType::Fp32, 0x00000001, 0x80000001), 3u);
  EXPECT_EQ(distance(ElementType::Fp32, 0x7F7FFFFF, 0x7F800000), 1u);
  EXPECT_EQ(distance(ElementType::Fp32, 0x7F800000, 0x7FC00000), huge);
  EXPECT_EQ(distance(ElementType::Fp32, 0x7FC00000, 0x00000000), huge);
  EXPECT_EQ(distance(ElementType::Fp32, 0x7FC00000, 0x7FC00001), 1u);
  EXPECT_EQ(distance(ElementType::Fp32, 0x7FC00000, 0xFFFFFFFF), 0xFFC00000u);
  EXPECT_EQ(distance(ElementType::Tf32, 0x3F800000, 0x3F804000), 2u);
  EXPECT_EQ(distance(ElementType::Tf32, 0x3F800000, 0x3F800001), 1u);
  EXPECT_EQ(distance(ElementType::E4M3FN, 0x7E, 0x7F), huge);
  EXPECT_EQ(distance(ElementType::E4M3, 0x78, 0xF8), 0xF1u);
  EXPECT_EQ(distance(ElementType::Int8, 0x7F, 0x80), 255u);
}

// ---- The sample

// All outputs are 1.
struct Ones {
  explicit Ones(std::size_t m, std::size_t n)
      : p(problem(m, 1, n, ElementType::Int8, ElementType::Int8)), a(m, 1), b(n, 1), c(m * n, 1) {}

  GemmCheck sample(std::uint64_t seed = 1) const { return check_gemm(p, a.data(), b.data(), c.data(), seed, 1000); }

  GemmProblem p;
  std::vector<unsigned char> a, b, c;
};

TEST(GemmGolden, ASampleSaysSoAndComparesAtLeast100000Outputs) {
  const struct {
    std::size_t m, n;
  } sizes[] = {{1000, 1100}, {5, 40000}, {40000, 3}, {1, 200000}, {200, 700}, {129, 50000}, {330, 331}};
  for (const auto& size : sizes) {
    const GemmCheck result = Ones(size.m, size.n).sample();
    EXPECT_EQ(result.mismatches, 0u);
    EXPECT_GE(result.elements, 100'000u);
    EXPECT_LE(result.elements, size.m * size.n);
    EXPECT_EQ(result.sampled, result.elements < size.m * size.n) << size.m << " x " << size.n;
  }
  EXPECT_TRUE(Ones(1000, 1100).sample().sampled);
  EXPECT_TRUE(Ones(1, 200000).sample().sampled);
}

TEST(GemmGolden, ASmallOutputIsComparedWholeWhateverTheLimit) {
  const GemmCheck result = Ones(300, 310).sample();
  EXPECT_EQ(result.elements, 300u * 310u);
  EXPECT_FALSE(result.sampled);
}

TEST(GemmGolden, ASampleTouchesEveryBand) {
  const std::size_t m = 513;
  const std::size_t n = 900;
  const auto plant = [&](std::size_t first_row, std::size_t rows, std::size_t first_column, std::size_t columns) {
    Ones x(m, n);
    for (std::size_t i = first_row; i < std::min(m, first_row + rows); ++i) {
      for (std::size_t j = first_column; j < std::min(n, first_column + columns); ++j) x.c[i * n + j] = 2;
    }
    const GemmCheck result = x.sample();
    EXPECT_TRUE(result.sampled);
    return result;
  };
  for (std::size_t band = 0; band < m; band += 128) {
    for (std::size_t column_band = 0; column_band < n; column_band += 128) {
      EXPECT_GT(plant(band, 128, column_band, 128).mismatches, 0u) << band << ", " << column_band;
    }
  }
}

TEST(GemmGolden, ASampleHasTheLastRowAndTheLastColumn) {
  Ones x(1000, 1020);
  x.c.back() = 2;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const GemmCheck corner = x.sample(seed);
    EXPECT_TRUE(corner.sampled);
    EXPECT_EQ(corner.mismatches, 1u);
    EXPECT_EQ(corner.row, 999u);
    EXPECT_EQ(corner.column, 1019u);
  }
}

TEST(GemmGolden, ASampleOfMoreThan320BandsTouchesEachOfThem) {
  const std::size_t n = 330 * 128 + 1;
  for (const std::size_t band : {std::size_t{0}, std::size_t{100}, std::size_t{329}, std::size_t{330}}) {
    Ones x(330, n);
    for (std::size_t i = 0; i < x.p.m; ++i) {
      for (std::size_t j = 128 * band; j < std::min(n, 128 * band + 128); ++j) x.c[i * n + j] = 2;
    }
    EXPECT_GT(x.sample().mismatches, 0u) << band;
  }
}

TEST(GemmGolden, ASampleDependsOnItsSeedOnly) {
  Ones x(1000, 1000);
  for (std::size_t i = 0; i < x.c.size(); i += 7) x.c[i] = 2;
  const GemmCheck first = x.sample(1);
  EXPECT_EQ(x.sample(1).mismatches, first.mismatches);
  EXPECT_EQ(x.sample(1).row, first.row);
  bool differs = false;
  for (std::uint64_t seed = 2; seed < 6; ++seed) {
    const GemmCheck other = x.sample(seed);
    EXPECT_EQ(other.elements, first.elements);
    differs = differs || other.mismatches != first.mismatches || other.row != first.row || other.column != first.column;
  }
  EXPECT_TRUE(differs);
}

TEST(GemmGolden, SampledOutputsComeFromTheirOwnRowsAndColumns) {
  // Small integers: every sum is exact, whatever its order.
  std::mt19937 random(18);
  for (const ElementType type : {ElementType::Fp32, ElementType::Tf32, ElementType::Bf16, ElementType::Fp16,
                                 ElementType::E5M2, ElementType::Int8}) {
    GemmProblem p = problem(470, 11, 500, type, ElementType::Fp32);
    const auto integers = [&](std::size_t count) {
      std::vector<int> values(count);
      for (int& value : values) value = static_cast<int>(random() % 9) - 4;
      return values;
    };
    const auto codes = [](ElementType code_type, const std::vector<int>& values) {
      Codes result;
      for (const int value : values) result.push_back(code_of(code_type, value));
      return result;
    };
    const std::vector<int> a = integers(p.k * p.m);
    const std::vector<int> b = integers(p.k * p.n);
    Codes c;
    for (std::size_t m = 0; m < p.m; ++m) {
      for (std::size_t n = 0; n < p.n; ++n) {
        int sum = 0;
        for (std::size_t k = 0; k < p.k; ++k) sum += a[k * p.m + m] * b[k * p.n + n];
        const auto value = static_cast<float>(sum);
        c.emplace_back();
        std::memcpy(&c.back(), &value, sizeof value);
      }
    }
    const GemmCheck sample = check(p, codes(type, a), codes(type, b), c, 1, 1000);
    EXPECT_TRUE(sample.sampled);
    EXPECT_EQ(sample.mismatches, 0u) << describe(p, sample);
    expect_exact(p, codes(type, a), codes(type, b), c);
  }
}

}  // namespace
}  // namespace azulejo::golden
