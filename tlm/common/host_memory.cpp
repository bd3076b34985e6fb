// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/host_memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace azulejo {
namespace {

constexpr std::size_t kHugePage = 2 << 20;

// `size` bytes aligned to a huge page; null if the host has none left.
std::uint8_t* map_aligned(std::size_t size) {
  void* mapped =
      mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const raw = static_cast<std::uint8_t*>(mapped);
  const std::size_t head = (kHugePage - reinterpret_cast<std::uintptr_t>(raw) % kHugePage) % kHugePage;
  if (head > 0) munmap(raw, head);
  munmap(raw + head + size, kHugePage - head);
  return raw + head;
}

}  // namespace

HostMemory::HostMemory(std::size_t bytes) : size_((bytes + kHugePage - 1) / kHugePage * kHugePage) {
  if (size_ == 0) return;
  data_ = map_aligned(size_);
  if (data_ == nullptr) throw std::bad_alloc();
}

HostMemory::~HostMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

void HostMemory::use_huge_pages() {
  if (huge_ || data_ == nullptr) return;
  huge_ = true;
  std::uint8_t* const fresh = map_aligned(size_);
  if (fresh == nullptr) return;
  madvise(fresh, size_, MADV_HUGEPAGE);
  std::memcpy(fresh, data_, size_);
  // The pages move to the old address; on failure the old ones are still there.
  if (mremap(fresh, size_, size_, MREMAP_MAYMOVE | MREMAP_FIXED, data_) == MAP_FAILED) munmap(fresh, size_);
}

}  // namespace azulejo
