// SPDX-License-Identifier: Apache-2.0
#include "tlm/tensor_engine/pe_array_model.h"

#include "tlm/numerics/matmul.h"

namespace azulejo {

void PeArrayModel::load(const OperandTile& stationary, std::uint64_t /*cycle*/) {
  k_ = stationary.k();
  m_ = stationary.columns();
  stationary_.resize(std::size_t{k_} * m_);
  read_tile(stationary.store, stationary.access, stationary.offset_bytes, stationary_.data(), config_.flush_denormals);
}

void PeArrayModel::multiply(const OperandTile& moving, const MatmulMode& mode, float* psum, std::size_t stride) {
  const TileShape shape{k_, m_, moving.columns()};
  moving_.resize(shape.k * shape.n);
  read_tile(moving.store, moving.access, moving.offset_bytes, moving_.data(), config_.flush_denormals);
  if (moving.access.format == Format::Fp32) {
    matmul_fp32_passes(stationary_.data(), shape.m, moving_.data(), shape.n, shape, psum, stride, mode.accumulate,
                       config_.flush_denormals, mode.stationary_one_zero, mode.moving_one_zero);
  } else {
    matmul_into_psum(stationary_.data(), shape.m, moving_.data(), shape.n, shape, psum, stride, mode.accumulate, false,
                     config_.flush_denormals);
  }
}

}  // namespace azulejo
