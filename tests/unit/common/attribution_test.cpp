// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/attribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace azulejo {
namespace {

TEST(Attribution, StartsEmpty) {
  const Attribution account;
  EXPECT_EQ(account.cursor(), 0u);
  EXPECT_EQ(account.sum(), 0u);
}

TEST(Attribution, ChargesEveryFemtosecondOnce) {
  Attribution account;
  account.charge(Cause::Compute, 100);
  account.charge(Cause::Hbm, 100);  // already there: nothing
  account.charge(Cause::Hbm, 40);   // behind the cursor: nothing
  account.charge(Cause::Hbm, 130);
  account.charge(Cause::Compute, 131);
  EXPECT_EQ(account[Cause::Compute], 101u);
  EXPECT_EQ(account[Cause::Hbm], 30u);
  EXPECT_EQ(account.cursor(), 131u);
  EXPECT_EQ(account.sum(), 131u);
}

TEST(Attribution, FinishGivesWhatIsMissingToTheOpenCause) {
  Attribution account;
  account.charge(Cause::Compute, 100);
  account.finish(Cause::Finished, 250);
  EXPECT_EQ(account[Cause::Compute], 100u);
  EXPECT_EQ(account[Cause::Finished], 150u);
  EXPECT_EQ(account.sum(), 250u);
}

TEST(Attribution, FinishTakesBackWhatLiesBeyondTheEnd) {
  Attribution account;
  account.charge(Cause::Issue, 10);
  account.charge(Cause::MatmulStart, 20);
  account.charge(Cause::Compute, 50);
  account.finish(Cause::Finished, 15);
  EXPECT_EQ(account[Cause::Issue], 10u);
  EXPECT_EQ(account[Cause::MatmulStart], 5u);
  EXPECT_EQ(account[Cause::Compute], 0u);
  EXPECT_EQ(account[Cause::Finished], 0u);
  EXPECT_EQ(account.sum(), 15u);
}

TEST(Attribution, FinishAtTheBorderOfASegmentTakesItBackWhole) {
  Attribution account;
  account.charge(Cause::Issue, 10);
  account.charge(Cause::Compute, 50);
  account.finish(Cause::Finished, 10);
  EXPECT_EQ(account[Cause::Issue], 10u);
  EXPECT_EQ(account[Cause::Compute], 0u);
  EXPECT_EQ(account.sum(), 10u);
}

TEST(Attribution, FinishAtTimeZeroTakesBackAll) {
  Attribution account;
  account.charge(Cause::Compute, 50);
  account.charge(Cause::Hbm, 60);
  account.finish(Cause::NotStarted, 0);
  EXPECT_EQ(account.sum(), 0u);
  EXPECT_EQ(account[Cause::Compute], 0u);
  EXPECT_EQ(account[Cause::Hbm], 0u);
}

TEST(Attribution, NeighboursOfOneCauseMergeSoThatAnyNumberCanBeTakenBack) {
  Attribution account;
  account.charge(Cause::Idle, 100);
  for (Femtoseconds t = 101; t <= 1'100; ++t) account.charge(Cause::Transfer, t);
  account.finish(Cause::Idle, 150);
  EXPECT_EQ(account[Cause::Idle], 100u);
  EXPECT_EQ(account[Cause::Transfer], 50u);
  EXPECT_EQ(account.sum(), 150u);
}

TEST(Attribution, AFirstChargeOfTheDefaultCauseIsTakenBackToo) {
  Attribution account;
  account.charge(Cause::NotStarted, 30);
  account.charge(Cause::NotStarted, 60);
  account.charge(Cause::Compute, 70);
  account.finish(Cause::Finished, 20);
  EXPECT_EQ(account[Cause::NotStarted], 20u);
  EXPECT_EQ(account[Cause::Compute], 0u);
  EXPECT_EQ(account.sum(), 20u);
}

TEST(Attribution, RandomAccountsEqualATimelineOfSingleFemtoseconds) {
  std::mt19937 random(3);
  for (int round = 0; round < 2'000; ++round) {
    Attribution account;
    std::vector<Cause> timeline;
    std::vector<Femtoseconds> borders;  // starts of segments
    const int charges = static_cast<int>(random() % 30);
    for (int i = 0; i < charges; ++i) {
      const auto cause = static_cast<Cause>(random() % kCauses);
      const Femtoseconds until = timeline.size() + random() % 12;
      if (until > timeline.size() && (timeline.empty() || timeline.back() != cause)) borders.push_back(timeline.size());
      account.charge(cause, until);
      timeline.resize(std::max<std::size_t>(timeline.size(), until), cause);
    }
    // At most eight segments may lie beyond the end.
    const Femtoseconds earliest = borders.size() > 8 ? borders[borders.size() - 8] : 0;
    const Femtoseconds end = earliest + random() % (timeline.size() - earliest + 10);
    account.finish(Cause::Finished, end);
    timeline.resize(end, Cause::Finished);
    ASSERT_EQ(account.sum(), end) << "round " << round;
    for (std::size_t c = 0; c < kCauses; ++c) {
      const auto cause = static_cast<Cause>(c);
      ASSERT_EQ(account[cause], static_cast<Femtoseconds>(std::count(timeline.begin(), timeline.end(), cause)))
          << cause_name(cause) << " in round " << round;
    }
  }
}

TEST(Attribution, EveryCauseHasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t c = 0; c < kCauses; ++c) {
    const std::string name(cause_name(static_cast<Cause>(c)));
    EXPECT_FALSE(name.empty()) << c;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
    EXPECT_NE(name, "other");
    names.insert(name);
  }
  EXPECT_EQ(names.size(), kCauses);
  EXPECT_EQ(cause_name(Cause::Compute), "compute");
  EXPECT_EQ(cause_name(Cause::GpSimdEngine), "gpsimd_engine");
  EXPECT_EQ(cause_name(Cause::DmaDescriptor), "dma_descriptor");
  EXPECT_EQ(cause_name(Cause::Finished), "finished");
}

}  // namespace
}  // namespace azulejo
