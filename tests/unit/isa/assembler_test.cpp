// SPDX-License-Identifier: Apache-2.0
#include "tlm/isa/assembler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/isa/random_instruction.h"
#include "tlm/isa/address_map.h"

namespace azulejo {
namespace {

std::string listed(const std::vector<AssemblyError>& errors) {
  std::string text;
  for (const AssemblyError& error : errors) {
    text += std::to_string(error.line) + ":" + std::to_string(error.column) + ": " + error.message + "\n";
  }
  return text;
}

// The one instruction of a text of one line, for an engine.
Instruction one(const std::string& line, const std::string& engine = "vector") {
  const AssemblyResult result = assemble(".engine " + engine + "\n" + line);
  EXPECT_TRUE(result.errors.empty()) << line << "\n" << listed(result.errors);
  for (const auto& code : result.program.code) {
    if (!code.empty()) return code.front();
  }
  ADD_FAILURE() << line << ": no instruction";
  return {};
}

// Errors of one line, without the first line's ".engine".
std::string errors_of(const std::string& line, const std::string& engine = "vector") {
  return listed(assemble(".engine " + engine + "\n" + line).errors);
}

TEST(Assembler, RandomProgramsSurviveTheTextForm) {
  const std::uint64_t seed = testing::test_seed();
  SCOPED_TRACE(seed);
  testing::RandomInstructions random(seed);
  std::size_t instructions = 0;
  while (instructions < 100000) {
    const Program program = random.program(400);
    const std::string text = disassemble(program);
    const AssemblyResult result = assemble(text);
    ASSERT_TRUE(result.errors.empty()) << listed(result.errors).substr(0, 1000);
    for (std::size_t e = 0; e < kEngines; ++e) {
      ASSERT_EQ(result.program.code[e].size(), program.code[e].size());
      for (std::size_t i = 0; i < program.code[e].size(); ++i) {
        ASSERT_TRUE(result.program.code[e][i] == program.code[e][i]) << disassemble(program.code[e][i]);
      }
      instructions += program.code[e].size();
    }
    ASSERT_EQ(disassemble(result.program), text);
  }
}

TEST(Assembler, ReadsATile) {
  const Instruction i = one("memset dst=psum[32:64, 4096+r5] bf16 <2:1024, 4, 128>, value=1.5");
  const TensorAccess& dst = i.operand[0];
  EXPECT_EQ(i.operand_count, 1);
  EXPECT_EQ(dst.space, MemorySpace::Psum);
  EXPECT_EQ(dst.start_partition, 32);
  EXPECT_EQ(dst.partitions, 32);
  EXPECT_EQ(dst.offset_bytes, 4096U);
  EXPECT_EQ(dst.offset_register, 5);
  EXPECT_EQ(dst.format, Format::Bf16);
  EXPECT_EQ(dst.dims, 3);
  EXPECT_EQ(dst.free[0].size, 2);
  EXPECT_EQ(dst.free[0].step, 1024);
  EXPECT_EQ(dst.free[1].step, 128) << "a step left out follows the inner dimension";
  EXPECT_EQ(dst.free[2].step, 1);
  EXPECT_EQ(i.immediate[0], 0x3FC00000U);
}

TEST(Assembler, ReadsNumbersInEveryForm) {
  const std::string head = "memset dst=sbuf[0:1, 0x10] fp32 <1>, value=";
  EXPECT_EQ(one(head + "1").immediate[0], 0x3F800000U);
  EXPECT_EQ(one(head + "-0.5").immediate[0], 0xBF000000U);
  EXPECT_EQ(one(head + "1e-3").immediate[0], 0x3A83126FU);
  EXPECT_EQ(one(head + "2.5e+3").immediate[0], 0x451C4000U);
  EXPECT_EQ(one(head + ".25").immediate[0], 0x3E800000U);
  EXPECT_EQ(one(head + "-inf").immediate[0], 0xFF800000U);
  EXPECT_EQ(one(head + "inf").immediate[0], 0x7F800000U);
  EXPECT_EQ(one(head + "nan").immediate[0], 0x7FC00000U);
  EXPECT_EQ(one(head + "0x7f800001").immediate[0], 0x7F800001U);
  EXPECT_EQ(one(head + "1").operand[0].offset_bytes, 16U);
  EXPECT_EQ(one("register_move dst=r63, src=-1").source.immediate, 0xFFFFFFFFU);
  EXPECT_EQ(one("register_move dst=r63, src=0xffffffff").source.immediate, 0xFFFFFFFFU);
}

TEST(Assembler, ReadsWaitsAndUpdates) {
  Instruction i = one("nop wait s255<=7 psum_space set s3 12 at_read");
  EXPECT_EQ(i.wait.condition, WaitCondition::LessEqual);
  EXPECT_EQ(i.wait.reason, WaitReason::PsumSpace);
  EXPECT_EQ(i.wait.semaphore, 255);
  EXPECT_EQ(i.wait.value, 7U);
  EXPECT_EQ(i.update.op, UpdateOp::WriteImmediate);
  EXPECT_EQ(i.update.timing, UpdateTiming::Read);
  EXPECT_EQ(i.update.semaphore, 3);
  EXPECT_EQ(i.update.value, 12U);
  i = one("semaphore_wait wait s1 >= 16");
  EXPECT_EQ(i.wait.reason, WaitReason::Program);
  EXPECT_EQ(i.update.op, UpdateOp::None);
  EXPECT_TRUE(one("nop inc s1 wait s2 == 3") == one("nop wait s2 == 3 inc s1")) << "in either order";
  EXPECT_EQ(one("semaphore_increment add s1 4294967295").update.value, 0xFFFFFFFFU);
  // `add` is also an operator, but only behind '='.
  EXPECT_EQ(one("tensor_tensor dst=sbuf[0:1, 0] fp32 <1>, data1=sbuf[0:1, 0] fp32 <1>, data2=psum[0:1, 0] fp32 <1>, "
                "op=add add s1 2")
                .update.op,
            UpdateOp::AddImmediate);
}

TEST(Assembler, ReadsADmaWithNamedAndPlainAddresses) {
  const Instruction i =
      one("dma_copy dst=sbuf(1, 2, 64) <8:0x8000, 16:-256>, src=0xABC bf16 <128:2048>, bytes=1024, queue=15", "sync");
  EXPECT_EQ(i.dma_dst.address, address_map::sbuf(1, 2, 64));
  EXPECT_EQ(i.dma_dst.outer.count, 8U);
  EXPECT_EQ(i.dma_dst.outer.stride_bytes, 0x8000);
  EXPECT_EQ(i.dma_dst.inner.count, 16U);
  EXPECT_EQ(i.dma_dst.inner.stride_bytes, -256);
  EXPECT_EQ(i.dma_dst_format, Format::Uint8);
  EXPECT_EQ(i.dma_src.address, 0xABCU);
  EXPECT_EQ(i.dma_src.outer.count, 1U);
  EXPECT_EQ(i.dma_src.inner.count, 128U);
  EXPECT_EQ(i.dma_src_format, Format::Bf16);
  EXPECT_EQ(i.dma_bytes, 1024U);
  EXPECT_EQ(i.dma_queue, 15);

  const Instruction other = one("dma_copy dst=psum(0, 127, 16383), src=hbm(1, 0x10), bytes=4", "tensor");
  EXPECT_EQ(other.dma_dst.address, address_map::psum(0, 127, 16383));
  EXPECT_EQ(other.dma_src.address, address_map::hbm(1, 16));
  EXPECT_EQ(other.dma_src.rows(), 1U);
}

TEST(Assembler, ATileOrAConstantOfTheSameNameIsToldByItsValue) {
  const std::string head =
      "tensor_scalar dst=sbuf[0:1, 0] fp32 <8>, data=sbuf[0:1, 0] fp32 <8>, op0=multiply, operand0=";
  const Instruction constant = one(head + "2.0");
  EXPECT_EQ(constant.operand_count, 2);
  EXPECT_EQ(constant.immediate[0], 0x40000000U);
  EXPECT_EQ(constant.alu_op[1], AluOp::Bypass);
  const Instruction tile = one(head + "psum[0:1, 64] fp32 <1>, op1=add, operand1=1.0, reverse1");
  EXPECT_EQ(tile.operand_count, 3);
  EXPECT_EQ(tile.immediate[0], 0U);
  EXPECT_EQ(tile.immediate[1], 0x3F800000U);
  EXPECT_EQ(tile.flags, kFlagReverse1);
}

TEST(Assembler, BranchesReachLabelsBeforeAndBehindThemOfTheirOwnEngine) {
  const AssemblyResult result = assemble(R"(
.engine tensor
  compare_branch always, target=done   # forward
loop: nop
  compare_branch r1 != r2, target=loop
.engine vector
loop:
  compare_branch r1 <= -5, target=loop
.engine tensor
  compare_branch r0 == 1, target=@77
done:
)");
  ASSERT_TRUE(result.errors.empty()) << listed(result.errors);
  const auto& tensor = result.program[EngineId::Tensor];
  ASSERT_EQ(tensor.size(), 4U);
  EXPECT_EQ(tensor[0].target, 4U);
  EXPECT_EQ(tensor[0].condition, BranchCondition::Always);
  EXPECT_EQ(tensor[2].target, 1U);
  EXPECT_EQ(tensor[2].condition, BranchCondition::NotEqual);
  EXPECT_TRUE(tensor[2].source.is_register);
  EXPECT_EQ(tensor[3].target, 77U);
  EXPECT_EQ(result.program[EngineId::Vector][0].target, 0U);
  EXPECT_EQ(result.program[EngineId::Vector][0].source.immediate, static_cast<std::uint32_t>(-5));
}

TEST(Assembler, LineEndsTabsCommentsAndBlankLinesDoNotMatter) {
  const AssemblyResult result = assemble("\r\n# a comment\r\n\t.engine\tsync # engine\r\n\r\n nop#x\r\nhalt");
  ASSERT_TRUE(result.errors.empty()) << listed(result.errors);
  EXPECT_EQ(result.program[EngineId::Sync].size(), 2U);
  EXPECT_TRUE(assemble("").errors.empty());
}

TEST(Disassembler, PrintsTheCanonicalForm) {
  const std::string loose = R"(.engine sync
dma_copy bytes=0x400, queue=0, src=hbm(0,65536)<128:1024>,dst=0xfffc0041000 uint8 <1:0,128:262144> inc s3 wait s4==0
x: compare_branch r1>0x10,target=x
compare_branch always,target=@9
.engine tensor
nc_matmul accumulate,moving=sbuf[0:128,0]bfloat16<4:512,512:1>,dst=psum[0:128,0]fp32<2048>
)";
  const std::string canonical = R"(.engine tensor
  nc_matmul dst=psum[0:128, 0] fp32 <2048>, moving=sbuf[0:128, 0] bf16 <4, 512>, accumulate

.engine sync
  dma_copy dst=sbuf(0, 1, 4096) <128:0x40000>, src=hbm(0, 0x10000) <128:0x400>, bytes=1024  wait s4 == 0  inc s3
at_1:
  compare_branch r1 > 16, target=at_1
  compare_branch always, target=@9
)";
  const AssemblyResult result = assemble(loose);
  ASSERT_TRUE(result.errors.empty()) << listed(result.errors);
  EXPECT_EQ(disassemble(result.program), canonical);
  EXPECT_EQ(disassemble(assemble(canonical).program), canonical);
  EXPECT_EQ(disassemble(Program{}), "");
}

TEST(Disassembler, PrintsAStepThatDoesNotFitTheContiguousOne) {
  Instruction instruction;
  instruction.opcode = Opcode::RandGetState;
  instruction.operand_count = 1;
  instruction.operand[0].space = MemorySpace::Sbuf;
  instruction.operand[0].partitions = 1;
  instruction.operand[0].dims = 2;
  instruction.operand[0].free[0] = {-1, 2};
  instruction.operand[0].free[1] = {1, 65535};
  EXPECT_EQ(disassemble(instruction), "rand_get_state dst=sbuf[0:1, 0] fp32 <2:-1, 65535>");
}

TEST(Disassembler, PrintsInstructionsThatDoNotEncodeAsFarAsTheyGo) {
  Instruction instruction;
  instruction.opcode = static_cast<Opcode>(250);
  EXPECT_EQ(disassemble(instruction), "(opcode 250)");
  instruction.opcode = Opcode::TensorReduce;
  instruction.alu_op[0] = static_cast<AluOp>(99);
  instruction.operand[0].space = static_cast<MemorySpace>(9);
  instruction.operand[0].format = static_cast<Format>(200);
  instruction.operand[0].dims = 200;
  EXPECT_EQ(disassemble(instruction), "tensor_reduce dst=sbuf[0:0, 0] format200 <1, 1, 1, 1>, axes=0, op=operator99");
}

struct ErrorCase {
  const char* line;
  const char* errors;  // all of them, each ended by a newline
  const char* engine = "vector";
};

TEST(AssemblerErrors, SayWhereWhatIsAllowedAndTheNearestWord) {
  const std::string formats =
      "allowed: fp32, tf32, bf16, fp16, e4m3, e4m3fn, e5m2, e3m4, e8m0, e2m1, int8, uint8, int16, uint16, int32, "
      "uint32";
  const std::string operators =
      "allowed: bypass, add, subtract, multiply, maximum, minimum, equal, not_equal, greater_equal, greater, "
      "less_equal, "
      "less, logical_and, logical_or, logical_xor, bitwise_and, bitwise_or, bitwise_xor, invert, left_shift, "
      "right_shift, "
      "power, abs_max, abs_min, abs, square, relu, rsqrt, reciprocal";
  const std::vector<ErrorCase> cases = {
      // Lines.
      {"$", "2:1: unexpected character '$'\n"},
      {"nop \x01", "2:5: unexpected character '?'\n"},
      {"17", "2:1: expected an instruction, a label or .engine, found '17'\n"},
      {".section x", "2:1: unknown directive '.section'; allowed: .engine\n"},
      {".engin tensor", "2:1: unknown directive '.engin'; allowed: .engine; did you mean '.engine'?\n"},
      {".engine",
       "2:8: expected an engine, found the end of the line; allowed: tensor, vector, scalar, gpsimd, sync\n"},
      {".engine vectr",
       "2:9: unknown engine 'vectr'; allowed: tensor, vector, scalar, gpsimd, sync; did you mean 'vector'?\n"},
      {".engine sync 3", "2:14: expected the end of the line, found '3'\n"},
      {"a: a: nop", "2:4: unknown instruction 'a'"},
      {"a: nop\na: nop", "3:1: label 'a' is already on line 2\n"},
      {"nc_matmull dst=3", "2:1: unknown instruction 'nc_matmull'; did you mean 'nc_matmul'?\n"},
      {"frobnicate",
       "2:1: unknown instruction 'frobnicate'; the sync engine has: nop, halt, semaphore_wait, "
       "semaphore_increment, register_move, register_add, register_load, register_store, compare_branch, "
       "dma_copy, dma_transpose, dma_compute, sendrecv, core_barrier\n",
       "sync"},
      {"load_stationary stationary=sbuf[0:1, 0] bf16 <1>",
       "2:1: load_stationary does not run on the vector engine; allowed: tensor\n"},
      {"memset dst=sbuf[0:1, 0] fp32 <1>, value=0",
       "2:1: memset does not run on the scalar engine; allowed: vector, gpsimd\n", "scalar"},
      // Arguments.
      {"nop x", "2:5: nop takes no arguments, found 'x'\n"},
      {"nop x=1", "2:5: nop takes no arguments, found 'x'\n"},
      {"nop 5", "2:5: expected an argument, found '5'\n"},
      {"memset dst=sbuf[0:1, 0] fp32 <1>, value=0, val=1",
       "2:44: unknown argument of memset 'val'; allowed: dst, value, stochastic, saturate\n"},
      {"memset dst=sbuf[0:1, 0] fp32 <1>, valeu=0",
       "2:1: memset needs value\n"
       "2:35: unknown argument of memset 'valeu'; allowed: dst, value, stochastic, saturate; did you mean 'value'?\n"},
      {"memset value=0, value=1", "2:1: memset needs dst\n2:17: value is given twice\n"},
      {"memset dst=sbuf[0:1, 0] fp32 <1>, value=0, saturate, saturate", "2:54: saturate is given twice\n"},
      {"memset dst=sbuf[0:1, 0] fp32 <1>, value=0, saturate=1",
       "2:44: saturate is a flag: write it alone to set it, leave it out to clear it\n"},
      {"memset dst=sbuf[0:1, 0] fp32 <1> value=0",
       "2:1: memset needs value\n2:34: expected ',', a wait, an update or the end of the line, found 'value'\n"},
      {"memset dst=sbuf[0:1, 0] fp32 <1>, value=0,",
       "2:43: expected an argument after ',', found the end of the line\n"},
      {"memset dst=sbuf[0:1, 0] fp32 <1>, value=0, inc s1", "2:44: expected an argument after ',', found 'inc'\n"},
      {"register_move dst r1, src=0", "2:19: expected '=' after dst, found 'r1'\n"},
      {"tensor_copy", "2:1: tensor_copy needs dst, src\n"},
      {"tensor_copy dst=5, src=sbuf[0:1, 0] fp32 <1>",
       "2:17: expected a tile of dst such as sbuf[0:128, 0] bf16 <512>, found '5'\n"},
      // Tiles.
      {"rng dst=sbuf(0:1, 0] int8 <1>", "2:13: expected '[', found '('\n"},
      {"rng dst=sbuf[256:300, 0] int8 <1>",
       "2:14: expected the first partition, an integer from 0 to 255, found '256'\n"},
      {"rng dst=sbuf[4:4, 0] int8 <1>",
       "2:16: expected the partition after the last, an integer from 5 to 259, found '4'\n"},
      {"rng dst=sbuf[0-4, 0] int8 <1>", "2:15: expected ':', found '-4'\n"},
      {"rng dst=sbuf[0:4; 0] int8 <1>", "2:17: unexpected character ';'\n2:19: expected ',', found '0'\n"},
      {"rng dst=sbuf[0:4, -1] int8 <1>",
       "2:19: expected the offset in bytes, an integer from 0 to 4294967295, found '-1'\n"},
      {"rng dst=sbuf[0:4, 0x] int8 <1>",
       "2:19: expected the offset in bytes, an integer from 0 to 4294967295, found '0x'\n"},
      {"rng dst=sbuf[0:4, 0+r64] int8 <1>", "2:21: expected a register r0 to r63, found 'r64'\n"},
      {"rng dst=sbuf[0:4, 0+5] int8 <1>", "2:21: expected a register r0 to r63, found '5'\n"},
      {"rng dst=sbuf[0:4, 0 int8 <1>", "2:21: expected ']', found 'int8'\n"},
      {"rng dst=sbuf[0:4, 0] bf61 <1>", "FORMAT2:22: unknown format 'bf61'; "},
      {"rng dst=sbuf[0:4, 0] <1>", "FORMATNONE2:22: expected a format, found '<'; "},
      {"rng dst=sbuf[0:4, 0] int8 [1]", "2:27: expected '<', found '['\n"},
      {"rng dst=sbuf[0:4, 0] int8 <0>",
       "2:28: expected the size of a free dimension, an integer from 1 to 65535, found '0'\n"},
      {"rng dst=sbuf[0:4, 0] int8 <4:40000>",
       "2:30: expected the step in elements, an integer from -32768 to 32767, found '40000'\n"},
      {"rng dst=sbuf[0:4, 0] int8 <1, 1, 1, 1, 1>", "2:40: a tile has at most 4 free dimensions\n"},
      {"rng dst=sbuf[0:4, 0] int8 <1 inc s1", "2:30: expected ',' or '>', found 'inc'\n"},
      {"rng dst=sbuf[0:4, 0] int8 <2, 40000>",
       "2:28: this dimension needs a step after ':': without one it is 40000 elements, more than 32767\n"},
      {"rng dst=sbuf[0:4, 0] int8 <9999:1, 9999:1, 9999:1>", "2:1: dst: more than 2147483647 elements per partition\n"},
      // Numbers, operators, registers.
      {"memset dst=sbuf[0:1, 0] fp32 <1>, value=x",
       "2:41: expected value, an FP32 number such as 1.5, -inf or the bits 0x3fc00000, found 'x'\n"},
      {"memset dst=sbuf[0:1, 0] fp32 <1>, value=1.5x",
       "2:41: expected value, an FP32 number such as 1.5, -inf or the bits 0x3fc00000, found '1.5x'\n"},
      {"memset dst=sbuf[0:1, 0] fp32 <1>, value=0x100000000",
       "2:41: expected value, an FP32 number such as 1.5, -inf or the bits 0x3fc00000, found '0x100000000'\n"},
      {"memset dst=sbuf[0:1, 0] fp32 <1>, value=1e39", "2:41: value: '1e39' is outside the range of FP32\n"},
      {"tensor_reduce dst=sbuf[0:1, 0] fp32 <1>, data=sbuf[0:1, 0] fp32 <1>, axes=1.5, op=add",
       "2:75: expected axes, an integer from -2147483648 to 4294967295, found '1.5'\n"},
      {"tensor_tensor dst=sbuf[0:1, 0] fp32 <1>, data1=sbuf[0:1, 0] fp32 <1>, data2=sbuf[0:1, 0] fp32 <1>, op=mutliply",
       "OPERATOR2:103: unknown operator 'mutliply'; "},
      {"register_move dst=5, src=0", "2:19: expected a register r0 to r63, found '5'\n"},
      {"register_move dst=r1, src=5000000000",
       "2:27: expected a register or a value, an integer from -2147483648 to 4294967295, found '5000000000'\n"},
      {"register_move dst=r1, src=x", "2:27: expected a register r0 to r63, found 'x'\n"},
      {"activation dst=sbuf[0:1, 0] fp32 <1>, data=sbuf[0:1, 0] fp32 <1>, scale=1.0, function=256",
       "2:87: expected the function's number, an integer from 0 to 255, found '256'\n", "scalar"},
      // DMA.
      {"dma_copy dst=dram(0, 0), src=0, bytes=4",
       "2:14: unknown memory 'dram'; allowed: hbm(stack, offset), sbuf(core, partition, offset), "
       "psum(core, partition, offset), an integer\n"},
      {"dma_copy dst=0, src=-4, bytes=4",
       "2:21: expected an address, an integer from 0 to 18446744073709551615, found '-4'\n"},
      {"dma_copy dst=hbm(16, 0), src=0, bytes=4",
       "2:18: expected the HBM stack, an integer from 0 to 15, found '16'\n"},
      {"dma_copy dst=hbm(0, 0x1000000000), src=0, bytes=4",
       "2:21: expected the offset in bytes, an integer from 0 to 68719476735, found '0x1000000000'\n"},
      {"dma_copy dst=hbm 0, src=0, bytes=4", "2:18: expected '(', found '0'\n"},
      {"dma_copy dst=sbuf(8, 0, 0), src=0, bytes=4", "2:19: expected the core, an integer from 0 to 7, found '8'\n"},
      {"dma_copy dst=sbuf(0, 128, 0), src=0, bytes=4",
       "2:22: expected the partition, an integer from 0 to 127, found '128'\n"},
      {"dma_copy dst=psum(0, 0, 16384), src=0, bytes=4",
       "2:25: expected the offset in bytes, an integer from 0 to 16383, found '16384'\n"},
      {"dma_copy dst=0 <0:1>, src=0, bytes=4",
       "2:17: expected a count of rows, an integer from 1 to 4294967295, found '0'\n"},
      {"dma_copy dst=0 <4>, src=0, bytes=4", "2:18: expected ':', found '>'\n"},
      {"dma_copy dst=0 <4:x>, src=0, bytes=4",
       "2:19: expected the stride in bytes, an integer from -9223372036854775808 to 9223372036854775807, found 'x'\n"},
      {"dma_copy dst=0 <1:1, 1:1, 1:1>, src=0, bytes=4", "2:25: the rows of a DMA have at most 2 dimensions\n"},
      {"dma_copy dst=0 <1:1, src=0, bytes=4",
       "2:22: expected a count of rows, an integer from 1 to 4294967295, found 'src'\n"},
      {"dma_copy dst=0, src=0, bytes=0",
       "2:30: expected the bytes of a row, an integer from 1 to 4294967295, found '0'\n"},
      {"dma_copy dst=0, src=0, bytes=4, queue=16",
       "2:39: expected the DMA queue, an integer from 0 to 15, found '16'\n"},
      // Waits and updates.
      {"nop wait 3", "2:10: expected a semaphore s0 to s255, found '3'\n"},
      {"nop wait s256 >= 1", "2:10: expected a semaphore s0 to s255, found 's256'\n"},
      {"nop wait s1 > 1", "2:13: expected a comparison >=, == or <=, found '>'\n"},
      {"nop wait s1 >= x", "2:16: expected a semaphore value, an integer from 0 to 4294967295, found 'x'\n"},
      {"nop wait s1 >= 1 psumspace",
       "2:18: unknown wait reason 'psumspace'; allowed: data, sbuf_space, psum_space, dma_order; did you mean "
       "'psum_space'?\n"},
      {"nop wait s1 >= 1 wait s1 >= 1", "2:18: a wait is given twice\n"},
      {"nop inc s1 inc s1", "2:12: an update is given twice\n"},
      {"nop inc s1 3", "2:12: expected a wait, an update or the end of the line, found '3'\n"},
      {"nop add s1", "2:11: expected a semaphore value, an integer from 0 to 4294967295, found the end of the line\n"},
      {"nop add 1", "2:9: expected a semaphore s0 to s255, found '1'\n"},
      {"semaphore_wait", "2:1: semaphore_wait needs a wait such as wait s3 >= 16\n"},
      {"semaphore_increment wait s1 >= 1", "2:1: semaphore_increment needs an update: inc, dec, add, sub or set\n"},
      // Branches.
      {"compare_branch target=@0", "2:1: compare_branch needs a condition such as r1 < 10, or always\n"},
      {"compare_branch r1 = 3, target=@0", "2:19: expected a comparison ==, !=, <, <=, > or >=, found '='\n"},
      {"compare_branch alwys, target=@0",
       "2:1: compare_branch needs a condition such as r1 < 10, or always\n"
       "2:16: unknown argument of compare_branch 'alwys'; allowed: always, target; did you mean 'always'?\n"},
      {"compare_branch r1 < 3, always, target=@0", "2:24: the condition is given twice\n"},
      {"compare_branch r1 always, target=@0", "2:19: expected a comparison ==, !=, <, <=, > or >=, found 'always'\n"},
      {"compare_branch r64 < 1, target=@0", "2:16: expected a register r0 to r63, found 'r64'\n"},
      {"compare_branch r1 < x, target=@0", "2:21: expected a register r0 to r63, found 'x'\n"},
      {"compare_branch always", "2:1: compare_branch needs target\n"},
      {"compare_branch always, target=7", "2:31: expected a label, or @ and an instruction index, found '7'\n"},
      {"compare_branch always, target=@x",
       "2:32: expected an instruction index, an integer from 0 to 4294967295, found 'x'\n"},
      {"compare_branch always, target=loop", "2:31: unknown label 'loop'; the vector engine has no labels\n"},
      {"lop: compare_branch always, target=loop",
       "2:36: unknown label 'loop'; labels of the vector engine: lop; did you mean 'lop'?\n"},
  };
  for (const ErrorCase& test : cases) {
    std::string expected = test.errors;
    if (expected.rfind("FORMATNONE", 0) == 0) expected = expected.substr(10) + formats + "\n";
    if (expected.rfind("FORMAT", 0) == 0) expected = expected.substr(6) + formats + "; did you mean 'bf16'?\n";
    if (expected.rfind("OPERATOR", 0) == 0) expected = expected.substr(8) + operators + "; did you mean 'multiply'?\n";
    const std::string found = errors_of(test.line, test.engine);
    if (expected.back() != '\n') {
      EXPECT_EQ(found.substr(0, expected.size()), expected) << test.line;
    } else {
      EXPECT_EQ(found, expected) << test.line;
    }
  }
}

TEST(AssemblerErrors, AreAllListedInOrder) {
  const AssemblyResult result = assemble(R"(nop
x:
.engine tensor
  nc_matmul dst=psum[0:128, 0] fp23 <512>, moving=sbuf[0:128, 0, bf16 <512>
  load_stationary stationary=sbuf[0:300, 0] bf16 <128>, accumulat
  compare_branch always, target=nowhere
)");
  std::vector<std::size_t> lines;
  for (const AssemblyError& error : result.errors) lines.push_back(error.line);
  EXPECT_EQ(lines, (std::vector<std::size_t>{1, 2, 4, 4, 5, 5, 6})) << listed(result.errors);
  EXPECT_NE(result.errors[0].message.find("before the first .engine line"), std::string::npos);
  EXPECT_NE(result.errors[1].message.find("a label before the first .engine line"), std::string::npos);
}

TEST(AssemblerErrors, ALabelOfAnotherEngineIsUnknown) {
  const AssemblyResult result =
      assemble(".engine tensor\nloop: nop\n.engine vector\ncompare_branch always, target=loop");
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(result.errors[0].message, "unknown label 'loop'; the vector engine has no labels");
}

TEST(AssemblerErrors, AFileThatIsNoProgramStopsAfterAThousand) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "?\n";
  const AssemblyResult result = assemble(text);
  ASSERT_EQ(result.errors.size(), 1001U);
  EXPECT_EQ(result.errors.back().message, "more than 1000 errors; the rest is not listed");
}

}  // namespace
}  // namespace azulejo
