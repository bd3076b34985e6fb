// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/tile_data.h"

#include <cstring>
#include <vector>

namespace azulejo {
namespace {

// Calls `visit(position, byte_offset)` for every element in access-pattern order.
template <class Visit>
void for_each_element(const TensorAccess& access, std::int64_t offset_bytes, Visit visit) {
  const auto element = static_cast<std::int64_t>(storage_bytes(access.format, 1));
  const auto& f = access.free;
  const auto size = [&](std::uint32_t d) { return d < access.dims ? std::int64_t{f[d].size} : 1; };
  std::size_t position = 0;
  for (std::int64_t i0 = 0; i0 < size(0); ++i0) {
    for (std::int64_t i1 = 0; i1 < size(1); ++i1) {
      for (std::int64_t i2 = 0; i2 < size(2); ++i2) {
        for (std::int64_t i3 = 0; i3 < size(3); ++i3) {
          const std::int64_t index = i0 * f[0].step + i1 * f[1].step + i2 * f[2].step + i3 * f[3].step;
          visit(position++, offset_bytes + index * element);
        }
      }
    }
  }
}

}  // namespace

void read_row(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, std::uint32_t p,
              float* values, bool flush_denormals) {
  const std::uint8_t* partition = store.partition(access.start_partition + p);
  if (access.contiguous()) {
    decode_row(access.format, partition + offset_bytes, values, access.free_size(), flush_denormals);
    return;
  }
  for_each_element(access, offset_bytes, [&](std::size_t position, std::int64_t byte) {
    decode_row(access.format, partition + byte, values + position, 1, flush_denormals);
  });
}

void read_tile(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, float* values,
               bool flush_denormals) {
  constexpr std::uint32_t kAhead = 6;  // rows; each lies in other pages, which no hardware prefetcher follows
  constexpr std::size_t kLine = 64;
  const std::size_t n = access.free_size();
  const std::size_t row_bytes = access.contiguous() ? storage_bytes(access.format, n) : 0;
  for (std::uint32_t p = 0; p < access.partitions; ++p) {
    if (p + kAhead < access.partitions) {
      const std::uint8_t* ahead = store.partition(access.start_partition + p + kAhead) + offset_bytes;
      for (std::size_t byte = 0; byte < row_bytes; byte += kLine) __builtin_prefetch(ahead + byte);
    }
    read_row(store, access, offset_bytes, p, values + p * n, flush_denormals);
  }
}

void write_row(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, std::uint32_t p,
               const float* values, const ConversionMode& mode, RandomLane* lane) {
  std::uint8_t* partition = store.partition(access.start_partition + p);
  if (access.contiguous()) {
    encode_row(access.format, values, partition + offset_bytes, access.free_size(), mode, lane);
    return;
  }
  for_each_element(access, offset_bytes, [&](std::size_t position, std::int64_t byte) {
    encode_row(access.format, values + position, partition + byte, 1, mode, lane);
  });
}

void read_codes(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, std::uint32_t p,
                std::uint32_t* codes) {
  const std::uint8_t* partition = store.partition(access.start_partition + p);
  const std::size_t element = storage_bytes(access.format, 1);
  if (access.format == Format::E2M1 && access.contiguous()) {
    for (std::size_t i = 0; i < access.free_size(); ++i) {
      codes[i] = (partition[offset_bytes + i / 2] >> (i % 2 * 4)) & 0xFU;
    }
    return;
  }
  const std::uint32_t mask = access.format == Format::E2M1 ? 0xF : ~0U;
  for_each_element(access, offset_bytes, [&](std::size_t position, std::int64_t byte) {
    std::uint32_t code = 0;
    std::memcpy(&code, partition + byte, element);  // the host is little-endian
    codes[position] = code & mask;
  });
}

void write_codes(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, std::uint32_t p,
                 const std::uint32_t* codes) {
  std::uint8_t* partition = store.partition(access.start_partition + p);
  if (access.format == Format::E2M1 && access.contiguous()) {
    for (std::size_t i = 0; i < access.free_size(); i += 2) {
      const std::uint32_t high = i + 1 < access.free_size() ? codes[i + 1] : 0;
      partition[offset_bytes + i / 2] = static_cast<std::uint8_t>((codes[i] & 0xF) | (high & 0xF) << 4);
    }
    return;
  }
  const std::size_t element = storage_bytes(access.format, 1);
  for_each_element(access, offset_bytes, [&](std::size_t position, std::int64_t byte) {
    std::memcpy(partition + byte, &codes[position], element);
  });
}

void copy_row(const TileStore& dst_store, const TensorAccess& dst, std::uint32_t dst_offset, const TileStore& src_store,
              const TensorAccess& src, std::uint32_t src_offset, std::uint32_t p) {
  std::uint8_t* to = dst_store.partition(dst.start_partition + p);
  const std::uint8_t* from = src_store.partition(src.start_partition + p);
  const std::size_t element = storage_bytes(dst.format, 1);
  if (dst.contiguous() && src.contiguous()) {
    std::memmove(to + dst_offset, from + src_offset, element * dst.free_size());
    return;
  }
  thread_local std::vector<std::uint8_t> row;
  row.resize(element * dst.free_size());
  for_each_element(src, src_offset, [&](std::size_t position, std::int64_t byte) {
    std::memcpy(row.data() + position * element, from + byte, element);
  });
  for_each_element(dst, dst_offset, [&](std::size_t position, std::int64_t byte) {
    std::memcpy(to + byte, row.data() + position * element, element);
  });
}

}  // namespace azulejo
