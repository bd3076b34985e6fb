// SPDX-License-Identifier: Apache-2.0
// A tile of codes in memory of its own, for operations without a platform.
#pragma once

#include <cstdint>
#include <vector>

#include "tlm/tensor_engine/pe_array.h"

namespace azulejo {

class HostTile {
 public:
  // codes: [k][columns], elements in the low bits.
  HostTile(Format format, std::uint32_t k, std::uint32_t columns, const std::vector<std::uint32_t>& codes)
      : bytes_(storage_bytes(format, columns) * k) {
    tile_.store = {bytes_.data(), storage_bytes(format, columns)};
    tile_.access.space = MemorySpace::Sbuf;
    tile_.access.format = format;
    tile_.access.partitions = static_cast<std::uint16_t>(k);
    tile_.access.free[0].size = static_cast<std::uint16_t>(columns);
    for (std::uint32_t p = 0; p < k; ++p) {
      write_codes(tile_.store, tile_.access, 0, p, codes.data() + std::size_t{p} * columns);
    }
  }
  HostTile(const HostTile&) = delete;  // the tile points into it
  HostTile& operator=(const HostTile&) = delete;

  const OperandTile& tile() const { return tile_; }

 private:
  std::vector<std::uint8_t> bytes_;
  OperandTile tile_;
};

}  // namespace azulejo
