// SPDX-License-Identifier: Apache-2.0
// Do any bytes crash, hang or slip past the .npy reader? Only ConfigError may come out.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "sw/runtime/npy.h"
#include "tlm/common/error.h"

namespace azulejo {
namespace {

TEST(NpyFuzz, MutatedFilesAreReadOrRefused) {
  const char* given = std::getenv("AZULEJO_FUZZ_SEED");
  const std::uint64_t seed = given == nullptr ? 20'240'613 : std::strtoull(given, nullptr, 10);
  RecordProperty("seed", std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&random](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  const std::vector<std::string> tokens{"(",
                                        ")",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "'",
                                        ",",
                                        ":",
                                        "descr",
                                        "shape",
                                        "True",
                                        "False",
                                        "L",
                                        "<f2",
                                        ">f4",
                                        "0",
                                        "18446744073709551615",
                                        "99999999999999999999",
                                        "\xFF",
                                        "\n"};
  const std::vector<std::string> good{npy_bytes({2, 3, Format::Fp32, std::vector<std::uint8_t>(24, 1)}),
                                      npy_bytes({1, 4, Format::Fp16, std::vector<std::uint8_t>(8, 2)})};
  int accepted = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes = good[below(good.size())];
    for (std::size_t n = below(4); n > 0; --n) {
      const std::size_t at = below(std::min<std::size_t>(bytes.size(), 90) + 1);
      switch (below(4)) {
        case 0:
          bytes.insert(at, tokens[below(tokens.size())]);
          break;
        case 1:
          if (at < bytes.size()) bytes[at] = static_cast<char>(random());
          break;
        case 2:
          bytes.erase(at, below(8));
          break;
        default:
          if (below(8) == 0) bytes.resize(below(bytes.size() + 1));
          break;
      }
    }
    try {
      const NpyMatrix matrix = parse_npy(bytes, "fuzz.npy");
      const std::uint64_t size = matrix.format == Format::Fp32 ? 4 : 2;
      ASSERT_EQ(matrix.data.size(), matrix.rows * matrix.cols * size);
      ++accepted;
    } catch (const ConfigError& error) {
      ASSERT_EQ(std::string(error.what()).find("fuzz.npy: "), 0U);
    }
  }
  EXPECT_GT(accepted, 10'000) << "mutations that all fail test little";
}

}  // namespace
}  // namespace azulejo
