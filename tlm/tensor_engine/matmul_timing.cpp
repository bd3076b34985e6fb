// SPDX-License-Identifier: Apache-2.0
#include "tlm/tensor_engine/matmul_timing.h"

namespace azulejo {

std::uint32_t matmul_passes(Format stationary, Format moving, bool one_zero_operand) {
  if (stationary != Format::Fp32 || moving != Format::Fp32) return 1;
  return one_zero_operand ? 2 : 4;
}

MatmulCycles matmul_cycles(const TensorEngineConfig& config, std::uint32_t moving_size, std::uint32_t passes) {
  const std::uint64_t instructions = passes == 1 ? 1 : passes / 2;
  MatmulCycles cycles;
  cycles.start = instructions * config.matmul_start_cycles;
  cycles.stream = std::uint64_t{passes} * moving_size;
  cycles.drain = std::uint64_t{config.rows} * config.pe_stages + config.cols;
  return cycles;
}

}  // namespace azulejo
