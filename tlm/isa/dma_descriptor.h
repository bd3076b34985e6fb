// SPDX-License-Identifier: Apache-2.0
// DMA descriptors: the 16-byte elements of a queue's read (M2S) and write (S2M) rings, and the run-length form in which
// the model carries them.
//
// Source: aws-neuron-driver udma/*: length/control word, metadata word, 64-bit buffer address; 16-bit length where 0 is
// 64 KiB; flags first, last, interrupt, write barrier; 2-bit ring phase. Bit positions are this project's own.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tlm/isa/instruction.h"

namespace azulejo {

inline constexpr std::uint32_t kDmaMaxDescriptorBytes = 65536;  // 16-bit length, 0 = 64 KiB
inline constexpr std::uint32_t kDmaMaxPacketDescriptors = 64;   // descriptors a packet; udma

struct DmaDescriptor {
  std::uint32_t length_bytes = 0;  // 1 .. 65536
  bool first = false;
  bool last = false;
  bool interrupt = false;
  bool write_barrier = false;
  std::uint8_t ring_phase = 0;  // 0 .. 3
  std::uint32_t metadata = 0;
  std::uint64_t address = 0;
};

// REQUIRES: length_bytes 1 .. 65536, ring_phase 0 .. 3.
std::array<std::uint8_t, 16> encode_descriptor(const DmaDescriptor& descriptor);
DmaDescriptor decode_descriptor(const std::array<std::uint8_t, 16>& bytes);

// The share of one dma_copy that one DMA engine moves: rows [first_row, first_row + rows) of both sides.
struct DmaShare {
  std::uint32_t engine = 0;
  std::uint64_t first_row = 0;
  std::uint64_t rows = 0;
};

// Splits a transfer of `rows` rows over the engines: each engine serves 8 consecutive rows of a 128-row transfer (one
// row a partition; NKI DMA overview), in general ceil(rows / engines) consecutive rows. Engines without rows get no
// share.
inline DmaShare partition_share(std::uint64_t rows, std::uint32_t engines, std::uint32_t engine) {
  const std::uint64_t each = (rows + engines - 1) / engines;
  const std::uint64_t first = each * engine < rows ? each * engine : rows;
  const std::uint64_t last = first + each < rows ? first + each : rows;
  return {engine, first, last - first};
}
// The shares that have rows.
std::vector<DmaShare> partition_shares(std::uint64_t rows, std::uint32_t engines);

// Descriptors of one ring for one share: each row split into pieces of at most 64 KiB, row after row. `first` and
// `last` mark packets of up to kDmaMaxPacketDescriptors; interrupt, barrier and metadata are left to the queue.
// REQUIRES: side.inner.count > 0.
std::vector<DmaDescriptor> expand_descriptors(const DmaAccess& side, std::uint32_t row_bytes, const DmaShare& share,
                                              std::uint8_t ring_phase);

// Address of row `row` of one side.
inline std::uint64_t row_address(const DmaAccess& side, std::uint64_t row) {
  const std::uint64_t outer = row / side.inner.count;
  const std::uint64_t inner = row % side.inner.count;
  return side.address + outer * static_cast<std::uint64_t>(side.outer.stride_bytes) +
         inner * static_cast<std::uint64_t>(side.inner.stride_bytes);
}

}  // namespace azulejo
