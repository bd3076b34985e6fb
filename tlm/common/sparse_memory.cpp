// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/sparse_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace azulejo {

SparseMemory::~SparseMemory() {
  for (std::uint8_t* slab : slabs_) munmap(slab, kSlab);
}

// Fresh pages of the host are zero, so a chunk needs no clearing; chunks are taken in the order of first use, so huge
// pages waste at most one.
std::uint8_t* SparseMemory::new_chunk() {
  if (slab_used_ == kSlab) {
    void* slab = mmap(nullptr, kSlab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab == MAP_FAILED) throw std::bad_alloc();
    madvise(slab, kSlab, MADV_HUGEPAGE);
    slabs_.push_back(static_cast<std::uint8_t*>(slab));
    slab_used_ = 0;
  }
  std::uint8_t* chunk = slabs_.back() + slab_used_;
  slab_used_ += kChunk;
  return chunk;
}

void SparseMemory::read(std::uint64_t address, std::uint8_t* data, std::uint64_t bytes) const {
  while (bytes > 0) {
    const std::uint64_t offset = address % kChunk;
    const std::uint64_t part = std::min(bytes, kChunk - offset);
    const auto found = chunks_.find(address / kChunk);
    if (found != chunks_.end()) {
      std::memcpy(data, found->second + offset, part);
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
    std::uint8_t*& chunk = chunks_[address / kChunk];
    if (chunk == nullptr) chunk = new_chunk();
    std::memcpy(chunk + offset, data, part);
    address += part;
    data += part;
    bytes -= part;
  }
}

}  // namespace azulejo
