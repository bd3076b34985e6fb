// SPDX-License-Identifier: Apache-2.0
// Operands: does decode_operand() give the value that MPFR gives, and does the RTL's west edge give the same operand?
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "tests/unit/numerics/reference.h"
#include "tlm/cosim/pe.h"
#include "tlm/cosim/rtl_library.h"
#include "tlm/numerics/format.h"

namespace azulejo {
namespace {

using test::bits_of;
using test::float_of;

// Every code of a format, or of TF32 and FP32 a sample with all kinds of values.
std::vector<std::uint32_t> codes_of(Format format) {
  std::vector<std::uint32_t> codes;
  if (spec(format).storage_bits <= 16) {
    for (std::uint32_t code = 0; code < 1U << spec(format).storage_bits; ++code) codes.push_back(code);
    return codes;
  }
  test::TestRandom random(test::seed());
  for (const std::uint32_t sign : {0U, 0x80000000U}) {
    for (std::uint32_t field = 0; field < 256; ++field) {
      for (const std::uint32_t fraction :
           {0U, 1U, 0xFFFU, 0x1000U, 0x1FFFU, 0x2000U, 0x400000U, 0x7FF000U, 0x7FE000U, 0x7FFFFFU}) {
        codes.push_back(sign | field << 23 | fraction);
      }
    }
  }
  for (int i = 0; i < 100000; ++i) codes.push_back(random.next32());
  for (int i = 0; i < 20000; ++i) codes.push_back(random.next32() & 0x807FFFFF);
  return codes;
}

float value_by_mpfr(Format format, std::uint32_t code, bool flush) {
  if (spec(format).integer_bits != 0) {
    return format == Format::Int8 ? static_cast<float>(static_cast<std::int8_t>(code)) : static_cast<float>(code);
  }
  return float_of(test::decode_by_mpfr(test::facts_of(format), code, flush));
}

void expect_canonical(const Operand& operand) {
  EXPECT_LE(operand.significand, 0xFFFU);
  EXPECT_LE(operand.exponent, 0x1FFU);
  if (operand.significand == 0) {
    EXPECT_EQ(operand.exponent, 0U);
  } else {
    EXPECT_GE(operand.significand, 0x800U);
  }
}

TEST(Operand, PacksWhatItUnpacks) {
  EXPECT_EQ(pack_operand({OperandKind::LowHalf, true, 0x155, 0xABC}), 0x5U << 22 | 1U << 21 | 0x155U << 12 | 0xABCU);
  test::TestRandom random(test::seed());
  for (int i = 0; i < 10000; ++i) {
    const std::uint32_t bits = random.below(1U << 25);
    ASSERT_EQ(pack_operand(unpack_operand(bits)), bits);
  }
}

TEST(Operand, ArrayTakesEveryFormatOfTwelveBitsOfSignificand) {
  const std::vector<Format> expected = {Format::Fp32, Format::Tf32,   Format::Bf16, Format::Fp16,
                                        Format::E4M3, Format::E4M3FN, Format::E5M2, Format::E3M4,
                                        Format::E8M0, Format::E2M1,   Format::Int8, Format::Uint8};
  EXPECT_EQ(array_formats(), expected);
}

TEST(Operand, WholeValuesAreMpfrs) {
  for (const Format format : array_formats()) {
    if (format == Format::Fp32) continue;
    for (const bool flush : {false, true}) {
      for (const std::uint32_t code : codes_of(format)) {
        const Operand operand = decode_operand(format, OperandPart::Whole, code, flush);
        const float value = value_by_mpfr(format, code, flush);
        expect_canonical(operand);
        const OperandKind kind = std::isnan(value)   ? OperandKind::NotANumber
                                 : std::isinf(value) ? OperandKind::Infinity
                                 : value == 0        ? OperandKind::Zero
                                                     : OperandKind::Finite;
        ASSERT_EQ(operand.kind, kind) << spec(format).name << " " << std::hex << code;
        if (kind == OperandKind::NotANumber) continue;
        ASSERT_EQ(bits_of(static_cast<float>(operand_value(operand))), bits_of(value))
            << spec(format).name << " " << std::hex << code;
      }
    }
  }
}

TEST(Operand, HalvesOfFp32AddUpExactly) {
  for (const bool flush : {false, true}) {
    for (const std::uint32_t code : codes_of(Format::Fp32)) {
      const Operand high = decode_operand(Format::Fp32, OperandPart::High, code, flush);
      const Operand low = decode_operand(Format::Fp32, OperandPart::Low, code, flush);
      expect_canonical(high);
      expect_canonical(low);
      const float value = float_of(code);
      ASSERT_EQ(high.sign, std::signbit(value));
      ASSERT_EQ(low.sign, std::signbit(value));
      if (!std::isfinite(value)) {
        ASSERT_EQ(high.kind, std::isnan(value) ? OperandKind::NotANumber : OperandKind::Infinity);
        ASSERT_EQ(low.kind, OperandKind::Absent);
        continue;
      }
      const bool vanishes = value == 0 || (flush && std::fabs(value) < 0x1p-126F);
      ASSERT_EQ(high.kind, vanishes ? OperandKind::Zero : OperandKind::Finite) << std::hex << code;
      ASSERT_EQ(low.kind, OperandKind::LowHalf);
      ASSERT_EQ(operand_value(high) + operand_value(low), vanishes ? 0 : static_cast<double>(value))
          << std::hex << code;
      // The low half is what lies below bit 12.
      const double unit = std::ldexp(1.0, static_cast<int>(std::max(code >> 23 & 0xFF, 1U)) - 150);
      ASSERT_EQ(std::fabs(operand_value(low)), vanishes ? 0 : (code & 0xFFF) * unit) << std::hex << code;
    }
  }
}

// Codes through the west edge of the array, on all its lanes.
void compare_edge(const RtlLibrary& library) {
  const rtl::EdgeAbi& edge = library.abi().west;
  const bool flush = edge.flush_denormals != 0;
  const std::unique_ptr<void, void (*)(void*)> unit(edge.unit.create(&plain_context(), "west"), edge.unit.destroy);
  for (const Format format : array_formats()) {
    std::vector<OperandPart> parts = {OperandPart::Whole};
    if (format == Format::Fp32) parts = {OperandPart::High, OperandPart::Low};
    const std::vector<std::uint32_t> codes = codes_of(format);
    const std::uint32_t drain = edge.lane_skew * edge.lanes;
    const auto cycles = static_cast<std::uint32_t>((codes.size() + edge.lanes - 1) / edge.lanes + drain);
    for (const OperandPart part : parts) {
      std::vector<std::uint8_t> valid(cycles, 1);
      std::vector<std::uint16_t> tag(cycles);
      std::vector<std::uint32_t> lanes(cycles * edge.lanes);
      std::vector<std::uint8_t> present(cycles * edge.lanes, 1);
      std::vector<rtl::OperandBeat> operands(cycles * edge.lanes);
      std::copy(codes.begin(), codes.end(), lanes.begin());
      for (std::uint32_t t = 0; t < cycles; ++t) tag[t] = t / 3 % 2;
      for (std::size_t i = 0; i < present.size(); i += 37) present[i] = 0;
      rtl::EdgeBlock block;
      block.cycles = cycles;
      block.valid = valid.data();
      block.tag = tag.data();
      block.codes = lanes.data();
      block.present = present.data();
      block.format = static_cast<std::uint32_t>(format);
      block.part = static_cast<std::uint32_t>(part);
      block.operands = operands.data();
      edge.unit.reset(unit.get());
      edge.run(unit.get(), block);
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const std::size_t lane = i % edge.lanes;
        const std::size_t entered = i / edge.lanes;
        const rtl::OperandBeat& beat = operands[(entered + edge.lane_skew * lane) * edge.lanes + lane];
        ASSERT_EQ(beat.valid, 1);
        ASSERT_EQ(beat.tag, tag[entered]);
        const Operand expected = present[i] == 0 ? Operand{} : decode_operand(format, part, codes[i], flush);
        ASSERT_EQ(beat.operand, pack_operand(expected))
            << spec(format).name << " part " << static_cast<int>(part) << " code " << std::hex << codes[i] << ": "
            << show_operand(beat.operand) << " for " << show_operand(pack_operand(expected));
      }
    }
  }
}

TEST(OperandRtl, EdgeDecodesEveryCodeLikeTheModel) { compare_edge(RtlLibrary::load({})); }

TEST(OperandRtl, EdgeThatFlushesDecodesEveryCodeLikeTheModel) {
  RtlParameters parameters;
  parameters.pipeline_stages = 2;
  parameters.flush_denormals = true;
  compare_edge(RtlLibrary::load(parameters));
}

}  // namespace
}  // namespace azulejo
