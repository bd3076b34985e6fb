// SPDX-License-Identifier: Apache-2.0
// Does stochastic rounding go up with exactly the probability of the fraction, and take one word an element?
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/unit/numerics/reference.h"
#include "tlm/numerics/format.h"
#include "tlm/numerics/random.h"

namespace azulejo::test {
namespace {

constexpr ConversionMode kStochastic{Rounding::Stochastic, false, false};
constexpr RandomSource kSources[] = {RandomSource::Lfsr, RandomSource::Xorwow};

TEST(StochasticRounding, GoesUpExactlyWhenTheWordIsBelowTheFraction) {
  TestRandom random(seed());
  std::size_t cases = 0;
  std::size_t mismatches = 0;
  for (const FloatFacts& facts : float_facts()) {
    const ValueList list(facts);
    const std::uint32_t span = (1U << facts.exponent_bits) + static_cast<std::uint32_t>(facts.mantissa_bits) + 40;
    for (int i = 0; i < 40000; ++i) {
      const Expected mode{i % 2 != 0, i % 3 == 0};
      const int lowest = 127 - facts.bias - facts.mantissa_bits - 36;
      const int exponent = std::min(std::max(lowest + static_cast<int>(random.below(span)), 0), 255);
      std::uint32_t bits = (random.next32() & 0x807FFFFF) | static_cast<std::uint32_t>(exponent) << 23;
      if (i % 16 == 0) bits &= 0xFFFF0000;
      const float value = float_of(bits);
      std::uint64_t limit = 0;
      encode_stochastic_by_mpfr(list, value, mode, 0, &limit);
      const std::uint64_t words[] = {0, limit - 1, limit, limit + 1, 0xFFFFFFFF, random.next32()};
      for (const std::uint64_t candidate : words) {
        const auto word = static_cast<std::uint32_t>(candidate);
        const std::uint32_t expected = encode_stochastic_by_mpfr(list, value, mode, word);
        const std::uint32_t code = encode(facts.format, value, {Rounding::Stochastic, mode.saturate, mode.flush}, word);
        ++cases;
        if (code != expected && ++mismatches <= 5) {
          std::printf("%s: %08X with word %08X gives %X, expected %X\n", facts.name, bits, word, code, expected);
        }
      }
    }
  }
  std::printf("%zu cases, %zu mismatches\n", cases, mismatches);
  EXPECT_EQ(mismatches, 0U);
}

TEST(StochasticRounding, CornersByHand) {
  constexpr std::uint32_t kQuarter = 0x40000000;
  // 1024.25 lies a quarter of a unit above FP16's 1024 (code 6400).
  EXPECT_EQ(encode(Format::Fp16, 1024.25F, kStochastic, kQuarter - 1), 0x6401U);
  EXPECT_EQ(encode(Format::Fp16, 1024.25F, kStochastic, kQuarter), 0x6400U);
  EXPECT_EQ(encode(Format::Fp16, -1024.25F, kStochastic, 0), 0xE401U);
  // A quarter of the smallest subnormal: up to it, or down to a zero of the same sign.
  EXPECT_EQ(encode(Format::Fp16, 0x1p-26F, kStochastic, kQuarter - 1), 0x0001U);
  EXPECT_EQ(encode(Format::Fp16, -0x1p-26F, kStochastic, kQuarter), 0x8000U);
  // The last subnormal carries into the normals, the last value of a binade into the next.
  EXPECT_EQ(encode(Format::Fp16, 0x1.FFFp-15F, kStochastic, 0), 0x0400U);
  EXPECT_EQ(encode(Format::Fp16, 0x1.FFFp0F, kStochastic, 0), 0x4000U);
  // Beyond the largest finite value, overflow only if it rounds up.
  EXPECT_EQ(encode(Format::Fp16, 65512.0F, kStochastic, kQuarter), 0x7BFFU);
  EXPECT_EQ(encode(Format::Fp16, 65512.0F, kStochastic, kQuarter - 1), 0x7C00U);
  EXPECT_EQ(encode(Format::E4M3FN, 456.0F, kStochastic, kQuarter - 1), 0x7FU);
  EXPECT_EQ(encode(Format::E4M3FN, 456.0F, {Rounding::Stochastic, true, false}, kQuarter - 1), 0x7EU);
  // Bits below 2^-32 of a unit are ignored: 2^-149 never reaches E4M3's smallest subnormal.
  EXPECT_EQ(encode(Format::E4M3, 0x1p-149F, kStochastic, 0), 0x00U);
  EXPECT_EQ(encode(Format::E4M3, 0x1p-41F, kStochastic, 0), 0x01U);
  EXPECT_EQ(encode(Format::E4M3, 0x1.FFFFFEp-42F, kStochastic, 0), 0x00U);
}

TEST(StochasticRounding, ExactValuesNeverChange) {
  TestRandom random(seed());
  for (const FloatFacts& facts : float_facts()) {
    for (std::uint32_t i = 0; i < 1U << 16; ++i) {
      const std::uint32_t code =
          facts.storage_bits < 16 ? i & ((1U << facts.storage_bits) - 1) : i << facts.container_shift;
      const float value = float_of(decode_by_mpfr(facts, code, false));
      const std::uint32_t expected = std::isnan(value) ? facts.canonical_nan : code;
      ASSERT_EQ(encode(facts.format, value, kStochastic, random.next32()), expected) << facts.name << " " << code;
      ASSERT_EQ(encode(facts.format, value, kStochastic, 0), expected) << facts.name << " " << code;
    }
  }
}

TEST(StochasticRounding, FrequencyIsTheFractionByChiSquared) {
  constexpr int kDraws = 1 << 20;
  for (const RandomSource source : kSources) {
    for (const double wanted : {1.0 / 4, 1.0 / 8, 3.0 / 8, 0.3, 0.7, 1.0 / 64}) {
      const float value = static_cast<float>(1024.0 + wanted);
      const double fraction = static_cast<double>(value) - 1024.0;  // of FP16's unit, which is 1 here
      RandomLane lane(source, 7, 1, 3);
      double ups = 0;
      for (int i = 0; i < kDraws; ++i) ups += encode(Format::Fp16, value, kStochastic, lane.next()) == 0x6401 ? 1 : 0;
      const double mean = kDraws * fraction;
      const double chi_squared = (ups - mean) * (ups - mean) / (mean * (1 - fraction));
      std::printf("fraction %.6f: %.6f, chi-squared %.2f\n", fraction, ups / kDraws, chi_squared);
      EXPECT_LT(chi_squared, 10.83);  // one degree of freedom, 0.1 %
    }
  }
}

// FP16 1024 + 0.5, 2,048 times: the vendor's published check of stochastic rounding.
std::uint32_t add_halves(const ConversionMode& mode, RandomLane& lane) {
  std::uint32_t sum = 0x6400;
  for (int i = 0; i < 2048; ++i) {
    const float exact = float_of(decode_by_mpfr(facts_of(Format::Fp16), sum, false));
    const float next = exact + 0.5F;
    encode_row(Format::Fp16, &next, &sum, 1, mode, &lane);
  }
  return sum;
}

TEST(StochasticRounding, NearestEvenLosesEveryHalfAddedTo1024) {
  RandomLane lane(RandomSource::Xorwow, 1, 0, 0);
  EXPECT_EQ(add_halves({}, lane), 0x6400U);
}

TEST(StochasticRounding, HalvesAddedTo1024EndNear2048OverAThousandSeeds) {
  for (const RandomSource source : kSources) {
    double total = 0;
    double worst = 0;
    for (std::uint64_t start = 0; start < 1000; ++start) {
      RandomLane lane(source, start, 2, 0);
      const double sum = static_cast<double>(decode(Format::Fp16, add_halves(kStochastic, lane)));
      total += sum;
      worst = std::max(worst, std::fabs(sum - 2048));
    }
    std::printf("mean %.2f, farthest from 2048: %.0f\n", total / 1000, worst);
    EXPECT_NEAR(total / 1000, 2048, 4);
    EXPECT_LE(worst, 120);
  }
}

TEST(StochasticRounding, EveryElementTakesExactlyOneWordInElementOrder) {
  const float values[] = {0.0F, -0.0F, 1.0F, 1.0001F, INFINITY, -INFINITY, NAN, 1e-44F, 3e38F, 0.3F, -0.3F};
  constexpr std::size_t kCount = sizeof values / sizeof values[0];
  for (const RandomSource source : kSources) {
    for (const FloatFacts& facts : float_facts()) {
      for (const bool flush : {false, true}) {
        const ConversionMode mode{Rounding::Stochastic, false, flush};
        EXPECT_TRUE(takes_random_word(facts.format, mode));
        RandomLane used(source, 5, 6, 7);
        RandomLane counted(source, 5, 6, 7);
        std::vector<unsigned char> bytes(storage_bytes(facts.format, kCount));
        encode_row(facts.format, values, bytes.data(), kCount, mode, &used);
        for (std::size_t i = 0; i < kCount; ++i) {
          const std::uint32_t expected = encode(facts.format, values[i], mode, counted.next());
          std::uint32_t code = 0;
          if (facts.storage_bits == 4) {
            code = (bytes[i / 2] >> (i % 2 * 4)) & 0xF;
          } else {
            const std::size_t size = static_cast<std::size_t>(facts.storage_bits) / 8;
            std::memcpy(&code, bytes.data() + i * size, size);
          }
          EXPECT_EQ(code, expected) << facts.name << " " << values[i];
        }
        EXPECT_EQ(used.state(), counted.state()) << facts.name;
      }
    }
  }
}

TEST(StochasticRounding, NearestEvenFp32AndIntegersTakeNoWord) {
  const float values[] = {0.3F, 1.7F, -2.5F, NAN};
  RandomLane lane(RandomSource::Xorwow, 5, 6, 7);
  const auto before = lane.state();
  std::vector<unsigned char> bytes(16);
  for (const Format format : all_formats()) {
    encode_row(format, values, bytes.data(), 4, {}, &lane);
    EXPECT_FALSE(takes_random_word(format, {}));
  }
  for (const Format format :
       {Format::Fp32, Format::Int8, Format::Uint8, Format::Int16, Format::Uint16, Format::Int32, Format::Uint32}) {
    encode_row(format, values, bytes.data(), 4, kStochastic, &lane);
    encode_row(format, values, bytes.data(), 4, kStochastic, nullptr);
    EXPECT_FALSE(takes_random_word(format, kStochastic));
    EXPECT_EQ(encode(format, values[2], kStochastic, 0), encode(format, values[2]));
  }
  EXPECT_EQ(lane.state(), before);
}

}  // namespace
}  // namespace azulejo::test
