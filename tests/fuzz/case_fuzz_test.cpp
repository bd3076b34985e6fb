// SPDX-License-Identifier: Apache-2.0
// Does any file crash, hang or slip past the reader of reproducer files? Only ConfigError may come out, in one
// printable line; and what is accepted is written and read back the same.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/cosim/example_cases.h"
#include "tlm/common/error.h"
#include "tlm/cosim/case.h"

namespace azulejo::test {
namespace {

std::uint64_t fuzz_seed() {
  const char* given = std::getenv("AZULEJO_FUZZ_SEED");
  return given == nullptr ? 20'260'301 : std::strtoull(given, nullptr, 10);
}

const std::vector<std::string> kTokens = {"{",
                                          "}",
                                          "[",
                                          "]",
                                          ",",
                                          ":",
                                          "\"",
                                          "\\",
                                          "\\u0000",
                                          "\\ud800",
                                          "null",
                                          "true",
                                          "-1",
                                          "0",
                                          "1",
                                          "1e999",
                                          "4294967296",
                                          "0x1",
                                          "[[[[[[[",
                                          "\"\"",
                                          "\n",
                                          " ",
                                          "\xff",
                                          "\xC3",
                                          "\"k\"",
                                          "\"rows\": 128,",
                                          "\"bf16\"",
                                          "\"fp32\"",
                                          "zz",
                                          "ffffffffff",
                                          "\"unit\"",
                                          "\"cases\"",
                                          "\"inputs\": []",
                                          "azulejo_cosim",
                                          "rounding_cycles",
                                          std::string(1, '\0'),
                                          "\"fault\": \"lfsr_tap_wrong\""};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

  std::string mutate(std::string text) {
    for (std::size_t i = below(3) + 1; i > 0; --i) {
      const std::size_t at = below(text.size() + 1);
      switch (below(7)) {
        case 0:
          text.insert(at, kTokens[below(kTokens.size())]);
          break;
        case 1:
          if (at < text.size()) text[at] = static_cast<char>(random_());
          break;
        case 2:
          text.erase(at, below(20));
          break;
        case 3:
          if (below(4) == 0) text.resize(at);
          break;
        case 4:
          text.insert(at, text.substr(below(text.size() + 1), below(60)));
          break;
        case 5:  // a digit for a digit keeps the file's form
          if (const std::size_t digit = text.find_first_of("0123456789", at); digit != std::string::npos) {
            text[digit] = static_cast<char>('0' + below(10));
          }
          break;
        default:
          if (at < text.size()) text.replace(at, 1, kTokens[below(kTokens.size())]);
          break;
      }
    }
    return text;
  }

 private:
  std::mt19937_64 random_;
};

bool accepted(const std::string& text) {
  try {
    const std::vector<CosimCase> cases = parse_cases(text, "fuzz.json");
    const std::vector<CosimCase> again = parse_cases(cases_to_json(cases), "again.json");
    EXPECT_EQ(again.size(), cases.size()) << text;
    for (std::size_t i = 0; i < cases.size() && i < again.size(); ++i) EXPECT_TRUE(equal(again[i], cases[i])) << text;
    return true;
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.problems().size(), 1U) << text;
    for (const char c : std::string(error.what()))
      EXPECT_TRUE(c >= ' ' && c <= '~') << error.what() << "\nin\n" << text;
    return false;
  }
}

TEST(CaseFuzz, MutatedFilesAreReadOrRefused) {
  Mutator mutator(fuzz_seed());
  RecordProperty("seed", std::to_string(fuzz_seed()));
  const std::vector<CosimCase> cases = example_cases();
  std::vector<std::string> whole = {cases_to_json(cases)};
  for (const CosimCase& one : cases) whole.push_back(cases_to_json({one}));
  int good = 0;
  for (int i = 0; i < 20'000; ++i) good += accepted(mutator.mutate(whole[mutator.below(whole.size())])) ? 1 : 0;
  EXPECT_GT(good, 500) << "mutations that all fail test little";
}

TEST(CaseFuzz, TokenSoupIsRefused) {
  Mutator mutator(fuzz_seed() + 1);
  for (int i = 0; i < 10'000; ++i) {
    std::string text;
    for (std::size_t n = mutator.below(30); n > 0; --n) text += kTokens[mutator.below(kTokens.size())];
    EXPECT_FALSE(accepted(text)) << text;
  }
}

}  // namespace
}  // namespace azulejo::test
