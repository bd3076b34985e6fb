// SPDX-License-Identifier: Apache-2.0
// The unit at an engine's output that rounds FP32 results to the format of their destination, with one random source
// per lane (partition) for stochastic rounding. Implementations: the model (rounding_unit_model.h), and in tlm/cosim
// the Verilated unit and both in lockstep.
//
// No SystemC.
#pragma once

#include <array>
#include <cstdint>

#include "tlm/common/tile_data.h"
#include "tlm/numerics/format.h"
#include "tlm/numerics/random.h"

namespace azulejo {

class RoundingUnit {
 public:
  virtual ~RoundingUnit() = default;

  // The cycle of the engine's clock in which each lane's next value enters; for what shows time.
  virtual void begin(std::uint64_t /*cycle*/) {}
  // `count` values of `lane`, in element order, as codes of `format` in the low bits. Draws from the lane's source as
  // encode_row() does. REQUIRES: mode.flush_denormals is what the unit was built with.
  virtual void convert(std::uint32_t lane, Format format, const ConversionMode& mode, const float* values,
                       std::size_t count, std::uint32_t* codes) = 0;
  // The same, written to row p of a tile; lane = access.start_partition + p.
  virtual void write_row(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes,
                         std::uint32_t p, const float* values, const ConversionMode& mode) = 0;
  // State of a lane's source, words as in RandomLane::state().
  virtual std::array<std::uint32_t, 6> state(std::uint32_t lane) const = 0;
  // Sets it; an all-zero state is replaced as by RandomLane::set_state().
  virtual void set_state(std::uint32_t lane, const std::array<std::uint32_t, 6>& state) = 0;
};

}  // namespace azulejo
