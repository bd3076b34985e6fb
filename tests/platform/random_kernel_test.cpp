// SPDX-License-Identifier: Apache-2.0
// Values never depend on timing: random kernels on cores of random speeds give the bits of a sequential interpretation.
// That is the proof, by execution, that the builder's hazards are complete; tests/unit/nki has one by order alone.
#include "tests/support/random_kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tests/support/machine.h"

namespace azulejo::test {
namespace {

// Speeds of one core and its HBM, from far too slow to far too fast.
std::vector<std::string> random_speeds(std::uint32_t chip, std::mt19937_64& random) {
  const auto between = [&](std::uint64_t low, std::uint64_t high) {  // spread over the orders of magnitude
    const double t = static_cast<double>(random() % 10'001) / 10'000.0;
    return static_cast<std::uint64_t>(static_cast<double>(low) *
                                      std::pow(static_cast<double>(high) / static_cast<double>(low), t));
  };
  const std::string nc = fmt::format("chip{}.nc0.", chip);
  const std::string hbm = fmt::format("chip{}.hbm0.", chip);
  std::vector<std::string> settings;
  for (const char* engine : {"tensor", "vector", "scalar", "gpsimd", "sync"}) {
    settings.push_back(fmt::format("{}{}_engine.clock={} Hz", nc, engine, between(20'000'000, 5'000'000'000)));
  }
  settings.push_back(fmt::format("{}tensor_engine.load_stationary_cycles={}", nc, between(1, 5'000)));
  settings.push_back(fmt::format("{}vector_engine.access_latency_cycles={}", nc, between(1, 5'000)));
  settings.push_back(fmt::format("{}dma.bandwidth={} B/s", nc, between(10'000'000, 100'000'000'000)));
  settings.push_back(fmt::format("{}dma.descriptor_time={} ns", nc, between(1, 3'000)));
  settings.push_back(fmt::format("{}dma.start_latency={} ns", nc, between(1, 20'000)));
  settings.push_back(fmt::format("{}dma.packet_descriptors={}", nc, 1 + random() % 32));
  settings.push_back(fmt::format("{}dma.ring_entries={}", nc, 32 + random() % 64));
  settings.push_back(fmt::format("{}dma.outstanding_packets={}", nc, 1 + random() % 6));
  settings.push_back(fmt::format("{}bandwidth={} B/s", hbm, between(100'000'000, 1'000'000'000'000)));
  settings.push_back(fmt::format("{}latency={} ns", hbm, between(1, 20'000)));
  return settings;
}

std::vector<std::string> random_machine(std::uint32_t count, std::mt19937_64& random) {
  std::vector<std::string> settings = {fmt::format("chips={}", count), "chip.cores=1", "chip.hbm_stacks=1"};
  for (std::uint32_t c = 0; c < count; ++c) {
    for (std::string& setting : random_speeds(c, random)) settings.push_back(std::move(setting));
  }
  return settings;
}

void run_random_kernels(std::uint64_t seed, std::uint32_t count) {
  std::mt19937_64 random(seed);
  const std::vector<std::string> settings = random_machine(count, random);
  MachineOptions options;
  options.spans = false;
  Machine machine("trn1.2xlarge", settings, options);
  std::vector<RandomKernel> kernels;
  for (std::uint32_t c = 0; c < count; ++c) {
    kernels.push_back(random_kernel(seed * 1'000'003 + c));
    machine.write(address_map::hbm(0, 0), kernels[c].input, c);
    machine.load(kernels[c].program, c);
  }
  const RunEnd end = machine.run();
  for (const std::string& line : machine.platform().waiting_for()) ADD_FAILURE() << line;
  ASSERT_EQ(end, RunEnd::Finished);
  for (const Fault& fault : machine.faults())
    ADD_FAILURE() << fault.engine << " " << fault.text << ": " << fault.message;
  for (std::uint32_t c = 0; c < count; ++c) {
    const RandomKernel& kernel = kernels[c];
    ASSERT_EQ(machine.read<std::uint8_t>(address_map::hbm(0, RandomKernel::kOutputAddress), kernel.output.size(), c),
              kernel.output)
        << "output of kernel " << c << " of seed " << seed;
    for (std::uint32_t p = 0; p < RandomKernel::kPartitionsUsed; ++p) {
      ASSERT_EQ(machine.read<std::uint8_t>(address_map::sbuf(0, p, 0), kernel.sbuf[p].size(), c), kernel.sbuf[p])
          << "SBUF partition " << p << " of kernel " << c << " of seed " << seed;
      ASSERT_EQ(machine.read<std::uint8_t>(address_map::psum(0, p, 0), kernel.psum[p].size(), c), kernel.psum[p])
          << "PSUM partition " << p << " of kernel " << c << " of seed " << seed;
    }
  }
  expect_accounts_add_up(machine);
}

class RandomKernels : public testing::TestWithParam<std::uint64_t> {};

// AZULEJO_SEED=n runs other kernels than the usual ones.
TEST_P(RandomKernels, GiveTheBitsOfASequentialInterpretationAtEverySpeed) {
  const char* text = std::getenv("AZULEJO_SEED");
  const std::uint64_t seed = (text != nullptr ? std::strtoull(text, nullptr, 10) * 100 : 0) + GetParam();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  run_random_kernels(seed, 100);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomKernels, testing::Range<std::uint64_t>(1, 5));

TEST(RandomKernelsWithoutWaits, GiveOtherBitsSoThatTheComparisonWouldNotice) {
  constexpr std::uint32_t kCount = 50;
  std::mt19937_64 random(77);
  MachineOptions options;
  options.spans = false;
  Machine machine("trn1.2xlarge", random_machine(kCount, random), options);
  std::vector<RandomKernel> kernels;
  for (std::uint32_t c = 0; c < kCount; ++c) {
    kernels.push_back(random_kernel(7'000 + c));
    Program program = kernels[c].program;
    for (auto& code : program.code) {
      for (Instruction& instruction : code) instruction.wait = {};
      code.erase(std::remove_if(code.begin(), code.end(),
                                [](const Instruction& i) { return i.opcode == Opcode::SemaphoreWait; }),
                 code.end());
    }
    machine.write(address_map::hbm(0, 0), kernels[c].input, c);
    machine.load(program, c);
  }
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  std::uint32_t different = 0;
  for (std::uint32_t c = 0; c < kCount; ++c) {
    if (machine.read<std::uint8_t>(address_map::hbm(0, RandomKernel::kOutputAddress), kernels[c].output.size(), c) !=
        kernels[c].output) {
      ++different;
    }
  }
  EXPECT_GT(different, kCount * 8 / 10);
}

}  // namespace
}  // namespace azulejo::test
