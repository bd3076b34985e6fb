// SPDX-License-Identifier: Apache-2.0
#include "tlm/isa/dma_descriptor.h"

#include <algorithm>
#include <cstddef>

#include "tlm/isa/bytes.h"

namespace azulejo {

// Layout, little-endian; the fields are the driver's, the bit positions this project's own:
//
//   bytes   bits    field
//   0..3    0..15   length in bytes, 0 is 65536
//           16      first
//           17      last
//           18      interrupt
//           19      write barrier
//           20..21  ring phase
//           22..31  reserved, zero; ignored when read
//   4..7            metadata
//   8..15           buffer address

std::array<std::uint8_t, 16> encode_descriptor(const DmaDescriptor& descriptor) {
  std::uint32_t control = descriptor.length_bytes & 0xFFFFU;
  control |= static_cast<std::uint32_t>(descriptor.first) << 16;
  control |= static_cast<std::uint32_t>(descriptor.last) << 17;
  control |= static_cast<std::uint32_t>(descriptor.interrupt) << 18;
  control |= static_cast<std::uint32_t>(descriptor.write_barrier) << 19;
  control |= (descriptor.ring_phase & 3U) << 20;
  std::array<std::uint8_t, 16> bytes{};
  store_le(&bytes[0], control);
  store_le(&bytes[4], descriptor.metadata);
  store_le(&bytes[8], descriptor.address);
  return bytes;
}

DmaDescriptor decode_descriptor(const std::array<std::uint8_t, 16>& bytes) {
  const auto control = load_le<std::uint32_t>(&bytes[0]);
  DmaDescriptor descriptor;
  descriptor.length_bytes = control & 0xFFFFU;
  if (descriptor.length_bytes == 0) descriptor.length_bytes = kDmaMaxDescriptorBytes;
  descriptor.first = ((control >> 16) & 1U) != 0;
  descriptor.last = ((control >> 17) & 1U) != 0;
  descriptor.interrupt = ((control >> 18) & 1U) != 0;
  descriptor.write_barrier = ((control >> 19) & 1U) != 0;
  descriptor.ring_phase = static_cast<std::uint8_t>((control >> 20) & 3U);
  descriptor.metadata = load_le<std::uint32_t>(&bytes[4]);
  descriptor.address = load_le<std::uint64_t>(&bytes[8]);
  return descriptor;
}

std::vector<DmaShare> partition_shares(std::uint64_t rows, std::uint32_t engines) {
  std::vector<DmaShare> shares;
  if (rows == 0 || engines == 0) return shares;
  const std::uint64_t rows_an_engine = rows / engines + (rows % engines != 0 ? 1 : 0);
  std::uint64_t first_row = 0;
  for (std::uint32_t engine = 0; first_row < rows; ++engine) {
    DmaShare share;
    share.engine = engine;
    share.first_row = first_row;
    share.rows = std::min(rows_an_engine, rows - first_row);
    shares.push_back(share);
    first_row += share.rows;
  }
  return shares;
}

std::vector<DmaDescriptor> expand_descriptors(const DmaAccess& side, std::uint32_t row_bytes, const DmaShare& share,
                                              std::uint8_t ring_phase) {
  std::vector<DmaDescriptor> descriptors;
  for (std::uint64_t row = share.first_row; row < share.first_row + share.rows; ++row) {
    std::uint64_t address = row_address(side, row);
    for (std::uint32_t left = row_bytes; left > 0;) {
      DmaDescriptor descriptor;
      descriptor.length_bytes = std::min(left, kDmaMaxDescriptorBytes);
      descriptor.ring_phase = ring_phase;
      descriptor.address = address;
      descriptors.push_back(descriptor);
      address += descriptor.length_bytes;
      left -= descriptor.length_bytes;
    }
  }
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    descriptors[i].first = i % kDmaMaxPacketDescriptors == 0;
    descriptors[i].last = i + 1 == descriptors.size() || (i + 1) % kDmaMaxPacketDescriptors == 0;
  }
  return descriptors;
}

}  // namespace azulejo
