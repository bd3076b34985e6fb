// SPDX-License-Identifier: Apache-2.0
// Are the format tables of tlm/numerics and rtl/pkg the same?
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/common/temporary_directory.h"
#include "tlm/numerics/format.h"

namespace azulejo::test {
namespace {

std::string package() {
  return TemporaryDirectory::read((std::filesystem::path(AZULEJO_SOURCE_DIR) / "rtl/pkg/azulejo_pkg.sv").string());
}

std::string lower_case(std::string word) {
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

// A SystemVerilog literal, "8'd127" or "32'h7FC0_0000", or one of the NaN words.
std::uint32_t literal(std::string text) {
  static const std::map<std::string, NanCodes> kWords = {
      {"NanNone", NanCodes::None}, {"NanIeee", NanCodes::Ieee}, {"NanAllOnes", NanCodes::AllOnes}};
  const std::string scope = "azulejo_pkg::";
  if (text.rfind(scope, 0) == 0) text.erase(0, scope.size());
  if (const auto word = kWords.find(text); word != kWords.end()) return static_cast<std::uint32_t>(word->second);
  text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  const std::size_t quote = text.find('\'');
  EXPECT_NE(quote, std::string::npos) << text;
  const char base = text[quote + 1];
  return static_cast<std::uint32_t>(std::stoull(text.substr(quote + 2), nullptr,
                                                base == 'h'   ? 16
                                                : base == 'b' ? 2
                                                              : 10));
}

TEST(RtlFormatTable, HasTheFormatsInTheSameOrder) {
  const std::string text = package();
  const std::string body = text.substr(0, text.find("} format_e;"));
  const std::regex row("(\\w+)\\s*= 4'd(\\d+)");
  std::size_t count = 0;
  for (std::sregex_iterator it(body.begin(), body.end(), row), end; it != end; ++it, ++count) {
    ASSERT_LT(count, all_formats().size());
    EXPECT_EQ(lower_case((*it)[1]), spec(all_formats()[count]).name);
    EXPECT_EQ((*it)[2].str(), std::to_string(static_cast<int>(all_formats()[count])));
  }
  EXPECT_EQ(count, all_formats().size());
  EXPECT_NE(text.find("FORMATS = " + std::to_string(count) + ";"), std::string::npos);
}

TEST(RtlFormatTable, HasTheSameRows) {
  std::istringstream text(package());
  const std::regex row("\\s*(?:azulejo_pkg::)?(\\w+):\\s+format_spec = \\{(.*)\\};");
  std::string line;
  std::size_t count = 0;
  while (std::getline(text, line)) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    ASSERT_LT(count, all_formats().size()) << line;
    const FormatSpec& expected = spec(all_formats()[count]);
    const bool last = count + 1 == all_formats().size();
    EXPECT_EQ(lower_case(match[1]), last ? "default" : expected.name);
    std::vector<std::uint32_t> fields;
    std::string field;
    for (std::istringstream list(match[2]); list >> field;) {
      if (field.back() == ',') field.pop_back();
      fields.push_back(literal(field));
    }
    const std::vector<std::uint32_t> wanted = {expected.storage_bits,
                                               expected.sign_bits,
                                               expected.exponent_bits,
                                               expected.mantissa_bits,
                                               static_cast<std::uint32_t>(expected.bias),
                                               expected.has_infinity,
                                               static_cast<std::uint32_t>(expected.nan_codes),
                                               expected.canonical_nan,
                                               expected.max_finite,
                                               expected.integer_bits};
    EXPECT_EQ(fields, wanted) << line;
    ++count;
  }
  EXPECT_EQ(count, all_formats().size());
}

// The columns of the rows above, and the numbers of the NaN words.
TEST(RtlFormatTable, HasTheSameColumns) {
  const std::string text = package();
  const std::size_t begin = text.find("typedef struct packed {");
  const std::string body = text.substr(begin, text.find("} format_spec_t;") - begin);
  const std::regex member("(\\w+);");
  std::vector<std::string> names;
  for (std::sregex_iterator it(body.begin(), body.end(), member), end; it != end; ++it) names.push_back((*it)[1]);
  EXPECT_EQ(names,
            (std::vector<std::string>{"storage_bits", "sign_bits", "exponent_bits", "mantissa_bits", "bias",
                                      "has_infinity", "nan_codes", "canonical_nan", "max_finite", "integer_bits"}));
  EXPECT_TRUE(std::regex_search(text, std::regex("NanNone\\s*= 2'd0")));
  EXPECT_TRUE(std::regex_search(text, std::regex("NanIeee\\s*= 2'd1")));
  EXPECT_TRUE(std::regex_search(text, std::regex("NanAllOnes\\s*= 2'd2")));
}

}  // namespace
}  // namespace azulejo::test
