// SPDX-License-Identifier: Apache-2.0
#include "tlm/isa/text.h"

#include <gtest/gtest.h>

namespace azulejo {
namespace {

TEST(NearestWord, FindsTheWordWithFewestEdits) {
  const std::vector<std::string_view> words = {"nc_matmul", "nc_matmul_mx", "nc_transpose", "memset"};
  EXPECT_EQ(nearest_word("nc_matmull", words), "nc_matmul");
  EXPECT_EQ(nearest_word("nc_matmul_xm", words), "nc_matmul_mx");
  EXPECT_EQ(nearest_word("mmeset", words), "memset");
  EXPECT_EQ(nearest_word("transpose", words), "nc_transpose");
}

TEST(NearestWord, IgnoresCase) { EXPECT_EQ(nearest_word("BF16", {"fp32", "bf16"}), "bf16"); }

TEST(NearestWord, IsEmptyIfNothingIsNear) {
  EXPECT_EQ(nearest_word("convolution", {"nc_matmul", "memset"}), "");
  EXPECT_EQ(nearest_word("", {"op"}), "");
  EXPECT_EQ(nearest_word("x", {"k"}), "");
  EXPECT_EQ(nearest_word("word", {}), "");
  EXPECT_EQ(nearest_word("word", {""}), "");
}

TEST(NearestWord, TakesTheFirstOfEquals) { EXPECT_EQ(nearest_word("op2", {"op0", "op1"}), "op0"); }

TEST(NearestWord, DoesNotSearchForVeryLongWords) {
  const std::string word(1000, 'a');
  EXPECT_EQ(nearest_word(word, {word, "aaa"}), "");
  EXPECT_EQ(nearest_word("aab", {word, "aaa"}), "aaa");
}

TEST(DidYouMean, AddsAQuestionOrNothing) {
  EXPECT_EQ(did_you_mean("vectr", {"vector"}), "; did you mean 'vector'?");
  EXPECT_EQ(did_you_mean("zzz", {"vector"}), "");
}

TEST(JoinWords, SeparatesByCommas) {
  EXPECT_EQ(join_words({}), "");
  EXPECT_EQ(join_words({"a", "b"}), "a, b");
}

TEST(QuoteWord, IsShortAndPrintable) {
  EXPECT_EQ(quote_word("word"), "'word'");
  EXPECT_EQ(quote_word(std::string_view("a\0b\x80", 4)), "'a?b?'");
  EXPECT_EQ(quote_word(std::string(41, 'x')), "'" + std::string(40, 'x') + "...'");
}

}  // namespace
}  // namespace azulejo
