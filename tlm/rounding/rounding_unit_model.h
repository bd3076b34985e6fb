// SPDX-License-Identifier: Apache-2.0
// The rounding unit's model: the conversions of tlm/numerics with a random lane per partition. Twin:
// rtl/rounding/stochastic_rounding_unit.sv.
#pragma once

#include <cstdint>
#include <vector>

#include "tlm/rounding/rounding_unit.h"

namespace azulejo {

class RoundingUnitModel : public RoundingUnit {
 public:
  // Lanes 0 to `lanes` - 1 of `engine`, seeded as RandomLane says.
  RoundingUnitModel(RandomSource source, std::uint64_t seed, std::uint32_t engine, std::uint32_t lanes = kPartitions);

  void convert(std::uint32_t lane, Format format, const ConversionMode& mode, const float* values, std::size_t count,
               std::uint32_t* codes) override;
  void write_row(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, std::uint32_t p,
                 const float* values, const ConversionMode& mode) override;
  std::array<std::uint32_t, 6> state(std::uint32_t lane) const override { return lanes_[lane].state(); }
  void set_state(std::uint32_t lane, const std::array<std::uint32_t, 6>& state) override;

 private:
  std::vector<RandomLane> lanes_;
};

}  // namespace azulejo
