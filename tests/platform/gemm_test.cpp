// SPDX-License-Identifier: Apache-2.0
// The gemm kernel on whole platforms: bit for bit the golden product for every tiling, type and ragged shape, the same
// femtosecond with and without data, the same run twice; and where its time goes when one resource starves it.
#include "sw/kernels/gemm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sw/golden/gemm_golden.h"
#include "tests/support/machine.h"

namespace azulejo::test {
namespace {

using kernels::GemmOptions;
using kernels::GemmShape;
using kernels::GemmTiling;

struct Type {
  Format format;
  golden::ElementType golden;
  Format out;
  golden::ElementType golden_out;
  std::size_t bytes;
};
const std::vector<Type> kTypes = {
    {Format::Bf16, golden::ElementType::Bf16, Format::Bf16, golden::ElementType::Bf16, 2},
    {Format::Fp16, golden::ElementType::Fp16, Format::Fp16, golden::ElementType::Fp16, 2},
    {Format::Fp32, golden::ElementType::Fp32, Format::Fp32, golden::ElementType::Fp32, 4},
    {Format::Tf32, golden::ElementType::Tf32, Format::Fp32, golden::ElementType::Fp32, 4},
    {Format::E4M3, golden::ElementType::E4M3, Format::Bf16, golden::ElementType::Bf16, 1},
    {Format::E5M2, golden::ElementType::E5M2, Format::E5M2, golden::ElementType::E5M2, 1},
    {Format::E3M4, golden::ElementType::E3M4, Format::Fp32, golden::ElementType::Fp32, 1},
    {Format::Int8, golden::ElementType::Int8, Format::Bf16, golden::ElementType::Bf16, 1},
};

// Finite codes of the format near 1, some of them zero and negative.
std::vector<std::uint8_t> operand(const Type& type, std::uint64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> bytes;
  bytes.reserve(count * type.bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t r = random();
    std::uint64_t code = 0;
    switch (type.format) {
      case Format::Fp32:
      case Format::Tf32:
        code = (r & 0x807F'FFFF) | ((0x7A + (r >> 32) % 8) << 23);
        break;
      case Format::Bf16:
        code = (r & 0x807F) | ((0x7A + (r >> 32) % 8) << 7);
        break;
      case Format::Fp16:
        code = (r & 0x83FF) | ((0x0B + (r >> 32) % 6) << 10);
        break;
      case Format::E4M3:
        code = (r & 0x87) | ((r >> 32) % 9 << 3);
        break;
      case Format::E5M2:
        code = (r & 0x83) | ((0x0A + (r >> 32) % 8) << 2);
        break;
      case Format::E3M4:
        code = (r & 0x8F) | ((r >> 32) % 6 << 4);
        break;
      default:
        code = r & 0xFF;
        break;
    }
    if ((r >> 56) == 0) code = 0;
    for (std::size_t b = 0; b < type.bytes; ++b) bytes.push_back(static_cast<std::uint8_t>(code >> (8 * b)));
  }
  return bytes;
}

nki::Target target_of(Machine& machine, std::uint32_t core_of_chip) {
  const NeuronCoreConfig& nc = machine.platform().config().chip.nc;
  return {core_of_chip, nc.sbuf.partition_size, nc.psum.partition_size, nc.psum.banks};
}

// One gemm on core 0 of one chip.
struct Job {
  GemmShape shape;
  GemmOptions options;
  const Type* type = nullptr;
  kernels::GemmTensors tensors;
  std::vector<std::uint8_t> a, b;
};

Job make_job(const GemmShape& shape, const Type& type, GemmTiling tiling, std::uint64_t seed) {
  Job job;
  job.shape = shape;
  job.type = &type;
  job.options.type = type.format;
  job.options.out_type = type.out;
  job.options.tiling = tiling;
  job.a = operand(type, shape.k * shape.m, seed);
  job.b = operand(type, shape.k * shape.n, seed + 1);
  return job;
}

void load_job(Machine& machine, std::uint32_t chip, Job& job, bool data) {
  HbmAllocator stack(0, machine.platform().config().chip.hbm.capacity);
  job.tensors.a = stack.tensor("A", job.shape.k, job.shape.m, job.type->format);
  job.tensors.b = stack.tensor("B", job.shape.k, job.shape.n, job.type->format);
  job.tensors.c = stack.tensor("C", job.shape.m, job.shape.n, job.type->out);
  if (data) {
    machine.write(job.tensors.a.address, job.a, chip);
    machine.write(job.tensors.b.address, job.b, chip);
  }
  machine.load(kernels::record_gemm(target_of(machine, 0), job.shape, job.options, job.tensors),
               chip * machine.platform().config().chip.cores);
}

void check_job(Machine& machine, std::uint32_t chip, const Job& job) {
  const std::uint64_t row = job.tensors.c.row_stride;
  const auto c = machine.read<std::uint8_t>(job.tensors.c.address, job.shape.m * row, chip);
  golden::GemmProblem problem;
  problem.m = job.shape.m;
  problem.k = job.shape.k;
  problem.n = job.shape.n;
  problem.type = job.type->golden;
  problem.out_type = job.type->golden_out;
  problem.k_block_tiles = kernels::plan_gemm(target_of(machine, 0), job.shape, job.options).psum_k_tiles();
  problem.partial_type = job.options.partials == Format::Bf16 ? golden::ElementType::Bf16 : golden::ElementType::Fp32;
  const golden::GemmCheck check = golden::check_gemm(problem, job.a.data(), job.b.data(), c.data(), 1);
  EXPECT_EQ(check.elements, job.shape.m * job.shape.n);
  EXPECT_EQ(check.mismatches, 0u) << "[" << job.shape.m << ", " << job.shape.k << ", " << job.shape.n << "] "
                                  << tiling_name(job.options.tiling) << " type " << static_cast<int>(job.type->format)
                                  << ": first at [" << check.row << ", " << check.column << "], expected "
                                  << check.expected << ", found " << check.found;
}

const std::vector<GemmShape> kRagged = {{1, 1, 1},       {129, 257, 513}, {1, 8193, 1},
                                        {127, 128, 511}, {130, 1, 600},   {5, 1100, 1030}};

class GemmTypes : public testing::TestWithParam<std::size_t> {};

TEST_P(GemmTypes, EqualsTheGoldenProductForEveryTilingAndRaggedShape) {
  const Type& type = kTypes[GetParam()];
  MachineOptions options;
  options.spans = false;
  Machine machine("trn1.2xlarge", {fmt::format("chips={}", 4 * kRagged.size()), "chip.cores=1", "chip.hbm_stacks=1"},
                  options);
  std::vector<Job> jobs;
  for (const GemmTiling tiling : kernels::all_tilings()) {
    for (const GemmShape& shape : kRagged) jobs.push_back(make_job(shape, type, tiling, jobs.size() * 2 + 10));
  }
  for (std::uint32_t c = 0; c < jobs.size(); ++c) load_job(machine, c, jobs[c], true);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_TRUE(machine.faults().empty());
  for (std::uint32_t c = 0; c < jobs.size(); ++c) check_job(machine, c, jobs[c]);
  expect_accounts_add_up(machine);
}

INSTANTIATE_TEST_SUITE_P(Types, GemmTypes, testing::Range(std::size_t{0}, kTypes.size()));

TEST(Gemm, PartialsInBf16AndSmallKBlocksRoundAsTheGoldenDoes) {
  MachineOptions options;
  options.spans = false;
  Machine machine("trn2.3xlarge", {"chips=4", "chip.cores=1", "chip.hbm_stacks=1"}, options);
  std::vector<Job> jobs;
  for (const Format partials : {Format::Fp32, Format::Bf16}) {
    for (const std::uint32_t block_k : {1u, 3u}) {
      jobs.push_back(make_job({140, 1000, 530}, kTypes[0], GemmTiling::Full, jobs.size() + 70));
      jobs.back().options.partials = partials;
      jobs.back().options.max_block_k = block_k;
    }
  }
  for (std::uint32_t c = 0; c < jobs.size(); ++c) load_job(machine, c, jobs[c], true);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  for (std::uint32_t c = 0; c < jobs.size(); ++c) check_job(machine, c, jobs[c]);
}

TEST(Gemm, ASmallSbufChangesTheBlocksAndNotTheBits) {
  MachineOptions options;
  options.spans = false;
  Machine machine("trn1.2xlarge",
                  {"chips=2", "chip.cores=1", "chip.hbm_stacks=1", "sbuf.partition_size=16 KiB", "psum.banks=2",
                   "psum.partition_size=4 KiB"},
                  options);
  std::vector<Job> jobs = {make_job({300, 700, 1100}, kTypes[0], GemmTiling::Full, 80),
                           make_job({300, 700, 1100}, kTypes[2], GemmTiling::Basic, 82)};
  for (std::uint32_t c = 0; c < jobs.size(); ++c) load_job(machine, c, jobs[c], true);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_TRUE(machine.faults().empty());
  for (std::uint32_t c = 0; c < jobs.size(); ++c) check_job(machine, c, jobs[c]);
}

// All four tilings of two shapes and two types, as one run's statistics.
std::string statistics_of_run(const std::string& preset, bool data) {
  MachineOptions options;
  options.spans = false;
  options.platform.keep_data = data;
  Machine machine(preset, {"chips=16", "chip.cores=1", "chip.hbm_stacks=1"}, options);
  std::vector<Job> jobs;
  for (const GemmTiling tiling : kernels::all_tilings()) {
    for (const GemmShape& shape : {GemmShape{129, 257, 513}, GemmShape{200, 1100, 600}}) {
      for (const std::size_t type : {std::size_t{0}, std::size_t{2}})
        jobs.push_back(make_job(shape, kTypes[type], tiling, 5));
    }
  }
  for (std::uint32_t c = 0; c < jobs.size(); ++c) load_job(machine, c, jobs[c], data);
  EXPECT_EQ(machine.run(), RunEnd::Finished);
  expect_accounts_add_up(machine);
  return statistics(machine);
}

TEST(Gemm, WithoutDataTakesTheSameFemtosecondsAndTwoRunsAreEqual) {
  for (const std::string preset : {"trn1.2xlarge", "trn2.3xlarge"}) {
    const std::string full = in_child([&] { return statistics_of_run(preset, true); });
    EXPECT_FALSE(full.empty());
    EXPECT_EQ(in_child([&] { return statistics_of_run(preset, true); }), full) << preset;
    EXPECT_EQ(in_child([&] { return statistics_of_run(preset, false); }), full) << preset;
  }
}

TEST(Gemm, TimingDoesNotDependOnTheSeedOrTheValues) {
  const auto run = [](bool zero) {
    return in_child([zero] {
      MachineOptions options;
      options.spans = false;
      options.platform.seed = zero ? 0 : 99;
      Machine machine("trn1.2xlarge", {"chip.cores=1", "chip.hbm_stacks=1"}, options);
      Job job = make_job({200, 300, 600}, kTypes[0], GemmTiling::Full, 4);
      if (zero) std::fill(job.a.begin(), job.a.end(), std::uint8_t{0});
      load_job(machine, 0, job, true);
      EXPECT_EQ(machine.run(), RunEnd::Finished);
      return statistics(machine);
    });
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(Gemm, EndsAtAnyTimeLimitWithEveryAccountClosedThere) {
  for (const Femtoseconds limit :
       {1 * kNs, 1'300 * kNs, 1'301 * kNs, 1'430 * kNs, 2'600 * kNs, 4'000 * kNs, 9'999 * kNs, 30'000 * kNs}) {
    in_child([limit] {
      MachineOptions options;
      options.spans = false;
      options.platform.keep_data = false;
      Machine machine("trn1.2xlarge", {"chips=4", "chip.cores=1", "chip.hbm_stacks=1"}, options);
      for (std::uint32_t c = 0; c < 4; ++c) {
        Job job = make_job({300, 1300, 700}, kTypes[0], kernels::all_tilings()[c], 5);
        load_job(machine, c, job, false);
      }
      EXPECT_EQ(machine.run(limit), RunEnd::Until) << limit;
      EXPECT_EQ(machine.end(), limit);
      expect_accounts_add_up(machine);
      return std::string();
    });
  }
}

TEST(Gemm, SeveralCoresShareBAndEachComputesItsRows) {
  MachineOptions options;
  options.spans = false;
  Machine machine("trn2.3xlarge", {}, options);
  const Type& type = kTypes[0];
  const GemmShape shape{6 * 128 + 40, 500, 600};
  const std::vector<std::uint8_t> a = operand(type, shape.k * shape.m, 20);
  const std::vector<std::uint8_t> b = operand(type, shape.k * shape.n, 21);
  std::vector<HbmAllocator> stacks;
  for (std::uint32_t s = 0; s < 4; ++s) stacks.emplace_back(s, std::uint64_t{24} << 30);
  kernels::GemmTensors tensors;
  tensors.a = stacks[0].tensor("A", shape.k, shape.m, type.format);
  tensors.b = stacks[1].tensor("B", shape.k, shape.n, type.format);
  tensors.c = stacks[3].tensor("C", shape.m, shape.n, type.out);
  machine.write(tensors.a.address, a);
  machine.write(tensors.b.address, b);
  GemmOptions gemm;
  gemm.type = type.format;
  gemm.out_type = type.out;
  // Cores 0 to 6 take 128 rows each, the last 40: views of A's columns and of C's rows.
  for (std::uint32_t c = 0; c < 7; ++c) {
    const std::uint64_t first = 128 * c;
    const std::uint64_t rows = std::min<std::uint64_t>(128, shape.m - first);
    kernels::GemmTensors share = tensors;
    share.a.address += 2 * first;
    share.a.cols = rows;
    share.c.address += first * share.c.row_stride;
    share.c.rows = rows;
    machine.load(kernels::record_gemm(target_of(machine, c), {rows, shape.k, shape.n}, gemm, share), c);
  }
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_TRUE(machine.faults().empty());
  expect_accounts_add_up(machine);
  const auto c = machine.read<std::uint8_t>(tensors.c.address, shape.m * tensors.c.row_stride);
  golden::GemmProblem problem;
  problem.m = shape.m;
  problem.k = shape.k;
  problem.n = shape.n;
  const golden::GemmCheck check = golden::check_gemm(problem, a.data(), b.data(), c.data(), 1);
  EXPECT_EQ(check.elements, shape.m * shape.n);
  EXPECT_EQ(check.mismatches, 0u);
}

TEST(Gemm, MovesExactlyTheBytesOfItsTiling) {
  MachineOptions options;
  options.spans = false;
  options.platform.keep_data = false;
  Machine machine("trn1.2xlarge", {"chips=4", "chip.cores=1", "chip.hbm_stacks=1"}, options);
  const GemmShape shape{3 * 128, 2 * 128, 3 * 512};
  for (std::uint32_t c = 0; c < 4; ++c) {
    Job job = make_job(shape, kTypes[0], kernels::all_tilings()[c], 1);
    load_job(machine, c, job, false);
  }
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  const std::uint64_t a = 2 * shape.k * shape.m;
  const std::uint64_t b = 2 * shape.k * shape.n;
  // basic: A once per N tile, B once per M tile; hoist: A once; block_free: B once per two M tiles; full: A per two N
  // tiles.
  const std::vector<std::uint64_t> read = {3 * a + 3 * b, a + 3 * b, a + 2 * b, 2 * a + b};
  const std::uint64_t written = 2 * shape.m * shape.n;
  for (std::uint32_t c = 0; c < 4; ++c) {
    const Hbm::Stats& hbm = machine.platform().chip(c).hbm(0).stats();
    EXPECT_EQ(hbm.read_bytes, read[c]) << c;
    EXPECT_EQ(hbm.written_bytes, written) << c;
    std::uint64_t moved = 0;
    for (std::size_t e = 0; e < 16; ++e) moved += machine.core(c).dma.engine(e).stats().bytes;
    EXPECT_EQ(moved, read[c] + written) << c;
    EXPECT_EQ(machine.core(c).sbuf.stats().dma_written_bytes, read[c]) << c;
    EXPECT_EQ(machine.core(c).sbuf.stats().dma_read_bytes, written) << c;
    EXPECT_EQ(machine.core(c).tensor_engine.stats().macs, shape.m * shape.k * shape.n) << c;
  }
}

TEST(Gemm, AFlippedBitInPsumIsFoundByTheGolden) {
  MachineOptions options;
  options.spans = false;
  options.platform.psum_bit_flip.enabled = true;
  Machine machine("trn1.2xlarge", {}, options);
  Job job = make_job({64, 64, 64}, kTypes[2], GemmTiling::Full, 40);
  load_job(machine, 0, job, true);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  const auto c = machine.read<std::uint8_t>(job.tensors.c.address, 64 * job.tensors.c.row_stride);
  golden::GemmProblem problem;
  problem.m = problem.k = problem.n = 64;
  problem.type = problem.out_type = golden::ElementType::Fp32;
  EXPECT_EQ(golden::check_gemm(problem, job.a.data(), job.b.data(), c.data(), 1).mismatches,
            1u);  // one matmul, one word
}

// Where an engine's time went, without its own work.
Cause largest_wait(const Attribution& account) {
  Cause largest = Cause::Idle;
  Femtoseconds most = 0;
  for (std::size_t c = 0; c < kCauses; ++c) {
    const auto cause = static_cast<Cause>(c);
    if (cause == Cause::Compute || cause == Cause::MatmulStart || cause == Cause::NotStarted ||
        cause == Cause::Finished)
      continue;
    if (account[cause] > most) {
      most = account[cause];
      largest = cause;
    }
  }
  return largest;
}

void expect_starved(const std::vector<std::string>& settings, GemmTiling tiling, EngineId engine, Cause cause) {
  MachineOptions options;
  options.spans = false;
  options.platform.keep_data = false;
  std::vector<std::string> all = {"chip.cores=1", "chip.hbm_stacks=1"};
  all.insert(all.end(), settings.begin(), settings.end());
  Machine machine("trn1.2xlarge", all, options);
  Job job = make_job({512, 1024, 1024}, kTypes[0], tiling, 1);
  load_job(machine, 0, job, false);
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  expect_accounts_add_up(machine);
  const Attribution& account = machine.core().engine(static_cast<std::size_t>(engine)).attribution();
  EXPECT_EQ(cause_name(largest_wait(account)), cause_name(cause));
  EXPECT_GT(3 * account[cause], machine.end()) << "the starved resource takes a large part of the time";
}

TEST(Starvation, OfDmaBandwidthIsChargedToDmaTransfer) {
  expect_starved({"dma.bandwidth=100 MB/s"}, GemmTiling::Full, EngineId::Tensor, Cause::DmaTransfer);
}

TEST(Starvation, OfDescriptorsIsChargedToDmaDescriptor) {
  expect_starved({"dma.descriptor_time=20 us"}, GemmTiling::Full, EngineId::Tensor, Cause::DmaDescriptor);
}

TEST(Starvation, OfHbmBandwidthIsChargedToHbm) {
  expect_starved({"hbm.bandwidth=1 GB/s"}, GemmTiling::Full, EngineId::Tensor, Cause::Hbm);
}

TEST(Starvation, OfTheStartLatencyIsChargedToDmaStart) {
  expect_starved({"dma.start_latency=1 ms"}, GemmTiling::Full, EngineId::Tensor, Cause::DmaStart);
}

TEST(Starvation, OfPsumIsChargedToPsumSpace) {
  expect_starved({"psum.banks=1", "psum.partition_size=2 KiB", "vector_engine.clock=20 MHz"}, GemmTiling::Full,
                 EngineId::Tensor, Cause::PsumSpace);
}

TEST(Starvation, OfASlowVectorEngineIsChargedToPsumSpace) {
  expect_starved({"vector_engine.clock=5 MHz", "psum.banks=4", "psum.partition_size=8 KiB"}, GemmTiling::Hoist,
                 EngineId::Tensor, Cause::PsumSpace);
}

TEST(Starvation, OfSbufIsChargedToSbufSpaceOnTheEngineThatLoads) {
  expect_starved({"sbuf.partition_size=6 KiB", "tensor_engine.clock=50 MHz"}, GemmTiling::Basic, EngineId::Sync,
                 Cause::SbufSpace);
}

TEST(Starvation, OfASemaphoreThatComesLateIsChargedToSemaphore) {
  Machine machine("trn1.2xlarge");
  machine.load(R"(.engine gpsimd
  register_move dst=r1, src=0
loop:
  register_add dst=r1, src=r1, src2=1
  compare_branch r1 < 1000, target=loop
  nop  inc s0
.engine tensor
  load_stationary stationary=sbuf[0:128, 0] bf16 <128>
  nc_matmul dst=psum[0:128, 0] fp32 <512>, moving=sbuf[0:128, 4096] bf16 <512>  wait s0 >= 1
.engine vector
  tensor_copy dst=sbuf[0:128, 0] fp32 <512>, src=sbuf[0:128, 8192] fp32 <512>  wait s0 >= 1 data
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  expect_accounts_add_up(machine);
  // The increment is the gpsimd engine's 2002nd instruction; the load of 1 + 127 cycles runs beneath the wait.
  const Femtoseconds late = edge(2001, 1'400'000'000);
  const Attribution& tensor = machine.core().tensor_engine.attribution();
  EXPECT_EQ(cause_name(largest_wait(tensor)), "semaphore");
  EXPECT_EQ(tensor[Cause::Semaphore], late - edge(1, 2'800'000'000));
  // A wait for data names the engine that owed it.
  EXPECT_EQ(machine.core().vector_engine.attribution()[Cause::GpSimdEngine], late);
}

}  // namespace
}  // namespace azulejo::test
