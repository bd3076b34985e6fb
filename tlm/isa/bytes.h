// SPDX-License-Identifier: Apache-2.0
// Little-endian integers in byte arrays, independent of the host's byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace azulejo {

template <typename Integer>
void store_le(std::uint8_t* bytes, Integer value) {
  auto bits = static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<Integer>>(value));
  for (std::size_t i = 0; i < sizeof(Integer); ++i, bits >>= 8) bytes[i] = static_cast<std::uint8_t>(bits & 0xFFU);
}

template <typename Integer>
Integer load_le(const std::uint8_t* bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = sizeof(Integer); i-- > 0;) bits = (bits << 8) | bytes[i];
  return static_cast<Integer>(static_cast<std::make_unsigned_t<Integer>>(bits));
}

}  // namespace azulejo
