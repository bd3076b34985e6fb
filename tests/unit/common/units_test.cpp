// SPDX-License-Identifier: Apache-2.0
// Are quantities read exactly, refused with a remedy, and printed so that they read back?
#include "tlm/common/units.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tlm/common/error.h"

namespace azulejo {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::uint64_t value_of(Quantity quantity, std::string_view text) {
  const ParsedQuantity parsed = parse_quantity(quantity, text);
  EXPECT_TRUE(parsed.ok) << text << ": " << parsed.error;
  EXPECT_TRUE(parsed.error.empty()) << text;
  return parsed.value;
}

std::string error_of(Quantity quantity, std::string_view text) {
  const ParsedQuantity parsed = parse_quantity(quantity, text);
  EXPECT_FALSE(parsed.ok) << text << " was read as " << parsed.value;
  EXPECT_FALSE(parsed.error.empty()) << text;
  return parsed.error;
}

TEST(Units, EveryUnitHasItsSize) {
  struct Case {
    Quantity quantity;
    std::string_view unit;
    std::uint64_t size;
  };
  const Case cases[] = {
      {Quantity::Time, "fs", 1},
      {Quantity::Time, "ps", 1'000},
      {Quantity::Time, "ns", 1'000'000},
      {Quantity::Time, "us", 1'000'000'000},
      {Quantity::Time, "ms", 1'000'000'000'000},
      {Quantity::Time, "s", 1'000'000'000'000'000},
      {Quantity::Frequency, "Hz", 1},
      {Quantity::Frequency, "kHz", 1'000},
      {Quantity::Frequency, "MHz", 1'000'000},
      {Quantity::Frequency, "GHz", 1'000'000'000},
      {Quantity::Size, "B", 1},
      {Quantity::Size, "KiB", 1ULL << 10},
      {Quantity::Size, "MiB", 1ULL << 20},
      {Quantity::Size, "GiB", 1ULL << 30},
      {Quantity::Size, "TiB", 1ULL << 40},
      {Quantity::Size, "kB", 1'000},
      {Quantity::Size, "MB", 1'000'000},
      {Quantity::Size, "GB", 1'000'000'000},
      {Quantity::Size, "TB", 1'000'000'000'000},
      {Quantity::Bandwidth, "B/s", 1},
      {Quantity::Bandwidth, "kB/s", 1'000},
      {Quantity::Bandwidth, "MB/s", 1'000'000},
      {Quantity::Bandwidth, "GB/s", 1'000'000'000},
      {Quantity::Bandwidth, "TB/s", 1'000'000'000'000},
      {Quantity::Bandwidth, "KiB/s", 1ULL << 10},
      {Quantity::Bandwidth, "MiB/s", 1ULL << 20},
      {Quantity::Bandwidth, "GiB/s", 1ULL << 30},
      {Quantity::Bandwidth, "TiB/s", 1ULL << 40},
      {Quantity::Bandwidth, "kb/s", 125},
      {Quantity::Bandwidth, "Mb/s", 125'000},
      {Quantity::Bandwidth, "Gb/s", 125'000'000},
      {Quantity::Bandwidth, "Tb/s", 125'000'000'000},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(value_of(c.quantity, "3 " + std::string(c.unit)), 3 * c.size) << c.unit;
    EXPECT_EQ(value_of(c.quantity, "0 " + std::string(c.unit)), 0U) << c.unit;
  }
  EXPECT_EQ(value_of(Quantity::Bandwidth, "16 b/s"), 2U);
}

TEST(Units, DecimalsAreExact) {
  EXPECT_EQ(value_of(Quantity::Frequency, "2.8 GHz"), 2'800'000'000U);
  EXPECT_EQ(value_of(Quantity::Frequency, "1.12GHz"), 1'120'000'000U);
  EXPECT_EQ(value_of(Quantity::Time, "1300 ns"), 1'300'000'000U);
  EXPECT_EQ(value_of(Quantity::Time, " 0.1 ns "), 100'000U);
  EXPECT_EQ(value_of(Quantity::Time, "0.000000000000001 s"), 1U);
  EXPECT_EQ(value_of(Quantity::Size, "0.5 KiB"), 512U);
  EXPECT_EQ(value_of(Quantity::Size, "1.50 GiB"), 3ULL << 29);
  EXPECT_EQ(value_of(Quantity::Size, "2.50000000000000000000000000000000000000000000000 kB"), 2500U);
  EXPECT_EQ(value_of(Quantity::Size, "000000000000000000000000000000000000000000000012 B"), 12U);
  EXPECT_EQ(value_of(Quantity::Size, "0.0009765625 KiB"), 1U);
  EXPECT_EQ(value_of(Quantity::Size, ".5 KiB"), 512U);
  EXPECT_EQ(value_of(Quantity::Size, "5. B"), 5U);
  EXPECT_EQ(value_of(Quantity::Bandwidth, "0.1 Gb/s"), 12'500'000U);
  EXPECT_EQ(value_of(Quantity::Bandwidth, "25 Gb/s"), value_of(Quantity::Bandwidth, "3.125 GB/s"));
}

TEST(Units, TheLargestValueIsReadAndOneMoreIsRefused) {
  EXPECT_EQ(value_of(Quantity::Time, "18446744073709551615 fs"), kMax);
  EXPECT_EQ(value_of(Quantity::Time, "18446.744073709551615 s"), kMax);
  EXPECT_NE(error_of(Quantity::Time, "18446744073709551616 fs").find("too large"), std::string::npos);
  EXPECT_NE(error_of(Quantity::Time, "18447 s").find("at most 18446744073709551615 fs"), std::string::npos);
  EXPECT_NE(error_of(Quantity::Size, "99999999999999999999999999999999999999 TiB").find("too large"),
            std::string::npos);
  EXPECT_NE(error_of(Quantity::Size, "1" + std::string(38, '0') + " B").find("more than 38 digits"), std::string::npos);
}

TEST(Units, ANumberWithoutAUnitNamesTheAllowedUnits) {
  EXPECT_EQ(error_of(Quantity::Frequency, "2800000000"), "'2800000000' has no unit; allowed units: Hz, kHz, MHz, GHz");
  EXPECT_NE(error_of(Quantity::Time, "0").find("fs, ps, ns, us, ms, s"), std::string::npos);
}

TEST(Units, AnUnknownUnitNamesTheNearOne) {
  EXPECT_EQ(error_of(Quantity::Frequency, "2.8 Ghz"),
            "'2.8 Ghz' has the unknown unit 'Ghz'; allowed units: Hz, kHz, MHz, GHz; did you mean 'GHz'?");
  EXPECT_NE(error_of(Quantity::Size, "24 Mib").find("did you mean 'MiB'?"), std::string::npos);
  EXPECT_NE(error_of(Quantity::Bandwidth, "17 gb/s").find("did you mean 'GB/s' or 'Gb/s'?"), std::string::npos);
  EXPECT_NE(error_of(Quantity::Bandwidth, "17 Gbps").find("did you mean 'Gb/s'?"), std::string::npos);
  EXPECT_NE(error_of(Quantity::Time, "3 \xC2\xB5s").find("did you mean 'us'?"), std::string::npos);
  EXPECT_NE(error_of(Quantity::Size, "1 GHz").find("allowed units: B, KiB"), std::string::npos);
}

TEST(Units, WhatIsNoWholeNumberOfTheBaseUnitIsRefused) {
  EXPECT_EQ(error_of(Quantity::Time, "0.5 fs"), "'0.5 fs' is not a whole number of fs");
  EXPECT_EQ(error_of(Quantity::Bandwidth, "3 b/s"), "'3 b/s' is not a whole number of B/s");
  EXPECT_NE(error_of(Quantity::Size, "0.1 KiB").find("whole number of B"), std::string::npos);
  EXPECT_NE(error_of(Quantity::Time, "0." + std::string(500, '0') + "1 s").find("whole number"), std::string::npos);
}

TEST(Units, WhatIsNoNumberIsRefused) {
  EXPECT_EQ(error_of(Quantity::Time, ""), "is empty; a time such as 1300 ns is expected");
  EXPECT_NE(error_of(Quantity::Time, "-3 ns").find("negative"), std::string::npos);
  for (const std::string_view text :
       {"fast", "+3 ns", ". ns", "1.2.3 ns", "ns", "0x10 ns", "1e3 ns", "1,300 ns", "nan s"}) {
    error_of(Quantity::Time, text);
  }
}

TEST(Units, FormattedValuesUseTheLargestShortUnit) {
  EXPECT_EQ(format_quantity(Quantity::Frequency, 2'800'000'000), "2.8 GHz");
  EXPECT_EQ(format_quantity(Quantity::Frequency, 960'000'000), "960 MHz");
  EXPECT_EQ(format_quantity(Quantity::Time, 146'000'000), "146 ns");
  EXPECT_EQ(format_quantity(Quantity::Time, 1'416'000'000), "1416 ns");
  EXPECT_EQ(format_quantity(Quantity::Size, 192 * 1024), "192 KiB");
  EXPECT_EQ(format_quantity(Quantity::Size, 24'000'000), "24 MB");
  EXPECT_EQ(format_quantity(Quantity::Size, 1025), "1025 B");
  EXPECT_EQ(format_quantity(Quantity::Bandwidth, 17'000'000'000), "17 GB/s");
  EXPECT_EQ(format_quantity(Quantity::Bandwidth, 96ULL << 30), "96 GiB/s");
  EXPECT_EQ(format_quantity(Quantity::Size, 0), "0 B");
  EXPECT_EQ(format_quantity(Quantity::Time, kMax), "18446744073709551615 fs");
}

TEST(Units, EveryFormattedValueReadsBack) {
  std::mt19937_64 random(20240613);
  for (int i = 0; i < 20'000; ++i) {
    std::uint64_t value = random() >> (random() % 64);
    for (std::uint64_t scale = random() % 16; scale > 0 && value < kMax / 10; --scale) value *= 10;
    for (const Quantity quantity : {Quantity::Time, Quantity::Frequency, Quantity::Size, Quantity::Bandwidth}) {
      const std::string text = format_quantity(quantity, value);
      ASSERT_EQ(value_of(quantity, text), value) << text;
    }
  }
}

TEST(Units, PeopleReadThreeDigits) {
  EXPECT_EQ(human_time(6'931'000'000'000), "6.93 ms");
  EXPECT_EQ(human_time(69'310'000'000'000), "69.3 ms");
  EXPECT_EQ(human_time(0), "0 s");
  EXPECT_EQ(human_time(999), "999 fs");
  EXPECT_EQ(human_time(999'999), "1.00 ns");
  EXPECT_EQ(human_time(9'996), "10.0 ps");
  EXPECT_EQ(human_time(kMax), "18447 s");
  EXPECT_EQ(human_bytes(3ULL << 29), "1.50 GiB");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1023 * 1024), "1023 KiB");
  EXPECT_EQ(human_bytes(kMax), "16.0 EiB");
  EXPECT_EQ(human_rate(4.4e10, "FLOP/s"), "44.0 GFLOP/s");
  EXPECT_EQ(human_rate(1.02e11, "B/s"), "102 GB/s");
  EXPECT_EQ(human_rate(0, "B/s"), "0.00 B/s");
  EXPECT_EQ(human_rate(-2e3, "B/s"), "-2.00 kB/s");
  EXPECT_EQ(human_rate(std::numeric_limits<double>::infinity(), "B/s"), "unknown B/s");
  EXPECT_EQ(human_rate(std::numeric_limits<double>::quiet_NaN(), "B/s"), "unknown B/s");
}

TEST(Units, AValueOutsideItsRangeIsNamedWithTheRange) {
  std::vector<std::string> problems;
  check_range(problems, "clock", Quantity::Frequency, 1, 1, 10);
  check_range(problems, "clock", Quantity::Frequency, 10, 1, 10);
  check_range(problems, "rows", 128, 1, 128);
  EXPECT_TRUE(problems.empty());
  check_range(problems, "clock", Quantity::Frequency, 0, 1, kMaxClock);
  check_range(problems, "rows", 129, 1, 128);
  EXPECT_EQ(problems,
            (std::vector<std::string>{"clock: 0 Hz is outside 1 Hz to 1000 GHz", "rows: 129 is outside 1 to 128"}));
}

TEST(ConfigError, CarriesEveryProblemOneALine) {
  const ConfigError error(std::vector<std::string>{"first", "second"});
  EXPECT_STREQ(error.what(), "first\nsecond");
  EXPECT_EQ(error.problems().size(), 2U);
  EXPECT_STREQ(ConfigError("alone").what(), "alone");
}

TEST(ConfigError, AddsThePartsKeyBeforeItsProblems) {
  std::vector<std::string> problems{"chips: 0"};
  add_problems(problems, "hbm", {"latency: 1", "capacity: 2"});
  EXPECT_EQ(problems, (std::vector<std::string>{"chips: 0", "hbm.latency: 1", "hbm.capacity: 2"}));
}

}  // namespace
}  // namespace azulejo
