// SPDX-License-Identifier: Apache-2.0
#include "tlm/isa/encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/unit/isa/random_instruction.h"
#include "tlm/isa/assembler.h"
#include "tlm/isa/opcode_table.h"

namespace azulejo {
namespace {

// A valid nc_matmul with every part in use.
Instruction matmul() {
  Instruction instruction;
  instruction.opcode = Opcode::NcMatmul;
  instruction.flags = kFlagAccumulate;
  instruction.operand_count = 3;
  for (std::size_t i = 0; i < 3; ++i) {
    instruction.operand[i].space = i == 0 ? MemorySpace::Psum : MemorySpace::Sbuf;
    instruction.operand[i].partitions = 128;
    instruction.operand[i].free[0].size = 512;
  }
  return instruction;
}

Instruction dma() {
  Instruction instruction;
  instruction.opcode = Opcode::DmaCopy;
  instruction.dma_bytes = 1024;
  return instruction;
}

Instruction plain(Opcode opcode) {
  Instruction instruction;
  instruction.opcode = opcode;
  return instruction;
}

TEST(Encoding, EveryOpcodeRoundTripsWithRandomFields) {
  const std::uint64_t seed = testing::test_seed();
  SCOPED_TRACE(seed);
  testing::RandomInstructions random(seed);
  constexpr std::size_t kEach = 2000;
  for (std::size_t o = 0; o < static_cast<std::size_t>(Opcode::Count_); ++o) {
    for (std::size_t i = 0; i < kEach; ++i) {
      const Instruction instruction = random.make(static_cast<Opcode>(o));
      const std::vector<std::string> problems = validate_instruction(instruction);
      ASSERT_TRUE(problems.empty()) << problems.front() << "\n" << disassemble(instruction);
      const EncodedInstruction bytes = encode_instruction(instruction);
      const DecodeResult decoded = decode_instruction(bytes);
      ASSERT_TRUE(decoded.instruction.has_value()) << decoded.error << "\n" << disassemble(instruction);
      ASSERT_TRUE(*decoded.instruction == instruction) << disassemble(instruction);
      ASSERT_EQ(encode_instruction(*decoded.instruction), bytes);
    }
  }
}

TEST(Encoding, EveryByteOfAnInstructionIsEitherAFieldOrRefused) {
  testing::RandomInstructions random(testing::test_seed());
  for (std::size_t o = 0; o < static_cast<std::size_t>(Opcode::Count_); ++o) {
    const EncodedInstruction bytes = encode_instruction(random.make(static_cast<Opcode>(o)));
    for (std::size_t b = 0; b < bytes.size(); ++b) {
      EncodedInstruction changed = bytes;
      changed[b] = static_cast<std::uint8_t>(changed[b] ^ (1U << random.below(8)));
      const DecodeResult decoded = decode_instruction(changed);
      ASSERT_NE(decoded.instruction.has_value(), !decoded.error.empty());
      if (decoded.instruction) {
        ASSERT_EQ(encode_instruction(*decoded.instruction), changed) << "byte " << b;
      }
    }
  }
}

TEST(Encoding, ReservedBytesMustBeZero) {
  EncodedInstruction bytes = encode_instruction(matmul());
  bytes[7] = 1;
  EXPECT_EQ(decode_instruction(bytes).error, "byte 7 is 0x01; it is reserved for nc_matmul and must be 0x00");
  bytes = encode_instruction(dma());
  bytes[255] = 0x80;
  EXPECT_EQ(decode_instruction(bytes).error, "byte 255 is 0x80; it is reserved for dma_copy and must be 0x00");
}

TEST(Encoding, ABooleanAboveOneIsRefused) {
  Instruction move = plain(Opcode::RegisterMove);
  move.source.is_register = true;
  EncodedInstruction bytes = encode_instruction(move);
  bytes[182] = 2;
  EXPECT_EQ(decode_instruction(bytes).error, "byte 182 is 0x02; it is reserved for register_move and must be 0x01");
}

TEST(Encoding, ProgramsThatHardwareFaultsOnStillEncode) {
  Instruction instruction = matmul();
  instruction.operand[2].start_partition = 255;  // no legal start
  instruction.operand[2].partitions = 255;       // K above 128
  instruction.operand[2].offset_bytes = 0xFFFFFFFF;
  instruction.operand[0].space = MemorySpace::Sbuf;  // the tensor engine writes PSUM only
  instruction.operand[2].free[0].size = 65535;
  EXPECT_TRUE(validate_instruction(instruction).empty());
  EXPECT_TRUE(*decode_instruction(encode_instruction(instruction)).instruction == instruction);
}

struct BadCase {
  const char* problem;
  Instruction base;
  std::function<void(Instruction&)> spoil;
};

TEST(Validation, EachProblemIsNamedInOneSentence) {
  const std::vector<BadCase> cases = {
      {"opcode 200 is not one of the", plain(Opcode::Nop), [](auto& i) { i.opcode = static_cast<Opcode>(200); }},
      {"wait.condition is 4; it must be 0 to 3", plain(Opcode::Nop),
       [](auto& i) { i.wait.condition = static_cast<WaitCondition>(4); }},
      {"wait.reason is 5; it must be 0 to 4", plain(Opcode::Nop),
       [](auto& i) {
         i.wait.condition = WaitCondition::Equal;
         i.wait.reason = static_cast<WaitReason>(5);
       }},
      {"wait has a reason, semaphore or value but no condition", plain(Opcode::Nop), [](auto& i) { i.wait.value = 1; }},
      {"semaphore_wait needs a wait condition", plain(Opcode::SemaphoreWait), [](auto&) {}},
      {"update.op is 6; it must be 0 to 5", plain(Opcode::Nop),
       [](auto& i) { i.update.op = static_cast<UpdateOp>(6); }},
      {"update.timing is 2; it must be 0 to 1", plain(Opcode::Nop),
       [](auto& i) {
         i.update.op = UpdateOp::Increment;
         i.update.timing = static_cast<UpdateTiming>(2);
       }},
      {"update has a timing, semaphore or value but no operation", plain(Opcode::Nop),
       [](auto& i) { i.update.semaphore = 1; }},
      {"semaphore_increment needs an update operation", plain(Opcode::SemaphoreIncrement), [](auto&) {}},
      {"an increment or decrement is by 1 and takes no value, found 16", plain(Opcode::Nop),
       [](auto& i) {
         i.update.op = UpdateOp::Increment;
         i.update.value = 16;
       }},
      {"nc_matmul needs the operand moving", matmul(),
       [](auto& i) {
         i.operand[2] = TensorAccess{};
         i.operand_count = 2;
       }},
      {"nc_matmul takes 3 operands, but operand 3 is set", matmul(),
       [](auto& i) {
         i.operand[3] = i.operand[1];
         i.operand_count = 4;
       }},
      {"operand_count is 1, but the last operand that is set is number 3", matmul(),
       [](auto& i) { i.operand_count = 1; }},
      {"moving: the memory space must be SBUF (1) or PSUM (2), found 3", matmul(),
       [](auto& i) { i.operand[2].space = static_cast<MemorySpace>(3); }},
      {"moving: the memory space must be SBUF (1) or PSUM (2), found 0", matmul(),
       [](auto& i) { i.operand[2].space = MemorySpace::None; }},
      {"dst: format 16 is not one of the 16 formats", matmul(),
       [](auto& i) { i.operand[0].format = static_cast<Format>(16); }},
      {"dst: offset register 64 does not exist; registers are 0 to 63", matmul(),
       [](auto& i) { i.operand[0].offset_register = 64; }},
      {"dst: start partition 256 cannot be encoded; it must be 0 to 255", matmul(),
       [](auto& i) { i.operand[0].start_partition = 256; }},
      {"dst: 0 partitions cannot be encoded; it must be 1 to 255", matmul(),
       [](auto& i) { i.operand[0].partitions = 0; }},
      {"dst: 256 partitions cannot be encoded; it must be 1 to 255", matmul(),
       [](auto& i) { i.operand[0].partitions = 256; }},
      {"dst: 0 free dimensions; it must be 1 to 4", matmul(), [](auto& i) { i.operand[0].dims = 0; }},
      {"dst: 5 free dimensions; it must be 1 to 4", matmul(), [](auto& i) { i.operand[0].dims = 5; }},
      {"dst: free dimension 1 is set but only 1 are in use", matmul(), [](auto& i) { i.operand[0].free[1].size = 2; }},
      {"dst: free dimension 0 has size 0; it must be 1 to 65535", matmul(),
       [](auto& i) { i.operand[0].free[0].size = 0; }},
      {"dst: more than 2147483647 elements per partition", matmul(),
       [](auto& i) {
         i.operand[0].dims = 4;
         for (FreeDim& dim : i.operand[0].free) dim.size = 65535;
       }},
      {"nc_matmul takes 0 immediates, but immediate 3 is set", matmul(), [](auto& i) { i.immediate[3] = 1; }},
      {"tensor_scalar: operand0 is given both as a tile and as a constant", matmul(),
       [](auto& i) {
         i.opcode = Opcode::TensorScalar;
         i.flags = 0;
         i.operand[2] = i.operand[1];
         i.operand_count = 3;
         i.immediate[0] = 1;
       }},
      {"nc_matmul does not take the flags 0x40", matmul(), [](auto& i) { i.flags |= kFlagReverse0; }},
      {"nc_matmul does not take the flags 0x8000", matmul(), [](auto& i) { i.flags |= 0x8000; }},
      {"alu_op[1] is 29, which is no operator; the last is 28", matmul(), [](auto& i) { i.alu_op[1] = AluOp::Count_; }},
      {"nc_matmul does not use alu_op[0], but it is set", matmul(), [](auto& i) { i.alu_op[0] = AluOp::Add; }},
      {"nc_matmul does not use function, but it is set", matmul(), [](auto& i) { i.function = 1; }},
      {"nc_matmul does not use reg, but it is set", matmul(), [](auto& i) { i.reg = 1; }},
      {"nc_matmul does not use source, but it is set", matmul(), [](auto& i) { i.source.immediate = 1; }},
      {"nc_matmul does not use source2, but it is set", matmul(), [](auto& i) { i.source2.is_register = true; }},
      {"nc_matmul does not use condition, but it is set", matmul(),
       [](auto& i) { i.condition = BranchCondition::Less; }},
      {"nc_matmul does not use target, but it is set", matmul(), [](auto& i) { i.target = 1; }},
      {"nc_matmul does not use address, but it is set", matmul(), [](auto& i) { i.address = 1; }},
      {"nc_matmul does not use a DMA field, but it is set", matmul(), [](auto& i) { i.dma_bytes = 1; }},
      {"compare_branch does not use reg, but it is set", plain(Opcode::CompareBranch), [](auto& i) { i.reg = 1; }},
      {"condition is 7; it must be 0 to 6", plain(Opcode::CompareBranch),
       [](auto& i) { i.condition = static_cast<BranchCondition>(7); }},
      {"register 64 does not exist; registers are 0 to 63", plain(Opcode::RegisterMove), [](auto& i) { i.reg = 64; }},
      {"source: register 64 does not exist; registers are 0 to 63", plain(Opcode::RegisterMove),
       [](auto& i) {
         i.source.is_register = true;
         i.source.reg = 64;
       }},
      {"source2 is a register and has an immediate", plain(Opcode::RegisterAdd),
       [](auto& i) {
         i.source2.is_register = true;
         i.source2.immediate = 1;
       }},
      {"source is an immediate and names a register", plain(Opcode::RegisterMove), [](auto& i) { i.source.reg = 1; }},
      {"dst: a row count is 0; it must be at least 1", dma(), [](auto& i) { i.dma_dst.inner.count = 0; }},
      {"src: a row count is 0; it must be at least 1", dma(), [](auto& i) { i.dma_src.outer.count = 0; }},
      {"dma_copy moves 0 bytes a row; it must be at least 1", dma(), [](auto& i) { i.dma_bytes = 0; }},
      {"DMA queue 16 does not exist; queues are 0 to 15", dma(), [](auto& i) { i.dma_queue = 16; }},
      {"DMA format 99 is not one of the 16 formats", dma(),
       [](auto& i) { i.dma_src_format = static_cast<Format>(99); }},
  };
  for (const BadCase& bad : cases) {
    Instruction instruction = bad.base;
    bad.spoil(instruction);
    const std::vector<std::string> problems = validate_instruction(instruction);
    const bool found = std::any_of(problems.begin(), problems.end(), [&bad](const std::string& problem) {
      return problem.find(bad.problem) != std::string::npos;
    });
    EXPECT_TRUE(found) << bad.problem << (problems.empty() ? "" : "\nfound: " + problems.front());
  }
  EXPECT_TRUE(validate_instruction(matmul()).empty());
  EXPECT_TRUE(validate_instruction(dma()).empty());
}

TEST(Validation, AllProblemsAreListed) {
  Instruction instruction = matmul();
  instruction.flags = 0x8000;
  instruction.operand[0].partitions = 0;
  instruction.reg = 99;
  EXPECT_EQ(validate_instruction(instruction).size(), 4U);  // reg is unused as well as out of range
}

TEST(Equality, EveryFieldCounts) {
  const std::vector<std::function<void(Instruction&)>> changes = {
      [](auto& i) { i.opcode = Opcode::Halt; },
      [](auto& i) { i.flags = 1; },
      [](auto& i) { i.wait.condition = WaitCondition::Equal; },
      [](auto& i) { i.wait.reason = WaitReason::Data; },
      [](auto& i) { i.wait.semaphore = 1; },
      [](auto& i) { i.wait.value = 1; },
      [](auto& i) { i.update.op = UpdateOp::Increment; },
      [](auto& i) { i.update.timing = UpdateTiming::Read; },
      [](auto& i) { i.update.semaphore = 1; },
      [](auto& i) { i.update.value = 1; },
      [](auto& i) { i.alu_op[2] = AluOp::Add; },
      [](auto& i) { i.function = 1; },
      [](auto& i) { i.immediate[3] = 1; },
      [](auto& i) { i.operand_count = 1; },
      [](auto& i) { i.operand[4].space = MemorySpace::Psum; },
      [](auto& i) { i.operand[0].format = Format::Bf16; },
      [](auto& i) { i.operand[0].offset_register = 0; },
      [](auto& i) { i.operand[0].dims = 2; },
      [](auto& i) { i.operand[0].start_partition = 1; },
      [](auto& i) { i.operand[0].partitions = 1; },
      [](auto& i) { i.operand[0].offset_bytes = 1; },
      [](auto& i) { i.operand[0].free[3].step = 2; },
      [](auto& i) { i.operand[0].free[3].size = 2; },
      [](auto& i) { i.reg = 1; },
      [](auto& i) { i.source.is_register = true; },
      [](auto& i) { i.source.reg = 1; },
      [](auto& i) { i.source2.immediate = 1; },
      [](auto& i) { i.condition = BranchCondition::Less; },
      [](auto& i) { i.target = 1; },
      [](auto& i) { i.address = 1; },
      [](auto& i) { i.dma_dst.address = 1; },
      [](auto& i) { i.dma_dst.outer.count = 2; },
      [](auto& i) { i.dma_src.outer.stride_bytes = 1; },
      [](auto& i) { i.dma_src.inner.count = 2; },
      [](auto& i) { i.dma_src.inner.stride_bytes = 1; },
      [](auto& i) { i.dma_bytes = 1; },
      [](auto& i) { i.dma_dst_format = Format::Bf16; },
      [](auto& i) { i.dma_src_format = Format::Bf16; },
      [](auto& i) { i.dma_queue = 1; },
  };
  const Instruction base;
  EXPECT_TRUE(base == Instruction{});
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Instruction changed;
    changes[i](changed);
    EXPECT_TRUE(changed != base) << "change " << i;
  }
}

TEST(TensorAccess, ContiguousMeansNoGapsInOrder) {
  TensorAccess access;
  access.dims = 2;
  access.free[0] = {512, 4};
  access.free[1] = {1, 512};
  EXPECT_TRUE(access.contiguous());
  EXPECT_EQ(access.free_size(), 2048U);
  access.free[0].step = 513;
  EXPECT_FALSE(access.contiguous());
}

}  // namespace
}  // namespace azulejo
