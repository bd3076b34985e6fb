// SPDX-License-Identifier: Apache-2.0
// Is every platform that cannot be built refused, with the value and the limit, and every other one accepted?
#include <gtest/gtest.h>

#include <functional>

#include "platforms/config/platform_config.h"

namespace azulejo {
namespace {

struct Case {
  const char* problem;  // the one sentence
  std::function<void(PlatformConfig&)> change;
};

#define CHANGE(...) [](PlatformConfig& p) { __VA_ARGS__; }

TEST(Validate, TheDefaultsAreAPlatform) {
  EXPECT_TRUE(validate(PlatformConfig{}).empty());
  EXPECT_TRUE(validate(ChipConfig{}).empty());
  EXPECT_TRUE(validate(NeuronCoreConfig{}).empty());
  EXPECT_TRUE(validate(TensorEngineConfig{}).empty());
  EXPECT_TRUE(validate(VectorEngineConfig{}).empty());
  EXPECT_TRUE(validate(SyncEngineConfig{}).empty());
  EXPECT_TRUE(validate(DmaConfig{}).empty());
  EXPECT_TRUE(validate(HbmConfig{}).empty());
  EXPECT_EQ(validate(PartitionedMemoryConfig{}).size(), 1U) << "a memory has no size of its own";
}

TEST(Validate, EachRuleNamesKeyValueAndLimit) {
  const Case cases[] = {
      {"chips: 0 is outside 1 to 1024", CHANGE(p.chips = 0)},
      {"chips: 1025 is outside 1 to 1024", CHANGE(p.chips = 1025)},
      {"chip.cores: 0 is outside 1 to 16", CHANGE(p.chip.cores = 0)},
      {"chip.cores: 18 is outside 1 to 16", CHANGE(p.chip.cores = 18)},
      {"chip.hbm_stacks: 0 is outside 1 to 16", CHANGE(p.chip.hbm_stacks = 0)},
      {"chip.hbm_stacks: 18 is outside 1 to 16", CHANGE(p.chip.hbm_stacks = 18)},
      {"chip.cores: 3 do not share 2 hbm_stacks evenly; one must be a multiple of the other", CHANGE(p.chip.cores = 3)},
      {"chip.nc.tensor_engine.clock: 0 Hz is outside 1 Hz to 1000 GHz", CHANGE(p.chip.nc.tensor_engine.clock = 0)},
      {"chip.nc.tensor_engine.clock: 1001 GHz is outside 1 Hz to 1000 GHz",
       CHANGE(p.chip.nc.tensor_engine.clock = 1'001'000'000'000)},
      {"chip.nc.tensor_engine.rows: 0 is outside 1 to 128", CHANGE(p.chip.nc.tensor_engine.rows = 0)},
      {"chip.nc.tensor_engine.rows: 129 is outside 1 to 128", CHANGE(p.chip.nc.tensor_engine.rows = 129)},
      {"chip.nc.tensor_engine.cols: 0 is outside 1 to 128", CHANGE(p.chip.nc.tensor_engine.cols = 0)},
      {"chip.nc.tensor_engine.cols: 129 is outside 1 to 128", CHANGE(p.chip.nc.tensor_engine.cols = 129)},
      {"chip.nc.tensor_engine.max_moving: 0 is outside 1 to 65535", CHANGE(p.chip.nc.tensor_engine.max_moving = 0)},
      {"chip.nc.tensor_engine.max_moving: 4097 FP32 results do not fit into a PSUM partition of 16 KiB",
       CHANGE(p.chip.nc.tensor_engine.max_moving = 4097)},
      {"chip.nc.tensor_engine.matmul_start_cycles: 1000001 is outside 0 to 1000000",
       CHANGE(p.chip.nc.tensor_engine.matmul_start_cycles = 1'000'001)},
      {"chip.nc.tensor_engine.load_stationary_cycles: 1000001 is outside 0 to 1000000",
       CHANGE(p.chip.nc.tensor_engine.load_stationary_cycles = 1'000'001)},
      {"chip.nc.tensor_engine.issue_cycles: 0 is outside 1 to 1000000",
       CHANGE(p.chip.nc.tensor_engine.issue_cycles = 0)},
      {"chip.nc.tensor_engine.pe_stages: 0 is outside 1 to 3", CHANGE(p.chip.nc.tensor_engine.pe_stages = 0)},
      {"chip.nc.tensor_engine.pe_stages: 4 is outside 1 to 3", CHANGE(p.chip.nc.tensor_engine.pe_stages = 4)},
      {"chip.nc.vector_engine.clock: 0 Hz is outside 1 Hz to 1000 GHz", CHANGE(p.chip.nc.vector_engine.clock = 0)},
      {"chip.nc.vector_engine.min_cycles: 0 is outside 1 to 1000000", CHANGE(p.chip.nc.vector_engine.min_cycles = 0)},
      {"chip.nc.vector_engine.access_latency_cycles: 1000001 is outside 0 to 1000000",
       CHANGE(p.chip.nc.vector_engine.access_latency_cycles = 1'000'001)},
      {"chip.nc.vector_engine.issue_cycles: 0 is outside 1 to 1000000",
       CHANGE(p.chip.nc.vector_engine.issue_cycles = 0)},
      {"chip.nc.scalar_engine.clock: 0 Hz is outside 1 Hz to 1000 GHz", CHANGE(p.chip.nc.scalar_engine.clock = 0)},
      {"chip.nc.gpsimd_engine.clock: 0 Hz is outside 1 Hz to 1000 GHz", CHANGE(p.chip.nc.gpsimd_engine.clock = 0)},
      {"chip.nc.sync_engine.clock: 0 Hz is outside 1 Hz to 1000 GHz", CHANGE(p.chip.nc.sync_engine.clock = 0)},
      {"chip.nc.sync_engine.issue_cycles: 0 is outside 1 to 1000000", CHANGE(p.chip.nc.sync_engine.issue_cycles = 0)},
      {"chip.nc.sbuf.partitions: 64 is not 128, the number the instruction set has",
       CHANGE(p.chip.nc.sbuf.partitions = 64)},
      {"chip.nc.sbuf.partition_size: 0 B is outside 4 B to 4 GiB", CHANGE(p.chip.nc.sbuf.partition_size = 0)},
      {"chip.nc.sbuf.partition_size: 260 KiB is more than the 256 KiB that the address map leaves",
       CHANGE(p.chip.nc.sbuf.partition_size = 260 * 1024)},
      {"chip.nc.sbuf.banks: 0 is not allowed; at least 1", CHANGE(p.chip.nc.sbuf.banks = 0)},
      {"chip.nc.sbuf.partition_size: 192 KiB is not a multiple of 5 banks of whole 4-byte words",
       CHANGE(p.chip.nc.sbuf.banks = 5)},
      {"chip.nc.psum.partition_size: 16 KiB is not a multiple of 8192 banks of whole 4-byte words",
       CHANGE(p.chip.nc.psum.banks = 8192)},
      {"chip.nc.psum.partition_size: 32 KiB is more than the 16 KiB that the address map leaves",
       CHANGE(p.chip.nc.psum.partition_size = 32 * 1024)},
      {"chip.nc.sbuf.shared_ports: a group of 1 engines shares nothing; at least 2 engines",
       CHANGE(p.chip.nc.sbuf.shared_ports = {{EngineId::Vector}})},
      {"chip.nc.sbuf.shared_ports: the vector engine is named 2 times; at most once",
       CHANGE(p.chip.nc.sbuf.shared_ports = {{EngineId::Vector, EngineId::Vector}})},
      {"chip.nc.psum.shared_ports: the scalar engine is named 2 times; at most once",
       CHANGE(
           (p.chip.nc.psum.shared_ports = {{EngineId::Vector, EngineId::Scalar}, {EngineId::Scalar, EngineId::Sync}}))},
      {"chip.nc.dma.engines: 0 is outside 1 to 16", CHANGE(p.chip.nc.dma.engines = 0)},
      {"chip.nc.dma.engines: 17 is outside 1 to 16", CHANGE(p.chip.nc.dma.engines = 17)},
      {"chip.nc.dma.queues: 17 is outside 1 to 16", CHANGE(p.chip.nc.dma.queues = 17)},
      {"chip.nc.dma.bandwidth: 0 B/s is outside 1 B/s to 1000 TB/s", CHANGE(p.chip.nc.dma.bandwidth = 0)},
      {"chip.nc.dma.descriptor_time: 2 s is outside 0 fs to 1 s",
       CHANGE(p.chip.nc.dma.descriptor_time = 2 * kFsPerSecond)},
      {"chip.nc.dma.start_latency: 2 s is outside 0 fs to 1 s", CHANGE(p.chip.nc.dma.start_latency = 2 * kFsPerSecond)},
      {"chip.nc.dma.ring_entries: 16777201 is outside 32 to 16777200", CHANGE(p.chip.nc.dma.ring_entries = 16'777'201)},
      {"chip.nc.dma.packet_descriptors: 0 is outside 1 to 64", CHANGE(p.chip.nc.dma.packet_descriptors = 0)},
      {"chip.nc.dma.packet_descriptors: 64 is more than the 32 ring_entries hold",
       CHANGE(p.chip.nc.dma.ring_entries = 32)},
      {"chip.nc.dma.outstanding_packets: 0 is outside 1 to 128", CHANGE(p.chip.nc.dma.outstanding_packets = 0)},
      {"chip.hbm.capacity: 0 B is outside 1 B to 1024 TiB", CHANGE(p.chip.hbm.capacity = 0)},
      {"chip.hbm.capacity: 65 GiB is more than the 64 GiB that the address map leaves",
       CHANGE(p.chip.hbm.capacity = 65ULL << 30)},
      {"chip.hbm.capacity: 100 B is not a multiple of the 64 B access_size", CHANGE(p.chip.hbm.capacity = 100)},
      {"chip.hbm.bandwidth: 0 B/s is outside 1 B/s to 1000 TB/s", CHANGE(p.chip.hbm.bandwidth = 0)},
      {"chip.hbm.access_size: 0 B is outside 8 B to 4 KiB", CHANGE(p.chip.hbm.access_size = 0)},
      {"chip.hbm.access_size: 48 B is not a power of two", CHANGE(p.chip.hbm.access_size = 48)},
      {"chip.hbm.latency: 2 s is outside 0 fs to 1 s", CHANGE(p.chip.hbm.latency = 2 * kFsPerSecond)},
      {"chip0.nc0.dma.queues: 0 is outside 1 to 16", CHANGE((p.overrides = {{"chip0.nc0", "dma.queues", "0", ""}}))},
      {"here: chip0.hbm2.latency: there is no such instance; a chip has hbm0 to hbm1",
       CHANGE((p.overrides = {{"chip0.hbm2", "latency", "1 ns", "here"}}))},
      {"here: nowhere.latency: is no instance; one is a core or an HBM stack of a chip, such as chip0.nc0 or "
       "chip0.hbm1",
       CHANGE((p.overrides = {{"nowhere", "latency", "1 ns", "here"}}))},
  };
  for (const Case& c : cases) {
    PlatformConfig config;
    c.change(config);
    const auto problems = validate(config);
    EXPECT_EQ(problems.size(), 1U) << c.problem;
    for (const std::string& problem : problems) EXPECT_EQ(problem, c.problem);
  }
}

TEST(Validate, TheExtremesOfEachRuleAreAccepted) {
  const std::function<void(PlatformConfig&)> changes[] = {
    CHANGE(p.chips = 1024),
    CHANGE(p.chip.cores = 16),
    CHANGE(p.chip.cores = 1),
    CHANGE(p.chip.nc.tensor_engine.clock = 1),
    CHANGE(p.chip.nc.tensor_engine.clock = 1'000'000'000'000),
    CHANGE(p.chip.nc.tensor_engine.rows = 1; p.chip.nc.tensor_engine.cols = 1),
    CHANGE(p.chip.nc.tensor_engine.max_moving = 4096),
    CHANGE(p.chip.nc.tensor_engine.pe_stages = 3; p.chip.nc.tensor_engine.pe = Fidelity::Lockstep),
    CHANGE(p.chip.nc.tensor_engine.matmul_start_cycles = 0; p.chip.nc.tensor_engine.load_stationary_cycles = 0),
    CHANGE(p.chip.nc.sbuf.partition_size = 256 * 1024),
    CHANGE(p.chip.nc.psum.banks = 4096),
    CHANGE(p.chip.nc.psum.shared_ports.clear()),
    CHANGE(p.chip.nc.dma.engines = 1; p.chip.nc.dma.queues = 1),
    CHANGE(p.chip.nc.dma.descriptor_time = 0; p.chip.nc.dma.start_latency = 0),
    CHANGE(p.chip.hbm.capacity = 64ULL << 30),
    CHANGE(p.chip.hbm.latency = 0),
  };
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    PlatformConfig config;
    changes[i](config);
    const auto problems = validate(config);
    EXPECT_TRUE(problems.empty()) << i << ": " << problems.front();
  }
}

TEST(Validate, AProblemOfTheTypeIsNotRepeatedForItsInstances) {
  PlatformConfig config;
  config.chip.nc.dma.queues = 0;
  config.overrides = {{"chip0.nc0", "tensor_engine.rows", "64", ""}};
  EXPECT_EQ(validate(config).size(), 1U);
}

TEST(Validate, AnInstanceCanRepairItsType) {
  PlatformConfig config;
  config.overrides = {{"chip0.nc0", "dma.queues", "0", ""}, {"chip0.nc0", "dma.queues", "8", ""}};
  EXPECT_TRUE(validate(config).empty()) << "the later override of a key wins";
}

TEST(Validate, CoresAreSpreadEvenlyOverTheStacks) {
  ChipConfig config;
  config.cores = 8;
  config.hbm_stacks = 4;
  for (std::uint32_t core = 0; core < config.cores; ++core) EXPECT_EQ(local_stack(config, core), core / 2);
}

}  // namespace
}  // namespace azulejo
