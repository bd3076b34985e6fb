// SPDX-License-Identifier: Apache-2.0
#include "tlm/isa/dma_descriptor.h"

#include <gtest/gtest.h>

#include "tests/unit/isa/random_instruction.h"

namespace azulejo {
namespace {

DmaAccess rows(std::uint64_t address, DmaDim outer, DmaDim inner) {
  DmaAccess access;
  access.address = address;
  access.outer = outer;
  access.inner = inner;
  return access;
}

TEST(DmaDescriptor, RoundTripsThroughSixteenBytes) {
  testing::RandomInstructions random(testing::test_seed());
  for (int i = 0; i < 10000; ++i) {
    DmaDescriptor descriptor;
    descriptor.length_bytes = static_cast<std::uint32_t>(1 + random.below(kDmaMaxDescriptorBytes));
    descriptor.first = random.chance(2);
    descriptor.last = random.chance(2);
    descriptor.interrupt = random.chance(2);
    descriptor.write_barrier = random.chance(2);
    descriptor.ring_phase = static_cast<std::uint8_t>(random.below(4));
    descriptor.metadata = static_cast<std::uint32_t>(random.below(1ULL << 32));
    descriptor.address = random.below(~0ULL);
    const auto bytes = encode_descriptor(descriptor);
    const DmaDescriptor again = decode_descriptor(bytes);
    EXPECT_EQ(again.length_bytes, descriptor.length_bytes);
    EXPECT_EQ(again.first, descriptor.first);
    EXPECT_EQ(again.last, descriptor.last);
    EXPECT_EQ(again.interrupt, descriptor.interrupt);
    EXPECT_EQ(again.write_barrier, descriptor.write_barrier);
    EXPECT_EQ(again.ring_phase, descriptor.ring_phase);
    EXPECT_EQ(again.metadata, descriptor.metadata);
    EXPECT_EQ(again.address, descriptor.address);
    EXPECT_EQ(encode_descriptor(again), bytes);
  }
}

TEST(DmaDescriptor, LengthZeroMeansSixtyFourKibibytes) {
  DmaDescriptor descriptor;
  descriptor.length_bytes = 65536;
  descriptor.first = true;
  descriptor.ring_phase = 3;
  descriptor.metadata = 0x04030201;
  descriptor.address = 0x1122334455667788;
  const std::array<std::uint8_t, 16> expected = {0x00, 0x00, 0x31, 0x00, 1,    2,    3,    4,
                                                 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
  EXPECT_EQ(encode_descriptor(descriptor), expected);
  EXPECT_EQ(decode_descriptor(expected).length_bytes, 65536U);
}

TEST(PartitionShares, AFull128RowTransferGivesEightRowsToEachOf16Engines) {
  const auto shares = partition_shares(128, 16);
  ASSERT_EQ(shares.size(), 16U);
  for (std::uint32_t e = 0; e < 16; ++e) {
    EXPECT_EQ(shares[e].engine, e);
    EXPECT_EQ(shares[e].first_row, 8U * e);
    EXPECT_EQ(shares[e].rows, 8U);
  }
}

TEST(PartitionShares, CoverEveryRowExactlyOnceInOrder) {
  for (std::uint32_t engines = 1; engines <= 20; ++engines) {
    for (std::uint64_t count = 0; count <= 300; ++count) {
      const auto shares = partition_shares(count, engines);
      ASSERT_LE(shares.size(), engines);
      std::uint64_t next = 0;
      for (const DmaShare& share : shares) {
        ASSERT_EQ(share.first_row, next);
        ASSERT_GT(share.rows, 0U);
        ASSERT_LE(share.rows, (count + engines - 1) / engines);
        next += share.rows;
      }
      ASSERT_EQ(next, count);
    }
  }
}

TEST(PartitionShares, WithoutRowsOrEnginesThereAreNone) {
  EXPECT_TRUE(partition_shares(0, 16).empty());
  EXPECT_TRUE(partition_shares(128, 0).empty());
  EXPECT_EQ(partition_shares(~0ULL, 16).size(), 16U);  // no overflow
}

TEST(ExpandDescriptors, OneRowIsOneDescriptorAtItsAddress) {
  const DmaAccess side = rows(0x1000, {8, 0x10000}, {16, 0x100});
  const auto descriptors = expand_descriptors(side, 64, {0, 0, 128}, 2);
  ASSERT_EQ(descriptors.size(), 128U);
  for (std::uint64_t row = 0; row < 128; ++row) {
    EXPECT_EQ(descriptors[row].address, 0x1000 + (row / 16) * 0x10000 + (row % 16) * 0x100);
    EXPECT_EQ(descriptors[row].length_bytes, 64U);
    EXPECT_EQ(descriptors[row].ring_phase, 2);
    EXPECT_EQ(descriptors[row].first, row % 64 == 0);
    EXPECT_EQ(descriptors[row].last, row % 64 == 63);
  }
}

TEST(ExpandDescriptors, RowsAreSplitAt64KiB) {
  for (const std::uint32_t row_bytes : {1U, 65535U, 65536U, 65537U, 131072U, 200000U, 0x1000000U}) {
    const DmaAccess side = rows(0x40000000, {1, 0}, {3, 0x2000000});
    const DmaShare share{5, 1, 2};
    const auto descriptors = expand_descriptors(side, row_bytes, share, 0);
    const std::uint64_t pieces = (row_bytes + 65535ULL) / 65536;
    ASSERT_EQ(descriptors.size(), 2 * pieces) << row_bytes;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
      const std::uint64_t piece = i % pieces;
      EXPECT_EQ(descriptors[i].address, 0x40000000 + (1 + i / pieces) * 0x2000000 + piece * 65536);
      EXPECT_EQ(descriptors[i].length_bytes, piece + 1 < pieces ? 65536 : row_bytes - (pieces - 1) * 65536);
      bytes += descriptors[i].length_bytes;
    }
    EXPECT_EQ(bytes, 2ULL * row_bytes);
    EXPECT_TRUE(descriptors.front().first);
    EXPECT_TRUE(descriptors.back().last);
  }
}

TEST(ExpandDescriptors, SharesOfAllEnginesAddUpToTheWholeTransfer) {
  const DmaAccess side = rows(0, {7, 100000}, {13, 1024});
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (const DmaShare& share : partition_shares(side.rows(), 16)) {
    for (const DmaDescriptor& descriptor : expand_descriptors(side, 1000, share, 0)) {
      bytes += descriptor.length_bytes;
      ++count;
    }
  }
  EXPECT_EQ(bytes, 7U * 13U * 1000U);
  EXPECT_EQ(count, 7U * 13U);
}

TEST(ExpandDescriptors, NegativeStridesWalkDownwards) {
  const auto descriptors = expand_descriptors(rows(0x1000, {1, 0}, {2, -0x100}), 16, {0, 0, 2}, 0);
  ASSERT_EQ(descriptors.size(), 2U);
  EXPECT_EQ(descriptors[1].address, 0xF00U);
}

TEST(ExpandDescriptors, NoBytesOrNoRowsGiveNone) {
  EXPECT_TRUE(expand_descriptors(rows(0, {1, 0}, {4, 16}), 0, {0, 0, 4}, 0).empty());
  EXPECT_TRUE(expand_descriptors(rows(0, {1, 0}, {4, 16}), 16, {0, 0, 0}, 0).empty());
}

}  // namespace
}  // namespace azulejo
