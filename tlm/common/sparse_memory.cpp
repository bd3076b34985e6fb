// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/sparse_memory.h"

#include <algorithm>
#include <cstring>

namespace azulejo {

const std::uint8_t* SparseMemory::find(std::uint64_t chunk) const {
  const auto found = chunks_.find(chunk);
  return found == chunks_.end() ? nullptr : found->second.get();
}

void SparseMemory::read(std::uint64_t address, std::uint8_t* data, std::uint64_t bytes) const {
  while (bytes > 0) {
    const std::uint64_t offset = address % kChunk;
    const std::uint64_t part = std::min(bytes, kChunk - offset);
    if (const std::uint8_t* chunk = find(address / kChunk)) {
      std::memcpy(data, chunk + offset, part);
    } else {
      std::memset(data, 0, part);
    }
    address += part;
    data += part;
    bytes -= part;
  }
}

void SparseMemory::write(std::uint64_t address, const std::uint8_t* data, std::uint64_t bytes) {
  while (bytes > 0) {
    const std::uint64_t offset = address % kChunk;
    const std::uint64_t part = std::min(bytes, kChunk - offset);
    auto& chunk = chunks_[address / kChunk];
    if (!chunk) chunk = std::make_unique<std::uint8_t[]>(kChunk);
    std::memcpy(chunk.get() + offset, data, part);
    address += part;
    data += part;
    bytes -= part;
  }
}

}  // namespace azulejo
