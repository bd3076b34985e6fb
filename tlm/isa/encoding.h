// SPDX-License-Identifier: Apache-2.0
// Binary form of an instruction: 256 bytes, little-endian, fixed offsets (listed in encoding.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tlm/isa/instruction.h"

namespace azulejo {

inline constexpr std::size_t kInstructionBytes = 256;
using EncodedInstruction = std::array<std::uint8_t, kInstructionBytes>;

// REQUIRES: validate_instruction(instruction) is empty.
EncodedInstruction encode_instruction(const Instruction& instruction);

struct DecodeResult {
  std::optional<Instruction> instruction;
  std::string error;  // why the bytes are no instruction; empty on success
};
// Every bit pattern is either decoded or refused with a reason; reserved bytes must be zero.
DecodeResult decode_instruction(const EncodedInstruction& bytes);

// Everything that makes the struct unencodable (field out of range, operand count wrong for the opcode, …), one
// sentence each. Hardware rules that depend on the generation or on run-time values are the engines' business.
std::vector<std::string> validate_instruction(const Instruction& instruction);

}  // namespace azulejo
