// SPDX-License-Identifier: Apache-2.0
#include "tlm/rounding/rounding_unit_model.h"

namespace azulejo {

RoundingUnitModel::RoundingUnitModel(RandomSource source, std::uint64_t seed, std::uint32_t engine,
                                     std::uint32_t lanes) {
  lanes_.reserve(lanes);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) lanes_.emplace_back(source, seed, engine, lane);
}

void RoundingUnitModel::convert(std::uint32_t lane, Format format, const ConversionMode& mode, const float* values,
                                std::size_t count, std::uint32_t* codes) {
  const bool draws = takes_random_word(format, mode);
  for (std::size_t i = 0; i < count; ++i) {
    codes[i] = encode(format, values[i], mode, draws ? lanes_[lane].next() : 0);
  }
}

void RoundingUnitModel::write_row(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes,
                                  std::uint32_t p, const float* values, const ConversionMode& mode) {
  azulejo::write_row(store, access, offset_bytes, p, values, mode, &lanes_[access.start_partition + p]);
}

void RoundingUnitModel::set_state(std::uint32_t lane, const std::array<std::uint32_t, 6>& state) {
  lanes_[lane].set_state(state);
}

}  // namespace azulejo
