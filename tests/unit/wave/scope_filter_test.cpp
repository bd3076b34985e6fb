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

TEST(ScopeFilter, DepthCountsScopes) {
  ScopeFilter filter({}, 2);
  EXPECT_TRUE(filter.selects("chip0", "a"));
  EXPECT_TRUE(filter.selects("chip0.nc0", "a"));
  EXPECT_FALSE(filter.selects("chip0.nc0.dma", "a"));
  EXPECT_FALSE(filter.selects_unit("chip0.nc0.tensor_engine.tile_0_0", true));
}

TEST(ScopeFilter, UnitsOfRtlAreSelectedByDefaultOrByName) {
  const std::string corner = "chip0.nc0.tensor_engine.tile_0_0";
  const std::string inner = "chip0.nc0.tensor_engine.tile_3_14";
  const auto selects = [](std::vector<std::string> patterns, const std::string& unit, bool by_default) {
    return ScopeFilter(patterns).selects_unit(unit, by_default);
  };
  EXPECT_TRUE(selects({}, corner, true));
  EXPECT_FALSE(selects({}, inner, false));
  EXPECT_TRUE(selects({"chip0.nc0"}, corner, true));
  EXPECT_TRUE(selects({"chip0.nc0.*"}, corner, true));
  EXPECT_TRUE(selects({"*"}, corner, true));
  EXPECT_FALSE(selects({"*"}, inner, false));
  EXPECT_FALSE(selects({"chip0.nc0.sbuf"}, corner, true));
  EXPECT_FALSE(selects({"chip0.nc1.*"}, corner, true));
  EXPECT_TRUE(selects({"*.tile_*"}, inner, false));
  EXPECT_TRUE(selects({"*.tile_3_*"}, inner, false));
  EXPECT_FALSE(selects({"*.tile_4_*"}, inner, false));
  EXPECT_TRUE(selects({"*.tile_3_14.act_i*"}, inner, false));
  EXPECT_TRUE(selects({"chip0.nc0.tensor_engine.tile_3_14.pe_tile.gen_rows*.acc"}, inner, false));
  EXPECT_FALSE(selects({"chip0.nc0.tensor_engine.tile_3_1.act_i*"}, inner, false));
  EXPECT_FALSE(selects({"!*.tile_0_0"}, corner, true));
  EXPECT_TRUE(selects({"!*.sbuf"}, corner, true));
  EXPECT_FALSE(selects({"*.tile_*", "!*.tile_3_*"}, inner, false));
}

}  // namespace
}  // namespace azulejo
