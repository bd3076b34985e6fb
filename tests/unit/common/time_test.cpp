// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/time.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace azulejo {
namespace {

const std::vector<std::uint64_t> kRates = {1,
                                           3,
                                           7,
                                           1'000,
                                           960'000'000,
                                           1'120'000'000,
                                           1'400'000'000,
                                           2'400'000'000,
                                           2'800'000'000,
                                           999'999'937,
                                           1'000'000'000,
                                           kFsPerSecond};

TEST(Clock, EdgesLieAtTheFloorOfTheExactTime) {
  const Clock tensor(2'800'000'000);  // 357142.857... fs
  EXPECT_EQ(tensor.edge(0), 0u);
  EXPECT_EQ(tensor.edge(1), 357'142u);
  EXPECT_EQ(tensor.edge(2), 714'285u);
  EXPECT_EQ(tensor.edge(3), 1'071'428u);
  EXPECT_EQ(tensor.edge(7), 2'500'000u);
  EXPECT_EQ(tensor.edge(448), 160'000'000u);
  const Clock vector(1'120'000'000);  // 892857.142... fs
  EXPECT_EQ(vector.edge(1), 892'857u);
  EXPECT_EQ(vector.edge(28), 25'000'000u);
  EXPECT_EQ(Clock(kFsPerSecond).edge(123'456'789), 123'456'789u);
  EXPECT_EQ(Clock(3).edge(2), 666'666'666'666'666u);
}

TEST(Clock, EdgeAndPeriodTimesRateMatchInExactArithmetic) {
  // floor(n * 10^15 / hz) is the only integer t with t * hz <= n * 10^15 < (t + 1) * hz.
  std::mt19937_64 random(1);
  for (const std::uint64_t hz : kRates) {
    const Clock clock(hz);
    const std::uint64_t last =
        static_cast<std::uint64_t>(Wide{hz} * 7'200 > Wide{~std::uint64_t{0}} ? ~std::uint64_t{0} : hz * 7'200);
    for (int i = 0; i < 1'000; ++i) {
      const std::uint64_t n = random() % last;
      const Wide t = clock.edge(n);
      ASSERT_LE(t * hz, Wide{n} * kFsPerSecond);
      ASSERT_GT((t + 1) * hz, Wide{n} * kFsPerSecond);
    }
  }
}

TEST(Clock, NextCycleIsTheExactInverseAtTheBoundaries) {
  std::mt19937_64 random(2);
  for (const std::uint64_t hz : kRates) {
    if (hz == kFsPerSecond) continue;  // an edge every fs: nothing lies between
    const Clock clock(hz);
    for (int i = 0; i < 1'000; ++i) {
      const std::uint64_t n = 1 + random() % (hz < 1'000'000 ? hz * 1'000 : hz * 100);
      const Femtoseconds at = clock.edge(n);
      ASSERT_EQ(clock.next_cycle(at), n) << hz;
      ASSERT_EQ(clock.next_cycle(at - 1), n) << hz;
      ASSERT_EQ(clock.next_cycle(at + 1), n + 1) << hz;
    }
    EXPECT_EQ(clock.next_cycle(0), 0u);
    EXPECT_EQ(clock.next_cycle(1), 1u);
  }
}

TEST(Clock, ABillionCyclesDoNotDrift) {
  // 10^9 / 2.8 GHz = 357142857142857.142... fs; a period rounded to 357143 fs would be 143 us off.
  EXPECT_EQ(Clock(2'800'000'000).edge(1'000'000'000), 357'142'857'142'857u);
  for (const std::uint64_t hz : kRates) {
    EXPECT_EQ(Clock(hz).edge(hz), kFsPerSecond) << hz;
    EXPECT_EQ(Clock(hz).next_cycle(kFsPerSecond), hz) << hz;
  }
  // Two hours, the longest run.
  EXPECT_EQ(Clock(2'800'000'000).edge(2'800'000'000ull * 7'200), 7'200 * kFsPerSecond);
  EXPECT_EQ(Clock(2'800'000'000).next_cycle(7'200 * kFsPerSecond), 2'800'000'000ull * 7'200);
}

TEST(TransferTime, IsRoundedUpToWholeFemtoseconds) {
  EXPECT_EQ(transfer_time(0, 5), 0u);
  EXPECT_EQ(transfer_time(17, 17'000'000'000), 1'000'000u);
  EXPECT_EQ(transfer_time(1, 3), 333'333'333'333'334u);
  EXPECT_EQ(transfer_time(65'536, 23'000'000'000), 2'849'391'305u);  // 2849391304.35
  EXPECT_EQ(transfer_time(64, 410'000'000'000), 156'098u);           // 156097.56
  EXPECT_EQ(transfer_time(1, kFsPerSecond), 1u);
  EXPECT_EQ(transfer_time(1, 2 * kFsPerSecond), 1u);
  // 1 TiB at 1 TB/s: far beyond 64-bit products.
  EXPECT_EQ(transfer_time(1ull << 40, 1'000'000'000'000), 1'099'511'627'776'000u);
}

}  // namespace
}  // namespace azulejo
