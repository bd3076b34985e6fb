// SPDX-License-Identifier: Apache-2.0
// Seeded random instructions and programs for round-trip and fuzz tests: every field an opcode has takes every kind of
// value that encodes, corners more often than chance would.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "tlm/isa/address_map.h"
#include "tlm/isa/encoding.h"
#include "tlm/isa/opcode_table.h"

namespace azulejo::testing {

// AZULEJO_TEST_SEED, or 1.
inline std::uint64_t test_seed() {
  const char* text = std::getenv("AZULEJO_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 0);
}

class RandomInstructions {
 public:
  explicit RandomInstructions(std::uint64_t seed) : engine_(seed) {}

  // 0 .. bound - 1.
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }

  // An instruction of this opcode whose branch target is at most `code_size`, mostly.
  Instruction make(Opcode opcode, std::uint32_t code_size = 100) {
    const OpcodeInfo& info = opcode_info(opcode);
    Instruction result;
    result.opcode = opcode;
    if (opcode == Opcode::SemaphoreWait || chance(2)) result.wait = wait();
    if (opcode == Opcode::SemaphoreIncrement || chance(2)) result.update = update();
    for (std::size_t i = 0; i < info.operands.size(); ++i) {
      if (is_optional_name(info.operands[i]) && chance(2)) continue;
      result.operand[i] = access();
      result.operand_count = static_cast<std::uint8_t>(i + 1);
    }
    for (std::size_t i = 0; i < info.immediates.size(); ++i) {
      bool is_tile = false;
      for (std::size_t o = 0; o < info.operands.size(); ++o) {
        const bool same_name = plain_name(info.operands[o]) == plain_name(info.immediates[i]);
        is_tile = is_tile || (same_name && !(result.operand[o] == TensorAccess{}));
      }
      if (!is_tile) result.immediate[i] = word();
    }
    for (const Parameter& parameter : opcode_parameters(opcode)) set(result, parameter, code_size);
    return result;
  }

  Instruction any(std::uint32_t code_size = 100) {
    return make(static_cast<Opcode>(below(static_cast<std::uint64_t>(Opcode::Count_))), code_size);
  }

  // Every instruction on an engine that may execute it.
  Program program(std::size_t max_instructions) {
    Program result;
    for (std::size_t e = 0; e < kEngines; ++e) {
      const auto size = static_cast<std::uint32_t>(below(max_instructions + 1));
      auto& code = result.code[e];
      while (code.size() < size) {
        const Instruction instruction = any(size);
        if (may_execute(static_cast<EngineId>(e), instruction.opcode)) code.push_back(instruction);
      }
    }
    return result;
  }

 private:
  // 32 bits: small, a corner or anything.
  std::uint32_t word() {
    constexpr std::array<std::uint32_t, 12> corners = {0,          1,          0x7FFFFFFF, 0x80000000,
                                                       0xFFFFFFFF, 0x3F800000, 0x7F800000, 0xFF800000,
                                                       0x7FC00000, 0x7F800001, 0xFFFFFFFE, 0x00000001};
    switch (below(3)) {
      case 0:
        return corners[below(corners.size())];
      case 1:
        return static_cast<std::uint32_t>(below(5000));
      default:
        return static_cast<std::uint32_t>(engine_());
    }
  }

  SemaphoreWait wait() {
    SemaphoreWait result;
    result.condition = static_cast<WaitCondition>(1 + below(3));
    result.reason = static_cast<WaitReason>(below(5));
    result.semaphore = static_cast<std::uint8_t>(below(256));
    result.value = word();
    return result;
  }

  SemaphoreUpdate update() {
    SemaphoreUpdate result;
    result.op = static_cast<UpdateOp>(1 + below(5));
    result.timing = static_cast<UpdateTiming>(below(2));
    result.semaphore = static_cast<std::uint8_t>(below(256));
    if (result.op != UpdateOp::Increment && result.op != UpdateOp::Decrement) result.value = word();
    return result;
  }

  TensorAccess access() {
    TensorAccess result;
    result.space = chance(2) ? MemorySpace::Sbuf : MemorySpace::Psum;
    result.format = format();
    if (chance(3)) result.offset_register = static_cast<std::uint8_t>(below(kRegisters));
    result.dims = static_cast<std::uint8_t>(1 + below(kMaxFreeDims));
    result.start_partition = static_cast<std::uint16_t>(below(256));
    result.partitions = static_cast<std::uint16_t>(1 + below(255));
    result.offset_bytes = word();
    std::uint64_t contiguous = 1;
    for (std::size_t d = result.dims; d-- > 0;) {
      // The product stays below 2^31: one large dimension, or several small ones.
      const std::uint64_t limit = result.dims == 1 ? 65535 : 200;
      result.free[d].size = static_cast<std::uint16_t>(1 + below(limit));
      const bool follows = chance(2) && contiguous <= 32767;
      result.free[d].step = static_cast<std::int16_t>(follows ? contiguous : engine_() & 0xFFFF);
      contiguous *= result.free[d].size;
    }
    return result;
  }

  Format format() { return static_cast<Format>(below(static_cast<std::uint64_t>(Format::Uint32) + 1)); }

  std::uint64_t address() {
    switch (below(5)) {
      case 0:
        return address_map::hbm(static_cast<std::uint32_t>(below(20)), below(address_map::kHbmStride));
      case 1:
        return address_map::sbuf(static_cast<std::uint32_t>(below(10)), static_cast<std::uint32_t>(below(128)),
                                 below(address_map::kSbufPartitionStride));
      case 2:
        return address_map::psum(static_cast<std::uint32_t>(below(10)), static_cast<std::uint32_t>(below(128)),
                                 below(address_map::kPsumPartitionStride));
      case 3:
        return address_map::core_base(static_cast<std::uint32_t>(below(10))) + below(address_map::kCoreStride);
      default:
        return engine_();
    }
  }

  DmaDim dma_dim() {
    DmaDim result;
    result.count = chance(2) ? 1 : std::max<std::uint32_t>(1, word());
    if (!chance(3)) result.stride_bytes = static_cast<std::int64_t>(chance(2) ? engine_() : below(0x100000));
    return result;
  }

  DmaAccess dma_access() {
    DmaAccess result;
    result.address = address();
    if (chance(2)) result.outer = dma_dim();
    if (!chance(3)) result.inner = dma_dim();
    return result;
  }

  std::uint8_t reg() { return static_cast<std::uint8_t>(below(kRegisters)); }

  ScalarSource source() {
    ScalarSource result;
    result.is_register = chance(2);
    if (result.is_register) {
      result.reg = reg();
    } else {
      result.immediate = word();
    }
    return result;
  }

  void set(Instruction& result, const Parameter& parameter, std::uint32_t code_size) {
    switch (parameter.field) {
      case ParameterField::AluOp:
        result.alu_op[parameter.which] = static_cast<AluOp>(below(static_cast<std::uint64_t>(AluOp::Count_)));
        break;
      case ParameterField::Function:
        result.function = static_cast<std::uint8_t>(below(256));
        break;
      case ParameterField::Flag:
        if (chance(2)) result.flags = static_cast<std::uint16_t>(result.flags | parameter.which);
        break;
      case ParameterField::Register:
        result.reg = reg();
        break;
      case ParameterField::Source:
        result.source = source();
        break;
      case ParameterField::Source2:
        result.source2 = source();
        break;
      case ParameterField::Compare:
        result.condition = static_cast<BranchCondition>(below(7));
        if (result.condition != BranchCondition::Always) {
          result.reg = reg();
          result.source = source();
        }
        break;
      case ParameterField::Target:
        result.target = chance(5) ? word() : static_cast<std::uint32_t>(below(code_size + 1));
        break;
      case ParameterField::Address:
        result.address = address();
        break;
      case ParameterField::DmaDst:
        result.dma_dst = dma_access();
        result.dma_dst_format = format();
        break;
      case ParameterField::DmaSrc:
        result.dma_src = dma_access();
        result.dma_src_format = format();
        break;
      case ParameterField::DmaBytes:
        result.dma_bytes = std::max<std::uint32_t>(1, word());
        break;
      case ParameterField::DmaQueue:
        result.dma_queue = static_cast<std::uint8_t>(below(kDmaQueues));
        break;
    }
  }

  std::mt19937_64 engine_;
};

}  // namespace azulejo::testing
