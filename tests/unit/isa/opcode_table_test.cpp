// SPDX-License-Identifier: Apache-2.0
#include "tlm/isa/opcode_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tlm/isa/address_map.h"

namespace azulejo {
namespace {

TEST(OpcodeTable, HasOneRowPerOpcodeInEnumOrder) {
  const auto& table = opcode_table();
  ASSERT_EQ(table.size(), static_cast<std::size_t>(Opcode::Count_));
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(table[i].opcode), i) << table[i].name;
    EXPECT_EQ(&opcode_info(table[i].opcode), &table[i]);
  }
}

TEST(OpcodeTable, NamesAreUniqueAndParseBack) {
  std::set<std::string_view> names;
  for (const OpcodeInfo& info : opcode_table()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(parse_opcode(info.name), info.opcode);
  }
  EXPECT_FALSE(parse_opcode("nc_matmull"));
  EXPECT_FALSE(parse_opcode(""));
}

TEST(OpcodeTable, RowsFitTheInstruction) {
  for (const OpcodeInfo& info : opcode_table()) {
    EXPECT_LE(info.operands.size(), kMaxOperands) << info.name;
    EXPECT_LE(info.immediates.size(), 4U) << info.name;
    EXPECT_NE(info.engines, 0) << info.name;
    EXPECT_LT(info.engines, 1U << kEngines) << info.name;
    EXPECT_FALSE(info.source.empty()) << info.name;
  }
}

TEST(OpcodeTable, EveryParameterNameResolvesToAField) {
  for (const OpcodeInfo& info : opcode_table()) {
    std::set<std::string_view> names;
    for (const Parameter& parameter : opcode_parameters(info.opcode)) {
      EXPECT_TRUE(names.insert(parameter.name).second) << info.name << " " << parameter.name;
      if (parameter.field == ParameterField::Flag) {
        EXPECT_NE(parameter.which, 0) << info.name << " " << parameter.name;
        EXPECT_EQ(parameter.which & kFlagMask, parameter.which);
      }
    }
    // An argument of the text form has one meaning, but for a tile or a constant of the same name.
    for (const std::string_view operand : info.operands) EXPECT_EQ(names.count(plain_name(operand)), 0U) << info.name;
    for (const std::string_view immediate : info.immediates)
      EXPECT_EQ(names.count(plain_name(immediate)), 0U) << info.name;
  }
}

TEST(OpcodeTable, NotesInParenthesesAreNotPartOfAName) {
  const auto& parameters = opcode_parameters(Opcode::TensorTensor);
  ASSERT_EQ(parameters.size(), 3U);
  EXPECT_EQ(parameters[0].name, "op");
  EXPECT_NE(opcode_info(Opcode::TensorTensor).parameters.find("executed: add only"), std::string_view::npos);
}

TEST(OpcodeTable, ExecutedAreTheInstructionsThatEnginesImplement) {
  std::set<std::string> executed;
  for (const OpcodeInfo& info : opcode_table()) {
    if (info.status == OpcodeStatus::Executed) executed.insert(std::string(info.name));
  }
  EXPECT_EQ(executed, (std::set<std::string>{"nop", "halt", "semaphore_wait", "semaphore_increment", "register_move",
                                             "register_add", "compare_branch", "dma_copy", "load_stationary",
                                             "nc_matmul", "tensor_copy", "memset", "tensor_tensor"}));
}

TEST(OpcodeTable, EnginesAreThoseOfTheGuide) {
  EXPECT_TRUE(may_execute(EngineId::Tensor, Opcode::NcMatmul));
  EXPECT_FALSE(may_execute(EngineId::Vector, Opcode::NcMatmul));
  EXPECT_TRUE(may_execute(EngineId::Sync, Opcode::DmaCopy));
  EXPECT_TRUE(may_execute(EngineId::Tensor, Opcode::DmaCopy));
  EXPECT_TRUE(may_execute(EngineId::Scalar, Opcode::TensorCopy));
  EXPECT_FALSE(may_execute(EngineId::Scalar, Opcode::TensorTensor));
  EXPECT_FALSE(may_execute(EngineId::Sync, Opcode::Memset));
}

TEST(Names, EnginesAndOperatorsParseBack) {
  for (std::size_t e = 0; e < kEngines; ++e) {
    EXPECT_EQ(parse_engine(engine_name(static_cast<EngineId>(e))), static_cast<EngineId>(e));
  }
  EXPECT_FALSE(parse_engine("pool"));
  for (std::size_t i = 0; i < static_cast<std::size_t>(AluOp::Count_); ++i) {
    EXPECT_EQ(parse_alu_op(alu_op_name(static_cast<AluOp>(i))), static_cast<AluOp>(i));
  }
  EXPECT_FALSE(parse_alu_op("plus"));
  EXPECT_EQ(alu_op_name(AluOp::Max), "maximum");
  EXPECT_EQ(alu_op_name(AluOp::ShiftRight), "right_shift");
  EXPECT_EQ(alu_op_name(AluOp::Reciprocal), "reciprocal");
}

TEST(AddressMap, WindowsOfACoreDoNotOverlap) {
  using namespace address_map;
  EXPECT_EQ(core_base(0), 0xFFFC0000000U);  // v2/address_map.h
  EXPECT_LE(kSbufOffset + kPartitions * kSbufPartitionStride, kPsumOffset);
  EXPECT_LE(kPsumOffset + kPartitions * kPsumPartitionStride, kEventOffset);
  EXPECT_LE(kSemaphoreIncrementOffset + 4 * kSemaphores, kSemaphoreDecrementOffset);
  EXPECT_LE(kSemaphoreBlockEnd, kCoreStride);
  EXPECT_LE(hbm(kNamedStacks, 0), core_base(0));
}

}  // namespace
}  // namespace azulejo
