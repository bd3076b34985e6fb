// SPDX-License-Identifier: Apache-2.0
// Timing of the tensor engine, exact to the femtosecond, against the documented model: weight load 128 cycles (behind
// the running matmul), start 64, N columns, 256 cycles to PSUM, at 2.8 GHz.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/machine.h"

namespace azulejo::test {
namespace {

constexpr std::uint64_t kClock = 2'800'000'000;
const std::vector<std::string> kSixteenCores = {"chip.cores=16", "chip.hbm_stacks=1"};

std::string tensor(std::uint32_t core) { return fmt::format("chip0.nc{}.tensor_engine", core); }

std::string load(const std::string& format = "bf16") {
  return "  load_stationary stationary=sbuf[0:128, 0] " + format + " <128>\n";
}
std::string matmul(std::uint32_t n, const std::string& format = "bf16", const std::string& flags = "") {
  return fmt::format("  nc_matmul dst=psum[0:128, 0] fp32 <{}>, moving=sbuf[0:128, 4096] {} <{}>{}\n", n, format, n,
                     flags);
}

TEST(TensorEngine, ALoneMatmulCompletesAfterLoadStartStreamAndDrain) {
  Machine machine("trn1.2xlarge", kSixteenCores);
  const std::vector<std::uint32_t> sizes = {1, 2, 31, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 500, 511, 512};
  for (std::uint32_t c = 0; c < 16; ++c) machine.load(".engine tensor\n" + load() + matmul(sizes[c]), c);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  for (std::uint32_t c = 0; c < 16; ++c) {
    EXPECT_EQ(machine.core(c).tensor_engine.engine_stats().finished_at, edge(128 + 64 + sizes[c] + 256, kClock))
        << sizes[c];
    const std::vector<Span> spans = machine.recorder().spans(tensor(c), "nc_matmul");
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].start, edge(128, kClock));
    EXPECT_EQ(spans[0].end, edge(128 + 64 + sizes[c], kClock));
  }
  expect_accounts_add_up(machine);
}

TEST(TensorEngine, MatmulsBackToBackStartEvery64PlusNCycles) {
  Machine machine("trn1.2xlarge", kSixteenCores);
  const std::vector<std::uint32_t> sizes = {1, 2, 31, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 500, 511, 512};
  for (std::uint32_t c = 0; c < 16; ++c) {
    std::string text = ".engine tensor\n" + load();
    for (int i = 0; i < 5; ++i) text += matmul(sizes[c]);
    machine.load(text, c);
  }
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  for (std::uint32_t c = 0; c < 16; ++c) {
    const std::vector<Span> spans = machine.recorder().spans(tensor(c), "nc_matmul");
    ASSERT_EQ(spans.size(), 5u);
    for (std::uint32_t i = 0; i < 5; ++i)
      EXPECT_EQ(spans[i].start, edge(128 + i * (64 + sizes[c]), kClock)) << sizes[c];
    const Attribution& account = machine.core(c).tensor_engine.attribution();
    EXPECT_EQ(account[Cause::LoadStationary], edge(128, kClock));
    // Five starts; each lies between two floors.
    EXPECT_NEAR(static_cast<double>(account[Cause::MatmulStart]), static_cast<double>(edge(5 * 64, kClock)), 10);
  }
}

TEST(TensorEngine, AWeightLoadHidesBehindTheRunningMatmulAndIsExposedOtherwise) {
  // The next load issues one cycle after the matmul's start and takes 128: the next matmul starts after max(64 + N,
  // 129).
  Machine machine("trn1.2xlarge", kSixteenCores);
  const std::vector<std::uint32_t> sizes = {1, 16, 32, 48, 60, 62, 63, 64, 65, 66, 67, 70, 80, 128, 256, 512};
  for (std::uint32_t c = 0; c < 16; ++c) {
    std::string text = ".engine tensor\n";
    for (int i = 0; i < 4; ++i) text += load() + matmul(sizes[c]);
    machine.load(text, c);
  }
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  for (std::uint32_t c = 0; c < 16; ++c) {
    const std::uint64_t n = sizes[c];
    const std::uint64_t interval = 64 + n >= 129 ? 64 + n : 129;
    const std::vector<Span> spans = machine.recorder().spans(tensor(c), "nc_matmul");
    ASSERT_EQ(spans.size(), 4u);
    for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(spans[i].start, edge(128 + i * interval, kClock)) << "N = " << n;
    // What is exposed, three times over, plus the first load.
    const Attribution& account = machine.core(c).tensor_engine.attribution();
    const std::uint64_t exposed = 128 + 3 * (interval - 64 - n);
    EXPECT_NEAR(static_cast<double>(account[Cause::LoadStationary]), static_cast<double>(edge(exposed, kClock)), 10)
        << "N = " << n;
    EXPECT_EQ(account[Cause::Issue], 0u) << "N = " << n;
  }
  expect_accounts_add_up(machine);
}

TEST(TensorEngine, AMatmulWithoutAWeightLoadBetweenKeepsTheLoadedWeights) {
  Machine machine("trn1.2xlarge");
  // Stationary [1, 128] of 2.0 at byte 0, moving [1, 3] of 1.0, 3.0, -0.5 at byte 4096.
  machine.write(address_map::sbuf(0, 0, 0), std::vector<std::uint16_t>(128, 0x4000));
  machine.write(address_map::sbuf(0, 0, 4096), std::vector<std::uint16_t>{0x3F80, 0x4040, 0xBF00});
  machine.load(R"(.engine tensor
  load_stationary stationary=sbuf[0:1, 0] bf16 <128>
  nc_matmul dst=psum[0:128, 0] fp32 <3>, moving=sbuf[0:1, 4096] bf16 <3>
  nc_matmul dst=psum[0:128, 2048] fp32 <3>, moving=sbuf[0:1, 4096] bf16 <3>
  nc_matmul dst=psum[0:128, 2048] fp32 <3>, moving=sbuf[0:1, 4096] bf16 <3>, accumulate
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_TRUE(machine.faults().empty());
  for (const std::uint32_t m : {0u, 63u, 127u}) {
    EXPECT_EQ(machine.read<float>(address_map::psum(0, m, 0), 3), (std::vector<float>{2, 6, -1}));
    EXPECT_EQ(machine.read<float>(address_map::psum(0, m, 2048), 3), (std::vector<float>{4, 12, -2}));
  }
}

TEST(TensorEngine, Fp32TakesFourPassesInTwoInstructionsAndTwoWithAZeroOneOperand) {
  Machine machine("trn1.2xlarge", kSixteenCores);
  const std::vector<std::uint32_t> sizes = {1, 64, 100, 512};
  const std::vector<std::string> flags = {"", ", is_stationary_onezero", ", is_moving_onezero"};
  for (std::uint32_t f = 0; f < 3; ++f) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      machine.load(".engine tensor\n" + load("fp32") + matmul(sizes[i], "fp32", flags[f]), f * 4 + i);
    }
  }
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  for (std::uint32_t f = 0; f < 3; ++f) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint64_t n = sizes[i];
      const std::uint64_t cycles = f == 0 ? 2 * 64 + 4 * n : 64 + 2 * n;
      EXPECT_EQ(machine.core(f * 4 + i).tensor_engine.engine_stats().finished_at, edge(128 + cycles + 256, kClock))
          << n << flags[f];
    }
  }
}

TEST(TensorEngine, EightBitAndTf32OperandsRunAtTheRateOfBf16) {
  Machine machine("trn1.2xlarge", kSixteenCores);
  const std::vector<std::string> formats = {"bf16", "fp16", "tf32", "e4m3", "e5m2", "e3m4", "int8", "uint8"};
  for (std::uint32_t c = 0; c < formats.size(); ++c) {
    machine.load(".engine tensor\n" + load(formats[c]) + matmul(512, formats[c]), c);
  }
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_TRUE(machine.faults().empty());
  for (std::uint32_t c = 0; c < formats.size(); ++c) {
    EXPECT_EQ(machine.core(c).tensor_engine.engine_stats().finished_at, edge(128 + 64 + 512 + 256, kClock))
        << formats[c];
  }
}

TEST(TensorEngine, AWaitingEngineStartsAtTheFirstEdgeAfterTheSemaphoreAndNotBefore) {
  // The Sync engine runs k instructions of one cycle at 1.4 GHz, then increments: 2 k tensor cycles, and 0.8 k vector
  // cycles.
  Machine machine("trn1.2xlarge", kSixteenCores);
  for (std::uint32_t c = 0; c < 16; ++c) {
    std::string text = ".engine sync\n";
    for (std::uint32_t i = 0; i < c; ++i) text += "  nop\n";
    text += "  semaphore_increment inc s0\n";
    text += ".engine tensor\n  load_stationary stationary=sbuf[0:128, 0] bf16 <128>  wait s0 >= 1\n" + matmul(64);
    text += ".engine vector\n  memset dst=sbuf[0:128, 0] fp32 <64>, value=0.0  wait s0 >= 1\n";
    machine.load(text, c);
  }
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  for (std::uint32_t c = 0; c < 16; ++c) {
    const Femtoseconds at = edge(c, 1'400'000'000);
    ASSERT_EQ(machine.semaphore_changes(0, c).size(), 1u);
    EXPECT_EQ(machine.semaphore_changes(0, c)[0].time, at);
    const std::vector<Span> matmuls = machine.recorder().spans(tensor(c), "nc_matmul");
    ASSERT_EQ(matmuls.size(), 1u);
    EXPECT_EQ(matmuls[0].start, edge(2 * c + 128, kClock)) << c;
    // A wait for the next edge is a span of its own before it.
    const std::vector<Span> memsets = machine.recorder().spans(fmt::format("chip0.nc{}.vector_engine", c), "memset");
    ASSERT_FALSE(memsets.empty());
    const std::uint64_t first = (4 * c + 4) / 5;  // ceil(0.8 c)
    EXPECT_EQ(memsets.back().start, edge(first, 1'120'000'000)) << c;
    EXPECT_GE(memsets.back().start, at);
    EXPECT_TRUE(first == 0 || edge(first - 1, 1'120'000'000) < at) << c;
  }
}

TEST(TensorEngine, AMatmulsSemaphoreMovesAtCompletionAndThatOfALoadAfter128Cycles) {
  Machine machine("trn1.2xlarge");
  machine.load(
      ".engine tensor\n"
      "  load_stationary stationary=sbuf[0:128, 0] bf16 <128>  inc s0\n"
      "  nc_matmul dst=psum[0:128, 0] fp32 <512>, moving=sbuf[0:128, 4096] bf16 <512>  inc s1\n"
      "  nc_matmul dst=psum[0:128, 2048] fp32 <512>, moving=sbuf[0:128, 4096] bf16 <512>  inc s2 at_read\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.semaphore_changes(0).at(0).time, edge(128, kClock));
  EXPECT_EQ(machine.semaphore_changes(1).at(0).time, edge(128 + 64 + 512 + 256, kClock));
  EXPECT_EQ(machine.semaphore_changes(2).at(0).time,
            edge(128 + 64 + 512, kClock));  // when its operands start being read
}

TEST(TensorEngine, CycleCountsFollowTheConfiguration) {
  Machine machine("trn1.2xlarge", {"tensor_engine.clock=1 GHz", "tensor_engine.rows=32", "tensor_engine.cols=16",
                                   "tensor_engine.matmul_start_cycles=10", "tensor_engine.load_stationary_cycles=40"});
  machine.load(
      ".engine tensor\n  load_stationary stationary=sbuf[0:32, 0] bf16 <16>\n"
      "  nc_matmul dst=psum[0:16, 0] fp32 <100>, moving=sbuf[0:32, 4096] bf16 <100>\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_TRUE(machine.faults().empty());
  EXPECT_EQ(machine.end(), (40 + 10 + 100 + 32 + 16) * kNs);
}

}  // namespace
}  // namespace azulejo::test
