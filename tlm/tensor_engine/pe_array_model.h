// SPDX-License-Identifier: Apache-2.0
// The PE array as a model: the multiply-accumulate contract of tlm/numerics on whole tiles. Twin: rtl/pe/pe_array.sv.
//
// No SystemC.
#pragma once

#include <cstdint>
#include <vector>

#include "tlm/tensor_engine/pe_array.h"

namespace azulejo {

struct PeArrayModelConfig {
  std::uint32_t rows = 128;
  std::uint32_t cols = 128;
  std::uint32_t pe_stages = 1;  // pipeline stages of one PE, from partial sum to partial sum
  bool flush_denormals = false;
};

class PeArrayModel : public PeArray {
 public:
  explicit PeArrayModel(const PeArrayModelConfig& config) : config_(config) {}

  void load(const OperandTile& stationary, std::uint64_t cycle) override;
  void multiply(const OperandTile& moving, const MatmulMode& mode, float* psum, std::size_t stride) override;
  std::uint32_t latency_cycles() const override { return config_.rows * config_.pe_stages + config_.cols; }

 private:
  const PeArrayModelConfig config_;
  std::uint32_t k_ = 0;
  std::uint32_t m_ = 0;
  std::vector<float> stationary_;  // [k][m], decoded
  std::vector<float> moving_;      // [k][n], decoded
};

}  // namespace azulejo
