// SPDX-License-Identifier: Apache-2.0
// Bad programs answer as hardware would: a TLM response, a fault with engine, instruction, time and the broken rule,
// and the run goes on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/machine.h"

namespace azulejo::test {
namespace {

struct Broken {
  std::string instruction;
  std::string response;
  std::string words;  // a part of the message
};

// Runs the instructions one after another behind `prefix` (of `prefix_count` instructions) on one engine: each is a
// fault at its own index, and a last instruction still runs.
void expect_faults(const std::string& engine, std::uint64_t clock, const std::string& prefix,
                   std::uint64_t prefix_count, const std::vector<Broken>& broken) {
  Machine machine("trn1.2xlarge");
  std::string text = ".engine " + engine + "\n" + prefix;
  for (const Broken& b : broken) text += "  " + b.instruction + "\n";
  text += "  register_move dst=r33, src=1234\n";
  machine.load(text);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  const Engine& e = machine.core().engine(engine == "tensor"   ? 0
                                          : engine == "vector" ? 1
                                          : engine == "scalar" ? 2
                                          : engine == "gpsimd" ? 3
                                                               : 4);
  EXPECT_EQ(e.registers()[33], 1234u);
  EXPECT_EQ(e.engine_stats().faults, broken.size());
  ASSERT_EQ(machine.faults().size(), broken.size());
  const Femtoseconds first = machine.faults()[0].time;
  for (std::size_t i = 0; i < broken.size(); ++i) {
    const Fault& fault = machine.faults()[i];
    EXPECT_EQ(fault.engine, fmt::format("chip0.nc0.{}_engine", engine));
    EXPECT_EQ(fault.instruction, prefix_count + i) << broken[i].instruction;
    EXPECT_EQ(fault.response, broken[i].response) << broken[i].instruction << ": " << fault.message;
    EXPECT_NE(fault.message.find(broken[i].words), std::string::npos) << broken[i].instruction << ": " << fault.message;
    EXPECT_NE(fault.text.find(broken[i].instruction.substr(0, broken[i].instruction.find(' '))), std::string::npos)
        << fault.text;
    // Each costs one cycle of its engine.
    EXPECT_EQ(fault.time, edge(first_edge(first, clock) + i, clock));
  }
}

TEST(Fault, LoadStationaryRefusesTilesThatTheArrayDoesNotHold) {
  expect_faults(
      "tensor", 2'800'000'000, "", 0,
      {
          {"load_stationary stationary=sbuf[0:129, 0] bf16 <128>", "TLM_BURST_ERROR_RESPONSE", "K = 129"},
          {"load_stationary stationary=sbuf[0:200, 0] bf16 <128>", "TLM_BURST_ERROR_RESPONSE", "K = 200"},
          {"load_stationary stationary=sbuf[0:128, 0] bf16 <129>", "TLM_BURST_ERROR_RESPONSE", "M = 129"},
          {"load_stationary stationary=sbuf[0:128, 0] bf16 <3, 64>", "TLM_BURST_ERROR_RESPONSE", "M = 192"},
          {"load_stationary stationary=psum[0:128, 0] bf16 <128>", "TLM_BURST_ERROR_RESPONSE", "SBUF only"},
          {"load_stationary stationary=sbuf[0:128, 0] int32 <128>", "TLM_BURST_ERROR_RESPONSE", "int32"},
          {"load_stationary stationary=sbuf[32:128, 0] bf16 <128>", "TLM_BURST_ERROR_RESPONSE",
           "starts at partition 32"},
          {"load_stationary stationary=sbuf[16:48, 0] bf16 <128>", "TLM_BURST_ERROR_RESPONSE",
           "starts at partition 16"},
          {"load_stationary stationary=sbuf[0:128, 196608] bf16 <128>", "TLM_ADDRESS_ERROR_RESPONSE", "196608"},
          {"load_stationary stationary=sbuf[0:128, 196354] bf16 <128>", "TLM_ADDRESS_ERROR_RESPONSE", "196610"},
          {"load_stationary stationary=sbuf[0:128, 1] bf16 <128>", "TLM_ADDRESS_ERROR_RESPONSE", "not aligned"},
          {"nc_matmul dst=psum[0:128, 0] fp32 <8>, moving=sbuf[0:128, 0] bf16 <8>", "TLM_BURST_ERROR_RESPONSE",
           "before any load_stationary"},
      });
}

TEST(Fault, NcMatmulRefusesTilesAgainstTheRules) {
  expect_faults(
      "tensor", 2'800'000'000, "  load_stationary stationary=sbuf[0:128, 0] bf16 <128>\n  nop\n", 2,
      {
          {"nc_matmul dst=psum[0:128, 0] fp32 <513>, moving=sbuf[0:128, 0] bf16 <513>", "TLM_BURST_ERROR_RESPONSE",
           "N = 513"},
          {"nc_matmul dst=psum[0:128, 0] fp32 <8>, moving=sbuf[0:129, 0] bf16 <8>", "TLM_BURST_ERROR_RESPONSE",
           "K = 129"},
          {"nc_matmul dst=psum[0:128, 0] fp32 <8>, moving=sbuf[0:64, 0] bf16 <8>", "TLM_BURST_ERROR_RESPONSE",
           "K = 64"},
          {"nc_matmul dst=psum[0:64, 0] fp32 <8>, moving=sbuf[0:128, 0] bf16 <8>", "TLM_BURST_ERROR_RESPONSE",
           "[64, 8]"},
          {"nc_matmul dst=psum[0:128, 0] fp32 <9>, moving=sbuf[0:128, 0] bf16 <8>", "TLM_BURST_ERROR_RESPONSE",
           "[128, 9]"},
          {"nc_matmul dst=sbuf[0:128, 0] fp32 <8>, moving=sbuf[0:128, 0] bf16 <8>", "TLM_BURST_ERROR_RESPONSE",
           "PSUM only"},
          {"nc_matmul dst=psum[0:128, 0] fp32 <8>, moving=psum[0:128, 0] bf16 <8>", "TLM_BURST_ERROR_RESPONSE",
           "SBUF only"},
          {"nc_matmul dst=psum[0:128, 0] bf16 <8>, moving=sbuf[0:128, 0] bf16 <8>", "TLM_BURST_ERROR_RESPONSE", "fp32"},
          {"nc_matmul dst=psum[0:128, 0] fp32 <8>, moving=sbuf[0:128, 0] fp32 <8>", "TLM_BURST_ERROR_RESPONSE",
           "fp32 multiplies fp32 only"},
          {"nc_matmul dst=psum[0:128, 0] fp32 <8>, moving=sbuf[0:128, 0] uint16 <8>", "TLM_BURST_ERROR_RESPONSE",
           "uint16"},
          {"nc_matmul dst=psum[0:128, 1920] fp32 <64>, moving=sbuf[0:128, 0] bf16 <64>", "TLM_BURST_ERROR_RESPONSE",
           "crosses a PSUM bank"},
          {"nc_matmul dst=psum[0:128, 16384] fp32 <8>, moving=sbuf[0:128, 0] bf16 <8>", "TLM_ADDRESS_ERROR_RESPONSE",
           "16384"},
          {"nc_matmul dst=psum[0:128, 0] fp32 <8>, moving=sbuf[0:128, 0] bf16 <8>, accumulate",
           "TLM_COMMAND_ERROR_RESPONSE", "no matmul has written"},
      });
}

TEST(Fault, TransposeModeIsRefusedSinceItIsNotModelled) {
  expect_faults("tensor", 2'800'000'000, "  load_stationary stationary=sbuf[0:128, 0] bf16 <128>\n", 1,
                {
                    {"nc_matmul dst=psum[0:128, 0] fp32 <8>, moving=sbuf[0:128, 0] bf16 <8>, is_transpose",
                     "TLM_COMMAND_ERROR_RESPONSE", "transpose"},
                });
}

TEST(Fault, TheVectorEngineRefusesShapesFormatsAndOperators) {
  expect_faults("vector", 1'120'000'000, "", 0,
                {
                    {"tensor_copy dst=sbuf[0:128, 0] fp32 <8>, src=sbuf[0:128, 1024] fp32 <9>",
                     "TLM_BURST_ERROR_RESPONSE", "[128, 9]"},
                    {"tensor_copy dst=sbuf[0:64, 0] fp32 <8>, src=sbuf[0:128, 1024] fp32 <8>",
                     "TLM_BURST_ERROR_RESPONSE", "[128, 8]"},
                    {"tensor_copy dst=sbuf[0:128, 0] fp32 <8>, src=sbuf[0:128, 1024] e2m1 <8>",
                     "TLM_BURST_ERROR_RESPONSE", "e2m1"},
                    {"tensor_copy dst=sbuf[0:129, 0] fp32 <8>, src=sbuf[0:129, 1024] fp32 <8>",
                     "TLM_BURST_ERROR_RESPONSE", "129 partitions"},
                    {"tensor_copy dst=sbuf[96:129, 0] fp32 <8>, src=sbuf[0:33, 1024] fp32 <8>",
                     "TLM_BURST_ERROR_RESPONSE", "partition 96"},
                    {"tensor_copy dst=sbuf[0:128, 0] fp32 <8>, src=psum[0:128, 16380] fp32 <8>",
                     "TLM_ADDRESS_ERROR_RESPONSE", "PSUM"},
                    {"tensor_copy dst=sbuf[0:128, 0] fp32 <8>, src=sbuf[0:128, 24] fp32 <8:-1>",
                     "TLM_ADDRESS_ERROR_RESPONSE", "-4"},
                    {"tensor_tensor dst=sbuf[0:128, 0] fp32 <8>, data1=sbuf[0:128, 0] fp32 <8>, data2=sbuf[0:128, 0] "
                     "fp32 <8>, op=multiply",
                     "TLM_COMMAND_ERROR_RESPONSE", "multiply"},
                    {"reciprocal dst=sbuf[0:128, 0] fp32 <8>, data=sbuf[0:128, 0] fp32 <8>",
                     "TLM_COMMAND_ERROR_RESPONSE", "does not execute"},
                });
}

TEST(Fault, EnginesWithoutADataPathRefuseIt) {
  expect_faults("scalar", 1'400'000'000, "  nop\n", 1,
                {
                    {"tensor_copy dst=sbuf[0:128, 0] fp32 <8>, src=sbuf[0:128, 1024] fp32 <8>",
                     "TLM_COMMAND_ERROR_RESPONSE", "scalar engine does not execute tensor_copy"},
                });
}

TEST(Fault, AnInstructionOfAnotherEngineIsRefused) {
  // The assembler would refuse the text; a program that is loaded as bytes can hold it.
  Machine machine("trn1.2xlarge");
  Program program;
  Instruction memset;
  memset.opcode = Opcode::Memset;
  memset.operand_count = 1;
  memset.operand[0].space = MemorySpace::Sbuf;
  memset.operand[0].partitions = 128;
  memset.operand[0].free[0] = {1, 64};
  memset.update = {UpdateOp::Increment, UpdateTiming::Complete, 3, 0};
  Instruction nop;
  nop.update = {UpdateOp::Increment, UpdateTiming::Complete, 4, 0};
  program[EngineId::Tensor] = {nop, memset, nop};
  machine.load(program);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  ASSERT_EQ(machine.faults().size(), 1u);
  EXPECT_EQ(machine.faults()[0].engine, "chip0.nc0.tensor_engine");
  EXPECT_EQ(machine.faults()[0].instruction, 1u);
  EXPECT_EQ(machine.faults()[0].response, "TLM_COMMAND_ERROR_RESPONSE");
  EXPECT_EQ(machine.faults()[0].time, edge(1, 2'800'000'000));
  EXPECT_EQ(machine.semaphore(3), 1u);  // who waits for it does not hang
  EXPECT_EQ(machine.semaphore(4), 2u);
}

TEST(Fault, ADmaOutsideEveryMemoryFaultsOnEachEngineThatHasRowsAndStillSignals) {
  Machine machine("trn1.2xlarge");
  machine.load(R"(.engine sync
  dma_copy dst=sbuf(0, 0, 0) <128:0x40000>, src=hbm(5, 0) <128:0x400>, bytes=64  inc s0
  dma_copy dst=0xFFFD0000000 <5:64>, src=hbm(0, 0) <5:64>, bytes=64  inc s1
  dma_copy dst=sbuf(0, 0, 196600) <1:0x40000>, src=hbm(0, 0) <1:64>, bytes=64  inc s2
  dma_copy dst=sbuf(0, 0, 0), src=hbm(0, 0), bytes=64  wait s2 >= 16  inc s3
)");
  machine.write(address_map::hbm(0, 0), std::vector<std::uint8_t>(64, 0x77));
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.semaphore(0), 16u);
  EXPECT_EQ(machine.semaphore(1), 16u);
  EXPECT_EQ(machine.semaphore(2), 16u);
  EXPECT_EQ(machine.semaphore(3), 16u);
  ASSERT_EQ(machine.faults().size(), 16u + 5 + 1);
  std::vector<int> by_instruction(4);
  for (const Fault& fault : machine.faults()) {
    EXPECT_EQ(fault.response, "TLM_ADDRESS_ERROR_RESPONSE");
    EXPECT_EQ(fault.engine.rfind("chip0.nc0.dma.engine", 0), 0u) << fault.engine;
    ++by_instruction.at(fault.instruction);
    EXPECT_TRUE(fault.instruction != 0 || fault.time == 1'300 * kNs)
        << fault.time;  // the read, after the start latency
  }
  EXPECT_EQ(by_instruction, (std::vector<int>{16, 5, 1, 0}));
  EXPECT_EQ(machine.read<std::uint8_t>(address_map::sbuf(0, 0, 0), 64), std::vector<std::uint8_t>(64, 0x77));
}

TEST(Fault, ADmaWithoutQueueOrWithUnequalSidesIsRefusedAtItsTriggerAndStillSignals) {
  Machine machine("trn1.2xlarge", {"dma.queues=4"});
  machine.load(R"(.engine scalar
  dma_copy dst=sbuf(0, 0, 0), src=hbm(0, 0), bytes=64, queue=4  inc s0
  dma_copy dst=sbuf(0, 0, 0) <2:0x40000>, src=hbm(0, 0) <3:64>, bytes=64  add s1 2
  dma_copy dst=sbuf(0, 0, 0), src=hbm(0, 0) fp32, bytes=63  inc s2
  nop  inc s3
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  ASSERT_EQ(machine.faults().size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(machine.faults()[i].engine, "chip0.nc0.scalar_engine");
    EXPECT_EQ(machine.faults()[i].instruction, i);
    EXPECT_EQ(machine.faults()[i].response, "TLM_BURST_ERROR_RESPONSE");
    EXPECT_EQ(machine.faults()[i].time, edge(i, 1'400'000'000));
  }
  EXPECT_EQ(machine.semaphore(0), 16u);
  EXPECT_EQ(machine.semaphore(1), 32u);
  EXPECT_EQ(machine.semaphore(2), 16u);
  EXPECT_EQ(machine.semaphore(3), 1u);
}

TEST(Fault, AFaultyInstructionLeavesTheMemoryAlone) {
  Machine machine("trn1.2xlarge");
  machine.write(address_map::sbuf(0, 0, 0), std::vector<std::uint8_t>(64, 0x55));
  machine.load(
      ".engine vector\n  memset dst=sbuf[0:129, 0] fp32 <16>, value=1.0  inc s0 at_read\n"
      "  memset dst=sbuf[0:1, 64] fp32 <16>, value=1.0  wait s0 >= 1\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.faults().size(), 1u);
  EXPECT_EQ(machine.read<std::uint8_t>(address_map::sbuf(0, 0, 0), 64), std::vector<std::uint8_t>(64, 0x55));
  EXPECT_EQ(machine.read<float>(address_map::sbuf(0, 0, 64), 16), std::vector<float>(16, 1.0F));
}

TEST(Fault, AccumulationNeedsAMatmulAsTheLastWriter) {
  Machine machine("trn1.2xlarge");
  const std::string matmul = "  nc_matmul dst=psum[0:128, 0] fp32 <64>, moving=sbuf[0:128, 0] bf16 <64>";
  machine.load(
      ".engine tensor\n  load_stationary stationary=sbuf[0:128, 0] bf16 <128>\n" + matmul +
      ", accumulate\n" +                                                                           // 1: never written
      matmul + "\n" + matmul + ", accumulate  inc s0\n" +                                          // fine
      "  nc_matmul dst=psum[0:128, 0] fp32 <65>, moving=sbuf[0:128, 0] bf16 <65>, accumulate\n" +  // 4: one column more
      "  nc_matmul dst=psum[0:128, 128] fp32 <32>, moving=sbuf[0:128, 0] bf16 <32>, accumulate\n" +  // a part
      matmul + ", accumulate  wait s1 >= 1\n" +  // 6: the vector engine wrote one element
      matmul + "\n" + matmul + ", accumulate\n" +
      ".engine vector\n  memset dst=psum[96:97, 252] fp32 <1>, value=0.0  wait s0 >= 1  inc s1\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  std::vector<std::uint64_t> where;
  for (const Fault& fault : machine.faults()) {
    where.push_back(fault.instruction);
    EXPECT_EQ(fault.response, "TLM_COMMAND_ERROR_RESPONSE");
  }
  EXPECT_EQ(where, (std::vector<std::uint64_t>{1, 4, 6}));
}

}  // namespace
}  // namespace azulejo::test
