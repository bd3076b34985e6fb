// SPDX-License-Identifier: Apache-2.0
// Byte store that costs only what was written: unwritten bytes read as zero.
//
// No SystemC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace azulejo {

class SparseMemory {
 public:
  SparseMemory() = default;
  ~SparseMemory();
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  void read(std::uint64_t address, std::uint8_t* data, std::uint64_t bytes) const;
  void write(std::uint64_t address, const std::uint8_t* data, std::uint64_t bytes);

  std::uint64_t resident_bytes() const { return chunks_.size() * kChunk; }

 private:
  static constexpr std::uint64_t kChunk = 64 << 10;
  static constexpr std::uint64_t kSlab = 64 << 20;  // mapped at once; the host backs what is touched
  std::uint8_t* new_chunk();

  std::unordered_map<std::uint64_t, std::uint8_t*> chunks_;
  std::vector<std::uint8_t*> slabs_;
  std::uint64_t slab_used_ = kSlab;
};

}  // namespace azulejo
