// SPDX-License-Identifier: Apache-2.0
// Text form of programs: assembler and disassembler. disassemble(assemble(text)) is canonical text;
// assemble(disassemble(program)) equals the program.
//
//   .engine sync
//     dma_copy dst=sbuf(0, 0, 4096) <128:0x40000>, src=hbm(0, 0x10000) <128:0x400>, bytes=1024, queue=3  inc s3
//   .engine tensor
//     register_move dst=r1, src=0
//   loop:                                          # a label; labels belong to their engine
//     load_stationary stationary=sbuf[0:128, 4096] bf16 <128>  wait s3 >= 16 data
//     nc_matmul dst=psum[0:128, 0] fp32 <512>, moving=sbuf[0:128, 8192+r1] bf16 <2:1024, 256>, accumulate  inc s0
//     register_add dst=r1, src=r1, src2=1
//     compare_branch r1 < 10, target=loop
//
// Grammar, by line; `azulejo list instructions` has each instruction's arguments (OpcodeInfo):
//
//   line        = [".engine" engine | [label ":"] [instruction]] ["#" comment]
//   instruction = opcode [argument {"," argument}] [wait] [update]
//   argument    = name "=" value | flag | condition
//   value       = tile | memory | address | register | integer | fp32 | operator | label | "@" index, as the name asks
//   tile        = ("sbuf" | "psum") "[" first ":" end "," offset ["+" register] "]" format
//                 "<" size [":" step] {"," size [":" step]} ">"
//                 partitions first .. end-1; offset in bytes; 1 to 4 free dimensions, outermost first, steps in
//                 elements; a step left out makes the dimension follow its inner ones without gaps
//   memory      = address [format] ["<" [count ":" stride ","] count ":" stride ">"]
//                 rows of a DMA side, outer dimension first, strides in bytes; without <> one row; the format is uint8
//   address     = integer | "hbm(" stack "," offset ")" | ("sbuf(" | "psum(") core "," partition "," offset ")"
//   condition   = "always" | register ("==" | "!=" | "<" | "<=" | ">" | ">=") (register | integer)
//   wait        = "wait" semaphore (">=" | "==" | "<=") value ["data" | "sbuf_space" | "psum_space" | "dma_order"]
//   update      = ("inc" | "dec") semaphore ["at_read"] | ("add" | "sub" | "set") semaphore value ["at_read"]
//   register    = "r0" .. "r63"        semaphore = "s0" .. "s255"
//   integer     = decimal or 0x..., may be negative
//   fp32        = decimal number, "inf", "-inf", "nan", or the bits as 0x...
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/isa/instruction.h"

namespace azulejo {

struct AssemblyError {
  std::size_t line = 0;    // 1-based
  std::size_t column = 0;  // 1-based
  std::string message;     // what is wrong, what is allowed, the nearest known word
};

struct AssemblyResult {
  Program program;
  std::vector<AssemblyError> errors;  // all of them, by line; the program is meaningful only if empty
};

// Refuses what does not encode, and instructions of another engine. Rules that a run reports as faults (a tile of 200
// partitions, an offset beyond the memory) pass.

AssemblyResult assemble(std::string_view text);

// An instruction for which validate_instruction() is not empty prints as far as it goes, for traces.
std::string disassemble(const Program& program);
std::string disassemble(const Instruction& instruction);  // a branch target prints as @index

// Binary program file: magic, version, per engine a count and its 256-byte instructions.
// REQUIRES: validate_instruction() is empty for every instruction.
std::vector<std::uint8_t> write_program(const Program& program);
struct ProgramFileResult {
  Program program;
  std::string error;  // with the byte offset; empty on success
};
ProgramFileResult read_program(const std::vector<std::uint8_t>& bytes);

}  // namespace azulejo
