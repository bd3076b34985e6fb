// SPDX-License-Identifier: Apache-2.0
// A block of the host's memory that costs what is touched, at a fixed address, with huge pages on demand.
//
// No SystemC.
#pragma once

#include <cstddef>
#include <cstdint>

namespace azulejo {

class HostMemory {
 public:
  // `bytes` zero bytes; 0: nothing. Throws std::bad_alloc.
  explicit HostMemory(std::size_t bytes);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::uint8_t* data() const { return data_; }  // null for 0 bytes

  // Moves the whole block into huge pages behind the same address and contents, once; costs all of its size from then
  // on. A host without them keeps what it has.
  void use_huge_pages();

 private:
  std::size_t size_;  // whole huge pages
  std::uint8_t* data_ = nullptr;
  bool huge_ = false;
};

}  // namespace azulejo
