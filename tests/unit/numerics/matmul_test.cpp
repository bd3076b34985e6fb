// SPDX-License-Identifier: Apache-2.0
// Is a column sum the chain of fused multiply-adds of the contract, on every code path, for every shape and operand?
#include "tlm/numerics/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include "tests/unit/numerics/reference.h"

namespace azulejo::test {
namespace {

enum class Data { ordinary, any_bits, tiny, special };

float draw(TestRandom& random, Data data) {
  const std::uint32_t bits = random.next32();
  switch (data) {
    case Data::ordinary:  // magnitudes from 2^-8 to 2^8, some zeros
      return random.below(16) == 0 ? float_of(bits & 0x80000000)
                                   : float_of((bits & 0x807FFFFF) | (119 + random.below(16)) << 23);
    case Data::any_bits:
      return float_of(bits);
    case Data::tiny:  // products and sums around the smallest numbers
      return float_of((bits & 0x807FFFFF) | (random.below(3) == 0 ? 0 : 40 + random.below(50)) << 23);
    case Data::special: {
      const std::uint32_t kind = random.below(40);
      if (kind == 0) return float_of((bits & 0x80000000) | 0x7F800000);
      if (kind == 1) return float_of(bits | 0x7F800001);
      if (kind == 2) return float_of(bits & 0x80000000);
      return draw(random, kind == 3 ? Data::tiny : Data::ordinary);
    }
  }
  return 0;
}

float flushed(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value; }

float plain_add(float a, float b) {
  const float sum = a + b;
  return std::isnan(sum) ? float_of(kNan32) : sum;
}

// One tile with its own row strides, and psum as it was before.
struct Tile {
  TileShape shape;
  std::size_t stationary_stride;
  std::size_t moving_stride;
  std::size_t psum_stride;
  std::vector<float> stationary;
  std::vector<float> moving;
  std::vector<float> psum;

  Tile(TileShape the_shape, TestRandom& random, Data data)
      : shape(the_shape),
        stationary_stride(shape.m + random.below(3)),
        moving_stride(shape.n + random.below(3)),
        psum_stride(shape.n + random.below(3)) {
    for (std::size_t i = 0; i < shape.k * stationary_stride; ++i) stationary.push_back(draw(random, data));
    for (std::size_t i = 0; i < shape.k * moving_stride; ++i) moving.push_back(draw(random, data));
    for (std::size_t i = 0; i < shape.m * psum_stride; ++i) psum.push_back(draw(random, data));
    // No memory beyond the last row's last element.
    stationary.resize((shape.k - 1) * stationary_stride + shape.m);
    moving.resize((shape.k - 1) * moving_stride + shape.n);
    psum.resize((shape.m - 1) * psum_stride + shape.n);
  }

  float stationary_at(std::size_t k, std::size_t m) const { return stationary[k * stationary_stride + m]; }
  float moving_at(std::size_t k, std::size_t n) const { return moving[k * moving_stride + n]; }

  using Fma = std::function<float(float, float, float)>;

  std::vector<float> expected(const Fma& fma, bool accumulate, bool flush) const {
    std::vector<float> result = psum;
    for (std::size_t m = 0; m < shape.m; ++m) {
      for (std::size_t n = 0; n < shape.n; ++n) {
        float sum = 0.0F;
        for (std::size_t k = 0; k < shape.k; ++k) {
          sum = fma(stationary_at(k, m), moving_at(k, n), sum);
          if (flush) sum = flushed(sum);
        }
        float& target = result[m * psum_stride + n];
        if (accumulate) {
          sum = plain_add(flush ? flushed(target) : target, sum);
          if (flush) sum = flushed(sum);
        }
        target = std::isnan(sum) ? float_of(kNan32) : sum;
      }
    }
    return result;
  }

  std::vector<float> measured(bool accumulate, bool fp32, bool flush) const {
    std::vector<float> result = psum;
    matmul_into_psum(stationary.data(), stationary_stride, moving.data(), moving_stride, shape, result.data(),
                     psum_stride, accumulate, fp32, flush);
    return result;
  }
};

std::size_t mismatches_between(const std::vector<float>& a, const std::vector<float>& b) {
  std::size_t count = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) count += !same(a[i], b[i]);
  return count;
}

constexpr Data kAllData[] = {Data::ordinary, Data::any_bits, Data::tiny, Data::special};

void expect_tiles_match(const Tile::Fma& fma, int tiles, std::uint32_t max_k, std::uint32_t max_m,
                        std::uint32_t max_n) {
  TestRandom random(seed());
  std::size_t cases = 0;
  std::size_t mismatches = 0;
  const PathGuard guard;
  for (int i = 0; i < tiles; ++i) {
    const TileShape shape{1 + random.below(max_k), 1 + random.below(max_m), 1 + random.below(max_n)};
    const Tile tile(shape, random, kAllData[i % 4]);
    for (const bool accumulate : {false, true}) {
      for (const bool flush : {false, true}) {
        const std::vector<float> expected = tile.expected(fma, accumulate, flush);
        for (const auto path : host_paths()) {
          select_simd_path(path);
          const std::size_t count = mismatches_between(tile.measured(accumulate, false, flush), expected);
          if (count != 0) {
            std::printf("%s: k %zu, m %zu, n %zu, accumulate %d, flush %d: %zu mismatches\n", std::string(path).c_str(),
                        shape.k, shape.m, shape.n, accumulate, flush, count);
          }
          mismatches += count;
          cases += shape.k * shape.m * shape.n;
        }
      }
    }
  }
  std::printf("%zu multiply-adds, %zu mismatches\n", cases, mismatches);
  EXPECT_EQ(mismatches, 0U);
}

TEST(Matmul, ColumnSumsAreTheFmaChainOfMpfrOnEveryPath) { expect_tiles_match(fma_by_mpfr, 120, 12, 20, 40); }

TEST(Matmul, ColumnSumsOfRaggedTilesAreTheFmaChainOfTheHostOnEveryPath) {
  expect_tiles_match([](float a, float b, float c) { return std::fma(a, b, c); }, long_run() ? 2000 : 60, 140, 70, 100);
}

TEST(Matmul, EveryShapeUpToTwoBlocksMatches) {
  TestRandom random(seed());
  std::size_t mismatches = 0;
  const PathGuard guard;
  for (std::size_t m = 1; m <= 18; ++m) {
    for (std::size_t n = 1; n <= 66; ++n) {
      const Tile tile({3, m, n}, random, Data::special);
      const bool flush = (m + n) % 2 == 0;
      const auto expected = tile.expected([](float a, float b, float c) { return std::fma(a, b, c); }, true, flush);
      for (const auto path : host_paths()) {
        select_simd_path(path);
        mismatches += mismatches_between(tile.measured(true, false, flush), expected);
      }
    }
  }
  EXPECT_EQ(mismatches, 0U);
}

TEST(Matmul, ThePortableFmaIsTheFmaOfMpfr) {
  TestRandom random(seed());
  std::size_t mismatches = 0;
  constexpr int kCases = 200000;
  for (int i = 0; i < kCases; ++i) {
    const Data data = kAllData[i % 4];
    const float a = draw(random, data);
    const float b = draw(random, data);
    const float c = draw(random, data);
    const float sum = std::fma(a, b, c);
    mismatches += !same(std::isnan(sum) ? float_of(kNan32) : sum, fma_by_mpfr(a, b, c));
  }
  std::printf("%d cases, %zu mismatches\n", kCases, mismatches);
  EXPECT_EQ(mismatches, 0U);
}

TEST(Matmul, ProductsAreNotRoundedAlone) {
  // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 exactly; with a rounded product it would be 0.
  const float stationary[] = {1.0F, 1.0F + 0x1p-12F};
  const float moving[] = {-(1.0F + 0x1p-11F), 1.0F + 0x1p-12F};
  float sum = 0;
  column_sums(stationary, 1, moving, 1, {2, 1, 1}, &sum, 1);
  EXPECT_EQ(sum, 0x1p-24F);
}

TEST(Matmul, SpecialOperandsByHand) {
  const auto chain = [](std::vector<float> a, std::vector<float> b) {
    float sum = 0;
    column_sums(a.data(), 1, b.data(), 1, {a.size(), 1, 1}, &sum, 1);
    return bits_of(sum);
  };
  EXPECT_EQ(chain({0.0F}, {INFINITY}), kNan32);
  EXPECT_EQ(chain({INFINITY, 1.0F}, {1.0F, -INFINITY}), kNan32);
  EXPECT_EQ(chain({NAN, 1.0F}, {1.0F, 1.0F}), kNan32);
  EXPECT_EQ(chain({1.0F, 1.0F}, {-NAN, 2.0F}), kNan32);
  EXPECT_EQ(chain({-INFINITY, 5.0F}, {1.0F, 1.0F}), 0xFF800000U);
  EXPECT_EQ(chain({-0.0F}, {1.0F}), 0x00000000U);               // +0 + -0
  EXPECT_EQ(chain({-0x1p-100F}, {0x1p-100F}), 0x80000000U);     // a negative product rounded away
  EXPECT_EQ(chain({-0x1p-100F, 0.0F}, {0x1p-100F, 1.0F}), 0U);  // -0 + +0
  EXPECT_EQ(chain({0x1p-149F}, {1.0F}), 0x00000001U);           // subnormals are kept
  EXPECT_EQ(chain({0x1p127F, 0x1p127F}, {1.0F, 1.0F}), 0x7F800000U);
}

TEST(Matmul, FlushMakesSubnormalResultsZeroAfterEachRounding) {
  const float stationary[] = {-0x1p-130F, 0x1p-126F};
  const float moving[] = {1.0F, 1.0F};
  float sum = 0;
  column_sums(stationary, 1, moving, 1, {1, 1, 1}, &sum, 1, true);
  EXPECT_EQ(bits_of(sum), 0x80000000U);
  column_sums(stationary, 1, moving, 1, {2, 1, 1}, &sum, 1, true);
  EXPECT_EQ(sum, 0x1p-126F);
}

TEST(Matmul, AddFp32RoundsOnceAndIsCanonical) {
  EXPECT_EQ(bits_of(add_fp32(INFINITY, -INFINITY)), kNan32);
  EXPECT_EQ(bits_of(add_fp32(-NAN, 1.0F)), kNan32);
  EXPECT_EQ(bits_of(add_fp32(-0.0F, -0.0F)), 0x80000000U);
  EXPECT_EQ(bits_of(add_fp32(0x1p-149F, 0x1p-149F)), 2U);
  EXPECT_EQ(bits_of(add_fp32(0x1p-149F, 0x1p-149F, true)), 0U);
  EXPECT_EQ(bits_of(add_fp32(0x1.8p-126F, -0x1p-126F, true)), 0U);
  EXPECT_EQ(add_fp32(1.0F, 0x1p-24F), 1.0F);
}

TEST(Matmul, PathsAreSelectedByNameAndUnknownOnesRefused) {
  const PathGuard guard;
  EXPECT_TRUE(select_simd_path("portable"));
  EXPECT_EQ(simd_path(), "portable");
  EXPECT_FALSE(select_simd_path("neon"));
  EXPECT_EQ(simd_path(), "portable");
}

// The FP32 matmul of four passes, derived from the integer significand.
struct Halves {
  float high;
  float low;
};
Halves integer_halves(float value) {
  const std::uint32_t bits = bits_of(value);
  const int field = static_cast<int>(bits >> 23 & 0xFF);
  const std::uint32_t significand = (bits & 0x7FFFFF) + (field == 0 ? 0 : 0x800000);
  const int exponent = (field == 0 ? 1 : field) - 150;
  const double sign = bits >> 31 != 0 ? -1 : 1;
  return {static_cast<float>(sign * std::ldexp(static_cast<double>(significand >> 12), exponent + 12)),
          static_cast<float>(sign * std::ldexp(static_cast<double>(significand & 0xFFF), exponent))};
}

std::vector<float> expected_passes(const Tile& tile, const Tile::Fma& fma, bool accumulate, bool flush,
                                   bool exact_stationary, bool exact_moving) {
  std::vector<float> result = tile.psum;
  for (std::size_t m = 0; m < tile.shape.m; ++m) {
    for (std::size_t n = 0; n < tile.shape.n; ++n) {
      float& target = result[m * tile.psum_stride + n];
      bool first = true;
      for (int pass = 0; pass < 4; ++pass) {  // LL, LH, HL, HH
        const bool stationary_high = pass / 2 == 1;
        const bool moving_high = pass % 2 == 1;
        if ((exact_stationary && !stationary_high) || (exact_moving && !moving_high)) continue;
        float sum = 0;
        for (std::size_t k = 0; k < tile.shape.k; ++k) {
          const float a = tile.stationary_at(k, m);
          const float b = tile.moving_at(k, n);
          if (std::isfinite(a) && std::isfinite(b)) {
            const Halves x = integer_halves(a);
            const Halves y = integer_halves(b);
            sum = fma(stationary_high ? x.high : x.low, moving_high ? y.high : y.low, sum);
          } else if (pass == 3) {
            sum = fma(a, b, sum);
          } else {
            continue;
          }
          if (flush) sum = flushed(sum);
        }
        if (!first || accumulate) {
          sum = plain_add(flush ? flushed(target) : target, sum);
          if (flush) sum = flushed(sum);
        }
        target = std::isnan(sum) ? float_of(kNan32) : sum;
        first = false;
      }
    }
  }
  return result;
}

TEST(Fp32Passes, HalvesAddUpToTheValueAndCarryItsSign) {
  TestRandom random(seed());
  for (int i = 0; i < 2000000; ++i) {
    const std::uint32_t bits = i < 65536 ? static_cast<std::uint32_t>(i) << 16 | 0xFFF : random.next32();
    const float value = float_of(bits);
    if (!std::isfinite(value)) continue;
    const Halves expected = integer_halves(value);
    const SplitHalves halves = split_fp32(value);
    ASSERT_TRUE(same(halves.high, expected.high)) << bits;
    ASSERT_TRUE(same(halves.low, expected.low)) << bits;
    ASSERT_EQ(halves.high + halves.low, value);
  }
}

void expect_passes_match(const Tile::Fma& fma, int tiles, std::uint32_t max_k, std::uint32_t max_m,
                         std::uint32_t max_n) {
  TestRandom random(seed());
  std::size_t mismatches = 0;
  std::size_t cases = 0;
  const PathGuard guard;
  for (int i = 0; i < tiles; ++i) {
    const Tile tile({1 + random.below(max_k), 1 + random.below(max_m), 1 + random.below(max_n)}, random,
                    kAllData[i % 4]);
    const bool accumulate = random.below(2) == 0;
    const bool flush = random.below(3) == 0;
    const bool exact_stationary = random.below(4) == 0;
    const bool exact_moving = random.below(4) == 0;
    const auto expected = expected_passes(tile, fma, accumulate, flush, exact_stationary, exact_moving);
    for (const auto path : host_paths()) {
      select_simd_path(path);
      std::vector<float> result = tile.psum;
      matmul_fp32_passes(tile.stationary.data(), tile.stationary_stride, tile.moving.data(), tile.moving_stride,
                         tile.shape, result.data(), tile.psum_stride, accumulate, flush, exact_stationary,
                         exact_moving);
      mismatches += mismatches_between(result, expected);
      cases += 4 * tile.shape.k * tile.shape.m * tile.shape.n;
      if (!exact_stationary && !exact_moving)
        mismatches += mismatches_between(tile.measured(accumulate, true, flush), expected);
    }
  }
  std::printf("%zu multiply-adds, %zu mismatches\n", cases, mismatches);
  EXPECT_EQ(mismatches, 0U);
}

TEST(Fp32Passes, FourPassesMatchAnIndependentDerivationWithMpfr) { expect_passes_match(fma_by_mpfr, 160, 8, 12, 20); }

TEST(Fp32Passes, FourPassesMatchAnIndependentDerivationOnLargerTiles) {
  expect_passes_match([](float a, float b, float c) { return std::fma(a, b, c); }, long_run() ? 1500 : 60, 130, 40, 70);
}

TEST(Fp32Passes, AnInfiniteOperandIsMultipliedWholeInTheLastPass) {
  // Inf times a value whose low half is zero must not give the NaN of Inf * 0.
  const float stationary[] = {INFINITY};
  const float moving[] = {2.0F};
  float psum = 7.0F;
  matmul_into_psum(stationary, 1, moving, 1, {1, 1, 1}, &psum, 1, true, true);
  EXPECT_EQ(psum, INFINITY);
  const float zero[] = {0.0F};
  matmul_into_psum(stationary, 1, zero, 1, {1, 1, 1}, &psum, 1, false, true);
  EXPECT_EQ(bits_of(psum), kNan32);
}

TEST(Fp32Passes, ErrorOfFourPassesIsThatOfAnFmaChain) {
  TestRandom random(seed());
  const auto normal = [&] {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += random.next32() / 0x1p32;
    return static_cast<float>(sum - 6);
  };
  Tile tile({128, 64, 64}, random, Data::ordinary);
  for (float& value : tile.stationary) value = normal();
  for (float& value : tile.moving) value = normal();
  const auto error = [&](bool fp32) {
    const auto result = tile.measured(false, fp32, false);
    double total = 0;
    for (std::size_t m = 0; m < 64; ++m) {
      for (std::size_t n = 0; n < 64; ++n) {
        double exact = 0;
        double magnitude = 0;
        for (std::size_t k = 0; k < 128; ++k) {
          const double product =
              static_cast<double>(tile.stationary_at(k, m)) * static_cast<double>(tile.moving_at(k, n));
          exact += product;
          magnitude += std::fabs(product);
        }
        const double unit = (static_cast<double>(result[m * tile.psum_stride + n]) - exact) / (magnitude * 0x1p-24);
        total += unit * unit;
      }
    }
    return std::sqrt(total / (64 * 64));
  };
  const double passes = error(true);
  const double chain = error(false);
  std::printf("rms error in 2^-24 of the sum of magnitudes: four passes %.2f, one chain %.2f\n", passes, chain);
  EXPECT_LT(passes, 0.6);
  EXPECT_LT(chain, 0.6);
}

}  // namespace
}  // namespace azulejo::test
