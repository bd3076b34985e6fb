// SPDX-License-Identifier: Apache-2.0
// Does a reproducer file say what it was written from, and does a wrong one get one clear line?
#include "tlm/cosim/case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/cosim/example_cases.h"
#include "tests/unit/common/temporary_directory.h"
#include "tlm/common/error.h"

namespace azulejo::test {
namespace {

TEST(CosimCase, EveryKindReadsBackAsItWasWritten) {
  const TemporaryDirectory directory;
  const std::vector<CosimCase> cases = example_cases();
  const std::string path = directory.write("cases.json", cases_to_json(cases));
  const std::vector<CosimCase> read = read_cases(path);
  ASSERT_EQ(read.size(), cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) EXPECT_TRUE(equal(read[i], cases[i])) << "case " << i;
}

TEST(CosimCase, IsReadableAsText) {
  const std::string text = cases_to_json(example_cases());
  const auto count = [&](const std::string& line) { return text.find(line) != std::string::npos; };
  EXPECT_TRUE(count("\"azulejo_cosim\": 1,"));
  EXPECT_TRUE(count("\"stationary_format\": \"e4m3\","));
  EXPECT_TRUE(count("\n    \"3f80 4000 c040\","));  // a row of the moving tile a line
  EXPECT_TRUE(count("\"state\": \"00000001 00000002 00000003 00000004 00000005 00000006\","));
  EXPECT_TRUE(count("\"act act_swap act_valid weight weight_row weight_valid psum enable\","));
}

// The one sentence with which `text` is refused.
std::string refusal(const std::string& text) {
  try {
    parse_cases(text, "cases.json");
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.problems().size(), 1U);
    const std::string sentence = error.what();
    EXPECT_EQ(sentence.substr(0, 12), "cases.json: ");
    EXPECT_TRUE(std::all_of(sentence.begin(), sentence.end(), [](char c) { return c >= ' ' && c <= '~'; })) << sentence;
    return sentence.substr(12);
  }
  return "accepted";
}

// The refusal of the good file with `from` replaced by `to`, once.
std::string refusal_of(const std::string& from, const std::string& to) {
  std::string text = cases_to_json(example_cases());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return refusal(text);
}

TEST(CosimCase, AWrongFileIsRefusedWithPlaceValueAndRemedy) {
  const std::vector<std::pair<std::pair<std::string, std::string>, std::string>> cases = {
      {{"\"note\"", "\"notes\""}, "cases[0]: unknown key 'notes'; did you mean 'note'?; known here: "},
      {{"\"pipeline_stages\": 3", "\"pipeline_stages\": 4"},
       "cases[0].pipeline_stages: 4 where a whole number from 1 to 3 belongs"},
      {{"\"pipeline_stages\": 3", "\"pipeline_stages\": \"3\""},
       "cases[0].pipeline_stages: '3' where a whole number from 1 to 3 belongs"},
      {{"\"pipeline_stages\": 3", "\"pipeline_stages\": 3.5"},
       "cases[0].pipeline_stages: 3.5 where a whole number from 1 to 3 belongs"},
      {{"\"flush_denormals\": true", "\"flush_denormals\": 1"},
       "cases[0].flush_denormals: 1 where true or false belongs"},
      {{"\"unit\": \"pe\"", "\"unit\": \"array \""}, "cases[0].unit: unknown word 'array '; did you mean 'array'?"},
      {{"act act_swap", "act swap"}, "cases[0].columns: unknown word 'act swap act_valid weight weight_row wei..."},
      {{" 3f800000 1\"", " 3f80000z 1\""},
       "cases[0].inputs[0]: '3f80000z' where a hexadecimal number of 32 bits belongs"},
      {{" 3f800000 1\"", " 3f800000\""}, "cases[0].inputs[0]: 7 words where 8 belong"},
      {{" 3f800000 1\"", " 3f800000 2\""}, "cases[0].inputs[0]: word 8, 2, has more than 1 bit; the columns are: act"},
      {{"\"0903800 1 1", "\"0903800 1 0"}, "cases[0].inputs[0]: act_swap is 1 where act_valid is 0"},
      {{"\"0903800 1 1", "\"0903400 1 1"}, "cases[0].inputs[0]: act 0903400 is no operand"},
      {{"\"rows\": 4", "\"rows\": 129"}, "cases[1].rows: 129 where a whole number from 1 to 128 belongs"},
      {{"\"rows\": 4", "\"rows\": -4"}, "cases[1].rows: -4 where a whole number from 1 to 128 belongs"},
      {{"\"k\": 2", "\"k\": 5"}, "cases[1].k: 5 where a whole number from 1 to 4 belongs"},
      {{"\"n\": 3", "\"n\": 99999999999999999999"}, "cases[1].n: 1e+20 where a whole number from 1 to 65535 belongs"},
      {{"\"n\": 3", "\"n\": 4"}, "cases[1].moving[0]: 3 words where 4 belong"},
      {{"\"m\": 2", "\"m\": 1"}, "cases[1].stationary[0]: 2 words where 1 belong"},
      {{"\"k\": 2", "\"k\": 3"}, "cases[1].stationary: 2 lines where the sizes of the case need 3"},
      {{"\"accumulate\": true", "\"accumulate\": false"}, "cases[1].psum: 2 lines where the sizes of the case need 0"},
      {{"\"stationary_format\": \"e4m3\"", "\"stationary_format\": \"e4m4\""},
       "cases[1].stationary_format: unknown word 'e4m4'; did you mean 'e4m3'?; allowed: fp32, tf32, bf16"},
      {{"\"stationary_format\": \"e4m3\"", "\"stationary_format\": \"int32\""},
       "cases[1].stationary_format: the array does not multiply int32"},
      {{"\"moving_format\": \"bf16\"", "\"moving_format\": \"fp32\""},
       "cases[1].moving_format: fp32 meets stationary e4m3; both are fp32 or neither"},
      {{"\"7e 01\"", "\"17e 01\""}, "cases[1].stationary[0]: '17e' where a hexadecimal number of 8 bits belongs"},
      {{"\"7e 01\"", "7"}, "cases[1].stationary[0]: 7 where a text of hexadecimal words belongs"},
      {{"\"fault\": \"add_sticky_dropped@pe_0_1\"", "\"fault\": \"add_stiky_dropped\""},
       "cases[1].fault: no seeded fault 'add_stiky_dropped'; did you mean 'add_sticky_dropped'?"},
      {{"\"source\": \"xorwow\"", "\"source\": \"xorshift\""}, "cases[2].source: unknown word 'xorshift'"},
      {{"00000005 00000006\"", "00000005\""}, "cases[2].state: 5 words where 6 belong"},
      {{"\"rounding\": \"stochastic\"", "\"rounding\": 1"}, "cases[2].rounding: 1 where a text in quotes belongs"},
      {{"\"values\": [", "\"values\": [\"\","}, "cases[2].values[0]: 0 words where at least 1 belong"},
      {{"\"note\": \"a rounding\"", "\"note\": \"a rounding\", \"note\": \"\""}, "the key 'note' comes twice"},
      {{"\"azulejo_cosim\": 1", "\"azulejo_cosim\": 2"}, "azulejo_cosim: 2; this program reads version 1"},
      {{"\"azulejo_cosim\": 1,", ""}, "the key 'azulejo_cosim' is missing"},
      {{"\"azulejo_cosim\": 1,", "\"azulejo_cosim\": 1e999,"}, "a number beyond any that belongs"},
  };
  for (const auto& [change, expected] : cases) {
    const std::string sentence = refusal_of(change.first, change.second);
    EXPECT_EQ(sentence.substr(0, expected.size()), expected) << sentence;
  }
}

TEST(CosimCase, AStateThatAnLfsrCannotHaveIsRefused) {
  std::vector<CosimCase> cases = {example_cases()[2]};
  std::get<RoundingCase>(cases[0].operation).source = RandomSource::Lfsr;
  EXPECT_EQ(refusal(cases_to_json(cases)).substr(0, 16), "cases[0].state: ");
}

TEST(CosimCase, WhatIsNoJsonIsRefusedWithTheByte) {
  EXPECT_EQ(refusal("").substr(0, 17), "the file is empty");
  EXPECT_EQ(refusal(" \n\t\n").substr(0, 17), "the file is empty");
  EXPECT_EQ(refusal("{\"azulejo_cosim\": 1,,}").substr(0, 23), "byte 21: unexpected ','");
  EXPECT_EQ(refusal("\x7f"
                    "ELF")
                .substr(0, 7),
            "byte 1:");
  EXPECT_EQ(refusal("{\"a\": \"\xff\"}").substr(0, 5), "byte ");
  EXPECT_EQ(refusal("[]"), "a list where an object { ... } belongs");
  EXPECT_EQ(refusal("7"), "7 where an object { ... } belongs");
  const std::string whole = cases_to_json(example_cases());
  for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
    EXPECT_NE(refusal(whole.substr(0, length)), "accepted") << length;
  }
}

TEST(CosimCase, WhatIsTooLargeOrTooDeepIsRefusedBeforeItIsRead) {
  EXPECT_EQ(refusal(std::string(10'000'000, '[')).substr(0, 26), "brackets nested too deeply");
  std::string many = "{\"azulejo_cosim\": 1, \"cases\": [0";
  for (int i = 0; i < 4'000'001; ++i) many += ",0";
  EXPECT_EQ(refusal(many + "]}").substr(0, 25), "more than 4000000 values;");
}

TEST(CosimCase, WhatCannotBeReadIsRefused) {
  const TemporaryDirectory directory;
  EXPECT_THROW(read_cases(directory.file("absent.json")), ConfigError);
  EXPECT_THROW(read_cases(directory.path()), ConfigError);
}

TEST(CosimCase, FilesWithoutCasesAreRefused) {
  EXPECT_EQ(refusal("{\"azulejo_cosim\": 1, \"cases\": []}").substr(0, 21), "cases: an empty list;");
  EXPECT_EQ(refusal("{\"azulejo_cosim\": 1, \"cases\": {}}").substr(0, 17), "cases: an object ");
  EXPECT_EQ(refusal("{\"azulejo_cosim\": 1, \"cases\": [[]]}").substr(0, 17), "cases[0]: a list ");
}

}  // namespace
}  // namespace azulejo::test
