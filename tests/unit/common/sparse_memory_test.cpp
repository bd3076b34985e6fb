// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/sparse_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace azulejo {
namespace {

constexpr std::uint64_t kChunk = 65'536;  // granularity of what is resident

TEST(SparseMemory, UnwrittenBytesReadAsZeroAndCostNothing) {
  const SparseMemory memory;
  std::vector<std::uint8_t> data(3 * kChunk, 0xAA);
  memory.read(6'000'000'000'000 - 17, data.data(), data.size());
  EXPECT_EQ(data, std::vector<std::uint8_t>(3 * kChunk, 0));
  EXPECT_EQ(memory.resident_bytes(), 0u);
}

TEST(SparseMemory, OneByteAnywhereIsKept) {
  SparseMemory memory;
  for (const std::uint64_t address : {std::uint64_t{0}, kChunk - 1, kChunk, std::uint64_t{6'000'000'000'000}}) {
    const std::uint8_t written = 0x5C;
    memory.write(address, &written, 1);
    std::uint8_t around[3] = {1, 1, 1};
    memory.read(address == 0 ? 0 : address - 1, around, 3);
    EXPECT_EQ(around[address == 0 ? 0 : 1], 0x5C) << address;
  }
  EXPECT_EQ(memory.resident_bytes(), 3 * kChunk);
}

TEST(SparseMemory, AWriteAcrossChunksReadsBack) {
  SparseMemory memory;
  std::vector<std::uint8_t> written(2 * kChunk + 100);
  for (std::size_t i = 0; i < written.size(); ++i) written[i] = static_cast<std::uint8_t>(i * 7 + 3);
  memory.write(kChunk - 50, written.data(), written.size());
  EXPECT_EQ(memory.resident_bytes(), 4 * kChunk);
  std::vector<std::uint8_t> found(written.size());
  memory.read(kChunk - 50, found.data(), found.size());
  EXPECT_EQ(found, written);
}

TEST(SparseMemory, NoBytesDoNothing) {
  SparseMemory memory;
  memory.write(100, nullptr, 0);
  memory.read(100, nullptr, 0);
  EXPECT_EQ(memory.resident_bytes(), 0u);
}

TEST(SparseMemory, RandomAccessesEqualAMapOfBytes) {
  std::mt19937_64 random(4);
  SparseMemory memory;
  std::map<std::uint64_t, std::uint8_t> expected;
  for (int i = 0; i < 3'000; ++i) {
    const std::uint64_t base = (random() % 8) * (std::uint64_t{1} << 40);
    const std::uint64_t address = base + random() % (3 * kChunk);
    std::vector<std::uint8_t> data(random() % 300);
    if (random() % 2 == 0) {
      for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(random());
      memory.write(address, data.data(), data.size());
      for (std::size_t b = 0; b < data.size(); ++b) expected[address + b] = data[b];
    } else {
      memory.read(address, data.data(), data.size());
      for (std::size_t b = 0; b < data.size(); ++b) {
        const auto found = expected.find(address + b);
        ASSERT_EQ(data[b], found == expected.end() ? 0 : found->second) << address + b;
      }
    }
  }
}

}  // namespace
}  // namespace azulejo
