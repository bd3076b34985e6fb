// SPDX-License-Identifier: Apache-2.0
// The PE array of a tensor engine: what multiplies a stationary tile by moving tiles into PSUM. Implementations: the
// model (pe_array_model.h), and in tlm/cosim the Verilated array and both in lockstep.
//
// No SystemC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tlm/common/tile_data.h"

namespace azulejo {

// A tile of operands in SBUF: [k partitions][columns].
struct OperandTile {
  TileStore store;
  TensorAccess access;
  std::uint32_t offset_bytes = 0;

  std::uint32_t k() const { return access.partitions; }
  std::uint32_t columns() const { return static_cast<std::uint32_t>(access.free_size()); }
};

struct MatmulMode {
  bool accumulate = false;
  bool stationary_one_zero = false;  // FP32 operands declared 0/1 have no low half
  bool moving_one_zero = false;
  // Cycles of the array's clock, for what shows time: at which the matmul begins, and its first moving column enters.
  std::uint64_t begin_cycle = 0;
  std::uint64_t first_column_cycle = 0;
};

class PeArray {
 public:
  virtual ~PeArray() = default;

  // Loads a stationary tile [k, m], which holds until the next one. `cycle`, of the array's clock, is when that begins;
  // only what shows time asks.
  virtual void load(const OperandTile& stationary, std::uint64_t cycle) = 0;
  // psum[i * stride + j] for i < m, j < n becomes the product with the moving tile [k, n], or is added to it.
  // REQUIRES: a loaded stationary tile of the same k; both FP32 or neither.
  virtual void multiply(const OperandTile& moving, const MatmulMode& mode, float* psum, std::size_t stride) = 0;
  // Cycles from a moving column's entry to the arrival of its sums in PSUM.
  virtual std::uint32_t latency_cycles() const = 0;
};

}  // namespace azulejo
