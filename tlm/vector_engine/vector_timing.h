// SPDX-License-Identifier: Apache-2.0
// Cycle counts of the vector engine as pure functions of the instruction.
//
// Source: SDK 2.26 nki.isa docstrings of tensor_copy, memset and tensor_tensor; MIN_II = 64 cycles.
#pragma once

#include <cstdint>

#include "tlm/isa/instruction.h"
#include "tlm/vector_engine/config.h"

namespace azulejo {

// Cycles until the engine takes the next instruction. REQUIRES: one of the three opcodes.
std::uint64_t vector_cycles(const VectorEngineConfig& config, const Instruction& instruction);

}  // namespace azulejo
