// SPDX-License-Identifier: Apache-2.0
// One row per opcode: NKI's name, the engines that may execute it, its operands and parameters by NKI's names, its
// documented cost and source.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tlm/isa/instruction.h"

namespace azulejo {

enum class OpcodeStatus : std::uint8_t { Executed, Defined };  // Defined: encodes and prints, no engine executes it yet

struct OpcodeInfo {
  Opcode opcode;
  std::string_view name;  // "nc_matmul"
  std::uint8_t engines;   // bit per EngineId
  // In the next three a trailing '?' is optional: left out it is 0 (operator bypass, no tile). An operand and an
  // immediate of the same name are two ways to give one value, a tile or a constant; an instruction uses one of them.
  std::vector<std::string_view> operands;    // names of Instruction::operand in order
  std::vector<std::string_view> immediates;  // names of Instruction::immediate in order
  std::string_view parameters;  // the other NKI parameters it takes, comma separated (op, reduce_op, accumulate, …);
                                // a note may follow a name in parentheses
  std::string_view cost;        // documented cost in engine cycles, "" if none
  std::string_view source;
  OpcodeStatus status;
};

// REQUIRES: opcode < Opcode::Count_.
const OpcodeInfo& opcode_info(Opcode opcode);
const std::vector<OpcodeInfo>& opcode_table();
std::optional<Opcode> parse_opcode(std::string_view name);

// Where a name of OpcodeInfo::parameters lives in an Instruction.
enum class ParameterField : std::uint8_t {
  AluOp,     // alu_op[which]
  Function,  // function
  Flag,      // bit `which` of flags
  Register,  // reg
  Source,    // source
  Source2,   // source2
  Compare,   // reg, condition and source
  Target,    // target
  Address,   // address
  DmaDst,    // dma_dst and dma_dst_format
  DmaSrc,    // dma_src and dma_src_format
  DmaBytes,  // dma_bytes
  DmaQueue,  // dma_queue
};
struct Parameter {
  std::string_view name;
  ParameterField field;
  std::uint16_t which;
  bool optional;
};
// OpcodeInfo::parameters, split and resolved.
const std::vector<Parameter>& opcode_parameters(Opcode opcode);

// "operand0?" -> "operand0".
inline std::string_view plain_name(std::string_view name) {
  return !name.empty() && name.back() == '?' ? name.substr(0, name.size() - 1) : name;
}
inline bool is_optional_name(std::string_view name) { return !name.empty() && name.back() == '?'; }

// True if an immediate of this (plain) name holds FP32 bits; else it is a 32-bit integer.
bool is_fp32_immediate(std::string_view name);

// True if the engines' bit mask in the opcode's row has this engine.
inline bool may_execute(EngineId engine, Opcode opcode) {
  return ((opcode_info(opcode).engines >> static_cast<unsigned>(engine)) & 1U) != 0;
}

std::string_view engine_name(EngineId engine);  // "tensor", "vector", "scalar", "gpsimd", "sync"
std::optional<EngineId> parse_engine(std::string_view name);
std::string_view alu_op_name(AluOp op);
std::optional<AluOp> parse_alu_op(std::string_view name);

}  // namespace azulejo
