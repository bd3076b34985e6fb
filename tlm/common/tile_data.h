// SPDX-License-Identifier: Apache-2.0
// Values of tiles: partition rows of SBUF or PSUM read into FP32 and written back, through a direct pointer.
//
// No SystemC.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tlm/isa/instruction.h"
#include "tlm/numerics/format.h"

namespace azulejo {

// Where a memory's partitions lie on the host. `base` null: no data is kept.
struct TileStore {
  std::uint8_t* base = nullptr;
  std::uint64_t stride = 0;  // bytes from one partition to the next

  std::uint8_t* partition(std::uint32_t index) const { return base + index * stride; }
};

// free_size() elements of partition `start_partition + p` of the tile, as FP32 in access-pattern order.
void read_row(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, std::uint32_t p,
              float* values, bool flush_denormals);

// All partitions of the tile, one row after another: values[p * free_size() + i].
void read_tile(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, float* values,
               bool flush_denormals);

// The elements of read_row() written. `lane` as in encode_row().
void write_row(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, std::uint32_t p,
               const float* values, const ConversionMode& mode, RandomLane* lane);

// The elements of read_row() as codes in the low bits, not converted.
void read_codes(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, std::uint32_t p,
                std::uint32_t* codes);

// The bytes of write_row() from the codes of its values.
void write_codes(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, std::uint32_t p,
                 const std::uint32_t* codes);

// Copies the bits of a row of one tile to another of the same element size and free_size().
void copy_row(const TileStore& dst_store, const TensorAccess& dst, std::uint32_t dst_offset, const TileStore& src_store,
              const TensorAccess& src, std::uint32_t src_offset, std::uint32_t p);

}  // namespace azulejo
