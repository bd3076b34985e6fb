// SPDX-License-Identifier: Apache-2.0
// The PE: is the RTL's arithmetic MPFR's, are model and RTL equal in every cycle, does the campaign cover what it says
// and find every seeded fault, with a reproducer that shows it?
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cosim/shown.h"
#include "tests/unit/common/temporary_directory.h"
#include "tests/unit/numerics/reference.h"
#include "tlm/common/error.h"
#include "tlm/cosim/campaign.h"
#include "tlm/cosim/functional_coverage.h"
#include "tlm/cosim/pe.h"
#include "tlm/cosim/rtl_library.h"

namespace azulejo {
namespace {

using test::bits_of;
using test::float_of;

RtlParameters parameters_of(std::uint32_t stages, bool flush) {
  RtlParameters parameters;
  parameters.pipeline_stages = stages;
  parameters.flush_denormals = flush;
  return parameters;
}

// The libraries of the tests: every number of stages, both ways of denormals.
const std::vector<RtlParameters>& all_parameters() {
  static const std::vector<RtlParameters> parameters = {parameters_of(1, false), parameters_of(2, true),
                                                        parameters_of(3, false)};
  return parameters;
}

// Sums of the RTL alone: a MAC a cycle, its weight a cycle earlier, no stalls. `expected` says what each must be.
class RtlSums {
 public:
  explicit RtlSums(const RtlLibrary& library)
      : pe_(make_pe_rtl(library, plain_context(), "pe")),
        latency_(library.abi().pe.pipeline_stages),
        wave_(test::next_campaign_wave()) {
    if (wave_) shown_ = &wave_->unit<PeWave>("pe", library, "");
    begin();
  }

  void add(std::uint32_t act, std::uint32_t weight, std::uint32_t addend, float expected) {
    inputs_.back().weight = {weight, 0, 1};
    rtl::PeInputs& in = inputs_.emplace_back();
    in.act = {act, 1, 1};
    in.psum = addend;
    expected_.push_back(bits_of(expected));
    if (expected_.size() == kBlock) check();
  }

  void check() {
    for (std::uint32_t t = 0; t < latency_; ++t) inputs_.emplace_back();
    outputs_.resize(inputs_.size());
    pe_->reset();
    pe_->run(static_cast<std::uint32_t>(inputs_.size()), inputs_.data(), outputs_.data());
    if (shown_ != nullptr) shown_->run(inputs_, outputs_, outputs_, std::nullopt, "", {});
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const rtl::PsumBeat& sum = outputs_[i + latency_].psum;
      if (sum.valid == 1 && sum.value == expected_[i]) continue;
      const rtl::PeInputs& in = inputs_[i + 1];
      ADD_FAILURE() << show_operand(in.act.operand) << " * " << show_operand(inputs_[i].weight.operand) << " + "
                    << float_of(in.psum) << ": " << std::hex << sum.value << " for " << expected_[i];
      break;
    }
    checked_ += expected_.size();
    begin();
  }

  std::uint64_t checked() const { return checked_; }

 private:
  static constexpr std::size_t kBlock = 4096;

  void begin() {
    inputs_.assign(1, {});
    expected_.clear();
  }

  std::unique_ptr<Pe> pe_;
  const std::uint32_t latency_;
  std::unique_ptr<CampaignWave> wave_;  // of --wave; null: none
  PeWave* shown_ = nullptr;
  std::vector<rtl::PeInputs> inputs_;
  std::vector<rtl::PeOutputs> outputs_;
  std::vector<std::uint32_t> expected_;
  std::uint64_t checked_ = 0;
};

float canonical(float value) { return std::isnan(value) ? float_of(test::kNan32) : value; }

float flushed(float value) { return std::fabs(value) < 0x1p-126F ? std::copysign(0.0F, value) : value; }

float value_of(Format format, std::uint32_t code) {
  if (format == Format::Int8) return static_cast<float>(static_cast<std::int8_t>(code));
  return float_of(test::decode_by_mpfr(test::facts_of(format), code, false));
}

// Every pair of codes against MPFR.
void check_every_pair(Format format) {
  constexpr std::array<std::uint32_t, 8> kAddends = {0x00000000, 0x80000000, 0x3F800000, 0xC2F6E979,
                                                     0x00000001, 0x7F7FFFFF, 0xFF800000, 0xFFC12345};
  RtlSums sums(RtlLibrary::load({}));
  for (std::uint32_t a = 0; a < 256; ++a) {
    const float x = value_of(format, a);
    const std::uint32_t act = pack_operand(decode_operand(format, OperandPart::Whole, a, false));
    for (std::uint32_t w = 0; w < 256; ++w) {
      const float y = value_of(format, w);
      const std::uint32_t weight = pack_operand(decode_operand(format, OperandPart::Whole, w, false));
      const auto check = [&](std::uint32_t addend) {
        sums.add(act, weight, addend, test::fma_by_mpfr(x, y, float_of(addend)));
      };
      for (const std::uint32_t addend : kAddends) check(addend);
      // Exact and nearly exact cancellation.
      const std::uint32_t opposite = bits_of(-(x * y));
      check(opposite);
      check(opposite + 1);
    }
  }
  sums.check();
  EXPECT_EQ(sums.checked(), 65536 * (kAddends.size() + 2));
}

TEST(PeRtl, EveryPairOfE4m3IsMpfrs) { check_every_pair(Format::E4M3); }
TEST(PeRtl, EveryPairOfE4m3fnIsMpfrs) { check_every_pair(Format::E4M3FN); }
TEST(PeRtl, EveryPairOfE5m2IsMpfrs) { check_every_pair(Format::E5M2); }
TEST(PeRtl, EveryPairOfE3m4IsMpfrs) { check_every_pair(Format::E3M4); }
TEST(PeRtl, EveryPairOfInt8IsMpfrs) { check_every_pair(Format::Int8); }

// A random addend: any bits, near the product, or close to its opposite.
std::uint32_t random_addend(float x, float y, test::TestRandom& random) {
  const std::uint32_t kind = random.below(4);
  if (kind == 0) return random.next32();
  const double product = static_cast<double>(x) * static_cast<double>(y);
  if (!std::isfinite(product) || product == 0) return random.next32();
  if (kind == 1) return bits_of(static_cast<float>(-product)) + random.below(3);
  const int exponent = std::ilogb(product) + static_cast<int>(random.below(56)) - 28;
  const double significand = 1 + random.below(1U << 23) * 0x1p-23;
  return bits_of(static_cast<float>(std::ldexp(random.below(2) == 0 ? significand : -significand, exponent)));
}

// Random MACs against the host's fused multiply-add, some of them against MPFR too.
void check_random(Format format, std::uint64_t count) {
  RtlSums sums(RtlLibrary::load({}));
  test::TestRandom random(test::seed() + static_cast<std::uint64_t>(format));
  std::uint64_t by_mpfr = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t a = random.next32() & (format == Format::Tf32 ? 0xFFFFFFFF : 0xFFFF);
    const std::uint32_t w = random.next32() & (format == Format::Tf32 ? 0xFFFFFFFF : 0xFFFF);
    const float x = decode(format, a);
    const float y = decode(format, w);
    const std::uint32_t addend = random_addend(x, y, random);
    const float expected = canonical(std::fma(x, y, float_of(addend)));
    if (i % 64 == 0) {
      ASSERT_EQ(bits_of(expected), bits_of(test::fma_by_mpfr(x, y, float_of(addend))));
      ++by_mpfr;
    }
    sums.add(pack_operand(decode_operand(format, OperandPart::Whole, a, false)),
             pack_operand(decode_operand(format, OperandPart::Whole, w, false)), addend, expected);
    if (testing::Test::HasFailure()) return;
  }
  sums.check();
  EXPECT_EQ(sums.checked(), count);
  EXPECT_GE(by_mpfr, count / 64);
}

// 10^7 in all, 10^9 in the long run.
std::uint64_t random_count() { return (test::long_run() ? 1'000'000'000 : 10'000'000) / 3 + 1; }

TEST(PeRtl, RandomBf16MacsAreFused) { check_random(Format::Bf16, random_count()); }
TEST(PeRtl, RandomFp16MacsAreFused) { check_random(Format::Fp16, random_count()); }
TEST(PeRtl, RandomTf32MacsAreFused) { check_random(Format::Tf32, random_count()); }

// One pass of an FP32 product, from the codes alone.
float fp32_pass(std::uint32_t a, OperandPart a_part, std::uint32_t w, OperandPart w_part, float addend, bool flush) {
  float x = float_of(a);
  float y = float_of(w);
  if (flush) {
    x = flushed(x);
    y = flushed(y);
  }
  if (!std::isfinite(x) || !std::isfinite(y)) {
    if (a_part == OperandPart::Low || w_part == OperandPart::Low) return addend;
  } else {
    const auto half = [](float value, OperandPart part) {
      const float high = float_of(bits_of(value) & 0xFFFFF000);
      return part == OperandPart::High ? high : std::copysign(value - high, value);
    };
    x = half(x, a_part);
    y = half(y, w_part);
  }
  const float sum = test::fma_by_mpfr(x, y, addend);
  return flush && std::isfinite(sum) ? flushed(sum) : sum;
}

TEST(PeRtl, HalvesOfFp32AreMpfrs) {
  const std::vector<std::uint32_t> specials = {0x00000000, 0x80000000, 0x00000001, 0x80000FFF, 0x00001000,
                                               0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800001, 0x7F7FFFFF,
                                               0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFF800001};
  for (const RtlParameters& parameters : all_parameters()) {
    const bool flush = parameters.flush_denormals;
    RtlSums sums(RtlLibrary::load(parameters));
    test::TestRandom random(test::seed());
    const auto check = [&](std::uint32_t a, std::uint32_t w, std::uint32_t addend) {
      for (const OperandPart a_part : {OperandPart::High, OperandPart::Low}) {
        for (const OperandPart w_part : {OperandPart::High, OperandPart::Low}) {
          sums.add(pack_operand(decode_operand(Format::Fp32, a_part, a, flush)),
                   pack_operand(decode_operand(Format::Fp32, w_part, w, flush)), addend,
                   fp32_pass(a, a_part, w, w_part, float_of(addend), flush));
        }
      }
    };
    for (const std::uint32_t a : specials) {
      for (const std::uint32_t w : specials) {
        for (const std::uint32_t addend : specials) check(a, w, addend);
      }
    }
    for (int i = 0; i < 50000; ++i) {
      const std::uint32_t a = random.next32();
      const std::uint32_t w =
          random.below(4) == 0 ? specials[random.below(static_cast<std::uint32_t>(specials.size()))] : random.next32();
      check(a, w, random_addend(float_of(a), float_of(w), random));
    }
    sums.check();
  }
}

// An infinity times the high half of a finite value is infinite though that half be zero, and never a NaN.
TEST(PeRtl, InfinityTimesAZeroHalfIsInfinite) {
  RtlSums sums(RtlLibrary::load({}));
  const std::uint32_t infinity = pack_operand(decode_operand(Format::Fp32, OperandPart::High, 0x7F800000, false));
  const std::uint32_t zero_half = pack_operand(decode_operand(Format::Fp32, OperandPart::High, 0x80000001, false));
  const std::uint32_t zero = pack_operand(decode_operand(Format::Fp32, OperandPart::High, 0x80000000, false));
  sums.add(infinity, zero_half, 0x3F800000, -HUGE_VALF);
  sums.add(zero_half, infinity, 0x3F800000, -HUGE_VALF);
  sums.add(infinity, zero, 0x3F800000, float_of(test::kNan32));
  sums.check();
}

// A pair without an element, and a low half beside an infinity, leave every bit of the sum.
TEST(PeRtl, AbsentPairsPassTheSumOn) {
  const std::uint32_t infinity = pack_operand(decode_operand(Format::Fp32, OperandPart::High, 0xFF800000, false));
  const std::uint32_t nan = pack_operand(decode_operand(Format::Fp32, OperandPart::High, 0x7FC00000, false));
  const std::uint32_t low = pack_operand(decode_operand(Format::Fp32, OperandPart::Low, 0x3F800001, false));
  const std::uint32_t low_zero = pack_operand(decode_operand(Format::Fp32, OperandPart::Low, 0x80000000, false));
  for (const RtlParameters& parameters : all_parameters()) {
    RtlSums sums(RtlLibrary::load(parameters));
    for (const std::uint32_t addend :
         {0x00000000U, 0x80000000U, 0x80000001U, 0x3F800000U, 0x7F800000U, 0xFFC12345U, 0x7F800001U}) {
      for (const std::uint32_t other : {infinity, nan, low, std::uint32_t{0}}) {
        sums.add(0, other, addend, float_of(addend));
        sums.add(other, 0, addend, float_of(addend));
      }
      for (const std::uint32_t half : {low, low_zero}) {
        for (const std::uint32_t special : {infinity, nan}) {
          sums.add(half, special, addend, float_of(addend));
          sums.add(special, half, addend, float_of(addend));
        }
      }
    }
    sums.check();
  }
}

// BF16 with denormals flushed: subnormal operands count as zeros, subnormal sums become zeros of their sign.
TEST(PeRtl, FlushedSumsAreZeros) {
  RtlSums sums(RtlLibrary::load(parameters_of(2, true)));
  test::TestRandom random(test::seed());
  std::uint64_t vanished = 0;
  for (int i = 0; i < 300000; ++i) {
    const std::uint32_t a = random.next32() & 0xFFFF;
    // Exponents that bring the product near the subnormals, half of the time.
    const std::uint32_t field = (128 + 127 - (a >> 7 & 0xFF)) & 0xFF;
    const std::uint32_t w = i % 2 == 0 ? random.next32() & 0xFFFF
                                       : (random.next32() & 0x807F) | ((field / 2 + random.below(16)) & 0xFF) << 7;
    const float x = flushed(decode(Format::Bf16, a));
    const float y = flushed(decode(Format::Bf16, w));
    const std::uint32_t addend = i % 3 == 0 ? random_addend(x, y, random) : random.next32() & 0x81FFFFFF;
    float expected = test::fma_by_mpfr(x, y, float_of(addend));
    if (std::isfinite(expected) && expected != 0 && flushed(expected) == 0) ++vanished;
    if (std::isfinite(expected)) expected = flushed(expected);
    sums.add(pack_operand(decode_operand(Format::Bf16, OperandPart::Whole, a, true)),
             pack_operand(decode_operand(Format::Bf16, OperandPart::Whole, w, true)), addend, expected);
  }
  sums.check();
  EXPECT_GT(vanished, 1000U);
}

// The registers by hand: cycle, what goes in, what is there after it.
rtl::PeInputs idle() { return {}; }
rtl::PeInputs weight(float value, std::uint16_t row) {
  rtl::PeInputs in;
  in.weight = {pack_operand(decode_operand(Format::Bf16, OperandPart::Whole, bits_of(value) >> 16, false)), row, 1};
  return in;
}
rtl::PeInputs act(float value, bool swap, float psum) {
  rtl::PeInputs in;
  in.act = {pack_operand(decode_operand(Format::Bf16, OperandPart::Whole, bits_of(value) >> 16, false)), swap, 1};
  in.psum = bits_of(psum);
  return in;
}
rtl::PeInputs held(rtl::PeInputs in) {
  in.enable = 0;
  return in;
}
rtl::PeInputs with_weight(rtl::PeInputs in, const rtl::PeInputs& other) {
  in.weight = other.weight;
  return in;
}

// What leaves in the south, cycle by cycle: the sum, or nothing.
std::vector<std::string> sums_of(Pe& pe, const std::vector<rtl::PeInputs>& inputs) {
  std::vector<rtl::PeOutputs> outputs(inputs.size());
  pe.reset();
  pe.run(static_cast<std::uint32_t>(inputs.size()), inputs.data(), outputs.data());
  std::vector<std::string> sums;
  for (const rtl::PeOutputs& out : outputs) {
    sums.push_back(out.psum.valid == 0 ? "-" : std::to_string(static_cast<int>(float_of(out.psum.value))));
  }
  return sums;
}

// Model and RTL of all parameters.
void with_every_pe(const std::function<void(Pe&, std::uint32_t stages)>& check) {
  for (const RtlParameters& parameters : all_parameters()) {
    SCOPED_TRACE(parameters.pipeline_stages);
    check(*make_pe_model(parameters.pipeline_stages, parameters.flush_denormals), parameters.pipeline_stages);
    check(*make_pe_rtl(RtlLibrary::load(parameters), plain_context(), "pe"), parameters.pipeline_stages);
  }
}

// `sums` of a PE of one stage, later by as many cycles as a longer pipeline takes.
std::vector<std::string> later(std::vector<std::string> sums, std::uint32_t stages) {
  const std::size_t length = sums.size();
  sums.insert(sums.begin(), stages - 1, "-");
  sums.resize(length);
  return sums;
}

TEST(Pe, WeightBecomesActiveWithTheSwap) {
  const std::vector<rtl::PeInputs> inputs = {weight(3, 0),
                                             act(2, true, 1),                              // 7
                                             with_weight(act(2, false, 0), weight(5, 0)),  // still 3: 6
                                             act(4, false, 0),                             // 12
                                             with_weight(act(4, true, 0), weight(7, 0)),   // 5, not 7: 20
                                             act(1, true, 0),                              // 7
                                             act(1, true, 0),                              // nothing new: 7
                                             idle(),
                                             idle(),
                                             idle()};
  const std::vector<std::string> expected = {"-", "7", "6", "12", "20", "7", "7", "-", "-", "-"};
  with_every_pe([&](Pe& pe, std::uint32_t stages) {
    EXPECT_EQ(pe.latency_cycles(), stages);
    EXPECT_EQ(sums_of(pe, inputs), later(expected, stages));
  });
}

TEST(Pe, ChainPassesOnWhatIsForOtherRows) {
  const std::vector<rtl::PeInputs> inputs = {weight(3, 0), weight(9, 1),    weight(8, 127), weight(4, 0),
                                             idle(),       act(1, true, 0), idle()};
  with_every_pe([&](Pe& pe, std::uint32_t) {
    std::vector<rtl::PeOutputs> outputs(inputs.size());
    pe.reset();
    pe.run(static_cast<std::uint32_t>(inputs.size()), inputs.data(), outputs.data());
    for (const std::size_t t : {std::size_t{0}, std::size_t{3}, std::size_t{4}}) EXPECT_EQ(outputs[t].weight.valid, 0);
    for (const std::size_t t : {std::size_t{1}, std::size_t{2}}) {
      EXPECT_EQ(outputs[t].weight.valid, 1);
      EXPECT_EQ(outputs[t].weight.operand, inputs[t].weight.operand);
      EXPECT_EQ(outputs[t].weight.tag, inputs[t].weight.tag - 1);
    }
    EXPECT_EQ(outputs[5].act.valid, 1);
    EXPECT_EQ(outputs[5].act.tag, 1);
    EXPECT_EQ(outputs[5].act.operand, inputs[5].act.operand);
    EXPECT_EQ(outputs[6].act.valid, 0);
  });
}

TEST(Pe, StallHoldsEveryRegister) {
  const std::vector<rtl::PeInputs> inputs = {weight(3, 0),
                                             held(act(9, true, 9)),
                                             act(2, true, 0),                                   // 6
                                             held(with_weight(act(9, true, 9), weight(9, 0))),  // the 6 stays
                                             held(idle()),
                                             act(4, true, 0),  // 12
                                             idle(),
                                             idle(),
                                             idle()};
  const std::vector<std::string> one = {"-", "-", "6", "6", "6", "12", "-", "-", "-"};
  const std::vector<std::string> two = {"-", "-", "-", "-", "-", "6", "12", "-", "-"};
  const std::vector<std::string> three = {"-", "-", "-", "-", "-", "-", "6", "12", "-"};
  with_every_pe([&](Pe& pe, std::uint32_t stages) {
    EXPECT_EQ(sums_of(pe, inputs), stages == 1 ? one : stages == 2 ? two : three);
  });
}

TEST(Pe, ResetDropsWhatIsInFlight) {
  with_every_pe([&](Pe& pe, std::uint32_t stages) {
    const std::vector<rtl::PeInputs> busy = {weight(3, 0), act(2, true, 0), act(2, true, 0)};
    sums_of(pe, busy);
    EXPECT_EQ(sums_of(pe, std::vector<rtl::PeInputs>(4)), std::vector<std::string>(4, "-")) << stages;
  });
}

// Functional coverage

// The outcome of one sum, by MPFR: the exact sum, rounded to 24 bits toward and away from zero.
RoundingOutcome outcome_by_mpfr(double product, float addend) {
  mpfr_t exact, rounded;
  mpfr_init2(exact, 1200);
  mpfr_init2(rounded, 24);
  mpfr_set_d(exact, product, MPFR_RNDN);
  EXPECT_EQ(mpfr_add_d(exact, exact, static_cast<double>(addend), MPFR_RNDN), 0);
  const auto finish = [&](RoundingOutcome outcome) {
    mpfr_clear(exact);
    mpfr_clear(rounded);
    return outcome;
  };
  if (mpfr_zero_p(exact) != 0)
    return finish(product == 0 ? RoundingOutcome::Exact : RoundingOutcome::ExactCancellation);
  mpfr_abs(exact, exact, MPFR_RNDN);
  const bool below_normal = mpfr_cmp_d(exact, 0x1p-126) < 0;
  // With the precision that a subnormal has.
  const mpfr_exp_t exponent = mpfr_get_exp(exact);
  const long bits = below_normal ? exponent + 149 : 24;
  if (bits < 2) {
    // Below four of the smallest subnormals every rounding is subnormal.
    return finish(RoundingOutcome::Subnormal);
  }
  mpfr_set_prec(rounded, bits);
  const int direction = mpfr_set(rounded, exact, MPFR_RNDN);
  if (mpfr_cmp_d(rounded, 0x1p-126) < 0) return finish(RoundingOutcome::Subnormal);
  if (mpfr_cmp_d(rounded, 0x1p128) >= 0) return finish(RoundingOutcome::Overflow);
  if (direction == 0) return finish(RoundingOutcome::Exact);
  if (mpfr_get_exp(rounded) != exponent) return finish(RoundingOutcome::Carry);
  // A tie is exact with one bit more.
  mpfr_set_prec(rounded, bits + 1);
  const bool tie = mpfr_set(rounded, exact, MPFR_RNDN) == 0;
  if (tie) return finish(direction > 0 ? RoundingOutcome::TieToEvenUp : RoundingOutcome::TieToEvenDown);
  return finish(direction > 0 ? RoundingOutcome::RoundedUp : RoundingOutcome::RoundedDown);
}

TEST(FunctionalCoverage, OutcomeOfASumIsMpfrs) {
  test::TestRandom random(test::seed());
  std::array<std::uint64_t, kRoundingOutcomes> seen{};
  for (int i = 0; i < 400000; ++i) {
    // 12-bit significands with few bits set half of the time, so that ties and cancellations are not rare.
    const auto factor = [&] {
      std::uint32_t significand = 1 + random.below(4095);
      if (random.below(2) == 0) significand = 1U << random.below(12);
      const int exponent = static_cast<int>(random.below(i % 2 == 0 ? 276 : 60)) - (i % 2 == 0 ? 149 : 90);
      return std::ldexp(random.below(2) == 0 ? significand : -static_cast<double>(significand), exponent);
    };
    const double product = random.below(50) == 0 ? 0 : factor() * factor();
    const std::uint32_t kind = random.below(4);
    std::uint32_t bits = random.next32() & (kind == 0 ? 0x80FFFFFF : 0xFFFFFFFF);
    if (kind == 1) bits = bits_of(static_cast<float>(-product)) + random.below(3) - 1;
    if (kind == 2 && product != 0) {
      const int exponent = std::ilogb(product) + static_cast<int>(random.below(30)) - 3;
      const double significand = random.below(3) == 0 ? 0x1.FFFFFEp0 : 1 + random.below(8) * 0x1p-23;
      bits = bits_of(static_cast<float>(std::ldexp(random.below(2) == 0 ? significand : -significand, exponent)));
    }
    const float addend = float_of(bits);
    if (!std::isfinite(addend)) continue;
    const RoundingOutcome outcome = rounding_outcome(product, addend);
    ASSERT_EQ(static_cast<int>(outcome), static_cast<int>(outcome_by_mpfr(product, addend)))
        << std::hexfloat << product << " + " << addend;
    ++seen[static_cast<std::size_t>(outcome)];
  }
  for (std::size_t i = 0; i + 1 < kRoundingOutcomes; ++i) EXPECT_GT(seen[i], 100U) << i;
}

TEST(FunctionalCoverage, NamesItsHoles) {
  const OperandType bf16{Format::Bf16, OperandPart::Whole};
  FunctionalCoverage coverage({{bf16, bf16}}, false, true);
  EXPECT_EQ(coverage.holes().size(), kRoundingOutcomes);
  EXPECT_EQ(coverage.holes().front(), "bf16: exact");
  CoverageBin bin{OperandClass::Normal, OperandClass::Subnormal, RoundingOutcome::TieToEvenUp, StallCase::None};
  coverage.sample(0, bin);
  EXPECT_TRUE(coverage.hit(0, bin));
  const std::vector<std::string> holes = coverage.holes();
  EXPECT_EQ(std::count(holes.begin(), holes.end(), "bf16: normal x subnormal, tie to even up, held"), 1);
  EXPECT_EQ(std::count(holes.begin(), holes.end(), "bf16: normal x subnormal, tie to even up, no stall"), 0);
  EXPECT_EQ(std::count(holes.begin(), holes.end(), "bf16: normal x normal, tie to even up"), 1);
  EXPECT_EQ(coverage.hits(), 1U);
  EXPECT_EQ(coverage.impossible_samples(), 0U);
  bin.rounding = RoundingOutcome::Overflow;  // 2^-126 * 2^128 is far from it
  EXPECT_FALSE(coverage.possible(0, bin));
  coverage.sample(0, bin);
  EXPECT_EQ(coverage.impossible_samples(), 1U);
}

TEST(FunctionalCoverage, FormatsWithoutAClassHaveNoBinsOfIt) {
  const auto possible = [](Format format, OperandClass operand_class) {
    const OperandType type{format, OperandPart::Whole};
    return FunctionalCoverage({{type, type}}, false, true)
        .possible(0, {operand_class, OperandClass::Absent, RoundingOutcome::Special, StallCase::None});
  };
  EXPECT_FALSE(possible(Format::E4M3FN, OperandClass::Infinity));
  EXPECT_TRUE(possible(Format::E4M3FN, OperandClass::NotANumber));
  EXPECT_FALSE(possible(Format::E2M1, OperandClass::NotANumber));
  EXPECT_TRUE(possible(Format::E2M1, OperandClass::Subnormal));
  EXPECT_FALSE(possible(Format::Int8, OperandClass::Subnormal));
  EXPECT_FALSE(possible(Format::E8M0, OperandClass::Zero));
}

// The campaign

CampaignResult run_campaign(const std::vector<Format>& formats, std::uint64_t macs, CampaignOptions options = {}) {
  PeCampaign campaign;
  campaign.formats = formats;
  campaign.macs = macs;
  options.seed = test::seed();
  return test::shown(run_pe_campaign, campaign, options);
}

std::string join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(PeCampaign, ModelAndRtlAgreeAndEveryBinIsHit) {
  for (const RtlParameters& parameters : all_parameters()) {
    SCOPED_TRACE(parameters.pipeline_stages);
    CampaignOptions options;
    options.rtl = parameters;
    const CampaignResult result =
        run_campaign(array_formats(), parameters.pipeline_stages == 1 ? 1'000'000 : 300'000, options);
    EXPECT_TRUE(result.passed()) << (result.differences.empty() ? "" : describe(result.differences.front()));
    EXPECT_GE(result.cases, 300'000U);
    EXPECT_GT(result.cycles, result.cases);
    EXPECT_TRUE(result.holes.empty()) << join(result.holes);
    EXPECT_NE(result.table.find("fp32.high x fp32.low"), std::string::npos);
  }
}

TEST(PeCampaign, MixedFormatsAgreeAndEveryBinIsHit) {
  PeCampaign campaign;
  campaign.formats = {Format::Fp32, Format::Bf16, Format::E5M2, Format::E8M0, Format::Int8};
  campaign.mixed = true;
  campaign.macs = 100'000;
  const CampaignResult result = test::shown(run_pe_campaign, campaign, {});
  EXPECT_TRUE(result.passed());
  EXPECT_TRUE(result.holes.empty()) << join(result.holes);
}

TEST(PeCampaign, ExhaustiveMeetsEveryPairOfCodes) {
  PeCampaign campaign;
  campaign.formats = {Format::E4M3FN, Format::E2M1};
  campaign.exhaustive = true;
  const CampaignResult result = test::shown(run_pe_campaign, campaign, {});
  EXPECT_TRUE(result.passed());
  EXPECT_GE(result.cases, (65536U + 256U) * 10);
  if (!test::long_run()) return;
  campaign.formats = array_formats();
  EXPECT_TRUE(test::shown(run_pe_campaign, campaign, {}).passed());
}

TEST(PeCampaign, WithoutStallsThereAreNone) {
  PeCampaign campaign;
  campaign.formats = {Format::Bf16};
  campaign.stalls = false;
  campaign.macs = 10'000;
  const CampaignResult result = test::shown(run_pe_campaign, campaign, {});
  EXPECT_TRUE(result.passed());
  EXPECT_TRUE(result.holes.empty()) << join(result.holes);
  EXPECT_EQ(result.table.find("held"), result.table.find("held  "));
}

TEST(PeCampaign, RefusesFormatsThatTheArrayDoesNotTake) {
  try {
    run_campaign({Format::Bf16, Format::Int16, Format::Uint32}, 1);
    FAIL();
  } catch (const ConfigError& error) {
    ASSERT_EQ(error.problems().size(), 2U);
    EXPECT_NE(error.problems()[0].find("int16"), std::string::npos);
    EXPECT_NE(error.problems()[0].find("bf16"), std::string::npos);
  }
  EXPECT_THROW(run_campaign({}, 1), ConfigError);
}

TEST(PeCampaign, WritesTheRtlsCoverage) {
  const test::TemporaryDirectory directory;
  CampaignOptions options;
  options.coverage_file = directory.file("pe.dat");
  const CampaignResult result = run_campaign({Format::Bf16}, 10'000, options);
  EXPECT_TRUE(result.passed());
  // Lines of "C '<what>' <count>".
  std::istringstream lines(test::TemporaryDirectory::read(options.coverage_file));
  std::string line;
  std::uint64_t points = 0, hit = 0;
  while (std::getline(lines, line)) {
    if (line.rfind("C '", 0) != 0 || line.find("pe.sv") == std::string::npos) continue;
    const std::uint64_t count = std::stoull(line.substr(line.rfind(' ')));
    ++points;
    hit += count != 0 ? 1 : 0;
    EXPECT_LE(count, 8 * result.cycles) << line;  // a bit changes at most twice a cycle
  }
  EXPECT_GT(points, 100U);
  EXPECT_GT(hit, points * 9 / 10);
}

// Those of the multiply-add and of the registers; the numbers are azulejo_fault_pkg's.
std::vector<const RtlFault*> faults_of_a_pe() {
  std::vector<const RtlFault*> faults;
  for (const RtlFault& fault : rtl_faults()) {
    if (fault.id >= 16 && fault.id < 60 && fault.equivalent.empty()) faults.push_back(&fault);
  }
  return faults;
}

// The first difference between fresh twins, the RTL with the fault.
std::optional<PeMismatch> run_case(const std::vector<rtl::PeInputs>& inputs, const RtlFault& fault) {
  RtlParameters parameters;
  parameters.faults = true;
  rtl::FaultSelect select;
  select.fault = fault.id;
  PeLockstep pes(make_pe_model(1, false), make_pe_rtl(RtlLibrary::load(parameters), plain_context(), "pe", select));
  return pes.run(inputs);
}

TEST(PeCampaign, FindsEveryFaultOfThePeAndReducesIt) {
  EXPECT_GE(faults_of_a_pe().size(), 30U);
  for (const RtlFault* fault : faults_of_a_pe()) {
    SCOPED_TRACE(fault->name);
    CampaignOptions options;
    options.fault_text = std::string(fault->name);
    options.fault.fault = fault;
    const CampaignResult result = run_campaign(array_formats(), 200'000, options);
    EXPECT_FALSE(result.passed());
    ASSERT_EQ(result.differences.size(), 1U);
    EXPECT_EQ(result.mismatches, 1U);
    const Difference& difference = result.differences.front();
    EXPECT_EQ(difference.operation + 1, result.cycles);
    EXPECT_EQ(difference.reproducer.fault, fault->name);
    const std::vector<rtl::PeInputs>& inputs = std::get<PeCase>(difference.reproducer.operation).inputs;

    // The reproducer shows it in its last cycle, with the values reported, and only with the fault.
    const std::optional<PeMismatch> shown = run_case(inputs, *fault);
    ASSERT_TRUE(shown.has_value());
    EXPECT_EQ(shown->cycle, difference.cycle);
    EXPECT_EQ(shown->cycle + 1, inputs.size());
    EXPECT_EQ(shown->what, difference.what);
    EXPECT_EQ(shown->model, difference.model);
    EXPECT_EQ(shown->rtl, difference.rtl);
    EXPECT_NE(shown->model, shown->rtl);
    EXPECT_FALSE(run_case(inputs, {}).has_value());
    EXPECT_TRUE(weights_are_loaded(inputs));

    // None of its cycles can be left out.
    EXPECT_LE(inputs.size(), 6U);
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      std::vector<rtl::PeInputs> fewer = inputs;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(t));
      const std::optional<PeMismatch> still = weights_are_loaded(fewer) ? run_case(fewer, *fault) : std::nullopt;
      EXPECT_FALSE(still && still->what == shown->what) << "cycle " << t << " is superfluous";
    }
    EXPECT_FALSE(difference.operands.empty());
  }
}

TEST(PeCampaign, OperandsOfADifferenceAreThoseOfTheSum) {
  const std::vector<rtl::PeInputs> inputs = {weight(3, 0),     act(2, true, 1), held(act(9, false, 9)),
                                             act(4, false, 0), idle(),          idle()};
  const PeMismatch psum{3, "psum", 0, 1, true};
  EXPECT_NE(describe_operands(inputs, psum, 1).find("(4), weight"), std::string::npos);
  EXPECT_NE(describe_operands(inputs, psum, 1).find("(3), psum_i 00000000 (0), entered in cycle 3"), std::string::npos);
  EXPECT_NE(describe_operands(inputs, psum, 2).find("psum_i 3f800000 (1), entered in cycle 1"), std::string::npos);
}

}  // namespace
}  // namespace azulejo
