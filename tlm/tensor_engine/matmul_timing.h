// SPDX-License-Identifier: Apache-2.0
// Cycle counts of the tensor engine as pure functions of shape, format and configuration.
//
// Source: SDK 2.26 nki.isa.nc_matmul, "max(min(64, N_stationary), N_moving)" and x4 for FP32; Trainium/Inferentia2
// Architecture Guide for NKI, "Tensor Engine" (matmul start 64 cycles, weight load about 128, hidden behind the running
// matmul). That the start of a matmul is not hidden by the one before is calibrated: see ARCHITECTURE.md, "Timing of
// gemm".
#pragma once

#include <cstdint>

#include "tlm/numerics/format.h"
#include "tlm/tensor_engine/config.h"

namespace azulejo {

// Passes of the moving tile over the array: 4 for FP32 x FP32, 2 when one operand is declared 0/1, else 1.
std::uint32_t matmul_passes(Format stationary, Format moving, bool one_zero_operand);

struct MatmulCycles {
  std::uint64_t start = 0;   // nothing hides them
  std::uint64_t stream = 0;  // moving columns entering the array
  std::uint64_t drain = 0;   // from the last column's entry to its arrival in PSUM: rows * pe_stages + columns
};

// FP32 runs as two LO_HI instructions (stationary low half, then high half), each with a start of its own and two
// passes.
MatmulCycles matmul_cycles(const TensorEngineConfig& config, std::uint32_t moving_size, std::uint32_t passes);

}  // namespace azulejo
