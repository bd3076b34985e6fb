// SPDX-License-Identifier: Apache-2.0
// The sequencers of the engines: registers, branches, halt, semaphores, deadlock.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/machine.h"

namespace azulejo::test {
namespace {

constexpr std::uint64_t kSync = 1'400'000'000;

TEST(Sequencer, ACountedLoopRunsItsCountAndTakesOneCycleAnInstruction) {
  Machine machine("trn1.2xlarge");
  machine.load(R"(.engine sync
  register_move dst=r1, src=0
  register_move dst=r2, src=100
loop:
  register_add dst=r2, src=r2, src2=-3
  register_add dst=r1, src=r1, src2=1  inc s9
  compare_branch r1 < 10, target=loop
  register_add dst=r3, src=r1, src2=r2
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  const Engine& engine = machine.core().sync_engine;
  EXPECT_EQ(engine.registers()[1], 10u);
  EXPECT_EQ(engine.registers()[2], 70u);
  EXPECT_EQ(engine.registers()[3], 80u);
  EXPECT_EQ(machine.semaphore(9), 10u);
  EXPECT_EQ(engine.engine_stats().instructions, 2u + 3 * 10 + 1);
  EXPECT_EQ(machine.end(), edge(33, kSync));
  EXPECT_EQ(engine.attribution()[Cause::Issue], edge(33, kSync));
  expect_accounts_add_up(machine);
}

TEST(Sequencer, EveryEngineRunsControlInstructionsAtItsOwnClock) {
  Machine machine("trn1.2xlarge");
  const std::vector<std::pair<std::string, std::uint64_t>> engines = {
      {"tensor", 2'800'000'000}, {"vector", 1'120'000'000}, {"scalar", kSync}, {"gpsimd", kSync}, {"sync", kSync}};
  std::string text;
  for (const auto& [name, clock] : engines)
    text += ".engine " + name + "\n  nop\n  nop\n  register_move dst=r1, src=7\n";
  machine.load(text);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  for (std::size_t e = 0; e < engines.size(); ++e) {
    EXPECT_EQ(machine.core().engine(e).engine_stats().finished_at, edge(3, engines[e].second)) << engines[e].first;
    EXPECT_EQ(machine.core().engine(e).registers()[1], 7u);
  }
}

TEST(Sequencer, IssueCyclesStretchEveryControlInstruction) {
  Machine machine("trn1.2xlarge", {"sync_engine.issue_cycles=5", "sync_engine.clock=1 GHz"});
  machine.load(".engine sync\n  nop\n  nop inc s0\n  halt\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.semaphore_changes(0).at(0).time, 5 * kNs);
  EXPECT_EQ(machine.end(), 15 * kNs);
}

TEST(Sequencer, BranchesCompareSignedAndTakeRegistersOrNumbers) {
  Machine machine("trn1.2xlarge");
  struct Compare {
    std::int32_t a;
    std::string condition;
    std::int32_t b;
    bool taken;
  };
  const std::vector<Compare> compares = {
      {-1, "<", 1, true},   {1, "<", -1, false},  {2, "<", 2, false}, {2, "<=", 2, true},  {3, "<=", 2, false},
      {3, ">", 2, true},    {-3, ">", -2, false}, {2, ">=", 2, true}, {1, ">=", 2, false}, {5, "==", 5, true},
      {5, "==", -5, false}, {5, "!=", -5, true},  {5, "!=", 5, false}};
  // r10 counts the branches that were not taken, by bit.
  std::string text = ".engine sync\n  register_move dst=r10, src=0\n";
  std::int64_t bit = 1;
  std::uint32_t expected = 0;
  int label = 0;
  for (const Compare& compare : compares) {
    for (const bool by_register : {false, true}) {
      text += fmt::format("  register_move dst=r1, src={}\n  register_move dst=r2, src={}\n", compare.a, compare.b);
      const std::string right = by_register ? "r2" : std::to_string(compare.b);
      text += fmt::format("  compare_branch r1 {} {}, target=l{}\n  register_add dst=r10, src=r10, src2={}\nl{}:\n",
                          compare.condition, right, label, bit, label);
      if (!compare.taken) expected |= static_cast<std::uint32_t>(bit);
      bit *= 2;
      ++label;
    }
  }
  text += "  compare_branch always, target=end\n  register_move dst=r10, src=-1\nend:\n";
  machine.load(text);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.core().sync_engine.registers()[10], expected);
}

TEST(Sequencer, HaltEndsTheProgramAndNothingAfterItRuns) {
  Machine machine("trn1.2xlarge");
  machine.load(R"(.engine scalar
  register_move dst=r1, src=1
  halt  inc s1
  register_move dst=r1, src=2
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.core().scalar_engine.registers()[1], 1u);
  EXPECT_EQ(machine.semaphore(1), 1u);
  EXPECT_EQ(machine.end(), edge(2, kSync));
}

TEST(Sequencer, ABranchBeyondTheProgramIsAFaultAndTheRunGoesOn) {
  Machine machine("trn1.2xlarge");
  Program program;
  Instruction branch;
  branch.opcode = Opcode::CompareBranch;
  branch.condition = BranchCondition::Always;
  branch.target = 99;
  Instruction move;
  move.opcode = Opcode::RegisterMove;
  move.reg = 4;
  move.source.immediate = 44;
  program[EngineId::GpSimd] = {branch, move};
  machine.load(program);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  ASSERT_EQ(machine.faults().size(), 1u);
  EXPECT_EQ(machine.faults()[0].engine, "chip0.nc0.gpsimd_engine");
  EXPECT_EQ(machine.faults()[0].response, "TLM_ADDRESS_ERROR_RESPONSE");
  EXPECT_EQ(machine.core().gpsimd_engine.registers()[4], 44u);
}

TEST(Semaphores, EveryKindOfUpdateChangesTheValue) {
  Machine machine("trn1.2xlarge");
  machine.load(R"(.engine sync
  semaphore_increment  inc s0
  semaphore_increment  add s0 16
  semaphore_increment  sub s0 5
  semaphore_increment  dec s0
  semaphore_increment  set s0 100
  nop  add s0 4294967295
  semaphore_increment  dec s1
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < machine.semaphore_changes(0).size(); ++i) {
    values.push_back(machine.semaphore_changes(0)[i].value);
    EXPECT_EQ(machine.semaphore_changes(0)[i].time, edge(i, kSync));
  }
  EXPECT_EQ(values, (std::vector<std::uint64_t>{1, 17, 12, 11, 100, 99}));
  EXPECT_EQ(machine.semaphore(1), 0xFFFF'FFFFu);  // 32 bits that wrap
}

TEST(Semaphores, WaitsForAtLeastExactlyAndAtMostEndAtTheRightUpdate) {
  Machine machine("trn1.2xlarge");
  // s0 takes 1, 2, 3, 4 at sync cycles 0 to 3, then 0 at cycle 4.
  machine.load(R"(.engine sync
  nop  inc s0
  nop  inc s0
  nop  inc s0
  nop  inc s0
  nop  set s0 0
.engine tensor
  nop  wait s0 >= 3  inc s1
.engine scalar
  nop  wait s0 == 2  inc s2
.engine gpsimd
  nop  wait s0 >= 1
  nop  wait s0 <= 0  inc s3
.engine vector
  nop  wait s0 <= 0  inc s4
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.semaphore_changes(1).at(0).time, edge(2, kSync));
  EXPECT_EQ(machine.semaphore_changes(2).at(0).time, edge(1, kSync));
  EXPECT_EQ(machine.semaphore_changes(3).at(0).time, edge(4, kSync));
  EXPECT_EQ(machine.semaphore_changes(4).at(0).time, 0u);  // holds at once
  EXPECT_EQ(machine.core().tensor_engine.attribution()[Cause::Semaphore], edge(2, kSync));
  expect_accounts_add_up(machine);
}

TEST(Semaphores, UpdatesOfOneInstantAreOneStepInTheOrderOfTheEngines) {
  Machine machine("trn1.2xlarge");
  // At time 0 the tensor engine sets 5 and three others add: whichever process runs first, 5 + 1 + 10 - 2.
  machine.load(R"(.engine sync
  nop  sub s0 2
.engine gpsimd
  nop  add s0 10
.engine vector
  nop  inc s0
.engine tensor
  nop  set s0 5
.engine scalar
  nop  wait s0 == 14
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  ASSERT_EQ(machine.semaphore_changes(0).size(), 1u);
  EXPECT_EQ(machine.semaphore_changes(0)[0].value, 14u);
  EXPECT_EQ(machine.semaphore_changes(0)[0].time, 0u);
}

TEST(Semaphores, ADeadlockIsFoundAndNamesEngineInstructionAndSemaphore) {
  Machine machine("trn1.2xlarge");
  machine.load(R"(.engine vector
  nop
  memset dst=sbuf[0:128, 0] fp32 <64>, value=0.0  wait s7 >= 2
.engine sync
  nop  inc s7
  nop
  semaphore_wait  wait s8 == 3
.engine gpsimd
  nop  wait s9 <= 0  inc s9
  halt  wait s9 <= 0
)");
  ASSERT_EQ(machine.run(), RunEnd::Deadlock);
  const std::vector<std::string> lines = machine.platform().waiting_for();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "chip0.nc0.vector_engine waits at instruction 1 (memset) for semaphore s7 >= 2");
  EXPECT_EQ(lines[1], "chip0.nc0.gpsimd_engine waits at instruction 1 (halt) for semaphore s9 <= 0");
  EXPECT_EQ(lines[2], "chip0.nc0.sync_engine waits at instruction 2 (semaphore_wait) for semaphore s8 == 3");
  EXPECT_FALSE(machine.platform().finished());
  expect_accounts_add_up(machine);
}

TEST(Run, StopsAtTheTimeLimitWithEveryAccountClosedThere) {
  Machine machine("trn1.2xlarge");
  machine.load(R"(.engine sync
loop:
  nop  inc s0
  compare_branch always, target=loop
.engine vector
  memset dst=sbuf[0:128, 0] fp32 <30000>, value=0.0
.engine tensor
  load_stationary stationary=sbuf[0:128, 0] bf16 <128>
  nc_matmul dst=psum[0:128, 0] fp32 <512>, moving=sbuf[0:128, 4096] bf16 <512>
)");
  const Femtoseconds limit = 50 * kNs;
  ASSERT_EQ(machine.run(limit), RunEnd::Until);
  EXPECT_EQ(machine.end(), limit);
  EXPECT_EQ(machine.core().vector_engine.attribution()[Cause::Compute], limit);
  // 128 cycles of load end at 45.7 ns; the matmul's start lasts beyond the limit.
  EXPECT_EQ(machine.core().tensor_engine.attribution()[Cause::MatmulStart], limit - edge(128, 2'800'000'000));
  EXPECT_EQ(machine.core().tensor_engine.attribution()[Cause::Compute], 0u);
  EXPECT_EQ(machine.core().scalar_engine.attribution()[Cause::NotStarted], limit);
  expect_accounts_add_up(machine);
}

TEST(Run, EnginesWithoutAProgramNeverStart) {
  Machine machine("trn1.2xlarge");
  machine.load(".engine sync\n  nop\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.core().vector_engine.attribution()[Cause::NotStarted], machine.end());
  EXPECT_EQ(machine.core(1).sync_engine.attribution()[Cause::NotStarted], machine.end());
}

}  // namespace
}  // namespace azulejo::test
