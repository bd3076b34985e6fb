// SPDX-License-Identifier: Apache-2.0
// Vector engine: documented costs (SDK 2.26 nki.isa docstrings), exact to the femtosecond, and values.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/support/machine.h"

namespace azulejo::test {
namespace {

constexpr std::uint64_t kClock = 1'120'000'000;

struct Case {
  std::string instruction;
  std::uint64_t cycles;
};

void expect_costs(const std::vector<Case>& cases) {
  const std::uint32_t chips = static_cast<std::uint32_t>((cases.size() + 15) / 16);
  Machine machine("trn1.2xlarge", {"chip.cores=16", "chip.hbm_stacks=1", fmt::format("chips={}", chips)});
  for (std::uint32_t c = 0; c < cases.size(); ++c)
    machine.load(".engine vector\n  " + cases[c].instruction + "\n  " + cases[c].instruction, c);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  for (const Fault& fault : machine.faults()) ADD_FAILURE() << fault.text << ": " << fault.message;
  for (std::uint32_t c = 0; c < cases.size(); ++c) {
    const VectorEngine& engine = machine.core(c).vector_engine;
    const std::vector<Span> spans =
        machine.recorder().spans(engine.name(), cases[c].instruction.substr(0, cases[c].instruction.find(' ')));
    ASSERT_EQ(spans.size(), 2u) << cases[c].instruction;
    EXPECT_EQ(spans[0].end, edge(cases[c].cycles, kClock)) << cases[c].instruction;
    EXPECT_EQ(spans[1].start, edge(cases[c].cycles, kClock)) << cases[c].instruction;
    EXPECT_EQ(engine.stats().busy_cycles, 2 * cases[c].cycles) << cases[c].instruction;
    // The last element is visible 60 cycles after it was issued.
    EXPECT_EQ(engine.engine_stats().finished_at, edge(2 * cases[c].cycles + 60, kClock)) << cases[c].instruction;
  }
  expect_accounts_add_up(machine);
}

TEST(VectorEngine, ACopyTakesNCyclesAndAtLeast64) {
  std::vector<Case> cases;
  for (const std::uint32_t n : {1u, 63u, 64u, 65u, 512u, 4096u}) {
    const std::uint64_t cycles = n < 64 ? 64 : n;
    cases.push_back(
        {fmt::format("tensor_copy dst=sbuf[0:128, 0] bf16 <{}>, src=sbuf[0:128, 65536] fp32 <{}>", n, n), cycles});
    cases.push_back({fmt::format("tensor_copy dst=sbuf[0:1, 0] fp32 <{}>, src=psum[0:1, 0] fp32 <{}>", n, n), cycles});
  }
  expect_costs(cases);
}

TEST(VectorEngine, AMemsetTakesNCyclesAndHalfForZeroIn16Bits) {
  std::vector<Case> cases;
  for (const std::uint32_t n : {1u, 64u, 100u, 127u, 128u, 129u, 130u, 131u, 512u, 8191u}) {
    const std::uint64_t whole = n < 64 ? 64 : n;
    const std::uint64_t half = (n + 1) / 2 < 64 ? 64 : (n + 1) / 2;
    cases.push_back({fmt::format("memset dst=sbuf[0:128, 0] bf16 <{}>, value=0.0", n), half});
    cases.push_back({fmt::format("memset dst=sbuf[0:128, 0] fp16 <{}>, value=0.0", n), half});
    cases.push_back({fmt::format("memset dst=sbuf[0:128, 0] bf16 <{}>, value=1.0", n), whole});
    cases.push_back({fmt::format("memset dst=sbuf[0:128, 0] fp32 <{}>, value=0.0", n), whole});
  }
  expect_costs(cases);
}

TEST(VectorEngine, TensorTensorTakesNWithOneInputInPsumOrAllBf16InSbufElse2N) {
  std::vector<Case> cases;
  const auto add = [&](const std::string& dst, const std::string& a, const std::string& b, std::uint64_t cycles) {
    cases.push_back({"tensor_tensor dst=" + dst + ", data1=" + a + ", data2=" + b + ", op=add", cycles});
  };
  const auto tile = [](const char* memory, std::uint32_t offset, const char* format, std::uint32_t n) {
    return fmt::format("{}[0:128, {}] {} <{}>", memory, offset, format, n);
  };
  for (const std::uint32_t n : {1u, 32u, 33u, 64u, 100u, 512u}) {
    const std::uint64_t once = n < 64 ? 64 : n;
    const std::uint64_t twice = 2 * n < 64 ? 64 : 2 * n;
    add(tile("sbuf", 0, "bf16", n), tile("sbuf", 8192, "bf16", n), tile("sbuf", 16384, "bf16", n), once);
    add(tile("sbuf", 0, "fp32", n), tile("sbuf", 8192, "bf16", n), tile("sbuf", 16384, "bf16", n), twice);
    add(tile("sbuf", 0, "bf16", n), tile("sbuf", 8192, "fp32", n), tile("sbuf", 16384, "bf16", n), twice);
    add(tile("sbuf", 0, "bf16", n), tile("sbuf", 8192, "bf16", n), tile("sbuf", 16384, "fp16", n), twice);
    add(tile("sbuf", 0, "fp32", n), tile("sbuf", 8192, "fp32", n), tile("sbuf", 16384, "fp32", n), twice);
    add(tile("sbuf", 0, "fp32", n), tile("psum", 0, "fp32", n), tile("sbuf", 16384, "fp32", n), once);
    add(tile("psum", 0, "fp32", n), tile("sbuf", 8192, "bf16", n), tile("psum", 2048, "fp32", n), once);
  }
  // bf16 in SBUF, but not contiguous.
  add("sbuf[0:128, 0] bf16 <100>", "sbuf[0:128, 8192] bf16 <100:2>", "sbuf[0:128, 16384] bf16 <100>", 200);
  add("sbuf[0:128, 0] bf16 <10:20, 10>", "sbuf[0:128, 8192] bf16 <100>", "sbuf[0:128, 16384] bf16 <100>", 200);
  // bf16, but the result in PSUM.
  add("psum[0:128, 0] bf16 <100>", "sbuf[0:128, 8192] bf16 <100>", "sbuf[0:128, 16384] bf16 <100>", 200);
  expect_costs(cases);
}

TEST(VectorEngine, AnUpdateAtReadComesAtTheStartAndOneAtCompleteWhenTheResultIsVisible) {
  Machine machine("trn1.2xlarge");
  machine.load(R"(.engine vector
  memset dst=sbuf[0:128, 0] fp32 <500>, value=1.0  inc s0 at_read
  memset dst=sbuf[0:128, 0] fp32 <500>, value=1.0  inc s1
  memset dst=sbuf[0:128, 0] fp32 <64>, value=1.0  add s2 7 at_read
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.semaphore_changes(0).at(0).time, 0u);
  EXPECT_EQ(machine.semaphore_changes(1).at(0).time, edge(500 + 500 + 60, kClock));
  EXPECT_EQ(machine.semaphore_changes(2).at(0).time, edge(1000, kClock));
  EXPECT_EQ(machine.semaphore_changes(2).at(0).value, 7u);
}

// Codes of 1.5, -2 and 2 in every format of at least 8 bits, written down from the formats' definitions.
struct Codes {
  const char* name;
  std::size_t bytes;
  bool integer;  // holds 2 for 1.5 (nearest even)
  std::uint32_t code[3];
};
const std::vector<Codes> kCodes = {
    {"fp32", 4, false, {0x3FC00000, 0xC0000000, 0x40000000}},
    {"tf32", 4, false, {0x3FC00000, 0xC0000000, 0x40000000}},
    {"bf16", 2, false, {0x3FC0, 0xC000, 0x4000}},
    {"fp16", 2, false, {0x3E00, 0xC000, 0x4000}},
    {"e4m3", 1, false, {0x3C, 0xC0, 0x40}},
    {"e5m2", 1, false, {0x3E, 0xC0, 0x40}},
    {"e3m4", 1, false, {0x38, 0xC0, 0x40}},
    {"int8", 1, true, {2, 0xFE, 2}},
    {"uint8", 1, true, {2, 0, 2}},
    {"int16", 2, true, {2, 0xFFFE, 2}},
    {"uint16", 2, true, {2, 0, 2}},
    {"int32", 4, true, {2, 0xFFFFFFFE, 2}},
    {"uint32", 4, true, {2, 0, 2}},
};

std::vector<std::uint8_t> pack(const Codes& format, const std::vector<std::uint32_t>& codes) {
  std::vector<std::uint8_t> bytes;
  for (const std::uint32_t code : codes) {
    for (std::size_t b = 0; b < format.bytes; ++b) bytes.push_back(static_cast<std::uint8_t>(code >> (8 * b)));
  }
  return bytes;
}

TEST(VectorEngine, CopiesConvertBetweenEveryPairOfFormats) {
  Machine machine("trn1.2xlarge");
  std::string text = ".engine vector\n";
  for (std::size_t s = 0; s < kCodes.size(); ++s) {
    const Codes& from = kCodes[s];
    for (const std::uint32_t p : {0u, 4u}) {
      machine.write(address_map::sbuf(0, p, 64 * s), pack(from, {from.code[0], from.code[1], from.code[2]}));
    }
    for (std::size_t d = 0; d < kCodes.size(); ++d) {
      text += fmt::format("  tensor_copy dst=sbuf[32:37, {}] {} <3>, src=sbuf[0:5, {}] {} <3>\n",
                          64 * (s * kCodes.size() + d), kCodes[d].name, 64 * s, from.name);
    }
  }
  machine.load(text);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_TRUE(machine.faults().empty());
  for (std::size_t s = 0; s < kCodes.size(); ++s) {
    for (std::size_t d = 0; d < kCodes.size(); ++d) {
      const Codes& from = kCodes[s];
      const Codes& to = kCodes[d];
      const bool from_unsigned = from.name[0] == 'u';
      // What the source really holds: 1.5 only if it is no integer, -2 only if it has a sign.
      const std::vector<std::uint32_t> expected = {from.integer ? to.code[2] : to.code[0],
                                                   from_unsigned ? 0 : to.code[1], to.code[2]};
      for (const std::uint32_t p : {32u, 36u}) {
        EXPECT_EQ(machine.read<std::uint8_t>(address_map::sbuf(0, p, 64 * (s * kCodes.size() + d)), 3 * to.bytes),
                  pack(to, expected))
            << from.name << " to " << to.name << ", partition " << p;
      }
    }
  }
}

TEST(VectorEngine, ACopyBetweenEqualFormatsKeepsTheBitsOfNans) {
  Machine machine("trn1.2xlarge");
  const std::vector<std::uint32_t> odd = {0x7F800001, 0xFFC12345, 0x00000001, 0x80000000, 0x7F800000};
  machine.write(address_map::sbuf(0, 0, 0), odd);
  machine.load(
      ".engine vector\n  tensor_copy dst=psum[0:1, 0] fp32 <5>, src=sbuf[0:1, 0] fp32 <5>\n"
      "  tensor_copy dst=sbuf[0:1, 1024] fp32 <5:-1>, src=psum[0:1, 0] fp32 <5>\n"
      "  tensor_copy dst=sbuf[0:1, 2064] fp32 <5:-1>, src=psum[0:1, 0] fp32 <5>\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_TRUE(machine.faults().empty());
  EXPECT_EQ(machine.read<std::uint32_t>(address_map::psum(0, 0, 0), 5), odd);
  EXPECT_EQ(machine.read<std::uint32_t>(address_map::sbuf(0, 0, 2048), 5),
            std::vector<std::uint32_t>(odd.rbegin(), odd.rend()));
  EXPECT_EQ(machine.read<std::uint32_t>(address_map::sbuf(0, 0, 1008), 5),
            std::vector<std::uint32_t>(odd.rbegin(), odd.rend()));
}

TEST(VectorEngine, TensorTensorAddsInFp32AndRoundsOnce) {
  Machine machine("trn1.2xlarge");
  // 1 + 2^-8 is between the bf16 neighbours 1 and 1 + 2^-7: a tie, to even. 1 + 2^-8 + 2^-20 rounds up.
  const std::vector<float> a = {1.0F, 1.0F, 3.5F, 16777216.0F, std::numeric_limits<float>::infinity()};
  const std::vector<float> b = {0x1p-8F, 0x1p-8F + 0x1p-20F, -3.5F, 1.0F, -std::numeric_limits<float>::infinity()};
  for (const std::uint32_t p : {0u, 127u}) {
    machine.write(address_map::sbuf(0, p, 0), a);
    machine.write(address_map::psum(0, p, 64), b);
  }
  machine.load(
      ".engine vector\n"
      "  tensor_tensor dst=sbuf[0:128, 256] bf16 <5>, data1=sbuf[0:128, 0] fp32 <5>, data2=psum[0:128, 64] fp32 <5>, "
      "op=add\n"
      "  tensor_tensor dst=sbuf[0:128, 512] fp32 <5>, data1=psum[0:128, 64] fp32 <5>, data2=sbuf[0:128, 0] fp32 <5>, "
      "op=add\n"
      "  tensor_tensor dst=sbuf[0:128, 0] fp32 <5>, data1=sbuf[0:128, 0] fp32 <5>, data2=sbuf[0:128, 0] fp32 <5>, "
      "op=add\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_TRUE(machine.faults().empty());
  for (const std::uint32_t p : {0u, 127u}) {
    EXPECT_EQ(machine.read<std::uint16_t>(address_map::sbuf(0, p, 256), 5),
              (std::vector<std::uint16_t>{0x3F80, 0x3F81, 0x0000, 0x4B80, 0x7FC0}));
    EXPECT_EQ(machine.read<std::uint32_t>(address_map::sbuf(0, p, 512), 5),
              (std::vector<std::uint32_t>{0x3F808000, 0x3F808008, 0x00000000, 0x4B800000, 0x7FC00000}));
    EXPECT_EQ(machine.read<float>(address_map::sbuf(0, p, 0), 4), (std::vector<float>{2, 2, 7, 33554432}));  // in place
  }
}

TEST(VectorEngine, StochasticRoundingFollowsTheSeedAndNotTheClock) {
  // 1 + 2^-9 is a quarter of the way from 1 to the next bf16: it goes up with probability 1/4.
  const auto run = [](const std::string& clock, std::uint64_t seed) {
    return in_child([&] {
      MachineOptions options;
      options.platform.seed = seed;
      Machine machine("trn1.2xlarge", {"vector_engine.clock=" + clock}, options);
      machine.load(
          ".engine vector\n  memset dst=sbuf[0:128, 0] fp32 <1000>, value=0x3f804000\n"
          "  tensor_copy dst=sbuf[0:128, 8192] bf16 <1000>, src=sbuf[0:128, 0] fp32 <1000>, stochastic\n");
      EXPECT_EQ(machine.run(), RunEnd::Finished);
      std::string codes;
      for (std::uint32_t p = 0; p < 128; ++p) {
        for (const std::uint16_t code : machine.read<std::uint16_t>(address_map::sbuf(0, p, 8192), 1000)) {
          EXPECT_TRUE(code == 0x3F80 || code == 0x3F81) << code;
          codes += code == 0x3F81 ? '1' : '0';
        }
      }
      return codes;
    });
  };
  const std::string bits = run("1120 MHz", 1);
  ASSERT_EQ(bits.size(), 128'000u);
  const auto ups = static_cast<double>(std::count(bits.begin(), bits.end(), '1'));
  EXPECT_NEAR(ups, 32'000, 5 * 155);  // five standard deviations of the binomial
  EXPECT_EQ(run("37 MHz", 1), bits);
  EXPECT_NE(run("1120 MHz", 2), bits);
}

TEST(VectorEngine, MemsetWritesTheValueInTheTilesFormatAndNothingElse) {
  Machine machine("trn1.2xlarge");
  machine.write(address_map::sbuf(0, 32, 0), std::vector<std::uint8_t>(64, 0xAB));
  machine.write(address_map::sbuf(0, 33, 0), std::vector<std::uint8_t>(64, 0xAB));
  machine.load(".engine vector\n  memset dst=sbuf[32:33, 8] bf16 <3:2>, value=-1.5\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  std::vector<std::uint8_t> expected(64, 0xAB);
  for (const std::size_t at : {8u, 12u, 16u}) {
    expected[at] = 0xC0;
    expected[at + 1] = 0xBF;
  }
  EXPECT_EQ(machine.read<std::uint8_t>(address_map::sbuf(0, 32, 0), 64), expected);
  EXPECT_EQ(machine.read<std::uint8_t>(address_map::sbuf(0, 33, 0), 64), std::vector<std::uint8_t>(64, 0xAB));
}

TEST(VectorEngine, FourDimensionalPatternsWithNegativeStepsAndARegisterMoveTheRightElements) {
  Machine machine("trn1.2xlarge");
  std::vector<std::uint16_t> source(1'000);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint16_t>(i * 3 + 1);
  for (const std::uint32_t p : {64u, 66u}) machine.write(address_map::sbuf(0, p, 0), source);
  // Element (i0, i1, i2, i3) of the source: 400 + 100 i0 - 20 i1 + 5 i2 - i3, plus 10 elements from r5 (20 bytes); the
  // base is 780 bytes. The result is transposed: inner dimension first.
  machine.load(R"(.engine vector
  register_move dst=r5, src=20
  register_move dst=r6, src=-64
  tensor_copy dst=sbuf[64:67, 8192+r6] uint16 <2:1, 3:2, 4:6, 5:24>, src=sbuf[64:67, 780+r5] uint16 <2:100, 3:-20, 4:5, 5:-1>
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_TRUE(machine.faults().empty());
  std::vector<std::uint16_t> expected(120);
  for (std::size_t i0 = 0; i0 < 2; ++i0) {
    for (std::size_t i1 = 0; i1 < 3; ++i1) {
      for (std::size_t i2 = 0; i2 < 4; ++i2) {
        for (std::size_t i3 = 0; i3 < 5; ++i3)
          expected[i0 + 2 * i1 + 6 * i2 + 24 * i3] = source[400 + 100 * i0 - 20 * i1 + 5 * i2 - i3];
      }
    }
  }
  for (const std::uint32_t p : {64u, 66u}) {
    EXPECT_EQ(machine.read<std::uint16_t>(address_map::sbuf(0, p, 8192 - 64), 120), expected) << p;
  }
}

}  // namespace
}  // namespace azulejo::test
