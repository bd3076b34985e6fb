// SPDX-License-Identifier: Apache-2.0
// Does `--set KEY=VALUE` reach what it names, and say what is wrong when it does not?
#include <gtest/gtest.h>

#include "platforms/config/platform_config.h"
#include "tests/unit/config/equal.h"
#include "tlm/common/error.h"

namespace azulejo {
namespace {

PlatformConfig with(const std::vector<std::string>& settings) { return load_platform("trn1.2xlarge", settings); }

std::vector<std::string> problems_of(const std::vector<std::string>& settings) {
  try {
    with(settings);
  } catch (const ConfigError& error) {
    return error.problems();
  }
  return {};
}

std::string problem_of(const std::string& setting) {
  const auto problems = problems_of({setting});
  EXPECT_EQ(problems.size(), 1U) << setting;
  return problems.empty() ? "" : problems.front();
}

TEST(Settings, AShortFormMeansTheOneKeyThatEndsSo) {
  EXPECT_EQ(with({"hbm.bandwidth=400 GB/s"}).chip.hbm.bandwidth, 400'000'000'000U);
  EXPECT_EQ(with({"chip.hbm.bandwidth=400 GB/s"}).chip.hbm.bandwidth, 400'000'000'000U);
  EXPECT_EQ(with({"tensor_engine.clock=1GHz"}).chip.nc.tensor_engine.clock, 1'000'000'000U);
  EXPECT_EQ(with({"sbuf.partition_size=64 KiB"}).chip.nc.sbuf.partition_size, 64U * 1024);
  EXPECT_EQ(with({"dma.descriptor_time=1 ns"}).chip.nc.dma.descriptor_time, kFsPerNanosecond);
  EXPECT_EQ(with({"descriptor_time=1 ns"}).chip.nc.dma.descriptor_time, kFsPerNanosecond);
  EXPECT_EQ(with({"nc.dma.bandwidth=1 GB/s"}).chip.nc.dma.bandwidth, 1'000'000'000U);
  EXPECT_EQ(with({"cores=4"}).chip.cores, 4U);
  EXPECT_EQ(with({"generation=neuron_core_v4"}).chip.nc.generation, Generation::NeuronCoreV4);
  EXPECT_EQ(with({"description=a=b"}).description, "a=b");
  EXPECT_EQ(with({"description="}).description, "");
}

TEST(Settings, ListsAreWrittenInBrackets) {
  const PlatformConfig config = with({"sbuf.shared_ports=[[vector, scalar], [gpsimd, sync]]", "psum.shared_ports=[]"});
  EXPECT_EQ(config.chip.nc.sbuf.shared_ports, (std::vector<std::vector<EngineId>>{{EngineId::Vector, EngineId::Scalar},
                                                                                  {EngineId::GpSimd, EngineId::Sync}}));
  EXPECT_TRUE(config.chip.nc.psum.shared_ports.empty());
}

TEST(Settings, TheLaterOneWins) {
  EXPECT_EQ(with({"hbm.latency=1 ns", "chip.hbm.latency=2 ns"}).chip.hbm.latency, 2 * kFsPerNanosecond);
  const PlatformConfig config = with({"chip0.hbm1.latency=1 ns", "chip0.hbm1.latency=2 ns"});
  EXPECT_EQ(hbm_config(config, 0, 1).latency, 2 * kFsPerNanosecond);
  EXPECT_EQ(config.overrides.size(), 1U);
}

TEST(Settings, AnInstanceWinsOverItsTypeInAnyOrder) {
  for (const auto& settings :
       {std::vector<std::string>{"chip0.nc1.tensor_engine.clock=1 GHz", "tensor_engine.clock=2 GHz"},
        std::vector<std::string>{"tensor_engine.clock=2 GHz", "chip0.nc1.tensor_engine.clock=1 GHz"}}) {
    const PlatformConfig config = with(settings);
    EXPECT_EQ(core_config(config, 0, 0).tensor_engine.clock, 2'000'000'000U);
    EXPECT_EQ(core_config(config, 0, 1).tensor_engine.clock, 1'000'000'000U);
    EXPECT_EQ(config.chip.nc.tensor_engine.clock, 2'000'000'000U);
  }
}

TEST(Settings, AnInstanceChangesNothingElse) {
  const PlatformConfig config = with({"chips=2", "chip1.nc0.descriptor_time=9 ns", "chip1.hbm0.bandwidth=1 GB/s",
                                      "chip1.nc0.sbuf.shared_ports=[[scalar, sync]]"});
  for (std::uint32_t chip = 0; chip < 2; ++chip) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      const bool changed = chip == 1 && i == 0;
      EXPECT_NE(equal(core_config(config, chip, i), config.chip.nc), changed);
      EXPECT_NE(equal(hbm_config(config, chip, i), config.chip.hbm), changed);
    }
  }
  EXPECT_EQ(core_config(config, 1, 0).dma.descriptor_time, 9 * kFsPerNanosecond);
  EXPECT_EQ(core_config(config, 1, 0).sbuf.shared_ports,
            (std::vector<std::vector<EngineId>>{{EngineId::Scalar, EngineId::Sync}}));
  EXPECT_EQ(hbm_config(config, 1, 0).bandwidth, 1'000'000'000U);
}

TEST(Settings, UnknownKeysNameTheNearOne) {
  EXPECT_EQ(problem_of("hbm.bandwith=1 GB/s"),
            "--set hbm.bandwith=1 GB/s: hbm.bandwith: unknown key; did you mean 'hbm.bandwidth'?");
  EXPECT_NE(problem_of("tensor_engin.clock=1 GHz").find("did you mean 'tensor_engine.clock'?"), std::string::npos);
  EXPECT_NE(problem_of("hbm.channels=8").find("known there: chip.hbm.capacity, chip.hbm.bandwidth"), std::string::npos);
  EXPECT_NE(problem_of("zzz=8").find("`azulejo list keys` prints all"), std::string::npos);
  EXPECT_NE(problem_of("chip0.nc0.dma.bandwith=1 GB/s").find("did you mean 'dma.bandwidth'?"), std::string::npos);
  EXPECT_NE(problem_of("hbm..bandwidth=1").find("unknown key"), std::string::npos);
  EXPECT_NE(problem_of(".=1").find("unknown key"), std::string::npos);
}

TEST(Settings, AKeyThatMeansSeveralNamesThem) {
  EXPECT_EQ(problem_of("partition_size=1 KiB"),
            "--set partition_size=1 KiB: partition_size: names several keys; write one of "
            "chip.nc.sbuf.partition_size, chip.nc.psum.partition_size");
  EXPECT_NE(problem_of("hbm=3").find("names a group of keys; write one of chip.hbm.capacity"), std::string::npos);
  EXPECT_NE(problem_of("chip0.nc0.clock=1 GHz").find("names several keys; write one of tensor_engine.clock"),
            std::string::npos);
}

TEST(Settings, InstancesBeyondThePlatformNameTheRange) {
  EXPECT_EQ(problem_of("chip0.nc2.dma.bandwidth=1 GB/s"),
            "--set chip0.nc2.dma.bandwidth=1 GB/s: chip0.nc2.dma.bandwidth: there is no such instance; a chip has nc0 "
            "to nc1");
  EXPECT_NE(problem_of("chip1.nc0.dma.bandwidth=1 GB/s").find("there is no such chip; the platform has only chip0"),
            std::string::npos);
  EXPECT_NE(problem_of("chip0.hbm2.latency=1 ns").find("a chip has hbm0 to hbm1"), std::string::npos);
  EXPECT_TRUE(problems_of({"chip3.nc0.dma.bandwidth=1 GB/s", "chips=4"}).empty());
}

TEST(Settings, WhatIsNoInstanceSaysSo) {
  for (const char* setting : {"chip0.cores=3", "chip0=3", "chip0.nc.dma.bandwidth=1 GB/s", "chip0.nc01.dma.queues=1",
                              "chip0.tensor_engine.clock=1 GHz", "chip00.nc0.dma.queues=1", "chip0.nc1x.dma.queues=1",
                              "chip9999999.nc0.dma.queues=1"}) {
    EXPECT_NE(problem_of(setting).find("is no instance; one is a core or an HBM stack"), std::string::npos) << setting;
  }
  EXPECT_NE(problem_of("chip0.nc0=3").find("is an instance without a key, such as chip0.nc0.generation"),
            std::string::npos);
  EXPECT_NE(problem_of("nc0.dma.bandwidth=1 GB/s").find("an instance begins with its chip: 'chip0.nc0.dma.bandwidth'"),
            std::string::npos);
}

TEST(Settings, WhatIsNoSettingSaysSo) {
  for (const char* setting : {"", "hbm.bandwidth", "=3"}) {
    EXPECT_NE(problem_of(setting).find("KEY=VALUE is expected"), std::string::npos) << setting;
  }
  EXPECT_NE(problem_of("base=trn2.3xlarge").find("can be given in a file only"), std::string::npos);
  EXPECT_NE(problem_of("overrides=[]").find("can be given in a file only"), std::string::npos);
}

TEST(Settings, BadValuesNameTheSetting) {
  EXPECT_EQ(problem_of("cores=two"), "--set cores=two: chip.cores: 'two' is not a whole number");
  EXPECT_EQ(problem_of("cores="), "--set cores=: chip.cores: '' is not a whole number");
  EXPECT_EQ(problem_of("cores=[2]"), "--set cores=[2]: chip.cores: is a list; a whole number is expected");
  EXPECT_EQ(problem_of("hbm.latency=120"),
            "--set hbm.latency=120: chip.hbm.latency: '120' has no unit; allowed units: fs, "
            "ps, ns, us, ms, s");
  EXPECT_EQ(
      problem_of("chip0.hbm1.latency=120"),
      "--set chip0.hbm1.latency=120: chip0.hbm1.latency: '120' has no unit; allowed units: fs, ps, ns, us, ms, s");
  EXPECT_NE(problem_of("sbuf.shared_ports=[[vector").find("--set sbuf.shared_ports=[[vector: not YAML"),
            std::string::npos);
  EXPECT_NE(problem_of("chip0.nc0.sbuf.shared_ports=[[vector").find("not YAML"), std::string::npos);
  EXPECT_NE(problem_of("sbuf.shared_ports=[[vector, pool]]").find("'pool' is not one of tensor, vector"),
            std::string::npos);
  EXPECT_NE(problem_of("chip0.hbm1.capacity=65 GiB").find("chip0.hbm1.capacity: 65 GiB is more than the 64 GiB"),
            std::string::npos);
}

TEST(Settings, MessagesHoldNoControlCharacters) {
  for (const std::string& problem : problems_of(
           {"a\x1B[31m=1", "hbm.latency=\x1B[31m", "chip0.\x07=1", "chip0.nc0.\x07=1", "chip0.nc0.dma.queues=\x07"})) {
    for (const char c : problem) EXPECT_TRUE(c >= ' ' && c <= '~') << problem;
  }
}

TEST(Settings, AllProblemsComeTogether) {
  EXPECT_EQ(problems_of({"hbm.bandwith=1", "cores=0", "chip0.nc0.dma.queues=0", "chip0.nc5.dma.queues=1", "x"}).size(),
            3U)
      << "cores=0 leaves no instance to check";
  EXPECT_EQ(problems_of({"hbm.bandwith=1", "cores=3", "chip0.nc0.dma.queues=0", "chip0.nc5.dma.queues=1", "x"}).size(),
            5U);
  try {
    load_platform("trn9", {"hbm.bandwith=1"});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.problems().size(), 2U);
  }
}

TEST(Settings, OverridesThatDoNotApplyThrow) {
  PlatformConfig config = with({});
  config.overrides = {{"chip0.nc0", "dma.nothing", "1", ""}, {"chip0.hbm0", "latency", "soon", ""}};
  EXPECT_THROW(core_config(config, 0, 0), ConfigError);
  EXPECT_THROW(hbm_config(config, 0, 0), ConfigError);
  EXPECT_NO_THROW(core_config(config, 0, 1));
}

}  // namespace
}  // namespace azulejo
