// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/isa/random_instruction.h"
#include "tlm/isa/assembler.h"

namespace azulejo {
namespace {

Program two_instructions() {
  Program program;
  program[EngineId::Sync].resize(2);
  program[EngineId::Sync][1].opcode = Opcode::Halt;
  return program;
}

// Counts at 16, 20, 24, 28 (tensor to gpsimd) and 32 (sync); the two instructions at 36 and 292; the end is 548.
constexpr std::size_t kSyncCount = 32;
constexpr std::size_t kFirst = 36;
constexpr std::size_t kEnd = 548;

std::string error_of(std::vector<std::uint8_t> bytes) {
  const ProgramFileResult result = read_program(bytes);
  for (const auto& code : result.program.code) EXPECT_TRUE(code.empty()) << "a program beside an error";
  return result.error;
}

TEST(ProgramFile, RandomProgramsRoundTrip) {
  testing::RandomInstructions random(testing::test_seed());
  for (int i = 0; i < 50; ++i) {
    const Program program = random.program(40);
    const ProgramFileResult result = read_program(write_program(program));
    ASSERT_EQ(result.error, "");
    for (std::size_t e = 0; e < kEngines; ++e) ASSERT_TRUE(result.program.code[e] == program.code[e]);
  }
}

TEST(ProgramFile, AnEmptyProgramIsAHeaderAndFiveCounts) {
  const auto bytes = write_program(Program{});
  EXPECT_EQ(bytes.size(), 16U + 5 * 4);
  EXPECT_EQ(read_program(bytes).error, "");
}

TEST(ProgramFile, EveryTruncationIsRefused) {
  const auto bytes = write_program(two_instructions());
  ASSERT_EQ(bytes.size(), kEnd);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(error_of({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}), "") << size;
  }
}

TEST(ProgramFile, ErrorsNameTheByteAndTheReason) {
  const auto good = write_program(two_instructions());
  EXPECT_EQ(error_of({}), "byte 0: the file ends inside its header of 16 bytes");
  EXPECT_EQ(error_of({good.begin(), good.begin() + 30}),
            "byte 28: the file ends before the gpsimd engine's instruction count");

  auto bytes = good;
  bytes[0] = 'B';
  EXPECT_EQ(error_of(bytes), "byte 0: not an azulejo program: the file does not begin with AZLJPRG");
  bytes = good;
  bytes[8] = 2;
  EXPECT_EQ(error_of(bytes), "byte 8: version 2 of the program file; this build reads version 1");
  bytes = good;
  bytes[12] = 6;
  EXPECT_EQ(error_of(bytes), "byte 12: 6 engines; a NeuronCore has 5");
  bytes = good;
  bytes[kSyncCount] = 3;
  EXPECT_EQ(error_of(bytes), "byte 32: the sync engine has 3 instructions, but only 512 bytes follow");
  bytes = good;
  bytes[kFirst] = 250;
  EXPECT_NE(error_of(bytes).find("byte 36: sync instruction 0: opcode 250"), std::string::npos);
  bytes = good;
  bytes.push_back(0);
  EXPECT_EQ(error_of(bytes), "byte 548: 1 bytes follow the last instruction");
}

TEST(ProgramFile, AnUntrustedCountIsCheckedBeforeMemoryIsTaken) {
  auto bytes = write_program(two_instructions());
  for (std::size_t i = 0; i < 4; ++i) bytes[16 + i] = 0xFF;
  EXPECT_EQ(error_of(bytes), "byte 16: the tensor engine has 4294967295 instructions, but only 528 bytes follow");
}

}  // namespace
}  // namespace azulejo
