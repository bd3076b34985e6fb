// SPDX-License-Identifier: Apache-2.0
#include "tlm/isa/instruction.h"

namespace azulejo {

namespace {

bool same(const FreeDim& a, const FreeDim& b) { return a.step == b.step && a.size == b.size; }
bool same(const DmaDim& a, const DmaDim& b) { return a.count == b.count && a.stride_bytes == b.stride_bytes; }

}  // namespace

bool operator==(const TensorAccess& a, const TensorAccess& b) {
  for (std::size_t d = 0; d < kMaxFreeDims; ++d) {
    if (!same(a.free[d], b.free[d])) return false;
  }
  return a.space == b.space && a.format == b.format && a.offset_register == b.offset_register && a.dims == b.dims &&
         a.start_partition == b.start_partition && a.partitions == b.partitions && a.offset_bytes == b.offset_bytes;
}

bool operator==(const DmaAccess& a, const DmaAccess& b) {
  return a.address == b.address && same(a.outer, b.outer) && same(a.inner, b.inner);
}

bool operator==(const SemaphoreWait& a, const SemaphoreWait& b) {
  return a.condition == b.condition && a.reason == b.reason && a.semaphore == b.semaphore && a.value == b.value;
}

bool operator==(const SemaphoreUpdate& a, const SemaphoreUpdate& b) {
  return a.op == b.op && a.timing == b.timing && a.semaphore == b.semaphore && a.value == b.value;
}

bool operator==(const ScalarSource& a, const ScalarSource& b) {
  return a.is_register == b.is_register && a.reg == b.reg && a.immediate == b.immediate;
}

bool operator==(const Instruction& a, const Instruction& b) {
  return a.opcode == b.opcode && a.flags == b.flags && a.wait == b.wait && a.update == b.update &&
         a.alu_op == b.alu_op && a.function == b.function && a.immediate == b.immediate &&
         a.operand_count == b.operand_count && a.operand == b.operand && a.reg == b.reg && a.source == b.source &&
         a.source2 == b.source2 && a.condition == b.condition && a.target == b.target && a.address == b.address &&
         a.dma_dst == b.dma_dst && a.dma_src == b.dma_src && a.dma_bytes == b.dma_bytes &&
         a.dma_dst_format == b.dma_dst_format && a.dma_src_format == b.dma_src_format && a.dma_queue == b.dma_queue;
}

}  // namespace azulejo
