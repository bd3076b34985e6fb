// SPDX-License-Identifier: Apache-2.0
// Byte store that costs only what was written: unwritten bytes read as zero.
//
// No SystemC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace azulejo {

class SparseMemory {
 public:
  void read(std::uint64_t address, std::uint8_t* data, std::uint64_t bytes) const;
  void write(std::uint64_t address, const std::uint8_t* data, std::uint64_t bytes);

  std::uint64_t resident_bytes() const { return chunks_.size() * kChunk; }

 private:
  static constexpr std::uint64_t kChunk = 64 << 10;
  const std::uint8_t* find(std::uint64_t chunk) const;

  std::unordered_map<std::uint64_t, std::unique_ptr<std::uint8_t[]>> chunks_;
};

}  // namespace azulejo
