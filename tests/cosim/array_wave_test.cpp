// SPDX-License-Identifier: Apache-2.0
// What a waveform shows of a PE array: the same bits as the array that ran, whatever follows whatever in however few
// cycles, and every cycle at its time.
#include "tlm/cosim/array_wave.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

#include "tests/unit/wave/vcd_reader.h"
#include "tlm/cosim/fault_table.h"
#include "tlm/cosim/host_tile.h"
#include "tlm/cosim/pe_array_rtl.h"
#include "tlm/tensor_engine/pe_array_model.h"

namespace azulejo {
namespace {

constexpr std::uint64_t kHz = 1'000'000'000;
constexpr std::uint32_t kRows = 8;
constexpr std::uint32_t kCols = 8;

// Collects the text of a wave.
class TextOutput : public WaveOutput {
 public:
  void write(std::string_view text) override { text_ += text; }
  void close() override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class ArrayWaveTest : public testing::Test {
 protected:
  const RtlLibrary& library(std::uint32_t stages, bool faults = false) {
    RtlParameters parameters;
    parameters.pipeline_stages = stages;
    parameters.faults = faults;
    return RtlLibrary::load(parameters);
  }

  // An array in engine time with all of its units in a wave.
  void build(std::uint32_t stages, const char* fault = nullptr, bool in_wave = true) {
    const RtlLibrary& rtl = library(stages, fault != nullptr);
    array_.reset();
    array_wave_.reset();
    WaveOptions options;
    options.output = output_ = std::make_shared<TextOutput>();
    options.scopes = {"*", "*.tile_*", "*.west_*", "*.north_*", "*.drain_*"};
    options.now = [this] { return now_; };
    wave_ = std::make_unique<WaveFile>(options);
    PeArrayRtlConfig config;
    config.name = "array";
    config.rows = kRows;
    config.cols = kCols;
    if (fault != nullptr) config.fault = parse_fault(fault);
    array_ = std::make_unique<PeArrayRtl>(config, rtl, plain_context());
    ArrayWaveConfig shown;
    shown.name = config.name;
    shown.tile_rows = kRows / rtl.abi().tile.rows;
    shown.tile_cols = kCols / rtl.abi().tile.cols;
    shown.clock_hz = kHz;
    array_wave_ = std::make_unique<ArrayWave>(*wave_, shown, rtl.abi());
    if (fault != nullptr && in_wave) array_wave_->select_fault("", {config.fault.fault->id, 255, 255});
    array_->run_in_engine_time(array_wave_.get());
    PeArrayModelConfig model;
    model.rows = kRows;
    model.cols = kCols;
    model.pe_stages = stages;
    model_ = std::make_unique<PeArrayModel>(model);
  }

  std::vector<std::uint32_t> codes(std::size_t count) {
    std::vector<std::uint32_t> result(count);
    for (std::uint32_t& code : result) code = static_cast<std::uint32_t>(random_());
    return result;
  }

  void at_cycle(std::uint64_t cycle) { now_ = Clock(kHz).edge(cycle); }

  // Loads at cycle `load` and multiplies columns that enter at `first`; both arrays give the same sums.
  void matmul(Format format, std::uint64_t load, std::uint64_t first, std::uint32_t columns) {
    const std::size_t bits = spec(format).storage_bits;
    std::vector<std::uint32_t> weights = codes(std::size_t{kRows} * kCols);
    std::vector<std::uint32_t> acts = codes(std::size_t{kRows} * columns);
    for (auto* list : {&weights, &acts}) {
      for (std::uint32_t& code : *list) code = bits < 32 ? code & ((1U << bits) - 1) : code;
    }
    const HostTile stationary(format, kRows, kCols, weights);
    const HostTile moving(format, kRows, columns, acts);
    at_cycle(load);
    array_->load(stationary.tile(), load);
    model_->load(stationary.tile(), load);
    at_cycle(std::max(load, first > kStart ? first - kStart : 0));
    MatmulMode mode;
    mode.begin_cycle = std::max(load, first > kStart ? first - kStart : 0);
    mode.first_column_cycle = first;
    if (format == Format::Fp32) {  // the tile is loaded anew, or its halves swapped, when the matmul has begun
      mode.stationary_one_zero = random_() % 3 == 0;
      mode.moving_one_zero = random_() % 3 == 0;
    }
    std::vector<float> found(std::size_t{kCols} * columns), expected(found.size());
    array_->multiply(moving.tile(), mode, found.data(), columns);
    model_->multiply(moving.tile(), mode, expected.data(), columns);
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0);
  }

  test::Vcd finish(std::uint64_t cycle) {
    at_cycle(cycle);
    wave_->close();
    const std::string path = testing::TempDir() + fmt::format("array_wave_{}.vcd", getpid());
    std::ofstream(path) << output_->text();
    test::Vcd vcd = test::read_vcd(path);
    std::remove(path.c_str());
    return vcd;
  }

  // Times at which a one-bit signal rises.
  static std::vector<std::uint64_t> rises(const test::Vcd& vcd, const std::string& path) {
    std::vector<std::uint64_t> times;
    for (const auto& [time, bits] : vcd.variables.at(path).changes) {
      if (bits == "1") times.push_back(time);
    }
    return times;
  }

  static constexpr std::uint64_t kStart = 4;  // cycles between a matmul's begin and its first column

  Femtoseconds now_ = 0;
  std::mt19937_64 random_{4};
  std::shared_ptr<TextOutput> output_;
  std::unique_ptr<WaveFile> wave_;
  std::unique_ptr<PeArrayRtl> array_;
  std::unique_ptr<ArrayWave> array_wave_;
  std::unique_ptr<PeArrayModel> model_;
};

TEST_F(ArrayWaveTest, EveryCycleIsAtItsTime) {
  build(1);
  matmul(Format::Bf16, 3, 20, 5);
  const test::Vcd vcd = finish(100);
  const Clock clock(kHz);
  EXPECT_EQ(rises(vcd, "array.north_0.valid_i"), std::vector<std::uint64_t>{clock.edge(3)});
  EXPECT_EQ(vcd.text_at("array.rtl_load", clock.edge(3)), "bf16");
  EXPECT_EQ(vcd.text_at("array.rtl_load", clock.edge(3 + kRows)), "");
  EXPECT_EQ(rises(vcd, "array.west_0.valid_i"), std::vector<std::uint64_t>{clock.edge(20)});
  EXPECT_EQ(vcd.text_at("array.rtl_stream", clock.edge(20)), "0: bf16");
  EXPECT_EQ(vcd.at("array.west_0.valid_i", clock.edge(25)), "0");
  // The skew of the wave front: a PE further east or south is a cycle later; PE (0, 0) gets its activation from the
  // edge's register.
  for (std::uint32_t r = 0; r < 4; ++r) {
    for (std::uint32_t c = 0; c < 4; ++c) {
      const std::string pe = fmt::format("array.tile_0_0.pe_tile.gen_rows[{}].gen_cols[{}].u_pe.act_valid_i", r, c);
      EXPECT_EQ(rises(vcd, pe), std::vector<std::uint64_t>{clock.edge(21 + r + c)}) << pe;
    }
  }
  EXPECT_EQ(rises(vcd, "array.tile_1_1.act_valid_i[0]"), std::vector<std::uint64_t>{clock.edge(21 + 4 + 4)});
  // A row of sums is complete when the latency has passed, and not before; the last drain's is the array's.
  EXPECT_EQ(rises(vcd, "array.drain_1.valid_o"), std::vector<std::uint64_t>{clock.edge(20 + array_->latency_cycles())});
  EXPECT_EQ(array_->lag_cycles(), 0U);
  EXPECT_EQ(array_wave_->differences(), 0U);
}

TEST_F(ArrayWaveTest, TheClockRunsWhileThereIsSomethingInside) {
  build(1);
  matmul(Format::Bf16, 3, 20, 5);
  matmul(Format::Bf16, 1000, 1010, 5);
  const test::Vcd vcd = finish(2000);
  std::uint64_t before = 0;
  std::uint64_t idle = 0;
  for (const std::uint64_t time : rises(vcd, "array.tile_0_0.clk_i")) {
    EXPECT_EQ(time % Clock(kHz).edge(1), 0U);
    idle = std::max(idle, time - before);
    before = time;
  }
  EXPECT_GT(idle, Clock(kHz).edge(900));
}

TEST_F(ArrayWaveTest, ColumnsWaitForTheirWeightsAndNoLonger) {
  build(1);
  matmul(Format::Bf16, 0, kRows, 1);  // the last row enters in the cycle before
  EXPECT_EQ(array_->lag_cycles(), 0U);
  matmul(Format::Bf16, kRows + 1, 2 * kRows + 1, 1);  // shadow registers are free a cycle after the swap
  EXPECT_EQ(array_->lag_cycles(), 0U);
  matmul(Format::Bf16, 100, 100 + kRows - 1, 1);
  EXPECT_EQ(array_->lag_cycles(), 1U);
  matmul(Format::Bf16, 100 + kRows, 200, 1);  // the swap was a cycle late, so the load is too
  EXPECT_EQ(array_->lag_cycles(), 0U);
  const test::Vcd vcd = finish(400);
  EXPECT_EQ(array_wave_->differences(), 0U);
  EXPECT_EQ(vcd.number_at("array.rtl_lag_cycles", Clock(kHz).edge(100 + kRows)), 1U);
}

// Loads behind running matmuls, with gaps and without, of every kind of pass.
TEST_F(ArrayWaveTest, WhatIsShownIsWhatRan) {
  for (const std::uint32_t stages : {1U, 2U, 3U}) {
    now_ = 0;
    build(stages);
    std::uint64_t cycle = 0;
    for (int i = 0; i < 60; ++i) {
      const Format format = std::array{Format::Bf16, Format::Fp32, Format::E4M3}[random_() % 3];
      const auto columns = static_cast<std::uint32_t>(1 + random_() % 20);
      const std::uint64_t load = cycle + random_() % 3 * (random_() % 30);
      const std::uint64_t first = load + kRows + random_() % 2 * (random_() % 40);
      matmul(format, load, std::max(first, cycle + kStart), columns);
      cycle = first + (format == Format::Fp32 ? 4 : 1) * columns - std::min<std::uint64_t>(columns, random_() % 8);
    }
    at_cycle(cycle + 1000);
    wave_->close();
    EXPECT_EQ(array_wave_->differences(), 0U) << stages;
    EXPECT_GT(output_->text().size(), 100'000U);
  }
}

TEST_F(ArrayWaveTest, AWaveThatShowedOtherRtlWouldBeSeen) {
  build(1, "pe_stale_weight", false);
  std::uint64_t number = 0;
  const HostTile stationary(Format::Bf16, kRows, kCols, codes(std::size_t{kRows} * kCols));
  const HostTile other(Format::Bf16, kRows, kCols, codes(std::size_t{kRows} * kCols));
  const HostTile moving(Format::Bf16, kRows, 4, codes(std::size_t{kRows} * 4));
  std::vector<float> psum(std::size_t{kCols} * 4);
  for (const HostTile* tile : {&stationary, &other}) {
    MatmulMode mode;
    mode.first_column_cycle = 100 * ++number + 20;
    at_cycle(100 * number);
    array_->load(tile->tile(), 100 * number);
    array_->multiply(moving.tile(), mode, psum.data(), 4);
  }
  finish(1000);
  EXPECT_GT(array_wave_->differences(), 0U);
}

}  // namespace
}  // namespace azulejo
