// SPDX-License-Identifier: Apache-2.0
// Does the format table say what the formats' specifications say?
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/numerics/reference.h"
#include "tlm/numerics/format.h"

namespace azulejo::test {
namespace {

TEST(FormatTable, EveryFloatingPointRowIsAsSpecified) {
  for (const FloatFacts& facts : float_facts()) {
    SCOPED_TRACE(facts.name);
    const FormatSpec& row = spec(facts.format);
    EXPECT_EQ(row.storage_bits, facts.storage_bits);
    EXPECT_EQ(row.sign_bits, facts.sign_bits);
    EXPECT_EQ(row.exponent_bits, facts.exponent_bits);
    EXPECT_EQ(row.mantissa_bits, facts.mantissa_bits);
    EXPECT_EQ(row.bias, facts.bias);
    EXPECT_EQ(row.has_infinity, facts.infinity);
    EXPECT_EQ(row.canonical_nan, facts.canonical_nan);
    EXPECT_EQ(row.integer_bits, 0);
    EXPECT_EQ(static_cast<double>(decode(facts.format, row.max_finite)), facts.max_finite);
  }
}

TEST(FormatTable, LargestAndSmallestValuesAreThePublishedOnes) {
  EXPECT_EQ(decode(Format::Fp32, 0x7F7FFFFF), 3.40282347e38F);
  EXPECT_EQ(decode(Format::Fp32, 1), 0x1p-149F);
  EXPECT_EQ(decode(Format::Tf32, 0x00002000), 0x1p-136F);
  EXPECT_EQ(decode(Format::Bf16, 0x0001), 0x1p-133F);
  EXPECT_EQ(decode(Format::Bf16, 0x0080), 0x1p-126F);
  EXPECT_EQ(decode(Format::Fp16, 0x0001), 0x1p-24F);
  EXPECT_EQ(decode(Format::Fp16, 0x0400), 0x1p-14F);
  EXPECT_EQ(decode(Format::E4M3, 0x01), 0x1p-9F);
  EXPECT_EQ(decode(Format::E4M3FN, 0x7E), 448.0F);
  EXPECT_EQ(decode(Format::E5M2, 0x01), 0x1p-16F);
  EXPECT_EQ(decode(Format::E3M4, 0x6F), 15.5F);
  EXPECT_EQ(decode(Format::E3M4, 0x01), 0x1p-6F);
  EXPECT_EQ(decode(Format::E8M0, 0x00), 0x1p-127F);
  EXPECT_EQ(decode(Format::E8M0, 0xFE), 0x1p127F);
  const float e2m1[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  for (std::uint32_t code = 0; code < 8; ++code) {
    EXPECT_TRUE(same(decode(Format::E2M1, code), e2m1[code]));
    EXPECT_TRUE(same(decode(Format::E2M1, code | 8), -e2m1[code]));
  }
}

TEST(FormatTable, NamesAndAliasesParse) {
  for (const Format format : all_formats()) EXPECT_EQ(parse_format(spec(format).name), format);
  EXPECT_EQ(all_formats().size(), 16U);
  EXPECT_EQ(parse_format("float32"), Format::Fp32);
  EXPECT_EQ(parse_format("bfloat16"), Format::Bf16);
  EXPECT_EQ(parse_format("float16"), Format::Fp16);
  EXPECT_EQ(parse_format("BF16"), std::nullopt);
  EXPECT_EQ(parse_format(""), std::nullopt);
}

TEST(FormatTable, StorageIsRoundedUpToBytes) {
  EXPECT_EQ(storage_bytes(Format::E2M1, 0), 0U);
  EXPECT_EQ(storage_bytes(Format::E2M1, 1), 1U);
  EXPECT_EQ(storage_bytes(Format::E2M1, 32), 16U);
  EXPECT_EQ(storage_bytes(Format::E2M1, 33), 17U);
  EXPECT_EQ(storage_bytes(Format::E4M3, 5), 5U);
  EXPECT_EQ(storage_bytes(Format::Bf16, 5), 10U);
  EXPECT_EQ(storage_bytes(Format::Tf32, 5), 20U);
}

TEST(FormatTable, ConfigurableFp8IsIeeeLikeForEverySplitOfTheBits) {
  for (int exponent_bits = 1; exponent_bits <= 6; ++exponent_bits) {
    const int mantissa_bits = 7 - exponent_bits;
    for (const int bias : {0, 1, (1 << (exponent_bits - 1)) - 1, 40}) {
      const FormatSpec custom =
          configurable_fp8(static_cast<std::uint8_t>(exponent_bits), static_cast<std::uint8_t>(mantissa_bits),
                           static_cast<std::int16_t>(bias));
      FloatFacts facts{Format::E4M3, "fp8", 1, exponent_bits, mantissa_bits, bias, true, Nans::ieee, 0, 8, 0, 0};
      const std::uint32_t infinity = ((1U << exponent_bits) - 1) << mantissa_bits;
      facts.canonical_nan = infinity | 1U << (mantissa_bits - 1);
      facts.max_finite = static_cast<double>(float_of(decode_by_mpfr(facts, infinity - 1, false)));
      const ValueList list(facts);
      EXPECT_EQ(custom.canonical_nan, facts.canonical_nan);
      EXPECT_EQ(custom.max_finite, infinity - 1);
      for (std::uint32_t code = 0; code < 256; ++code) {
        const std::uint32_t bits = decode_by_mpfr(facts, code, false);
        ASSERT_EQ(bits_of(decode(custom, code)), bits) << exponent_bits << " " << bias << " " << code;
        ASSERT_EQ(bits_of(decode(custom, code, true)), decode_by_mpfr(facts, code, true));
        for (const std::uint32_t offset : {0U, 1U, ~0U, 0x00080000U, 0x00080001U, 0x0007FFFFU}) {
          const float value = float_of(bits + offset);
          ASSERT_EQ(encode(custom, value), encode_by_mpfr(list, value, {false, false})) << code << " " << offset;
          ASSERT_EQ(encode(custom, value, {Rounding::NearestEven, true, true}),
                    encode_by_mpfr(list, value, {true, true}));
        }
      }
    }
  }
}

TEST(FormatTable, ConfigurableFp8WithTheUsualSplitsIsE4M3E5M2AndE3M4) {
  const std::pair<Format, FormatSpec> pairs[] = {{Format::E4M3, configurable_fp8(4, 3, 7)},
                                                 {Format::E5M2, configurable_fp8(5, 2, 15)},
                                                 {Format::E3M4, configurable_fp8(3, 4, 3)}};
  for (const auto& [format, custom] : pairs) {
    EXPECT_EQ(custom.canonical_nan, spec(format).canonical_nan);
    EXPECT_EQ(custom.max_finite, spec(format).max_finite);
    for (std::uint32_t code = 0; code < 256; ++code) EXPECT_TRUE(same(decode(custom, code), decode(format, code)));
  }
}

}  // namespace
}  // namespace azulejo::test
