// SPDX-License-Identifier: Apache-2.0
// Does any text crash, hang or slip past the configuration reader? Only ConfigError may come out, with problems that
// can be shown on a terminal; and what is accepted prints and reads back.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "platforms/config/platform_config.h"
#include "tlm/common/config_reader.h"
#include "tlm/common/error.h"

namespace azulejo {
namespace {

std::uint64_t seed() {
  const char* given = std::getenv("AZULEJO_FUZZ_SEED");
  return given == nullptr ? 20'240'613 : std::strtoull(given, nullptr, 10);
}

const std::vector<std::string>& tokens() {
  static const std::vector<std::string> kTokens{":",
                                                "\n",
                                                "  ",
                                                "- ",
                                                "[",
                                                "]",
                                                "{",
                                                "}",
                                                ",",
                                                "&a ",
                                                "*a",
                                                "!t ",
                                                "? ",
                                                "| ",
                                                "> ",
                                                "'",
                                                "\"",
                                                "#",
                                                "---",
                                                "...",
                                                "%YAML",
                                                "\t",
                                                "\r\n",
                                                "~",
                                                "null",
                                                "<<",
                                                "\\x41",
                                                "\\u263a",
                                                "base",
                                                "overrides:\n",
                                                "chip",
                                                "chip0.",
                                                "nc0.",
                                                "hbm",
                                                "clock",
                                                "bandwidth",
                                                "GHz",
                                                "GB/s",
                                                "-1",
                                                "0",
                                                "999999999999999999999",
                                                "1.5",
                                                "true",
                                                "[[vector, gpsimd]]",
                                                "xorwow",
                                                "\xEF\xBB\xBF",
                                                "\xFF",
                                                "\xC3",
                                                "chips: 1\n",
                                                "base: trn1.2xlarge\n",
                                                "sbuf",
                                                "="};
  return kTokens;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

  std::string mutate(std::string text) {
    for (std::size_t i = below(4) + 1; i > 0; --i) {
      const std::size_t at = below(text.size() + 1);
      switch (below(6)) {
        case 0:
          text.insert(at, tokens()[below(tokens().size())]);
          break;
        case 1:
          if (at < text.size()) text[at] = static_cast<char>(random_());
          break;
        case 2:
          text.erase(at, below(20));
          break;
        case 3:
          text.resize(at);
          break;
        case 4:
          text.insert(at, text.substr(below(text.size() + 1), below(60)));
          break;
        default:
          if (at < text.size()) text.replace(at, 1, tokens()[below(tokens().size())]);
          break;
      }
    }
    return text;
  }

  std::string soup() {
    std::string text;
    for (std::size_t i = below(30); i > 0; --i) text += tokens()[below(tokens().size())];
    return text;
  }

 private:
  std::mt19937_64 random_;
};

// "accepted" or "refused"; anything but ConfigError escapes and fails the test.
bool accepted(const std::string& text, const std::vector<std::string>& settings) {
  try {
    const PlatformConfig config = parse_platform(text, "fuzz.yaml", settings);
    const std::string printed = print_platform(config);
    EXPECT_EQ(print_platform(parse_platform(printed, "again.yaml")), printed) << text;
    return true;
  } catch (const ConfigError& error) {
    EXPECT_FALSE(error.problems().empty()) << text;
    for (const std::string& problem : error.problems()) {
      for (const char c : problem) EXPECT_TRUE(c >= ' ' && c <= '~') << problem << "\nin\n" << text;
    }
    return false;
  }
}

TEST(ConfigFuzz, MutatedPlatformsAreReadOrRefused) {
  Mutator mutator(seed());
  RecordProperty("seed", std::to_string(seed()));
  const std::string whole = print_platform(load_platform("trn1.2xlarge", {"chip0.nc1.dma.queues=3"}));
  const std::string small = "base: trn1.2xlarge\nchip:\n  nc: {sbuf: {shared_ports: [[vector, gpsimd]]}}\n";
  int good = 0;
  for (int i = 0; i < 1'500; ++i) good += accepted(mutator.mutate(whole), {}) ? 1 : 0;
  for (int i = 0; i < 500; ++i) good += accepted(mutator.mutate(small), {}) ? 1 : 0;
  EXPECT_GT(good, 50) << "mutations that all fail test little";
}

TEST(ConfigFuzz, TokenSoupIsReadOrRefused) {
  Mutator mutator(seed() + 1);
  for (int i = 0; i < 20'000; ++i) accepted(mutator.soup(), {});
}

TEST(ConfigFuzz, MutatedSettingsAreReadOrRefused) {
  Mutator mutator(seed() + 2);
  const std::vector<std::string> good{"hbm.bandwidth=400 GB/s", "chip0.nc1.tensor_engine.clock=1 GHz",
                                      "sbuf.shared_ports=[[vector, gpsimd]]", "chip0.nc0.psum.shared_ports=[]",
                                      "description=text"};
  int count = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::vector<std::string> settings;
    for (std::size_t n = mutator.below(3) + 1; n > 0; --n) settings.push_back(mutator.mutate(good[mutator.below(5)]));
    count += accepted("chips: 1", settings) ? 1 : 0;
  }
  EXPECT_GT(count, 100);
}

TEST(ConfigFuzz, QuantitiesAreReadOrRefused) {
  Mutator mutator(seed() + 3);
  const std::vector<std::string> good{"2.8 GHz", "192 KiB", "1300 ns", "17 GB/s", "18446744073709551615 fs"};
  for (int i = 0; i < 50'000; ++i) {
    const std::string text = mutator.mutate(good[mutator.below(good.size())]);
    for (const Quantity quantity : {Quantity::Time, Quantity::Frequency, Quantity::Size, Quantity::Bandwidth}) {
      const ParsedQuantity parsed = parse_quantity(quantity, text);
      ASSERT_EQ(parsed.ok, parsed.error.empty()) << text;
      if (parsed.ok) {
        ASSERT_EQ(parse_quantity(quantity, format_quantity(quantity, parsed.value)).value, parsed.value);
      }
    }
  }
}

}  // namespace
}  // namespace azulejo
