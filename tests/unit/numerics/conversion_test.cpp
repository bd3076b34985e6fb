// SPDX-License-Identifier: Apache-2.0
// Is every conversion, in each direction, scalar and by rows, the one that MPFR and the host's own hardware give?
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/numerics/reference.h"
#include "tlm/numerics/format.h"
#include "tlm/numerics/matmul.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace azulejo::test {
namespace {

constexpr Expected kModes[] = {{false, false}, {true, false}, {false, true}, {true, true}};

ConversionMode mode_of(Expected mode) { return {Rounding::NearestEven, mode.saturate, mode.flush}; }

std::uint32_t code_at(Format format, const std::vector<unsigned char>& bytes, std::size_t index) {
  const std::size_t bits = spec(format).storage_bits;
  if (bits == 4) return (bytes[index / 2] >> (index % 2 * 4)) & 0xF;
  std::uint32_t code = 0;
  std::memcpy(&code, bytes.data() + index * (bits / 8), bits / 8);
  return code;
}

void put_code(Format format, std::vector<unsigned char>& bytes, std::size_t index, std::uint32_t code) {
  const std::size_t bits = spec(format).storage_bits;
  if (bits == 4) {
    auto& byte = bytes[index / 2];
    byte = static_cast<unsigned char>(index % 2 == 0 ? (byte & 0xF0) | code : (byte & 0x0F) | code << 4);
    return;
  }
  std::memcpy(bytes.data() + index * (bits / 8), &code, bits / 8);
}

// Scalar conversion and rows on every path, against `expected`.
std::size_t count_encode_mismatches(Format format, const std::vector<float>& inputs,
                                    const std::vector<std::uint32_t>& expected, Expected mode) {
  std::size_t mismatches = 0;
  const auto check = [&](const char* what, std::size_t i, std::uint32_t code) {
    if (code == expected[i]) return;
    if (++mismatches <= 5) {
      std::printf("%s to %s, input %08X (saturate %d, flush %d): %X, expected %X\n", what,
                  std::string(spec(format).name).c_str(), bits_of(inputs[i]), mode.saturate, mode.flush, code,
                  expected[i]);
    }
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) check("scalar", i, encode(format, inputs[i], mode_of(mode)));
  const PathGuard guard;
  for (const auto path : host_paths()) {
    select_simd_path(path);
    std::vector<unsigned char> bytes(storage_bytes(format, inputs.size()), 0xA5);
    encode_row(format, inputs.data(), bytes.data(), inputs.size(), mode_of(mode));
    for (std::size_t i = 0; i < inputs.size(); ++i) check(std::string(path).c_str(), i, code_at(format, bytes, i));
  }
  return mismatches;
}

void expect_every_code_decodes(Format format) {
  const FloatFacts& facts = facts_of(format);
  const std::uint32_t count = 1U << facts.storage_bits;
  std::vector<unsigned char> bytes(storage_bytes(format, count));
  for (std::uint32_t code = 0; code < count; ++code) put_code(format, bytes, code, code);
  std::size_t cases = 0;
  std::size_t mismatches = 0;
  for (const bool flush : {false, true}) {
    std::vector<std::uint32_t> expected(count);
    for (std::uint32_t code = 0; code < count; ++code) {
      expected[code] = decode_by_mpfr(facts, code, flush);
      mismatches += bits_of(decode(format, code, flush)) != expected[code];
      ++cases;
    }
    const PathGuard guard;
    for (const auto path : host_paths()) {
      select_simd_path(path);
      std::vector<float> values(count);
      decode_row(format, bytes.data(), values.data(), count, flush);
      for (std::uint32_t code = 0; code < count; ++code) mismatches += bits_of(values[code]) != expected[code];
      cases += count;
    }
  }
  std::printf("%zu cases, %zu mismatches\n", cases, mismatches);
  EXPECT_EQ(mismatches, 0U);
}

TEST(Conversion, EveryBf16CodeDecodesAsMpfrSays) { expect_every_code_decodes(Format::Bf16); }
TEST(Conversion, EveryFp16CodeDecodesAsMpfrSays) { expect_every_code_decodes(Format::Fp16); }
TEST(Conversion, EveryE4M3CodeDecodesAsMpfrSays) { expect_every_code_decodes(Format::E4M3); }
TEST(Conversion, EveryE4M3FNCodeDecodesAsMpfrSays) { expect_every_code_decodes(Format::E4M3FN); }
TEST(Conversion, EveryE5M2CodeDecodesAsMpfrSays) { expect_every_code_decodes(Format::E5M2); }
TEST(Conversion, EveryE3M4CodeDecodesAsMpfrSays) { expect_every_code_decodes(Format::E3M4); }
TEST(Conversion, EveryE8M0CodeDecodesAsMpfrSays) { expect_every_code_decodes(Format::E8M0); }
TEST(Conversion, EveryE2M1CodeDecodesAsMpfrSays) { expect_every_code_decodes(Format::E2M1); }

TEST(Conversion, EveryTf32CodeDecodesAsMpfrSaysWhateverItsLowBitsHold) {
  const FloatFacts& facts = facts_of(Format::Tf32);
  TestRandom random(seed());
  std::vector<std::uint32_t> codes(1U << 19);
  for (std::uint32_t i = 0; i < codes.size(); ++i) codes[i] = i << 13 | (random.next32() & 0x1FFF);
  std::size_t mismatches = 0;
  const PathGuard guard;
  for (const bool flush : {false, true}) {
    for (const auto path : host_paths()) {
      select_simd_path(path);
      std::vector<float> values(codes.size());
      decode_row(Format::Tf32, codes.data(), values.data(), codes.size(), flush);
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const std::uint32_t expected = decode_by_mpfr(facts, codes[i], flush);
        mismatches += bits_of(values[i]) != expected || bits_of(decode(Format::Tf32, codes[i], flush)) != expected;
      }
    }
  }
  std::printf("%zu cases, %zu mismatches\n", 2 * host_paths().size() * codes.size(), mismatches);
  EXPECT_EQ(mismatches, 0U);
}

// Every value of a format (TF32: see below), half way to its neighbour, and one FP32 step to each side of both.
void expect_all_midpoints_round(Format format) {
  const ValueList list(facts_of(format));
  std::vector<float> inputs;
  const auto add = [&](double value) {
    const float centre = static_cast<float>(value);
    for (const float input : {centre, std::nextafterf(centre, INFINITY), std::nextafterf(centre, -INFINITY)}) {
      inputs.push_back(input);
      inputs.push_back(-input);
    }
  };
  // TF32 has 2^18 magnitudes: its first and last binades, and one in seven of the others.
  const bool all = format != Format::Tf32 || long_run();
  for (std::size_t i = 0; i + 1 < list.values.size(); ++i) {
    if (!all && i % 7 != 0 && i > 4096 && i + 4096 < list.values.size()) continue;
    add(list.values[i]);
    add((list.values[i] + list.values[i + 1]) / 2);
  }
  add(list.values.back());
  for (const std::uint32_t bits :
       {0x7F800000U, 0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0x7F7FFFFFU, 1U, 0x007FFFFFU, 0x00800000U}) {
    inputs.push_back(float_of(bits));
    inputs.push_back(float_of(bits | 0x80000000));
  }
  std::size_t mismatches = 0;
  for (const Expected mode : kModes) {
    std::vector<std::uint32_t> expected;
    for (const float input : inputs) {
      expected.push_back(encode_by_mpfr(list, input, mode));
      mismatches += expected.back() != encode_by_search(list, input, mode);
    }
    EXPECT_EQ(mismatches, 0U) << "the two references differ";
    mismatches += count_encode_mismatches(format, inputs, expected, mode);
  }
  std::printf("%zu cases, %zu mismatches\n", inputs.size() * 4 * (1 + host_paths().size()), mismatches);
  EXPECT_EQ(mismatches, 0U);
}

TEST(Conversion, Tf32RoundsEveryMidpointAndItsNeighboursToNearestEven) { expect_all_midpoints_round(Format::Tf32); }
TEST(Conversion, Bf16RoundsEveryMidpointAndItsNeighboursToNearestEven) { expect_all_midpoints_round(Format::Bf16); }
TEST(Conversion, Fp16RoundsEveryMidpointAndItsNeighboursToNearestEven) { expect_all_midpoints_round(Format::Fp16); }
TEST(Conversion, E4M3RoundsEveryMidpointAndItsNeighboursToNearestEven) { expect_all_midpoints_round(Format::E4M3); }
TEST(Conversion, E4M3FNRoundsEveryMidpointAndItsNeighboursToNearestEven) { expect_all_midpoints_round(Format::E4M3FN); }
TEST(Conversion, E5M2RoundsEveryMidpointAndItsNeighboursToNearestEven) { expect_all_midpoints_round(Format::E5M2); }
TEST(Conversion, E3M4RoundsEveryMidpointAndItsNeighboursToNearestEven) { expect_all_midpoints_round(Format::E3M4); }
TEST(Conversion, E8M0RoundsEveryMidpointAndItsNeighboursToNearestEven) { expect_all_midpoints_round(Format::E8M0); }
TEST(Conversion, E2M1RoundsEveryMidpointAndItsNeighboursToNearestEven) { expect_all_midpoints_round(Format::E2M1); }

TEST(Conversion, EveryFp16AndBf16ValueEncodesIntoEveryFormatAsMpfrSays) {
  std::vector<float> inputs;
  for (const Format source : {Format::Fp16, Format::Bf16}) {
    for (std::uint32_t code = 0; code < 65536; ++code) {
      inputs.push_back(float_of(decode_by_mpfr(facts_of(source), code, false)));
    }
  }
  std::size_t mismatches = 0;
  std::size_t cases = 0;
  for (const FloatFacts& facts : float_facts()) {
    const ValueList list(facts);
    for (const Expected mode : kModes) {
      std::vector<std::uint32_t> expected;
      for (const float input : inputs) expected.push_back(encode_by_search(list, input, mode));
      mismatches += count_encode_mismatches(facts.format, inputs, expected, mode);
      cases += inputs.size() * (1 + host_paths().size());
    }
  }
  std::printf("%zu cases, %zu mismatches\n", cases, mismatches);
  EXPECT_EQ(mismatches, 0U);
}

TEST(Conversion, RandomFp32EncodesIntoEveryFormatAsMpfrSays) {
  TestRandom random(seed());
  std::size_t mismatches = 0;
  std::size_t cases = 0;
  for (const FloatFacts& facts : float_facts()) {
    const ValueList list(facts);
    for (const Expected mode : kModes) {
      std::vector<float> inputs;
      std::vector<std::uint32_t> expected;
      for (int i = 0; i < 160000; ++i) {
        std::uint32_t bits = random.next32();
        if (i % 2 == 0) {  // an exponent in or near the format's range
          const int span = (1 << facts.exponent_bits) + facts.mantissa_bits + 6;
          const int exponent = 127 - facts.bias - facts.mantissa_bits - 3 +
                               static_cast<int>(random.below(static_cast<std::uint32_t>(span)));
          bits = (bits & 0x807FFFFF) | static_cast<std::uint32_t>(std::min(std::max(exponent, 0), 255)) << 23;
        }
        inputs.push_back(float_of(bits));
        expected.push_back(encode_by_mpfr(list, inputs.back(), mode));
      }
      mismatches += count_encode_mismatches(facts.format, inputs, expected, mode);
      cases += inputs.size();
    }
  }
  std::printf("%zu cases, %zu mismatches\n", cases, mismatches);
  EXPECT_EQ(mismatches, 0U);
}

// FP32 magnitudes in ascending order, so that the search for the neighbours only ever moves on.
std::size_t sweep_mismatches(Format format, std::uint32_t first, std::uint32_t last) {
  const ValueList list(facts_of(format));
  std::size_t hint = 0;
  std::size_t mismatches = 0;
  constexpr std::uint32_t kChunk = 4096;
  std::vector<float> inputs(kChunk);
  std::vector<std::uint16_t> codes(kChunk);
  const double first_value = static_cast<double>(float_of(first));
  while (hint + 2 < list.values.size() && list.values[hint + 1] <= first_value) ++hint;
  for (std::uint32_t start = first; start < last; start += kChunk) {
    for (std::uint32_t i = 0; i < kChunk; ++i) inputs[i] = float_of(start + i);
    encode_row(format, inputs.data(), codes.data(), kChunk);
    std::vector<std::uint16_t> negative_codes(kChunk);
    for (float& input : inputs) input = -input;
    encode_row(format, inputs.data(), negative_codes.data(), kChunk);
    for (std::uint32_t i = 0; i < kChunk; ++i) {
      std::uint32_t expected = 0;
      const std::uint32_t bits = start + i;
      bool nan = false;
      if (bits > 0x7F800000) {
        expected = list.facts.canonical_nan;
        nan = true;
      } else if (bits == 0x7F800000) {
        expected = list.codes[list.codes.size() - 2] + 1;
      } else {
        const double value = static_cast<double>(float_of(bits));
        while (hint + 2 < list.values.size() && list.values[hint + 1] <= value) ++hint;
        const double middle = (list.values[hint] + list.values[hint + 1]) / 2;
        const bool up = value > middle || (value == middle && hint % 2 != 0);
        expected = static_cast<std::uint32_t>(hint + (up ? 1 : 0));  // the codes of both formats count up from 0
      }
      mismatches += codes[i] != expected;
      mismatches += negative_codes[i] != (nan ? expected : expected | 0x8000);
    }
  }
  return mismatches;
}

void expect_sweep(Format format) {
  if (long_run()) {
    const std::size_t mismatches = sweep_mismatches(format, 0, 0x80000000);
    std::printf("4294967296 cases, %zu mismatches\n", mismatches);
    EXPECT_EQ(mismatches, 0U);
    return;
  }
  TestRandom random(seed());
  std::size_t mismatches = 0;
  std::size_t cases = 0;
  for (int i = 0; i < 64; ++i) {
    const std::uint32_t start = (random.next32() >> 1) & ~0xFFFFU;
    mismatches += sweep_mismatches(format, start, start + 0x10000);
    cases += 0x20000;
  }
  std::printf("%zu cases, %zu mismatches\n", cases, mismatches);
  EXPECT_EQ(mismatches, 0U);
}

TEST(Conversion, Fp32SweepIntoBf16IsTheNearestOfTheNeighbours) { expect_sweep(Format::Bf16); }
TEST(Conversion, Fp32SweepIntoFp16IsTheNearestOfTheNeighbours) { expect_sweep(Format::Fp16); }

#if defined(__x86_64__)
__attribute__((target("f16c"))) std::uint32_t hardware_fp16(float value) {
  return static_cast<std::uint32_t>(_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT), 0));
}
__attribute__((target("f16c"))) float hardware_fp32(std::uint32_t code) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(code))));
}

TEST(Conversion, Fp16AgreesWithTheHostsF16c) {
  if (!__builtin_cpu_supports("avx2")) {
    std::printf("host without F16C: 0 cases\n");
    return;
  }
  std::size_t mismatches = 0;
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const float value = hardware_fp32(code);
    mismatches += bits_of(decode(Format::Fp16, code)) != (value != value ? kNan32 : bits_of(value));
  }
  TestRandom random(seed());
  const int cases = long_run() ? 1 << 28 : 1 << 21;
  for (int i = 0; i < cases; ++i) {
    std::uint32_t bits = random.next32();
    if (i % 2 == 0) bits = (bits & 0x807FFFFF) | (100 + random.below(46)) << 23;
    const float value = float_of(bits);
    mismatches += encode(Format::Fp16, value) != (value != value ? 0x7E00 : hardware_fp16(value) & 0xFFFF);
  }
  std::printf("%d cases, %zu mismatches\n", 65536 + cases, mismatches);
  EXPECT_EQ(mismatches, 0U);
}
#endif

TEST(Conversion, Fp32ToFp32OnlyCanonicalisesSaturatesAndFlushes) {
  TestRandom random(seed());
  std::vector<float> inputs;
  for (const std::uint32_t bits :
       {0U, 1U, 0x007FFFFFU, 0x00800000U, 0x7F7FFFFFU, 0x7F800000U, 0x7F800001U, 0x7FFFFFFFU}) {
    inputs.push_back(float_of(bits));
    inputs.push_back(float_of(bits | 0x80000000));
  }
  for (int i = 0; i < 200000; ++i) inputs.push_back(float_of(random.next32() & (i % 4 == 0 ? 0x807FFFFF : 0xFFFFFFFF)));
  for (const Expected mode : kModes) {
    std::vector<std::uint32_t> expected;
    for (const float input : inputs) {
      const std::uint32_t sign = bits_of(input) & 0x80000000;
      std::uint32_t code = bits_of(input);
      if (std::isnan(input)) code = kNan32;
      if (std::isinf(input) && mode.saturate) code = sign | 0x7F7FFFFF;
      if (std::fpclassify(input) == FP_SUBNORMAL && mode.flush) code = sign;
      expected.push_back(code);
    }
    EXPECT_EQ(count_encode_mismatches(Format::Fp32, inputs, expected, mode), 0U);
  }
  const PathGuard guard;
  for (const auto path : host_paths()) {
    select_simd_path(path);
    for (const bool flush : {false, true}) {
      std::vector<float> outputs(inputs.size());
      decode_row(Format::Fp32, inputs.data(), outputs.data(), inputs.size(), flush);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        std::uint32_t expected = std::isnan(inputs[i]) ? kNan32 : bits_of(inputs[i]);
        if (flush && std::fpclassify(inputs[i]) == FP_SUBNORMAL) expected &= 0x80000000;
        ASSERT_EQ(bits_of(outputs[i]), expected);
        ASSERT_EQ(bits_of(decode(Format::Fp32, bits_of(inputs[i]), flush)), expected);
      }
    }
  }
}

struct IntegerFacts {
  Format format;
  double low;
  double high;
};
constexpr IntegerFacts kIntegers[] = {{Format::Int8, -128, 127},
                                      {Format::Uint8, 0, 255},
                                      {Format::Int16, -32768, 32767},
                                      {Format::Uint16, 0, 65535},
                                      {Format::Int32, -0x1p31, 0x1p31 - 1},
                                      {Format::Uint32, 0, 0x1p32 - 1}};

TEST(Conversion, IntegersRoundToNearestEvenSaturateAndTakeNanAsZero) {
  TestRandom random(seed());
  std::vector<float> inputs = {0.0F, -0.0F, 0.5F,     1.5F,      2.5F,   -0.5F, -1.5F, -2.5F,
                               NAN,  -NAN,  INFINITY, -INFINITY, 1e-40F, 3e38F, -3e38F};
  for (const IntegerFacts& facts : kIntegers) {
    for (const double edge : {facts.low, facts.high}) {
      for (const double offset : {-1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5}) {
        const float near = static_cast<float>(edge + offset);
        for (const float input : {near, std::nextafterf(near, INFINITY), std::nextafterf(near, -INFINITY)})
          inputs.push_back(input);
      }
    }
  }
  for (int i = 0; i < 200000; ++i) {
    const std::uint32_t bits = random.next32();
    inputs.push_back(float_of((bits & 0x807FFFFF) | (118 + random.below(44)) << 23));
  }
  for (const IntegerFacts& facts : kIntegers) {
    std::vector<std::uint32_t> expected;
    const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t{1} << spec(facts.format).storage_bits) - 1);
    for (const float input : inputs) {
      double rounded = std::isnan(input) ? 0 : std::nearbyint(static_cast<double>(input));
      rounded = std::min(std::max(rounded, facts.low), facts.high);
      expected.push_back(static_cast<std::uint32_t>(static_cast<std::int64_t>(rounded)) & mask);
    }
    for (const Expected mode : kModes) EXPECT_EQ(count_encode_mismatches(facts.format, inputs, expected, mode), 0U);
  }
}

TEST(Conversion, IntegersDecodeExactlyOrToNearestEven) {
  TestRandom random(seed());
  const PathGuard guard;
  for (const IntegerFacts& facts : kIntegers) {
    const std::size_t bits = spec(facts.format).storage_bits;
    std::vector<std::uint32_t> codes;
    if (bits <= 16) {
      for (std::uint32_t code = 0; code < 1U << bits; ++code) codes.push_back(code);
    } else {
      for (int i = 0; i < 100000; ++i) codes.push_back(random.next32() >> random.below(32));
      for (const std::uint32_t code :
           {0U, 0xFFFFFFFFU, 0x80000000U, 0x7FFFFFFFU, 0x01000001U, 0x01000003U, 0xFFFFFF80U, 0xFFFFFF7FU}) {
        codes.push_back(code);
      }
    }
    std::vector<unsigned char> bytes(codes.size() * bits / 8);
    for (std::size_t i = 0; i < codes.size(); ++i) put_code(facts.format, bytes, i, codes[i]);
    for (const auto path : host_paths()) {
      select_simd_path(path);
      std::vector<float> values(codes.size());
      decode_row(facts.format, bytes.data(), values.data(), codes.size());
      for (std::size_t i = 0; i < codes.size(); ++i) {
        double exact = codes[i];
        if (exact > facts.high) exact -= std::ldexp(1.0, static_cast<int>(bits));
        ASSERT_TRUE(same(values[i], static_cast<float>(exact))) << codes[i];
        ASSERT_TRUE(same(decode(facts.format, codes[i]), static_cast<float>(exact))) << codes[i];
      }
    }
  }
}

TEST(Conversion, RowsOfEveryLengthAtAnyByteAddressTouchNothingElse) {
  TestRandom random(seed());
  const PathGuard guard;
  for (const auto path : host_paths()) {
    select_simd_path(path);
    for (const Format format : all_formats()) {
      for (std::size_t count = 0; count < 150; count += count < 70 ? 1 : 13) {
        const std::size_t size = storage_bytes(format, count);
        std::vector<float> values(count);
        for (float& value : values) value = float_of((random.next32() & 0x807FFFFF) | (120 + random.below(12)) << 23);
        std::vector<unsigned char> bytes(size + 2, 0xEE);
        encode_row(format, values.data(), bytes.data() + 1, count);
        ASSERT_EQ(bytes.front(), 0xEE);
        ASSERT_EQ(bytes.back(), 0xEE);
        std::vector<float> back(count + 2, 123.0F);
        decode_row(format, bytes.data() + 1, back.data() + 1, count);
        ASSERT_EQ(back.front(), 123.0F);
        ASSERT_EQ(back.back(), 123.0F);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_TRUE(same(back[i + 1], decode(format, encode(format, values[i]))))
              << spec(format).name << " " << count;
        }
      }
    }
  }
}

TEST(Conversion, TheLastHalfByteOfAnOddE2M1RowIsZero) {
  const float values[] = {6, -6, 1};
  unsigned char bytes[] = {0xFF, 0xFF};
  encode_row(Format::E2M1, values, bytes, 3);
  EXPECT_EQ(bytes[0], 0xF7);
  EXPECT_EQ(bytes[1], 0x02);
}

TEST(Conversion, DecisionsThatTheFormatsLeaveOpen) {
  EXPECT_EQ(encode(Format::E2M1, NAN), 0x7U);  // no NaN: the largest, positive
  EXPECT_EQ(encode(Format::E2M1, -NAN), 0x7U);
  EXPECT_EQ(encode(Format::E2M1, -INFINITY), 0xFU);      // saturates without being asked
  EXPECT_EQ(encode(Format::E4M3FN, 464.0F), 0x7EU);      // half way to 480: even is 448
  EXPECT_EQ(encode(Format::E4M3FN, 464.03125F), 0x7FU);  // overflow is NaN
  EXPECT_EQ(encode(Format::E4M3FN, -1e6F), 0x7FU);       // whose sign is 0
  EXPECT_EQ(encode(Format::E4M3FN, -1e6F, {Rounding::NearestEven, true, false}), 0xFEU);
  EXPECT_EQ(encode(Format::E4M3, 248.0F), 0x78U);  // half way to 256: overflow
  EXPECT_EQ(encode(Format::E8M0, 0.0F), 0x00U);    // no zero: the smallest
  EXPECT_EQ(encode(Format::E8M0, -0.0F), 0x00U);
  EXPECT_EQ(encode(Format::E8M0, -1.0F), 0xFFU);  // no negative values
  EXPECT_EQ(encode(Format::E8M0, 1.5F), 0x80U);   // half way: the odd significand 1 goes up
  EXPECT_EQ(encode(Format::E8M0, 0x1.8p127F), 0xFFU);
  EXPECT_EQ(encode(Format::E8M0, INFINITY, {Rounding::NearestEven, true, false}), 0xFEU);
  EXPECT_TRUE(same(decode(Format::E8M0, 0, true), 0x1p-127F));    // not subnormal in its own format
  EXPECT_TRUE(same(decode(Format::Tf32, 0x7F800001), INFINITY));  // the low 13 bits are ignored
}

}  // namespace
}  // namespace azulejo::test
