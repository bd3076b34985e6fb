// SPDX-License-Identifier: Apache-2.0
// Are the random sources the published generators, seeded apart, uniform and uncorrelated?
#include "tlm/numerics/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <set>

namespace azulejo::test {
namespace {

constexpr RandomSource kSources[] = {RandomSource::Lfsr, RandomSource::Xorwow};

TEST(Random, Splitmix64GivesItsPublishedSequence) {
  std::uint64_t state = 1234567;
  for (const std::uint64_t expected : {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                       4593380528125082431U, 16408922859458223821U}) {
    EXPECT_EQ(splitmix64(state), expected);
  }
}

TEST(Random, LfsrTakesThirtyTwoGaloisStepsAWord) {
  RandomLane lane(RandomSource::Lfsr, 42, 0, 0);
  std::uint32_t state = lane.state()[0];
  for (int word = 0; word < 10000; ++word) {
    for (int step = 0; step < 32; ++step) {
      const bool out = (state & 1) != 0;
      state >>= 1;
      if (out) state ^= 0x80200003;
    }
    ASSERT_EQ(lane.next(), state);
    ASSERT_EQ(lane.state()[0], state);
  }
}

// One word is a linear map of the state's 32 bits; column i is the image of bit i.
using BitMatrix = std::array<std::uint32_t, 32>;

std::uint32_t apply(const BitMatrix& matrix, std::uint32_t vector) {
  std::uint32_t result = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    if ((vector >> i & 1) != 0) result ^= matrix[i];
  }
  return result;
}

BitMatrix multiply(const BitMatrix& a, const BitMatrix& b) {
  BitMatrix product{};
  for (std::size_t i = 0; i < 32; ++i) product[i] = apply(a, b[i]);
  return product;
}

BitMatrix power(BitMatrix base, std::uint64_t exponent) {
  BitMatrix result{};
  for (std::uint32_t i = 0; i < 32; ++i) result[i] = 1U << i;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply(result, base);
    base = multiply(base, base);
  }
  return result;
}

TEST(Random, LfsrWordsRepeatOnlyAfterEveryNonZeroState) {
  BitMatrix word{};
  for (std::uint32_t i = 0; i < 32; ++i) {
    RandomLane lane(RandomSource::Lfsr, 0, 0, 0);
    lane.set_state({1U << i, 0, 0, 0, 0, 0});
    word[i] = lane.next();
  }
  const BitMatrix identity = power(word, 0);
  constexpr std::uint64_t kPeriod = 0xFFFFFFFF;
  EXPECT_EQ(power(word, kPeriod), identity);
  for (const std::uint64_t factor : {3U, 5U, 17U, 257U, 65537U}) EXPECT_NE(power(word, kPeriod / factor), identity);
}

TEST(Random, XorwowIsMarsaglias) {
  RandomLane lane(RandomSource::Xorwow, 0, 0, 0);
  lane.set_state({123456789, 362436069, 521288629, 88675123, 5783321, 6615241});
  std::uint32_t x = 123456789;
  std::uint32_t y = 362436069;
  std::uint32_t z = 521288629;
  std::uint32_t w = 88675123;
  std::uint32_t v = 5783321;
  std::uint32_t d = 6615241;
  for (int i = 0; i < 10000; ++i) {
    const std::uint32_t t = x ^ (x >> 2);
    x = y;
    y = z;
    z = w;
    w = v;
    v = (v ^ (v << 4)) ^ (t ^ (t << 1));
    d += 362437;
    ASSERT_EQ(lane.next(), d + v);
  }
  EXPECT_EQ(lane.state(), (std::array<std::uint32_t, 6>{x, y, z, w, v, d}));
}

TEST(Random, AnAllZeroStateIsReplaced) {
  for (const RandomSource source : kSources) {
    RandomLane lane(source, 1, 2, 3);
    lane.set_state({0, 0, 0, 0, 0, 77});
    const auto& state = lane.state();
    EXPECT_NE(state[0] | state[1] | state[2] | state[3] | state[4], 0U);
    const auto other = RandomLane(source, 9, 9, 9).state();
    lane.set_state(other);
    EXPECT_EQ(lane.state(), other);
  }
}

TEST(Random, SeedEngineAndLaneEachSelectAnotherSequence) {
  for (const RandomSource source : kSources) {
    std::set<std::array<std::uint32_t, 6>> states;
    std::size_t count = 0;
    for (std::uint64_t start = 0; start < 4; ++start) {
      for (std::uint32_t engine = 0; engine < 4; ++engine) {
        for (std::uint32_t lane = 0; lane < 128; ++lane, ++count)
          states.insert(RandomLane(source, start, engine, lane).state());
      }
    }
    EXPECT_EQ(states.size(), count);
    EXPECT_EQ(RandomLane(source, 1, 2, 3).state(), RandomLane(source, 1, 2, 3).state());
  }
}

TEST(Random, WordsAreUniformByChiSquaredOfTheirHighAndLowBytes) {
  constexpr int kDraws = 1 << 20;
  for (const RandomSource source : kSources) {
    for (const int shift : {0, 12, 24}) {
      RandomLane lane(source, 11, 0, 5);
      std::array<double, 256> counts{};
      for (int i = 0; i < kDraws; ++i) counts[lane.next() >> shift & 0xFF] += 1;
      double chi_squared = 0;
      for (const double count : counts)
        chi_squared += (count - kDraws / 256.0) * (count - kDraws / 256.0) / (kDraws / 256.0);
      std::printf("bits from %d: chi-squared %.1f\n", shift, chi_squared);
      EXPECT_LT(chi_squared, 330.5);  // 255 degrees of freedom, 0.1 %
      EXPECT_GT(chi_squared, 190.0);
    }
  }
}

TEST(Random, ConsecutiveWordsAreUncorrelated) {
  constexpr int kDraws = 1 << 20;
  for (const RandomSource source : kSources) {
    RandomLane lane(source, 3, 1, 9);
    double previous = lane.next() / 0x1p32 - 0.5;
    double product = 0;
    double square = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double current = lane.next() / 0x1p32 - 0.5;
      product += previous * current;
      square += current * current;
      previous = current;
    }
    std::printf("lag-1 correlation %.5f\n", product / square);
    EXPECT_LT(std::fabs(product / square), 0.01);
  }
}

TEST(Random, NeighbouringLanesAreUncorrelated) {
  constexpr int kDraws = 1 << 18;
  for (const RandomSource source : kSources) {
    RandomLane a(source, 3, 1, 0);
    RandomLane b(source, 3, 1, 1);
    double product = 0;
    for (int i = 0; i < kDraws; ++i) product += (a.next() / 0x1p32 - 0.5) * (b.next() / 0x1p32 - 0.5);
    EXPECT_LT(std::fabs(product / kDraws * 12), 0.01);
  }
}

}  // namespace
}  // namespace azulejo::test
