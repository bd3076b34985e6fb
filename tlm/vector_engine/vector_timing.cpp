// SPDX-License-Identifier: Apache-2.0
#include "tlm/vector_engine/vector_timing.h"

#include <algorithm>

namespace azulejo {
namespace {

bool bf16_in_sbuf(const TensorAccess& access) {
  return access.space == MemorySpace::Sbuf && access.format == Format::Bf16 && access.contiguous();
}

}  // namespace

std::uint64_t vector_cycles(const VectorEngineConfig& config, const Instruction& instruction) {
  const TensorAccess& dst = instruction.operand[0];
  const std::uint64_t n = dst.free_size();
  std::uint64_t cycles = n;  // tensor_copy: max(64, N); nki.isa.tensor_copy
  if (instruction.opcode == Opcode::Memset) {
    // max(64, N/2) for zero in bf16 or fp16, else max(64, N); nki.isa.memset
    const bool narrow = dst.format == Format::Bf16 || dst.format == Format::Fp16;
    if (narrow && instruction.immediate[0] == 0) cycles = (n + 1) / 2;
  } else if (instruction.opcode == Opcode::TensorTensor) {
    // max(64, N) if one input is in PSUM, or everything is contiguous bf16 in SBUF; else max(64, 2N);
    // nki.isa.tensor_tensor
    const TensorAccess& a = instruction.operand[1];
    const TensorAccess& b = instruction.operand[2];
    const bool one_psum = (a.space == MemorySpace::Psum) != (b.space == MemorySpace::Psum);
    const bool all_bf16 = bf16_in_sbuf(a) && bf16_in_sbuf(b) && bf16_in_sbuf(dst);
    if (!one_psum && !all_bf16) cycles = 2 * n;
  }
  return std::max<std::uint64_t>(config.min_cycles, cycles);
}

}  // namespace azulejo
