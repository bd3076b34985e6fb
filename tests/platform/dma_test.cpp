// SPDX-License-Identifier: Apache-2.0
// DMA: timing of a transfer against the documented model, the published efficiency curve, order, rings, splitting,
// values.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/machine.h"

namespace azulejo::test {
namespace {

constexpr Femtoseconds kStart = 1'300 * kNs;
constexpr Femtoseconds kHbmLatency = 120 * kNs;

std::string engine_name(std::uint32_t engine, std::uint32_t chip = 0) {
  return fmt::format("chip{}.nc0.dma.engine{}", chip, engine);
}

std::vector<std::uint8_t> random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

TEST(Dma, ALoadOf128RowsTakesStartLatencyHbmAndEightDescriptorsAnEngine) {
  // One chip per row size: 108 ns a descriptor, 23 GB/s an engine, 725 GB/s of HBM (trn2.3xlarge).
  const std::vector<std::uint64_t> sizes = {1, 32, 64, 65, 100, 512, 2048, 2484, 2485, 4096, 32'768, 65'536};
  Machine machine("trn2.3xlarge", {fmt::format("chips={}", sizes.size()), "chip.cores=1", "chip.hbm_stacks=1"});
  for (std::uint32_t c = 0; c < sizes.size(); ++c) {
    machine.load(
        fmt::format(
            ".engine sync\n  dma_copy dst=sbuf(0, 0, 0) <128:0x40000>, src=hbm(0, 0) <128:65536>, bytes={}  inc s0\n",
            sizes[c]),
        c);
  }
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  for (std::uint32_t c = 0; c < sizes.size(); ++c) {
    const std::uint64_t bytes = sizes[c];
    const std::uint64_t moved = 8 * ((bytes + 63) / 64 * 64);
    const Femtoseconds by_rate = at_rate(bytes, 23'000'000'000);
    const Femtoseconds service = 8 * (by_rate > 108 * kNs ? by_rate : 108 * kNs);
    const std::vector<Change>& semaphore = machine.semaphore_changes(0, c);
    ASSERT_EQ(semaphore.size(), 16u) << bytes;
    for (std::uint32_t e = 0; e < 16; ++e) {
      // HBM serves the engines of one instant by their number.
      const Femtoseconds read = kStart + (e + 1) * at_rate(moved, 725'000'000'000) + kHbmLatency;
      const std::vector<Span> spans = machine.recorder().spans(engine_name(e, c));
      ASSERT_EQ(spans.size(), 1u) << bytes;
      EXPECT_EQ(spans[0].start, read) << bytes << " bytes, engine " << e;
      EXPECT_EQ(spans[0].end, read + service) << bytes << " bytes, engine " << e;
      EXPECT_EQ(spans[0].cause, by_rate > 108 * kNs ? "dma_transfer" : "dma_descriptor") << bytes;
      EXPECT_EQ(semaphore[e].time, read + service) << bytes << " bytes, engine " << e;
      EXPECT_EQ(semaphore[e].value, e + 1);
      const Attribution& account = machine.platform().core(c).dma.engine(e).attribution();
      EXPECT_EQ(account[Cause::DmaStart], kStart);
      EXPECT_EQ(account[Cause::Hbm], read - kStart);
      EXPECT_EQ(account[by_rate > 108 * kNs ? Cause::DmaTransfer : Cause::DmaDescriptor], service);
    }
  }
  expect_accounts_add_up(machine);
}

TEST(Dma, AStoreSignalsWhenHbmHasTakenTheData) {
  Machine machine("trn2.3xlarge");
  machine.load(
      ".engine sync\n  dma_copy dst=hbm(0, 0) <128:4096>, src=sbuf(0, 0, 0) <128:0x40000>, bytes=1024  inc s0\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  const std::vector<Change>& semaphore = machine.semaphore_changes(0);
  ASSERT_EQ(semaphore.size(), 16u);
  for (std::uint32_t e = 0; e < 16; ++e) {
    const Femtoseconds served = kStart + 8 * 108 * kNs;  // SBUF is read at once
    EXPECT_EQ(semaphore[e].time, served + (e + 1) * at_rate(8 * 1024, 725'000'000'000) + kHbmLatency) << e;
  }
}

TEST(Dma, TheEfficiencyOverTheRowSizeFollowsThePublishedCurveOfTrainium2) {
  // Neuron SDK, figure nki-dma-intro-1 (digitised): DMA efficiency against contiguous bytes per partition, relative to
  // 32 KiB.
  const std::vector<std::pair<std::uint64_t, double>> published = {
      {32, 0.014},   {64, 0.026},   {128, 0.050},  {256, 0.103},    {512, 0.206}, {1024, 0.424},
      {2048, 0.813}, {4096, 0.966}, {8192, 0.983}, {16'384, 0.990}, {32'768, 1.0}};
  MachineOptions options;
  options.platform.keep_data = false;
  Machine machine("trn2.3xlarge", {fmt::format("chips={}", published.size()), "chip.cores=1", "chip.hbm_stacks=1"},
                  options);
  for (std::uint32_t c = 0; c < published.size(); ++c) {
    machine.load(fmt::format(R"(.engine sync
  register_move dst=r1, src=0
loop:
  dma_copy dst=sbuf(0, 0, 0) <128:0x40000>, src=hbm(0, 0) <128:32768>, bytes={}
  register_add dst=r1, src=r1, src2=1
  compare_branch r1 < 32, target=loop
)",
                             published[c].first),
                 c);
  }
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  std::vector<double> rate;  // bytes/fs of one engine, from its first descriptor to its last
  for (std::uint32_t c = 0; c < published.size(); ++c) {
    const std::vector<Span> spans = machine.recorder().spans(engine_name(7, c));
    ASSERT_EQ(spans.size(), 32u);
    rate.push_back(32.0 * 8 * static_cast<double>(published[c].first) /
                   static_cast<double>(spans.back().end - spans.front().start));
  }
  EXPECT_NEAR(rate.back() * 1e6, 23.0, 0.1);  // B/ns
  for (std::uint32_t c = 0; c < published.size(); ++c) {
    EXPECT_NEAR(rate[c] / rate.back() / published[c].second, 1.0, 0.10) << published[c].first << " bytes";
  }
}

TEST(Dma, EveryTransferAdds16WhateverItsRows) {
  const std::vector<std::uint64_t> rows = {1, 5, 16, 17, 100, 127, 128};
  for (const std::uint64_t count : rows) {
    in_child([count] {
      Machine machine("trn1.2xlarge");
      const std::vector<std::uint8_t> data = random_bytes(count * 96, static_cast<std::uint32_t>(count));
      machine.write(address_map::hbm(1, 4096), data);
      machine.load(
          fmt::format(".engine sync\n"
                      "  dma_copy dst=sbuf(0, 0, 32) <{0}:0x40000>, src=hbm(1, 4096) <{0}:96>, bytes=96  inc s0\n"
                      "  dma_copy dst=hbm(0, 0) <{0}:96>, src=sbuf(0, 0, 32) <{0}:0x40000>, bytes=96, queue=3  wait s0 "
                      ">= 16  add s1 3\n",
                      count));
      EXPECT_EQ(machine.run(), RunEnd::Finished);
      EXPECT_EQ(machine.semaphore(0), 16u);
      EXPECT_EQ(machine.semaphore(1), 48u);
      EXPECT_EQ(machine.read<std::uint8_t>(address_map::hbm(0, 0), data.size()), data);
      for (std::uint32_t p = 0; p < count; ++p) {
        EXPECT_EQ(machine.read<std::uint8_t>(address_map::sbuf(0, p, 32), 96),
                  std::vector<std::uint8_t>(data.begin() + 96 * p, data.begin() + 96 * p + 96))
            << p;
      }
      // ceil(rows / 16) consecutive rows an engine, twice.
      const std::uint64_t share = (count + 15) / 16;
      for (std::uint64_t e = 0; e < 16; ++e) {
        const std::uint64_t first = std::min(count, e * share);
        const std::uint64_t mine = std::min(count - first, share);
        EXPECT_EQ(machine.core().dma.engine(e).stats().descriptors, 2 * mine) << count << " rows, engine " << e;
        EXPECT_EQ(machine.core().dma.engine(e).stats().bytes, 2 * 96 * mine) << count << " rows, engine " << e;
      }
      EXPECT_TRUE(machine.core().dma.idle());
      return std::string();
    });
  }
}

TEST(Dma, EveryUpdateOperationIsMadeByEachEngine) {
  Machine machine("trn1.2xlarge");
  const std::string copy = "  dma_copy dst=sbuf(0, 0, 0), src=hbm(0, 0), bytes=64";
  machine.load(".engine sync\n" + copy + "  inc s0\n" + copy + "  add s1 5\n" + copy + "  set s2 77\n" +
               "  nop  set s3 100\n" + copy + "  dec s3\n  nop  set s4 100\n" + copy + "  sub s4 6\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.semaphore(0), 16u);
  EXPECT_EQ(machine.semaphore(1), 80u);
  EXPECT_EQ(machine.semaphore(2), 77u);
  EXPECT_EQ(machine.semaphore(3), 84u);
  EXPECT_EQ(machine.semaphore(4), 4u);
}

TEST(Dma, AQueueCompletesInOrder) {
  Machine machine("trn1.2xlarge");
  std::string text = ".engine sync\n";
  std::mt19937 random(5);
  for (int i = 0; i < 40; ++i) {
    const std::uint64_t rows = 1 + random() % 128;
    const std::uint64_t bytes = 1 + random() % 3000;
    const std::string hbm = fmt::format("hbm({}, {}) <{}:4096>", random() % 2, 4096 * (random() % 64), rows);
    const std::string sbuf = fmt::format("sbuf(0, 0, 4096) <{}:0x40000>", rows);
    const bool store = random() % 2 == 0;
    text += fmt::format("  dma_copy dst={}, src={}, bytes={}, queue=2  inc s{}\n", store ? hbm : sbuf,
                        store ? sbuf : hbm, bytes, i);
  }
  machine.load(text);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  for (std::uint32_t i = 1; i < 40; ++i) {
    const std::vector<Change>& before = machine.semaphore_changes(i - 1);
    const std::vector<Change>& after = machine.semaphore_changes(i);
    ASSERT_EQ(before.back().value, 16u);
    ASSERT_EQ(after.back().value, 16u);
    EXPECT_LE(before.back().time, after.back().time) << i;
  }
}

TEST(Dma, AShareWithoutRowsDoesNotOvertakeItsQueueWhenAnotherQueueIsFaster) {
  // Queue 0 stores to a slow HBM (X), then moves one row inside SBUF (Z). Engines 1 to 15 have no row of Z, and a
  // packet of queue 1 (Y, inside SBUF) is formed between the two. Z still must not be complete before X.
  Machine machine("trn1.2xlarge", {"hbm.bandwidth=1 GB/s"});
  machine.load(R"(.engine sync
  dma_copy dst=hbm(0, 0) <128:4096>, src=sbuf(0, 0, 0) <128:0x40000>, bytes=64  inc s0
  dma_copy dst=sbuf(0, 0, 4096), src=sbuf(0, 0, 0), bytes=64  inc s2
.engine scalar
  dma_copy dst=sbuf(0, 0, 8192) <128:0x40000>, src=sbuf(0, 0, 0) <128:0x40000>, bytes=64, queue=1  inc s1
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  const std::vector<Change>& x = machine.semaphore_changes(0);
  const std::vector<Change>& z = machine.semaphore_changes(2);
  ASSERT_EQ(x.back().value, 16u);
  ASSERT_EQ(z.back().value, 16u);
  EXPECT_LE(x.back().time, z.back().time);
}

TEST(Dma, QueuesOfOneEngineTakeTurnsPacketByPacket) {
  Machine machine("trn1.2xlarge");
  // 256 rows an engine: four packets of 64 descriptors for each of three queues, triggered at one instant.
  const std::string copy = "  dma_copy dst=hbm(0, 0x1000000) <4096:64>, src=hbm(0, 0) <4096:64>, bytes=64, queue=";
  machine.load(".engine tensor\n" + copy + "0\n.engine scalar\n" + copy + "5\n.engine sync\n" + copy + "9\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  for (const std::uint32_t e : {0u, 8u, 15u}) {
    std::vector<std::string> served;
    for (const Span& span : machine.recorder().spans(engine_name(e))) served.push_back(span.name);
    std::vector<std::string> expected;
    for (int i = 0; i < 4; ++i) {
      for (const char* queue : {"queue 0", "queue 5", "queue 9"}) expected.push_back(queue);
    }
    EXPECT_EQ(served, expected) << e;
    // While one queue is served, the others wait for their turn.
    EXPECT_GT((*machine.core().dma.engine(e).queue_attribution(9))[Cause::QueueTurn], 0u);
    EXPECT_EQ(machine.core().dma.engine(e).queue_attribution(1), nullptr);
  }
  expect_accounts_add_up(machine);
}

TEST(Dma, AFullRingHoldsTheTriggerUntilAPacketLeavesIt) {
  // Rings of 32 descriptors take four transfers of 8 rows an engine; the fifth waits until the slowest engine's first
  // packet is done.
  Machine machine("trn1.2xlarge", {"dma.ring_entries=32", "dma.packet_descriptors=8", "dma.outstanding_packets=1"});
  std::string text = ".engine sync\n";
  for (int i = 0; i < 5; ++i)
    text += "  dma_copy dst=sbuf(0, 0, 0) <128:0x40000>, src=hbm(0, 0) <128:64>, bytes=64  inc s0\n";
  machine.load(text + "  nop  inc s1\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.core().dma.stats().transfers, 5u);
  EXPECT_EQ(machine.core().dma.stats().ring_waits, 1u);
  EXPECT_EQ(machine.semaphore(0), 80u);
  const Femtoseconds freed = kStart + 16 * at_rate(512, 410'000'000'000) + kHbmLatency + 8 * 146 * kNs;
  Femtoseconds released = 0;
  for (const Span& span : machine.recorder().spans("chip0.nc0.sync_engine")) {
    if (span.cause == "dma_ring") released = span.end;
  }
  EXPECT_EQ(released, freed);
  EXPECT_GE(machine.semaphore_changes(1).at(0).time, freed);
  expect_accounts_add_up(machine);
}

TEST(Dma, ATransferLongerThanItsRingIsFedPieceByPiece) {
  Machine machine("trn1.2xlarge", {"dma.ring_entries=32", "dma.packet_descriptors=16"});
  const std::vector<std::uint8_t> data = random_bytes(4096 * 16, 6);
  machine.write(address_map::hbm(0, 0), data);
  machine.load(".engine sync\n  dma_copy dst=hbm(1, 64) <4096:32>, src=hbm(0, 0) <4096:16>, bytes=16  inc s0\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.semaphore(0), 16u);
  for (std::uint32_t row = 0; row < 4096; row += 97) {
    EXPECT_EQ(machine.read<std::uint8_t>(address_map::hbm(1, 64 + 32 * row), 16),
              std::vector<std::uint8_t>(data.begin() + 16 * row, data.begin() + 16 * row + 16));
  }
}

TEST(Dma, RowsBeyond64KiBAreSplitIntoDescriptors) {
  Machine machine("trn1.2xlarge");
  const std::vector<std::uint8_t> data = random_bytes(150'000, 7);
  machine.write(address_map::hbm(0, 100), data);
  machine.load(".engine sync\n  dma_copy dst=sbuf(0, 3, 0), src=hbm(0, 100), bytes=150000  inc s0\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.read<std::uint8_t>(address_map::sbuf(0, 3, 0), data.size()), data);
  EXPECT_EQ(machine.core().dma.engine(0).stats().descriptors, 3u);  // 65536 + 65536 + 18928
  const std::vector<Span> spans = machine.recorder().spans(engine_name(0));
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].end - spans[0].start, 2 * at_rate(65'536, 17'000'000'000) + at_rate(18'928, 17'000'000'000));
}

TEST(Dma, SidesOfDifferentDimensionsMoveRowByRow) {
  Machine machine("trn1.2xlarge");
  const std::vector<std::uint8_t> data = random_bytes(1 << 16, 8);
  machine.write(address_map::hbm(0, 0), data);
  // 6 x 20 rows at the source, 10 x 12 at the destination, backwards in its outer dimension.
  machine.load(
      ".engine gpsimd\n  dma_copy dst=hbm(1, 90000) <10:-8000, 12:40>, src=hbm(0, 7) <6:4000, 20:33>, bytes=31  inc "
      "s0\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.semaphore(0), 16u);
  for (std::uint32_t row = 0; row < 120; ++row) {
    const std::uint32_t from = 7 + row / 20 * 4000 + row % 20 * 33;
    const std::uint32_t to = 90'000 - row / 12 * 8000 + row % 12 * 40;
    EXPECT_EQ(machine.read<std::uint8_t>(address_map::hbm(1, to), 31),
              std::vector<std::uint8_t>(data.begin() + from, data.begin() + from + 31))
        << row;
  }
}

TEST(Dma, ReachesPsumAndTheOtherCoresSbuf) {
  Machine machine("trn1.2xlarge");
  const std::vector<std::uint8_t> data = random_bytes(128 * 512, 9);
  machine.write(address_map::hbm(0, 0), data);
  machine.load(R"(.engine sync
  dma_copy dst=psum(0, 0, 1024) <128:0x4000>, src=hbm(0, 0) <128:512>, bytes=512  inc s0
  dma_copy dst=sbuf(1, 0, 64) <128:0x40000>, src=psum(0, 0, 1024) <128:0x4000>, bytes=512  wait s0 >= 16  inc s1
  dma_copy dst=hbm(1, 0) <128:512>, src=sbuf(1, 0, 64) <128:0x40000>, bytes=512  wait s1 >= 16  inc s2
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.read<std::uint8_t>(address_map::hbm(1, 0), data.size()), data);
  EXPECT_EQ(machine.core(0).psum.stats().dma_written_bytes, 65'536u);
  EXPECT_EQ(machine.core(1).sbuf.stats().dma_written_bytes, 65'536u);
  EXPECT_EQ(machine.core(1).sbuf.stats().dma_read_bytes, 65'536u);
}

TEST(Dma, ConvertsBetweenFormatsThroughFp32) {
  Machine machine("trn1.2xlarge");
  // Ties to even, overflow, subnormals of the target, NaN; bf16 codes by hand.
  const std::vector<std::uint32_t> fp32 = {0x3F800000, 0x3F808000, 0x3F818000, 0x3F808001,
                                           0xFF7FFFFF, 0x7F800001, 0x00008000, 0xC2F70000};
  const std::vector<std::uint16_t> bf16 = {0x3F80, 0x3F80, 0x3F82, 0x3F81, 0xFF80, 0x7FC0, 0x0000, 0xC2F7};
  machine.write(address_map::hbm(0, 0), fp32);
  machine.write(address_map::hbm(0, 4096), bf16);
  machine.load(R"(.engine sync
  dma_copy dst=sbuf(0, 0, 0) bf16, src=hbm(0, 0) fp32, bytes=32  inc s0
  dma_copy dst=sbuf(0, 1, 0) fp32, src=hbm(0, 4096) bf16, bytes=16  inc s1
  dma_copy dst=sbuf(0, 2, 0) fp32 <4:16>, src=hbm(0, 4096) bf16 <4:4>, bytes=4  inc s1
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_TRUE(machine.faults().empty());
  EXPECT_EQ(machine.read<std::uint16_t>(address_map::sbuf(0, 0, 0), 8), bf16);
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::uint32_t wide = std::uint32_t{bf16[i]} << 16;
    EXPECT_EQ(machine.read<std::uint32_t>(address_map::sbuf(0, 1, 4 * i), 1)[0], wide) << i;
    EXPECT_EQ(machine.read<std::uint32_t>(address_map::sbuf(0, 2, 16 * (i / 2) + 4 * (i % 2)), 1)[0], wide) << i;
  }
  EXPECT_EQ(machine.core().dma.engine(0).stats().bytes, 16u + 32 + 8);  // at the destination
}

TEST(Dma, ConversionHonoursSaturate) {
  Machine machine("trn1.2xlarge");
  machine.write(address_map::hbm(0, 0), std::vector<float>{70'000.0F, -70'000.0F, 1.0F, 65'504.0F});
  machine.load(".engine sync\n  dma_copy dst=sbuf(0, 0, 0) fp16, src=hbm(0, 0) fp32, bytes=16, saturate\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.read<std::uint16_t>(address_map::sbuf(0, 0, 0), 4),
            (std::vector<std::uint16_t>{0x7BFF, 0xFBFF, 0x3C00, 0x7BFF}));
}

TEST(Dma, ATriggerTakesItsEngineOneIssueCycle) {
  Machine machine("trn1.2xlarge");
  machine.load(
      ".engine sync\n  dma_copy dst=sbuf(0, 0, 0), src=hbm(0, 0), bytes=64\n"
      "  dma_copy dst=sbuf(0, 0, 64), src=hbm(0, 0), bytes=64\n  nop  inc s0\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.semaphore_changes(0).at(0).time, edge(2, 1'400'000'000));
}

TEST(Dma, EachOfTheConfiguredEnginesAddsOne) {
  Machine machine("trn1.2xlarge", {"dma.engines=8"});
  machine.load(
      ".engine sync\n  dma_copy dst=sbuf(0, 0, 0) <128:0x40000>, src=hbm(0, 0) <128:64>, bytes=64  inc s0\n"
      "  dma_copy dst=sbuf(0, 0, 0) <2:0x40000>, src=hbm(0, 0) <3:64>, bytes=64  inc s1\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.semaphore(0), 8u);
  EXPECT_EQ(machine.faults().size(), 1u);
  EXPECT_EQ(machine.semaphore(1), 8u);  // a refused transfer as well, so that nobody waits for ever
}

}  // namespace
}  // namespace azulejo::test
