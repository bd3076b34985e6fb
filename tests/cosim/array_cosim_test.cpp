// SPDX-License-Identifier: Apache-2.0
// The Verilated PE array: composed of tiles, as a whole with its handshakes, and against chains of std::fma written
// here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/cosim/shown.h"
#include "tlm/common/error.h"
#include "tlm/cosim/campaign.h"
#include "tlm/cosim/pe_array_rtl.h"
#include "tlm/wave/verilator_hooks.h"

namespace azulejo {
namespace {

constexpr std::uint32_t kNan = 0x7FC00000;

std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return std::isnan(value) ? kNan : bits;
}

float value_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float flushed(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value; }

// Elements of a tile, [k][columns], and the memory that an array reads them from.
class Tile {
 public:
  Tile(Format format, std::uint32_t k, std::uint32_t columns, const std::function<std::uint32_t()>& next_code)
      : columns_(columns), codes_(std::size_t{k} * columns), bytes_(k * storage_bytes(format, columns)) {
    for (std::uint32_t& code : codes_) code = next_code();
    tile_.store = {bytes_.data(), storage_bytes(format, columns)};
    tile_.access.format = format;
    tile_.access.partitions = static_cast<std::uint16_t>(k);
    tile_.access.free[0].size = static_cast<std::uint16_t>(columns);
    for (std::uint32_t p = 0; p < k; ++p) {
      write_codes(tile_.store, tile_.access, 0, p, codes_.data() + std::size_t{p} * columns);
    }
  }
  Tile(const Tile&) = delete;
  Tile& operator=(const Tile&) = delete;

  const OperandTile& operand() const { return tile_; }
  Format format() const { return tile_.access.format; }
  std::uint32_t k() const { return tile_.k(); }
  std::uint32_t columns() const { return columns_; }
  std::uint32_t code(std::uint32_t row, std::uint32_t column) const {
    return codes_[std::size_t{row} * columns_ + column];
  }

 private:
  std::uint32_t columns_;
  std::vector<std::uint32_t> codes_;
  std::vector<std::uint8_t> bytes_;
  OperandTile tile_;
};

// BF16 codes of both signs and 16 binades around 1; one in 64 of any kind.
std::function<std::uint32_t()> bf16_codes(unsigned seed) {
  return [random = std::mt19937(seed)]() mutable -> std::uint32_t {
    const auto word = static_cast<std::uint32_t>(random());
    if (word >> 26 == 0) return word & 0xFFFF;
    return (word & 0x8000) | ((0x78 + (word >> 16 & 0xF)) << 7) | (word & 0x7F);
  };
}

std::function<std::uint32_t()> any_codes(Format format, unsigned seed) {
  const unsigned shift = 32U - spec(format).storage_bits;
  return [random = std::mt19937(seed), shift]() mutable -> std::uint32_t {
    return static_cast<std::uint32_t>(random()) >> shift;
  };
}

// FP32 values: mostly around 1 with all fraction bits, the rest of any kind; infinities and NaNs among them.
std::function<std::uint32_t()> fp32_codes(unsigned seed) {
  return [random = std::mt19937(seed)]() mutable -> std::uint32_t {
    const auto word = static_cast<std::uint32_t>(random());
    const auto kind = static_cast<std::uint32_t>(random() % 96);
    if (kind == 0) return (word & 0x80000000) | 0x7F800000;
    if (kind == 1) return word | 0x7F800001;
    if (kind == 2) return word & 0x80000000;
    if (kind == 3) return word & 0x807FFFFF;
    if (kind == 4) return word;
    return (word & 0x807FFFFF) | ((0x7C + (word >> 24 & 0x7)) << 23);
  };
}

// One column sum of the contract: value(row) of both sides, down the rows from +0.
std::uint32_t chain(std::uint32_t k, const std::function<float(std::uint32_t)>& act,
                    const std::function<float(std::uint32_t)>& weight, bool flush) {
  float sum = 0;
  for (std::uint32_t r = 0; r < k; ++r) {
    sum = std::fma(act(r), weight(r), sum);
    if (flush) sum = flushed(sum);
  }
  return bits_of(sum);
}

// Product of tiles that are not FP32, [m][n].
std::vector<std::uint32_t> golden(const Tile& stationary, const Tile& moving, bool flush = false) {
  const auto value = [flush](const Tile& tile, std::uint32_t row, std::uint32_t column) {
    if (tile.format() != Format::Bf16) return decode(tile.format(), tile.code(row, column), flush);
    const float exact = value_of(tile.code(row, column) << 16);
    return flush ? flushed(exact) : exact;
  };
  std::vector<std::uint32_t> sums;
  for (std::uint32_t i = 0; i < stationary.columns(); ++i) {
    for (std::uint32_t j = 0; j < moving.columns(); ++j) {
      sums.push_back(chain(
          moving.k(), [&](std::uint32_t r) { return value(moving, r, j); },
          [&](std::uint32_t r) { return value(stationary, r, i); }, flush));
    }
  }
  return sums;
}

// FP32 in four passes, LL, LH, HL, HH, stationary half first; [m][n].
std::vector<std::uint32_t> golden_fp32(const Tile& stationary, const Tile& moving) {
  const auto half = [](std::uint32_t code, bool high) {
    const float value = value_of(code);
    const float upper = value_of(code & 0xFFFFF000);
    return high ? upper : std::copysign(value - upper, value);
  };
  std::vector<std::uint32_t> result;
  for (std::uint32_t i = 0; i < stationary.columns(); ++i) {
    for (std::uint32_t j = 0; j < moving.columns(); ++j) {
      float total = 0;
      for (unsigned pass = 0; pass < 4; ++pass) {
        const bool weight_high = pass >= 2;
        const bool act_high = pass % 2 == 1;
        float sum = 0;
        for (std::uint32_t r = 0; r < moving.k(); ++r) {
          const std::uint32_t a = moving.code(r, j);
          const std::uint32_t w = stationary.code(r, i);
          const bool special = !std::isfinite(value_of(a)) || !std::isfinite(value_of(w));
          if (special && pass == 3) sum = std::fma(value_of(a), value_of(w), sum);
          if (!special) sum = std::fma(half(a, act_high), half(w, weight_high), sum);
        }
        total = pass == 0 ? sum : total + sum;
      }
      result.push_back(bits_of(total));
    }
  }
  return result;
}

// Tests that do not name a library take the shipped one.
const RtlLibrary& library(std::uint32_t stages = 1, bool flush = false, bool faults = false) {
  RtlParameters parameters;
  parameters.pipeline_stages = stages;
  parameters.flush_denormals = flush;
  parameters.faults = faults;
  return RtlLibrary::load(parameters);
}

PeArrayRtlConfig config_of(std::uint32_t rows, std::uint32_t cols, std::uint32_t cycles_per_visit = 64) {
  PeArrayRtlConfig config;
  config.name = "array";
  config.rows = rows;
  config.cols = cols;
  config.cycles_per_visit = cycles_per_visit;
  return config;
}

// The product on an array, [m][n]; on top of `old` if given.
std::vector<std::uint32_t> multiply(PeArray& array, const Tile& stationary, const Tile& moving,
                                    const std::vector<float>& old = {}) {
  const std::size_t n = moving.columns();
  std::vector<float> psum(stationary.columns() * n, std::numeric_limits<float>::quiet_NaN());
  if (!old.empty()) psum = old;
  MatmulMode mode;
  mode.accumulate = !old.empty();
  array.load(stationary.operand(), 0);
  array.multiply(moving.operand(), mode, psum.data(), n);
  std::vector<std::uint32_t> result(psum.size());
  std::memcpy(result.data(), psum.data(), psum.size() * sizeof(float));
  return result;
}

void expect_golden(std::uint32_t rows, std::uint32_t cols, std::uint32_t n) {
  test::ShownArray array(config_of(rows, cols), library());
  const Tile stationary(Format::Bf16, rows, cols, bf16_codes(rows));
  const Tile moving(Format::Bf16, rows, n, bf16_codes(cols + 1));
  EXPECT_EQ(multiply(array, stationary, moving), golden(stationary, moving));
  EXPECT_EQ(array.stats().surplus_sums, 0U);
}

// What left the whole array, and when.
struct Sums {
  std::vector<std::uint32_t> values;  // [n][cols]
  std::vector<std::uint64_t> cycles;  // of each row of them
};

// The whole array without stalls: weights, then activations, as PeArrayRtl schedules them.
Sums run_whole_array(const RtlLibrary& rtl, const Tile& stationary, const Tile& moving) {
  const rtl::PeArrayAbi& abi = rtl.abi().array;
  const std::unique_ptr<void, void (*)(void*)> unit(abi.unit.create(&plain_context(), "whole"), abi.unit.destroy);
  const std::vector<std::uint8_t> weight_present(abi.cols, 1);
  const std::vector<std::uint8_t> act_present(abi.rows, 1);
  std::vector<std::uint32_t> weights(abi.cols), acts(abi.rows), psum(abi.cols);
  rtl::PeArrayPins pins;
  pins.weight_format = static_cast<std::uint8_t>(stationary.format());
  pins.act_format = static_cast<std::uint8_t>(moving.format());
  pins.weight_present = weight_present.data();
  pins.act_present = act_present.data();
  pins.weight_codes = weights.data();
  pins.act_codes = acts.data();
  pins.psum = psum.data();
  pins.psum_ready = 1;
  Sums sums;
  const std::uint32_t last = abi.rows + moving.columns() + 4 * (abi.rows * abi.pipeline_stages + abi.cols);
  for (std::uint32_t cycle = 0; cycle < last; ++cycle) {
    pins.weight_valid = cycle < abi.rows;
    for (std::uint32_t c = 0; pins.weight_valid != 0 && c < abi.cols; ++c) weights[c] = stationary.code(cycle, c);
    pins.weight_row = static_cast<std::uint16_t>(cycle % abi.rows);
    const std::uint32_t column = cycle - abi.rows;
    pins.act_valid = cycle >= abi.rows && column < moving.columns();
    pins.act_swap = cycle == abi.rows;
    for (std::uint32_t r = 0; pins.act_valid != 0 && r < abi.rows; ++r) acts[r] = moving.code(r, column);
    abi.settle(unit.get(), pins);
    if (pins.psum_valid != 0) {
      sums.values.insert(sums.values.end(), psum.begin(), psum.end());
      sums.cycles.push_back(cycle);
    }
    abi.clock(unit.get());
  }
  return sums;
}

void expect_composed_is_whole(const RtlLibrary& rtl) {
  constexpr std::uint32_t kColumns = 50;
  const rtl::PeArrayAbi& abi = rtl.abi().array;
  test::ShownArray array(config_of(abi.rows, abi.cols, 7), rtl);
  const Tile stationary(Format::Bf16, abi.rows, abi.cols, bf16_codes(1));
  const Tile moving(Format::Bf16, abi.rows, kColumns, bf16_codes(2));
  const std::vector<std::uint32_t> composed = multiply(array, stationary, moving);
  const Sums whole = run_whole_array(rtl, stationary, moving);
  ASSERT_EQ(whole.cycles.size(), kColumns);
  for (std::uint32_t j = 0; j < kColumns; ++j) {
    EXPECT_EQ(array.sum_cycle(j), whole.cycles[j]) << "column " << j;
    for (std::uint32_t c = 0; c < abi.cols; ++c) {
      EXPECT_EQ(composed[c * kColumns + j], whole.values[j * abi.cols + c]) << "column " << j << ", lane " << c;
    }
  }
  EXPECT_EQ(composed, golden(stationary, moving, abi.flush_denormals != 0));
}

TEST(ArrayCosim, ComposedArrayIsTheWholeArrayWithTheCycleOfEverySum) { expect_composed_is_whole(library()); }

TEST(ArrayCosim, ArrayOfTwoStageFlushingPesIsTheWholeArrayToo) { expect_composed_is_whole(library(2, true)); }

TEST(ArrayCosim, ArrayOfThreeStagePesIsTheWholeArrayToo) { expect_composed_is_whole(library(3)); }

TEST(ArrayCosim, SquareArrayGivesTheFmaChain) { expect_golden(8, 8, 40); }

TEST(ArrayCosim, OblongArrayGivesTheFmaChain) { expect_golden(12, 20, 33); }

TEST(ArrayCosim, FullArrayGivesTheFmaChain) { expect_golden(128, 128, 9); }

TEST(ArrayCosim, RowsAndColumnsWithoutOperandsAddNothing) {
  test::ShownArray array(config_of(12, 8), library());
  const Tile stationary(Format::Bf16, 5, 3, bf16_codes(3));
  const Tile moving(Format::Bf16, 5, 1, bf16_codes(4));
  EXPECT_EQ(multiply(array, stationary, moving), golden(stationary, moving));
  // A column sum of -0 products starts at +0, and rows beyond k leave it alone.
  const Tile negative_zeros(Format::Bf16, 1, 1, [] { return 0x8000U; });
  const Tile ones(Format::Bf16, 1, 1, [] { return 0x3F80U; });
  EXPECT_EQ(multiply(array, negative_zeros, ones), std::vector<std::uint32_t>{0});
}

TEST(ArrayCosim, AccumulatesOntoOldValuesWithOneRounding) {
  test::ShownArray array(config_of(8, 12), library());
  const Tile stationary(Format::Bf16, 8, 12, bf16_codes(5));
  const Tile moving(Format::Bf16, 8, 30, bf16_codes(6));
  std::vector<std::uint32_t> expected = golden(stationary, moving);
  const auto next = fp32_codes(7);
  std::vector<float> old;
  for (std::uint32_t& sum : expected) {
    old.push_back(value_of(next()));
    sum = bits_of(value_of(sum) + old.back());
  }
  EXPECT_EQ(multiply(array, stationary, moving, old), expected);
}

TEST(ArrayCosim, ResultsDoNotDependOnTheCyclesPerVisit) {
  const Tile stationary(Format::Bf16, 24, 16, bf16_codes(8));
  const Tile moving(Format::Bf16, 24, 100, bf16_codes(9));
  const std::vector<std::uint32_t> expected = golden(stationary, moving);
  for (const std::uint32_t cycles : {1U, 7U, 64U, 1000U}) {
    test::ShownArray array(config_of(24, 16, cycles), library());
    EXPECT_EQ(array.latency_cycles(), 40U) << cycles << " cycles per visit";
    EXPECT_EQ(multiply(array, stationary, moving), expected) << cycles << " cycles per visit";
    // Without a new load: the weights stay.
    std::vector<float> psum(expected.size());
    array.multiply(moving.operand(), {}, psum.data(), moving.columns());
    EXPECT_EQ(std::memcmp(psum.data(), expected.data(), expected.size() * sizeof(float)), 0)
        << cycles << " cycles per visit";
  }
}

TEST(ArrayCosim, ResultsDoNotDependOnStalls) {
  const Tile stationary(Format::Fp32, 8, 8, fp32_codes(10));
  const Tile moving(Format::Fp32, 8, 60, fp32_codes(11));
  const std::vector<std::uint32_t> expected = golden_fp32(stationary, moving);
  test::ShownArray array(config_of(8, 8, 33), library());
  EXPECT_EQ(multiply(array, stationary, moving), expected);
  const std::uint64_t quiet = array.stats().cycles;
  const std::uint32_t rates[][2] = {{128, 0}, {0, 128}, {100, 100}, {220, 20}, {20, 220}};
  for (const auto& [bubble, hold] : rates) {
    const std::uint64_t before = array.stats().cycles;
    array.stall(bubble, hold, bubble + 1);
    EXPECT_EQ(multiply(array, stationary, moving), expected) << bubble << " bubbles, " << hold << " holds";
    EXPECT_GT(array.stats().cycles - before, quiet) << bubble << " bubbles, " << hold << " holds";
  }
  EXPECT_EQ(array.stats().surplus_sums, 0U);
}

TEST(ArrayCosim, IdleTilesAreNotEvaluated) {
  constexpr std::uint32_t kTiles = 8 * 8;
  test::ShownArray array(config_of(32, 32, 8), library());
  const Tile stationary(Format::Bf16, 32, 32, bf16_codes(12));
  const Tile moving(Format::Bf16, 32, 2, bf16_codes(13));
  const std::vector<std::uint32_t> expected = golden(stationary, moving);
  EXPECT_EQ(multiply(array, stationary, moving), expected);
  // With 2 columns each tile is busy for a fraction of the latency, and wakes again.
  array.stall(230, 0, 1);
  EXPECT_EQ(multiply(array, stationary, moving), expected);
  const PeArrayRtl::Stats& stats = array.stats();
  EXPECT_EQ(stats.tile_cycles + stats.idle_cycles, stats.cycles * kTiles);
  EXPECT_GT(stats.idle_cycles, stats.cycles * kTiles / 4);
  EXPECT_EQ(stats.pe_cycles, 2U * 32 * 32 * 2);
}

TEST(ArrayCosim, LatencyIsRowsTimesStagesPlusColumns) {
  EXPECT_EQ(PeArrayRtl(config_of(4, 4), library(), plain_context()).latency_cycles(), 8U);
  EXPECT_EQ(PeArrayRtl(config_of(12, 4), library(), plain_context()).latency_cycles(), 16U);
  EXPECT_EQ(PeArrayRtl(config_of(128, 128), library(), plain_context()).latency_cycles(), 256U);
  EXPECT_EQ(PeArrayRtl(config_of(8, 12), library(2, true), plain_context()).latency_cycles(), 28U);
  EXPECT_EQ(PeArrayRtl(config_of(8, 12), library(3), plain_context()).latency_cycles(), 36U);
}

TEST(ArrayCosim, EveryOperandFormatGivesTheFmaChain) {
  test::ShownArray array(config_of(8, 8), library());
  const Tile bf16(Format::Bf16, 8, 8, bf16_codes(14));
  unsigned formats = 0;
  for (const Format format : all_formats()) {
    if (format == Format::Fp32 || spec(format).integer_bits > 8) continue;
    ++formats;
    const Tile stationary(format, 8, 8, any_codes(format, 15));
    const Tile moving(format, 8, 37, any_codes(format, 16));
    EXPECT_EQ(multiply(array, stationary, moving), golden(stationary, moving)) << spec(format).name;
    EXPECT_EQ(multiply(array, bf16, moving), golden(bf16, moving)) << spec(format).name << " on bf16 weights";
  }
  EXPECT_EQ(formats, 11U);
}

TEST(ArrayCosim, Fp32TakesFourPassesWithInfinitiesAndNansInTheLast) {
  test::ShownArray array(config_of(16, 8), library());
  const Tile stationary(Format::Fp32, 16, 8, fp32_codes(17));
  const Tile moving(Format::Fp32, 16, 64, fp32_codes(18));
  EXPECT_EQ(multiply(array, stationary, moving), golden_fp32(stationary, moving));
  // Two kinds of weights, two passes each with 64 columns.
  EXPECT_EQ(array.stats().cycles, 4U * (64 + array.latency_cycles() + 1) + 2 * 16);
  // Infinity times a value whose high half is zero is infinite, and NaN only for a true zero.
  const Tile tiny(Format::Fp32, 1, 1, [] { return 0x00000001U; });
  const Tile zero(Format::Fp32, 1, 1, [] { return 0x00000000U; });
  const Tile infinity(Format::Fp32, 1, 1, [] { return 0xFF800000U; });
  EXPECT_EQ(multiply(array, tiny, infinity), std::vector<std::uint32_t>{0xFF800000});
  EXPECT_EQ(multiply(array, infinity, tiny), std::vector<std::uint32_t>{0xFF800000});
  EXPECT_EQ(multiply(array, zero, infinity), std::vector<std::uint32_t>{kNan});
}

TEST(ArrayCosim, FlushingArrayFlushesOperandsAndSums) {
  test::ShownArray array(config_of(8, 8), library(2, true));
  // Exponents around -63 make products and sums on both sides of the smallest normal number.
  const auto small_codes = [](unsigned seed) {
    return [random = std::mt19937(seed)]() mutable -> std::uint32_t {
      const auto word = static_cast<std::uint32_t>(random());
      return word >> 28 == 0 ? word & 0x807F : (word & 0x807F) | ((0x3E + (word >> 16 & 3)) << 7);
    };
  };
  const Tile stationary(Format::Bf16, 8, 8, small_codes(19));
  const Tile moving(Format::Bf16, 8, 100, small_codes(20));
  const std::vector<std::uint32_t> flushing = golden(stationary, moving, true);
  EXPECT_NE(flushing, golden(stationary, moving, false));
  EXPECT_EQ(multiply(array, stationary, moving), flushing);
}

TEST(ArrayCosim, FaultInOnePeReachesItsColumnOnly) {
  PeArrayRtlConfig config = config_of(8, 12);
  config.fault = parse_fault("round_truncates@pe_5_6");
  ASSERT_EQ(validate(config, library(1, false, true), 1, false), std::vector<std::string>{});
  test::ShownArray array(config, library(1, false, true));
  const Tile stationary(Format::Bf16, 8, 12, bf16_codes(21));
  const Tile moving(Format::Bf16, 8, 50, bf16_codes(22));
  const std::vector<std::uint32_t> expected = golden(stationary, moving);
  const std::vector<std::uint32_t> result = multiply(array, stationary, moving);
  for (std::uint32_t i = 0; i < 12; ++i) {
    const bool same = std::equal(result.begin() + i * 50, result.begin() + (i + 1) * 50, expected.begin() + i * 50);
    EXPECT_EQ(same, i != 6) << "row " << i;
  }
}

TEST(ArrayCosim, RtlWithSeededFaultsButNoneChosenGivesTheFmaChain) {
  test::ShownArray array(config_of(12, 8), library(1, false, true));
  const Tile stationary(Format::Bf16, 12, 8, bf16_codes(23));
  const Tile moving(Format::Bf16, 12, 50, bf16_codes(24));
  array.stall(60, 60, 1);
  EXPECT_EQ(multiply(array, stationary, moving), golden(stationary, moving));
  EXPECT_EQ(rtl_failures(), 0U);
}

TEST(ArrayCosim, ValidateNamesBothValues) {
  const RtlLibrary& rtl = library();
  const auto problems = [&](const PeArrayRtlConfig& config, std::uint32_t stages, bool flush) {
    const std::vector<std::string> list = validate(config, rtl, stages, flush);
    return list.size() == 1 ? list.front() : std::to_string(list.size()) + " problems";
  };
  EXPECT_EQ(validate(config_of(128, 128), rtl, 1, false), std::vector<std::string>{});
  EXPECT_EQ(problems(config_of(6, 8), 1, false), "rows: 6; the RTL's tiles of 4 x 4 PEs make multiples of 4");
  EXPECT_EQ(problems(config_of(8, 0), 1, false), "cols: 0; the RTL's tiles of 4 x 4 PEs make multiples of 4");
  EXPECT_EQ(problems(config_of(256, 8), 1, false), "rows: 256; the RTL's row count of 7 bits reaches 128");
  EXPECT_EQ(problems(config_of(8, 8), 3, false), "pe_stages: 3; a sum leaves the RTL's PE after 1 cycles");
  EXPECT_EQ(problems(config_of(8, 8), 1, true), "flush_denormals: true; the RTL was built with FlushDenormals = 0");
  PeArrayRtlConfig config = config_of(8, 8);
  config.fault = parse_fault("round_truncates@pe_3_3");
  EXPECT_EQ(problems(config, 1, false), "fault: this RTL was built without seeded faults");
  config.fault = parse_fault("round_truncates@pe_8_3");
  const std::vector<std::string> outside = validate(config, library(1, false, true), 1, false);
  ASSERT_EQ(outside.size(), 1U);
  EXPECT_EQ(outside.front(), "fault: pe_8_3 lies outside the 8 x 8 array");
}

// Campaigns

ArrayCampaign small_campaign() {
  ArrayCampaign campaign;
  campaign.rows = 8;
  campaign.cols = 12;
  campaign.n = 20;
  campaign.formats = {Format::Bf16, Format::Fp32, Format::E4M3, Format::Int8};
  campaign.matmuls = 6;
  campaign.stalls = true;
  return campaign;
}

TEST(ArrayCampaign, FindsNoDifferenceInTheShippedRtl) {
  CampaignOptions options;
  double fraction = 0;
  options.progress = [&](double now) { fraction = now; };
  const CampaignResult result = test::shown(run_array_campaign, small_campaign(), options);
  EXPECT_TRUE(result.passed());
  // The handshakes alone make 18,000 columns of 4 sums.
  EXPECT_GT(result.cases, 72'000U + 4 * 8 * 12);
  EXPECT_EQ(fraction, 1);
  EXPECT_TRUE(result.differences.empty());
}

TEST(ArrayCampaign, FindsNoDifferenceWithTwoOrThreeStages) {
  CampaignOptions options;
  options.rtl.pipeline_stages = 2;
  options.rtl.flush_denormals = true;
  EXPECT_TRUE(test::shown(run_array_campaign, small_campaign(), options).passed());
  options.rtl.pipeline_stages = 3;
  options.rtl.flush_denormals = false;
  EXPECT_TRUE(test::shown(run_array_campaign, small_campaign(), options).passed());
}

CampaignResult run_with_fault(const std::string& fault) {
  CampaignOptions options;
  options.fault = parse_fault(fault);
  options.fault_text = fault;
  return test::shown(run_array_campaign, small_campaign(), options);
}

TEST(ArrayCampaign, StopsAtTheFirstDifferenceWithAReproducer) {
  const CampaignResult result = run_with_fault("round_tie_away");
  EXPECT_FALSE(result.passed());
  ASSERT_EQ(result.differences.size(), 1U);
  const Difference& difference = result.differences.front();
  EXPECT_EQ(difference.unit, "pe_array");
  EXPECT_EQ(difference.what, "psum");
  EXPECT_NE(difference.model, difference.rtl);
  EXPECT_EQ(difference.reproducer.fault, "round_tie_away");
  const auto* operation = std::get_if<ArrayCase>(&difference.reproducer.operation);
  ASSERT_NE(operation, nullptr);
  EXPECT_EQ(operation->rows, 4U);
  EXPECT_EQ(operation->cols, 4U);
  // It is one: it can be written and read back.
  const std::string path = testing::TempDir() + "array_campaign_reproducer.json";
  std::ofstream(path) << cases_to_json({difference.reproducer});
  EXPECT_EQ(read_cases(path).size(), 1U);
  std::remove(path.c_str());
}

TEST(ArrayCampaign, FindsFaultsOfTheHandshakesAndTheirUnits) {
  for (const char* fault :
       {"drain_ignores_stall", "drain_valid_early", "drain_never_accumulates", "edge_skew_short", "edge_ignores_stall",
        "edge_swap_lost", "pe_ignores_stall", "pe_no_double_buffer", "pe_stale_weight", "pe_weight_row_off_by_one"}) {
    EXPECT_FALSE(run_with_fault(fault).passed()) << fault;
  }
}

TEST(ArrayCampaign, FindsAFaultInOnePeOfTheComposedArray) {
  const CampaignResult result = run_with_fault("multiply_exponent_off_by_one@pe_6_9");
  ASSERT_FALSE(result.differences.empty());
  EXPECT_EQ(result.differences.front().unit, "array");
  EXPECT_NE(result.differences.front().place.find("row 9, "), std::string::npos) << result.differences.front().place;
}

TEST(ArrayCampaign, WritesCoverage) {
  CampaignOptions options;
  options.coverage_file = testing::TempDir() + "array_campaign_coverage.dat";
  EXPECT_TRUE(test::shown(run_array_campaign, small_campaign(), options).passed());
  std::ifstream file(options.coverage_file);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  std::uint64_t drain_points = 0;
  while (std::getline(file, line)) drain_points += line.find("pe_array_drain") != std::string::npos ? 1 : 0;
  EXPECT_GT(drain_points, 0U);
  std::remove(options.coverage_file.c_str());
}

TEST(ArrayCampaign, RefusesWhatNoArrayCanDo) {
  const auto refusal = [](const std::function<void(ArrayCampaign&, CampaignOptions&)>& change) {
    ArrayCampaign campaign = small_campaign();
    CampaignOptions options;
    change(campaign, options);
    try {
      test::shown(run_array_campaign, campaign, options);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal([](auto& campaign, auto&) { campaign.rows = 6; }),
            "cosim array: rows: 6; the RTL's tiles of 4 x 4 PEs make multiples of 4");
  EXPECT_EQ(refusal([](auto& campaign, auto&) { campaign.cols = 132; }), "--cols: 132 is outside 1 to 128");
  EXPECT_EQ(refusal([](auto& campaign, auto&) { campaign.n = 4097; }), "--n: 4097 is outside 1 to 4096");
  EXPECT_EQ(refusal([](auto& campaign, auto&) { campaign.n = 0; }), "--n: 0 is outside 1 to 4096");
  EXPECT_EQ(
      refusal([](auto& campaign, auto&) { campaign.formats = {Format::Int16}; }),
      "--format: int16 does not fit an operand of the array; it takes fp32, tf32, bf16, fp16, e4m3, e4m3fn, e5m2, "
      "e3m4, e8m0, e2m1, int8, uint8");
  EXPECT_NE(refusal([](auto& campaign, auto&) { campaign.formats.clear(); }).find("--format: none given"),
            std::string::npos);
  EXPECT_NE(refusal([](auto&, auto& options) { options.fault = parse_fault("lfsr_tap_wrong"); }).find("lfsr_source"),
            std::string::npos);
  EXPECT_NE(refusal([](auto&, auto& options) {
              options.fault = parse_fault("round_truncates@pe_8_0");
            }).find("pe_8_0 lies outside the 8 x 12 array"),
            std::string::npos);
}

}  // namespace
}  // namespace azulejo
