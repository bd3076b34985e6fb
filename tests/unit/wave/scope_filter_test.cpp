// SPDX-License-Identifier: Apache-2.0
// Which signals do the scope globs select?
#include "tlm/wave/scope_filter.h"

#include <gtest/gtest.h>

namespace azulejo {
namespace {

using Patterns = std::vector<std::string>;

TEST(Glob, StarMatchesAnyCharactersAndQuestionMarkOne) {
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("a*c", "abbc"));
  EXPECT_TRUE(glob_matches("*b*b*c", "abxbxcbc"));
  EXPECT_TRUE(glob_matches("chip?.nc0", "chip3.nc0"));
  EXPECT_TRUE(glob_matches("chip0.*.state", "chip0.nc0.pe.state"));
  EXPECT_FALSE(glob_matches("chip?", "chip"));
  EXPECT_FALSE(glob_matches("chip?", "chip10"));
  EXPECT_FALSE(glob_matches("a*c", "abcd"));
  EXPECT_FALSE(glob_matches("", "a"));
}

TEST(Glob, BracketsAreOrdinaryCharacters) {
  EXPECT_TRUE(glob_matches("row[3]", "row[3]"));
  EXPECT_FALSE(glob_matches("row[3]", "row3"));
}

TEST(Glob, ManyStarsDoNotExplode) { EXPECT_FALSE(glob_matches("*a*a*a*a*a*a*a*a*a*a*b", std::string(10'000, 'a'))); }

TEST(ScopeFilter, WithoutPatternsEverythingIsSelected) {
  EXPECT_TRUE(ScopeFilter(Patterns{}).selects("chip0", "state"));
}

TEST(ScopeFilter, AScopeSelectsEverythingBelowIt) {
  ScopeFilter filter({"chip0.nc1"});
  EXPECT_TRUE(filter.selects("chip0.nc1", "state"));
  EXPECT_TRUE(filter.selects("chip0.nc1.tensor_engine", "state"));
  EXPECT_FALSE(filter.selects("chip0.nc10", "state"));
  EXPECT_FALSE(filter.selects("chip0", "state"));
}

TEST(ScopeFilter, AFullPathSelectsOneSignal) {
  ScopeFilter filter({"chip0.nc1.state"});
  EXPECT_TRUE(filter.selects("chip0.nc1", "state"));
  EXPECT_FALSE(filter.selects("chip0.nc1", "states"));
}

TEST(ScopeFilter, TheLastMatchingPatternCounts) {
  ScopeFilter filter({"chip0", "!*.dma*", "chip0.nc0.dma3"});
  EXPECT_TRUE(filter.selects("chip0.nc0", "state"));
  EXPECT_FALSE(filter.selects("chip0.nc0.dma2", "depth"));
  EXPECT_TRUE(filter.selects("chip0.nc0.dma3", "depth"));
}

TEST(ScopeFilter, AFirstPatternThatDeselectsLeavesTheRestSelected) {
  ScopeFilter filter({"!chip1"});
  EXPECT_TRUE(filter.selects("chip0", "state"));
  EXPECT_FALSE(filter.selects("chip1.nc0", "state"));
}

TEST(ScopeFilter, PatternsThatMatchNothingAreReportedAsGiven) {
  ScopeFilter filter({"chip0", "!chip9", "tensor_engin"});
  filter.selects("chip0.tensor_engine", "state");
  EXPECT_EQ(filter.unmatched(), (Patterns{"!chip9", "tensor_engin"}));
}

}  // namespace
}  // namespace azulejo
