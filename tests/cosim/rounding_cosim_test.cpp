// SPDX-License-Identifier: Apache-2.0
// Does the Verilated rounding unit round as MPFR does, with the right probability, and as the model does, and is every
// fault in it found? References here: MPFR, host doubles for integers, and the random sources written down a second
// time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tests/cosim/example_cases.h"
#include "tests/cosim/shown.h"
#include "tests/unit/common/temporary_directory.h"
#include "tests/unit/numerics/reference.h"
#include "tlm/common/error.h"
#include "tlm/cosim/campaign.h"
#include "tlm/cosim/rounding_unit_rtl.h"
#include "tlm/rounding/rounding_unit_model.h"
#include "tlm/wave/verilator_hooks.h"

namespace azulejo::test {
namespace {

constexpr ConversionMode kStochastic{Rounding::Stochastic, false, false};
constexpr RandomSource kSources[] = {RandomSource::Lfsr, RandomSource::Xorwow};
constexpr std::uint32_t kEngine = 1;

const RtlLibrary& library(bool faults = false) {
  RtlParameters parameters;
  parameters.faults = faults;
  return RtlLibrary::load(parameters);
}

std::unique_ptr<RoundingUnitRtl> make_unit(RandomSource source, std::uint64_t seed, const RtlLibrary& rtl = library(),
                                           const FaultPlace& fault = {}) {
  auto unit = make_rounding_unit_rtl({"rounding_unit", source, fault}, rtl, plain_context(),
                                     RoundingUnitModel(source, seed, kEngine));
  const rtl::LibraryAbi& abi = rtl.abi();
  return std::make_unique<ShownRoundingUnit>(std::move(unit), "rounding_unit", fault,
                                             source == RandomSource::Xorwow ? abi.rounding_xorwow : abi.rounding_lfsr);
}

// The sources bit by bit, from their definitions.
class ReferenceSource {
 public:
  ReferenceSource(RandomSource source, const std::array<std::uint32_t, 6>& state) : source_(source), s_(state) {}
  std::uint32_t next() {
    if (source_ == RandomSource::Lfsr) {
      for (int step = 0; step < 32; ++step) {  // x^32 + x^22 + x^2 + x + 1
        const std::uint32_t out = s_[0] & 1;
        s_[0] >>= 1;
        for (const int exponent : {32, 22, 2, 1}) s_[0] ^= out << (exponent - 1);
      }
      return s_[0];
    }
    const std::uint32_t t = s_[0] ^ (s_[0] >> 2);
    s_ = {s_[1], s_[2], s_[3], s_[4], (s_[4] ^ (s_[4] << 4)) ^ (t ^ (t << 1)), s_[5] + 362437};
    return s_[5] + s_[4];
  }

 private:
  const RandomSource source_;
  std::array<std::uint32_t, 6> s_;
};

std::uint32_t integer_by_double(Format format, float value) {
  const FormatSpec& row = spec(format);
  if (value != value) return 0;
  const double low = row.sign_bits == 0 ? 0 : -static_cast<double>(row.max_finite) - 1;
  const double rounded =
      std::clamp(std::nearbyint(static_cast<double>(value)), low, static_cast<double>(row.max_finite));
  const auto code = static_cast<std::uint32_t>(static_cast<std::int64_t>(rounded));
  return row.storage_bits == 32 ? code : code & ((1U << row.storage_bits) - 1);
}

TEST(RoundingRtl, RoundsEveryUpperHalfOfFp32ToNearestEven) {
  const std::unique_ptr<RoundingUnitRtl> unit = make_unit(RandomSource::Lfsr, 1);
  const std::vector<std::uint32_t> low_halves =
      long_run() ? std::vector<std::uint32_t>{0, 1, 0x1000, 0x3FFF, 0x7FFF, 0x8000, 0x8001, 0xFFFF}
                 : std::vector<std::uint32_t>{0, 0x7FFF, 0x8000, 0x8001};
  std::size_t cases = 0;
  std::size_t mismatches = 0;
  std::vector<float> values(1 << 16);
  std::vector<std::uint32_t> codes(values.size());
  for (const Format format : all_formats()) {
    if (format == Format::Fp32) continue;
    const bool integer = spec(format).integer_bits != 0;
    const ValueList list(integer ? float_facts()[0] : facts_of(format));
    for (std::size_t pattern = 0; pattern < low_halves.size(); ++pattern) {
      const bool saturate = pattern % 2 != 0;
      for (std::uint32_t high = 0; high < values.size(); ++high)
        values[high] = float_of(high << 16 | low_halves[pattern]);
      unit->convert(3, format, {Rounding::NearestEven, saturate, false}, values.data(), values.size(), codes.data());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint32_t expected =
            integer ? integer_by_double(format, values[i]) : encode_by_mpfr(list, values[i], {saturate, false});
        ++cases;
        if (codes[i] != expected && ++mismatches <= 5) {
          std::printf("%s: %08X gives %X, expected %X\n", std::string(spec(format).name).c_str(), bits_of(values[i]),
                      codes[i], expected);
        }
      }
    }
  }
  std::printf("%zu cases, %zu mismatches\n", cases, mismatches);
  EXPECT_EQ(mismatches, 0U);
}

TEST(RoundingRtl, RoundsStochasticallyAsMpfrDoesWithTheSameWords) {
  TestRandom random(seed());
  std::size_t cases = 0;
  std::size_t mismatches = 0;
  const std::size_t count = long_run() ? 1'000'000 : 30'000;
  std::vector<float> values(count);
  std::vector<std::uint32_t> codes(count);
  for (const RandomSource source : kSources) {
    const std::unique_ptr<RoundingUnitRtl> unit = make_unit(source, seed());
    for (const FloatFacts& facts : float_facts()) {
      const ValueList list(facts);
      const std::uint32_t span = (1U << facts.exponent_bits) + static_cast<std::uint32_t>(facts.mantissa_bits) + 40;
      for (float& value : values) {
        const int lowest = 127 - facts.bias - facts.mantissa_bits - 36;
        const int exponent = std::clamp(lowest + static_cast<int>(random.below(span)), 0, 255);
        value = float_of((random.next32() & 0x807FFFFF) | static_cast<std::uint32_t>(exponent) << 23);
      }
      const bool saturate = random.below(2) != 0;
      ReferenceSource words(source, unit->state(5));
      unit->convert(5, facts.format, {Rounding::Stochastic, saturate, false}, values.data(), count, codes.data());
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t expected = encode_stochastic_by_mpfr(list, values[i], {saturate, false}, words.next());
        ++cases;
        mismatches += codes[i] != expected ? 1 : 0;
      }
    }
  }
  std::printf("%zu cases, %zu mismatches\n", cases, mismatches);
  EXPECT_EQ(mismatches, 0U);
}

// A value between two neighbouring codes, with what exactly lies between it and the lower one.
struct Between {
  Format format;
  float value;
  double fraction;
  std::uint32_t up;
};
const std::vector<Between>& between() {
  static const std::vector<Between> kList = {
      {Format::Fp16, 1024.25F, 1.0 / 4, 0x6401},   {Format::Fp16, 1024.125F, 1.0 / 8, 0x6401},
      {Format::Fp16, -1024.375F, 3.0 / 8, 0xE401}, {Format::Fp16, 1024.6875F, 11.0 / 16, 0x6401},
      {Format::Bf16, 0x1.018p0F, 3.0 / 4, 0x3F81}, {Format::Tf32, 0x1.00098p0F, 19.0 / 128, 0x3F802000},
      {Format::E4M3, 0x1.26p0F, 3.0 / 16, 0x3A},    // between 1.125 and 1.25
      {Format::E5M2, 0x1.4Cp0F, 3.0 / 16, 0x3E},    // between 1.25 and 1.5
      {Format::Fp16, 0x1p-26F, 1.0 / 4, 0x0001},    // of the smallest subnormal
      {Format::Fp16, 0x1.6p-24F, 3.0 / 8, 0x0002},  // between two subnormals
      {Format::E4M3FN, -0x1p-12F, 1.0 / 8, 0x81},   // of the smallest subnormal
      {Format::E3M4, 0x1.8p-7F, 3.0 / 4, 0x01},    {Format::E2M1, 0.3125F, 5.0 / 8, 0x1},
      {Format::Bf16, 0x1.6p-133F, 3.0 / 8, 0x0002}};  // FP32's own subnormals
  return kList;
}

TEST(RoundingRtl, GoesUpWithTheProbabilityOfTheFractionInEveryLane) {
  const std::size_t draws = long_run() ? 65'536 : 1'024;
  std::vector<std::uint32_t> codes(draws);
  for (const RandomSource source : kSources) {
    const std::unique_ptr<RoundingUnitRtl> unit = make_unit(source, seed());
    for (const Between& one : between()) {
      const std::vector<float> values(draws, one.value);
      double chi_squared = 0;
      double worst = 0;
      std::vector<double> ups(kPartitions);
      for (std::uint32_t lane = 0; lane < kPartitions; ++lane) {
        unit->convert(lane, one.format, kStochastic, values.data(), draws, codes.data());
        ups[lane] = static_cast<double>(std::count(codes.begin(), codes.end(), one.up));
        const std::uint32_t down = one.up - (one.format == Format::Tf32 ? 0x2000 : 1);
        for (const std::uint32_t code : codes) ASSERT_TRUE(code == one.up || code == down) << one.value;
        const double mean = static_cast<double>(draws) * one.fraction;
        const double of_lane = (ups[lane] - mean) * (ups[lane] - mean) / (mean * (1 - one.fraction));
        chi_squared += of_lane;
        worst = std::max(worst, of_lane);
      }
      std::printf("%s %-8g fraction %.4f: chi-squared %.1f of 128 lanes, worst lane %.1f\n",
                  source == RandomSource::Lfsr ? "lfsr  " : "xorwow", static_cast<double>(one.value), one.fraction,
                  chi_squared, worst);
      EXPECT_LT(chi_squared, 190);  // 128 degrees of freedom, 0.03 %
      EXPECT_GT(chi_squared, 78);   // and no better than chance, 0.01 %
      EXPECT_LT(worst, 24);         // one degree of freedom, 1e-6
      std::sort(ups.begin(), ups.end());
      EXPECT_GT(std::unique(ups.begin(), ups.end()) - ups.begin(), 20) << "lanes of equal words";
    }
  }
}

TEST(RoundingRtl, SuccessiveWordsAreNotCorrelated) {
  constexpr std::size_t kDraws = 1 << 18;
  for (const RandomSource source : kSources) {
    const std::unique_ptr<RoundingUnitRtl> unit = make_unit(source, 3);
    for (const Between& one : {between()[0], between()[2], Between{Format::Fp16, 1024.5F, 0.5, 0x6401}}) {
      const std::vector<float> values(kDraws, one.value);
      std::vector<std::uint32_t> codes(kDraws);
      unit->convert(17, one.format, kStochastic, values.data(), kDraws, codes.data());
      double sum = 0;
      for (std::size_t i = 1; i < kDraws; ++i) {
        const double before = (codes[i - 1] == one.up ? 1.0 : 0.0) - one.fraction;
        sum += before * ((codes[i] == one.up ? 1.0 : 0.0) - one.fraction);
      }
      const double correlation = sum / (static_cast<double>(kDraws) * one.fraction * (1 - one.fraction));
      std::printf("fraction %.4f: lag-1 correlation %.5f\n", one.fraction, correlation);
      EXPECT_LT(std::fabs(correlation), 0.01);
    }
  }
}

// FP16 1024 + 0.5, 2,048 times: the vendor's published check of stochastic rounding.
float add_halves(RoundingUnit& unit, std::uint32_t lane, const ConversionMode& mode) {
  float sum = 1024;
  for (int i = 0; i < 2048; ++i) {
    const float exact = sum + 0.5F;
    std::uint32_t code = 0;
    unit.convert(lane, Format::Fp16, mode, &exact, 1, &code);
    sum = float_of(decode_by_mpfr(facts_of(Format::Fp16), code, false));
  }
  return sum;
}

TEST(RoundingRtl, HalvesAddedTo1024EndNear2048) {
  for (const RandomSource source : kSources) {
    const std::unique_ptr<RoundingUnitRtl> unit = make_unit(source, 0);
    EXPECT_EQ(add_halves(*unit, 0, {}), 1024.0F);
    double total = 0;
    double worst = 0;
    constexpr int kSeeds = 1000;
    for (std::uint64_t start = 0; start < kSeeds; ++start) {
      const auto lane = static_cast<std::uint32_t>(start % kPartitions);
      unit->set_state(lane, RandomLane(source, start, kEngine, lane).state());
      const double sum = static_cast<double>(add_halves(*unit, lane, kStochastic));
      total += sum;
      worst = std::max(worst, std::fabs(sum - 2048));
    }
    std::printf("mean %.2f, farthest from 2048: %.0f\n", total / kSeeds, worst);
    EXPECT_NEAR(total / kSeeds, 2048, 4);
    EXPECT_LE(worst, 120);
  }
}

TEST(RoundingRtl, DrawsOneWordAnElementAndOnlyThen) {
  const std::vector<float> values = {0.0F, -0.0F, 1.0F, 1.0001F, INFINITY, NAN, 1e-44F, 3e38F, -0.3F};
  std::vector<std::uint32_t> codes(values.size());
  for (const RandomSource source : kSources) {
    const std::unique_ptr<RoundingUnitRtl> unit = make_unit(source, 9);
    for (const Format format : all_formats()) {
      const auto before = unit->state(2);
      unit->convert(2, format, {}, values.data(), values.size(), codes.data());
      EXPECT_EQ(unit->state(2), before) << spec(format).name;
      unit->convert(2, format, kStochastic, values.data(), values.size(), codes.data());
      RandomLane lane(source, 0, 0, 0);
      lane.set_state(before);
      const bool draws = format != Format::Fp32 && spec(format).integer_bits == 0;
      for (std::size_t i = 0; draws && i < values.size(); ++i) lane.next();
      EXPECT_EQ(unit->state(2), lane.state()) << spec(format).name;
    }
  }
}

// A memory of a few partitions, filled with a pattern.
struct Memory {
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(8 * 256, 0xA5);
  TileStore store{bytes.data(), 256};
};

TensorAccess pattern(Format format, bool contiguous) {
  TensorAccess access;
  access.space = MemorySpace::Sbuf;
  access.format = format;
  access.start_partition = 2;
  access.partitions = 3;
  access.dims = 2;
  access.free[0] = {static_cast<std::int16_t>(contiguous ? 5 : 1), 3};
  access.free[1] = {static_cast<std::int16_t>(contiguous ? 1 : 4), 5};
  return access;
}

TEST(RoundingRtl, WritesRowsAsTheModelDoes) {
  TestRandom random(4);
  for (const Format format : all_formats()) {
    for (const bool contiguous : {true, false}) {
      const TensorAccess access = pattern(format, contiguous);
      Memory expected;
      Memory written;
      RoundingUnitModel model(RandomSource::Xorwow, 7, kEngine);
      const std::unique_ptr<RoundingUnitRtl> unit = make_unit(RandomSource::Xorwow, 7);
      std::vector<float> row(access.free_size());
      for (std::uint32_t p = 0; p < access.partitions; ++p) {
        for (float& value : row) value = static_cast<float>(random.next32()) * 0x1p-28F - 8;
        model.write_row(expected.store, access, 4, p, row.data(), kStochastic);
        unit->write_row(written.store, access, 4, p, row.data(), kStochastic);
        std::vector<std::uint32_t> codes(row.size());
        read_codes(expected.store, access, 4, p, codes.data());
        std::vector<float> values(row.size());
        read_row(expected.store, access, 4, p, values.data(), false);
        for (std::size_t i = 0; i < row.size(); ++i) EXPECT_TRUE(same(decode(format, codes[i]), values[i]));
      }
      EXPECT_EQ(written.bytes, expected.bytes) << spec(format).name;
      for (std::uint32_t lane = 0; lane < kPartitions; ++lane) ASSERT_EQ(unit->state(lane), model.state(lane));
    }
  }
}

TEST(RoundingRtl, TheModelGivesTheBitsOfEncodeRow) {
  const std::vector<float> values = {0.3F, 1.7F, -2.5F, 1e9F, 3e-6F, NAN};
  for (const RandomSource source : kSources) {
    RoundingUnitModel model(source, 11, kEngine);
    RandomLane lane(source, 11, kEngine, 77);
    std::vector<std::uint32_t> codes(values.size());
    model.convert(77, Format::Fp16, kStochastic, values.data(), values.size(), codes.data());
    std::vector<std::uint16_t> packed(values.size());
    encode_row(Format::Fp16, values.data(), packed.data(), values.size(), kStochastic, &lane);
    EXPECT_TRUE(std::equal(codes.begin(), codes.end(), packed.begin()));
    EXPECT_EQ(model.state(77), lane.state());
  }
}

TEST(RoundingLockstep, FindsNothingBetweenEqualUnits) {
  TestRandom random(seed());
  for (const RandomSource source : kSources) {
    LockstepLog log([](const Difference& difference) { ADD_FAILURE() << describe(difference); });
    auto unit = make_rounding_unit_lockstep(std::make_unique<RoundingUnitModel>(source, 5, kEngine),
                                            make_unit(source, 5), source, "vector_engine", {}, log);
    std::vector<float> values(257);
    std::vector<std::uint32_t> codes(values.size());
    for (int row = 0; row < 200; ++row) {
      for (float& value : values) value = float_of(random.next32());
      unit->convert(random.below(kPartitions), all_formats()[random.below(16)],
                    {random.below(2) != 0 ? Rounding::Stochastic : Rounding::NearestEven, random.below(2) != 0, false},
                    values.data(), values.size(), codes.data());
    }
    EXPECT_EQ(log.compared(), 200U * 257U);
    EXPECT_EQ(log.mismatches(), 0U);
  }
}

TEST(RoundingLockstep, KeepsTheModelsCodesAndAReproducerOfTheFirstDifference) {
  const FaultPlace fault = parse_fault("encode_tie_away");
  LockstepLog log;
  CosimCase origin;
  origin.fault = "encode_tie_away";
  auto unit = make_rounding_unit_lockstep(std::make_unique<RoundingUnitModel>(RandomSource::Lfsr, 5, kEngine),
                                          make_unit(RandomSource::Lfsr, 5, library(true), fault), RandomSource::Lfsr,
                                          "vector_engine", origin, log);
  const std::vector<float> values = {1.0F, 0x1.01p0F, 0x1.03p0F, 0x1.05p0F, 2.0F};  // ties at 1 and 3 go down
  std::vector<std::uint32_t> codes(values.size());
  unit->convert(9, Format::Bf16, {}, values.data(), values.size(), codes.data());
  EXPECT_EQ(codes, (std::vector<std::uint32_t>{0x3F80, 0x3F80, 0x3F82, 0x3F82, 0x4000}));
  EXPECT_EQ(log.mismatches(), 2U);
  ASSERT_EQ(log.differences().size(), 1U);
  const Difference& first = log.differences()[0];
  EXPECT_EQ(first.place, "lane 9, element 1");
  EXPECT_EQ(first.model, 0x3F80U);
  EXPECT_EQ(first.rtl, 0x3F81U);
  EXPECT_NE(describe(first).find("3f808000 (1.00390625) to bf16"), std::string::npos) << describe(first);
  EXPECT_EQ(std::get<RoundingCase>(first.reproducer.operation).values,
            (std::vector<std::uint32_t>{0x3F800000, 0x3F808000}));

  LockstepLog again;
  const auto& operation = std::get<RoundingCase>(first.reproducer.operation);
  replay_rounding(operation, first.reproducer, fault, library(true), plain_context(), again);
  EXPECT_EQ(again.mismatches(), 1U);
  LockstepLog good;
  replay_rounding(operation, first.reproducer, {}, library(), plain_context(), good);
  EXPECT_EQ(good.mismatches(), 0U);
  EXPECT_EQ(good.compared(), 2U);
}

RoundingCampaign all_targets() {
  RoundingCampaign campaign;
  campaign.formats = all_formats();
  return campaign;
}

TEST(RoundingCampaign, AllFormatsAgreeAndNoBinStaysEmpty) {
  RoundingCampaign campaign = all_targets();
  campaign.values = long_run() ? 10'000'000 : 300'000;
  CampaignOptions options;
  options.seed = seed();
  const CampaignResult result = shown(run_rounding_campaign, campaign, options);
  std::printf("%s\n%llu conversions, %llu cycles, %.1f s\n", result.table.c_str(),
              static_cast<unsigned long long>(result.cases), static_cast<unsigned long long>(result.cycles),
              result.seconds);
  for (const Difference& difference : result.differences) ADD_FAILURE() << describe(difference);
  EXPECT_TRUE(result.passed());
  EXPECT_GT(result.cases, campaign.values);
  EXPECT_GT(result.cycles, result.cases);
  for (const std::string& hole : result.holes) ADD_FAILURE() << hole;
  EXPECT_EQ(rtl_failures(), 0U);
}

TEST(RoundingCampaign, ExhaustiveValuesAgree) {
  RoundingCampaign campaign = all_targets();
  if (!long_run()) campaign.formats = {Format::Fp16, Format::E4M3FN};
  campaign.exhaustive = true;
  campaign.values = 1000;
  campaign.stalls = false;
  const CampaignResult result = shown(run_rounding_campaign, campaign, {});
  std::printf("%llu conversions, %llu cycles, %.1f s\n", static_cast<unsigned long long>(result.cases),
              static_cast<unsigned long long>(result.cycles), result.seconds);
  for (const Difference& difference : result.differences) ADD_FAILURE() << describe(difference);
  EXPECT_TRUE(result.passed());
}

TEST(RoundingCampaign, FlushedDenormalsAgree) {
  CampaignOptions options;
  options.rtl.flush_denormals = true;
  const CampaignResult result = shown(run_rounding_campaign, all_targets(), options);
  std::printf("%s\n", result.table.c_str());
  for (const Difference& difference : result.differences) ADD_FAILURE() << describe(difference);
  EXPECT_TRUE(result.passed());
  for (const std::string& hole : result.holes) ADD_FAILURE() << hole;
}

TEST(RoundingCampaign, EveryFaultOfTheUnitIsFoundAndItsReproducerShowsIt) {
  const TemporaryDirectory directory;
  std::size_t faults = 0;
  for (const RtlFault& fault : rtl_faults()) {
    if (fault.module != "fp_encode" && fault.module != "lfsr_source" && fault.module != "xorwow_source" &&
        fault.module != "stochastic_rounding_unit") {
      continue;
    }
    if (!fault.equivalent.empty()) continue;
    ++faults;
    RoundingCampaign campaign = all_targets();
    campaign.values = 100'000;
    CampaignOptions options;
    options.fault = FaultPlace{&fault, "", -1, -1};
    options.fault_text = std::string(fault.name);
    const CampaignResult result = shown(run_rounding_campaign, campaign, options);
    std::printf("%-28s %8llu cycles: ", options.fault_text.c_str(), static_cast<unsigned long long>(result.cycles));
    EXPECT_FALSE(result.passed()) << fault.name;
    ASSERT_EQ(result.differences.size(), 1U) << fault.name;
    const CosimCase& reproducer = result.differences[0].reproducer;
    std::printf("%s\n", describe(result.differences[0]).c_str());

    const std::vector<CosimCase> read = read_cases(directory.write("r.json", cases_to_json({reproducer})));
    ASSERT_EQ(read.size(), 1U);
    EXPECT_TRUE(equal(read[0], reproducer)) << fault.name;
    const auto& operation = std::get<RoundingCase>(read[0].operation);
    EXPECT_LT(operation.cycles.size(), 40U) << fault.name;
    LockstepLog with_fault;
    replay_rounding(operation, read[0], parse_fault(read[0].fault), library(true), plain_context(), with_fault);
    EXPECT_EQ(with_fault.mismatches(), 1U) << fault.name;
    LockstepLog without;
    replay_rounding(operation, read[0], {}, library(), plain_context(), without);
    EXPECT_EQ(without.mismatches(), 0U) << fault.name;
  }
  EXPECT_GE(faults, 35U);
}

}  // namespace
}  // namespace azulejo::test
