// SPDX-License-Identifier: Apache-2.0
// Do platform files read, inherit, print and list as a person expects?
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <tuple>

#include "platforms/config/platform_config.h"
#include "tests/unit/common/temporary_directory.h"
#include "tests/unit/config/equal.h"
#include "tlm/common/error.h"

namespace azulejo {
namespace {

std::vector<std::string> problems_of(const std::string& name, const std::vector<std::string>& settings = {}) {
  try {
    load_platform(name, settings);
  } catch (const ConfigError& error) {
    return error.problems();
  }
  return {};
}

std::string problem_of(const std::string& name) {
  const auto problems = problems_of(name);
  EXPECT_EQ(problems.size(), 1U);
  return problems.empty() ? "" : problems.front();
}

// Compares `text` with tests/golden/config/`name`; AZULEJO_UPDATE_GOLDEN=1 writes it instead.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(AZULEJO_SOURCE_DIR) + "/tests/golden/config/" + name;
  if (std::getenv("AZULEJO_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(text, test::TemporaryDirectory::read(path)) << "refresh with AZULEJO_UPDATE_GOLDEN=1";
}

TEST(PlatformFiles, Trn1PrintsAsItsGolden) {
  expect_golden("trn1.2xlarge.yaml", print_platform(load_platform("trn1.2xlarge", {})));
}

TEST(PlatformFiles, Trn2PrintsAsItsGolden) {
  expect_golden("trn2.3xlarge.yaml", print_platform(load_platform("trn2.3xlarge", {})));
}

TEST(PlatformFiles, KeysListAsTheirGolden) {
  std::string text;
  for (const KeyInfo& key : list_keys()) {
    text += key.path + "\t" + key.type + "\t" + key.default_value + "\t" + key.meaning + "\n";
    EXPECT_FALSE(key.meaning.empty()) << key.path;
  }
  expect_golden("keys.txt", text);
}

TEST(PlatformFiles, ThePresetsHoldTheDocumentedValues) {
  const PlatformConfig trn1 = load_platform("trn1.2xlarge", {});
  EXPECT_EQ(trn1.name, "trn1.2xlarge");
  EXPECT_EQ(trn1.chip.cores, 2U);
  EXPECT_EQ(trn1.chip.nc.sbuf.partitions * trn1.chip.nc.sbuf.partition_size, 24ULL << 20);
  EXPECT_EQ(trn1.chip.hbm_stacks * trn1.chip.hbm.bandwidth, 820'000'000'000U);
  EXPECT_EQ(trn1.chip.nc.dma.descriptor_time, 146U * kFsPerNanosecond);
  const PlatformConfig trn2 = load_platform("trn2.3xlarge", {});
  EXPECT_EQ(trn2.chip.cores, 8U);
  EXPECT_EQ(trn2.chip.nc.generation, Generation::NeuronCoreV3);
  EXPECT_EQ(trn2.chip.nc.sbuf.partitions * trn2.chip.nc.sbuf.partition_size, 28ULL << 20);
  EXPECT_EQ(trn2.chip.hbm_stacks * trn2.chip.hbm.capacity, 96ULL << 30);
  EXPECT_EQ(trn2.chip.nc.vector_engine.random_source, RandomSource::Xorwow);
  EXPECT_TRUE(trn2.chip.nc.psum.shared_ports.empty());
}

TEST(PlatformFiles, EveryValueOfAPresetSaysWhereItComesFrom) {
  for (const PresetInfo& preset : list_presets()) {
    std::istringstream lines(test::TemporaryDirectory::read(default_preset_directory() + "/" + preset.name + ".yaml"));
    for (std::string line; std::getline(lines, line);) {
      const bool value = line.find(": ") != std::string::npos && line.front() != '#' && line.find("description:") != 0;
      EXPECT_TRUE(!value || line.find(" # ") != std::string::npos) << preset.name << ": " << line;
    }
  }
}

TEST(PlatformFiles, PresetsAreListedWithTheirDescriptions) {
  const auto presets = list_presets();
  ASSERT_GE(presets.size(), 2U);
  EXPECT_EQ(presets.front().name, "trn1.2xlarge");
  EXPECT_EQ(presets.front().description, "AWS Trainium1, 1 chip with 2 NeuronCores-v2");
  for (const PresetInfo& preset : presets) EXPECT_TRUE(problems_of(preset.name).empty()) << preset.name;
}

TEST(PlatformFiles, ABrokenPresetIsListedWithItsProblem) {
  const test::TemporaryDirectory directory;
  directory.write("b.yaml", "description: good\n");
  directory.write("a.yaml", "chips: many\n");
  directory.write("notes.txt", "no preset");
  const auto presets = list_presets(directory.path());
  ASSERT_EQ(presets.size(), 2U);
  EXPECT_NE(presets[0].description.find("'many' is not a whole number"), std::string::npos);
  EXPECT_EQ(presets[1].description, "good");
  EXPECT_EQ(load_platform("b", {}, directory.path()).description, "good");
  EXPECT_THROW(list_presets(directory.file("none")), ConfigError);
}

TEST(PlatformFiles, APrintedPlatformReadsBackToTheSameStructs) {
  const std::vector<std::vector<std::string>> settings{
      {},
      {"name=mine: or yours", "description=\"quoted\"\\", "hbm.bandwidth=103079215104 B/s", "dma.start_latency=1 fs"},
      {"chip0.nc1.tensor_engine.clock=1 GHz", "chip0.nc0.sbuf.shared_ports=[[vector, scalar], [gpsimd, sync]]",
       "chip0.hbm1.latency=1 us", "chip0.nc1.tensor_engine.clock=2 GHz"},
  };
  for (const std::string preset : {"trn1.2xlarge", "trn2.3xlarge"}) {
    for (const auto& set : settings) {
      const PlatformConfig config = load_platform(preset, set);
      const PlatformConfig again = parse_platform(print_platform(config), "other.yaml");
      EXPECT_TRUE(equal(config, again)) << print_platform(config) << print_platform(again);
    }
  }
}

// A value unlike the default of each kind of key.
std::string changed(const KeyInfo& key) {
  if (key.path == "chip.nc.sbuf.partitions" || key.path == "chip.nc.psum.partitions") return "";  // one legal value
  const std::map<std::string, std::string> by_path{{"name", "another"},
                                                   {"description", "another"},
                                                   {"chip.hbm_stacks", "1"},
                                                   {"chip.nc.tensor_engine.pe_stages", "2"},
                                                   {"chip.nc.dma.ring_entries", "64"},
                                                   {"chip.nc.sbuf.banks", "2"},
                                                   {"chip.nc.psum.banks", "4"},
                                                   {"chip.hbm.access_size", "32 B"},
                                                   {"chip.nc.psum.partition_size", "8 KiB"}};
  if (const auto found = by_path.find(key.path); found != by_path.end()) return found->second;
  const std::map<std::string, std::string> by_type{
      {"integer", "11"}, {"time", "77 ps"}, {"frequency", "123 kHz"}, {"size", "64 KiB"}, {"bandwidth", "5 MB/s"}};
  if (const auto found = by_type.find(key.type); found != by_type.end()) return found->second;
  if (key.type == "true | false") return "true";
  if (key.type.find(" | ") != std::string::npos) return key.type.substr(key.type.rfind(' ') + 1);
  return "[[tensor, sync]]";
}

TEST(PlatformFiles, EveryKeyCanBeSetAndReadsBack) {
  const PlatformConfig before = load_platform("trn1.2xlarge", {});
  for (const KeyInfo& key : list_keys()) {
    if (key.path == "base" || key.path == "overrides") continue;
    const std::string value = changed(key);
    if (value.empty()) continue;
    std::vector<std::string> settings{key.path + "=" + value};
    if (key.path == "chip.cores") settings.emplace_back("chip.hbm_stacks=1");  // 11 cores share 1 stack
    const PlatformConfig after = load_platform("trn1.2xlarge", settings);
    EXPECT_FALSE(equal(before, after)) << key.path;
    EXPECT_TRUE(equal(after, parse_platform(print_platform(after), "trn1.2xlarge.yaml"))) << key.path;
  }
}

TEST(PlatformFiles, AFileIsReadByPathAndNamedAfterItself) {
  const test::TemporaryDirectory directory;
  const PlatformConfig config = load_platform(directory.write("mine.yaml", "chips: 3\n"), {});
  EXPECT_EQ(config.name, "mine");
  EXPECT_EQ(config.chips, 3U);
  EXPECT_EQ(load_platform(directory.write("plain", "name: given\n"), {}).name, "given");
}

TEST(PlatformFiles, AFileChangesOnlyWhatItNamesOfItsBase) {
  const test::TemporaryDirectory directory;
  directory.write("half.yaml",
                  "base: trn2.3xlarge\nchip:\n  cores: 4\noverrides:\n  chip0.nc3.dma.bandwidth: 1 GB/s\n");
  const std::string path = directory.write(
      "quarter.yaml", "chip: {hbm_stacks: 2}\nbase: half.yaml\noverrides: {chip0.nc3.dma.bandwidth: 2 GB/s}\n");
  PlatformConfig expected = load_platform("trn2.3xlarge", {});
  expected.name = "quarter";
  expected.chip.cores = 4;
  expected.chip.hbm_stacks = 2;
  expected.overrides = {{"chip0.nc3", "dma.bandwidth", "2 GB/s", ""}};
  EXPECT_TRUE(equal(load_platform(path, {}), expected));
  EXPECT_EQ(core_config(load_platform(path, {}), 0, 3).dma.bandwidth, 2'000'000'000U);
}

TEST(PlatformFiles, BasesThatCannotBeFollowedAreErrors) {
  const test::TemporaryDirectory directory;
  const std::string self = directory.write("self.yaml", "base: ./self.yaml\n");
  EXPECT_NE(problem_of(self).find("is its own base"), std::string::npos);
  directory.write("a.yaml", "base: b.yaml\n");
  directory.write("b.yaml", "base: a.yaml\n");
  EXPECT_NE(problem_of(directory.file("a.yaml")).find("is its own base"), std::string::npos);
  const std::string unknown = directory.write("u.yaml", "base: trn1.2xlrge\n");
  EXPECT_EQ(problem_of(unknown),
            unknown +
                ":1:7: base: 'trn1.2xlrge' is no preset; presets: trn1.2xlarge, trn2.3xlarge; did you "
                "mean 'trn1.2xlarge'?; a file is given by a path with a '/' or ending in .yaml");
  EXPECT_NE(problem_of(directory.write("m.yaml", "base: missing.yaml\n")).find("there is no file"), std::string::npos);
  EXPECT_NE(problem_of(directory.write("l.yaml", "base: [a]\n")).find("the name of a preset"), std::string::npos);
  for (int i = 0; i < 20; ++i) {
    directory.write("c" + std::to_string(i) + ".yaml", "base: c" + std::to_string(i + 1) + ".yaml\n");
  }
  EXPECT_NE(problem_of(directory.file("c0.yaml")).find("more than 16 files in a row"), std::string::npos);
}

TEST(PlatformFiles, FilesThatCannotBeReadAreErrors) {
  const test::TemporaryDirectory directory;
  EXPECT_NE(problem_of("trn9").find("'trn9' is no preset"), std::string::npos);
  EXPECT_NE(problem_of("").find("is no preset"), std::string::npos);
  EXPECT_NE(problem_of("none.yaml").find("there is no such file"), std::string::npos);
  EXPECT_NE(problem_of(directory.path() + "/").find("is a directory"), std::string::npos);
  EXPECT_NE(problem_of(directory.write("bad.yaml", "chips: [\n")).find("not YAML"), std::string::npos);
  EXPECT_NE(problem_of(directory.write("list.yaml", "- chips\n")).find("a map of keys is expected"), std::string::npos);
  EXPECT_THROW(load_platform("trn1.2xlarge", {}, directory.file("none")), ConfigError);
}

TEST(PlatformFiles, AProblemOfValidationPointsAtTheLine) {
  const test::TemporaryDirectory directory;
  const std::string path =
      directory.write("x.yaml", "chip:\n  hbm:\n    access_size: 48 B\n  nc: {dma: {queues: 0}}\n");
  const std::vector<std::string> expected{
      path + ":4:22: chip.nc.dma.queues: 0 is outside 1 to 16",
      path + ":3:18: chip.hbm.access_size: 48 B is not a power of two",
  };
  EXPECT_EQ(problems_of(path), expected);
}

TEST(PlatformFiles, AValueThatIsNotGivenPointsAtTheFile) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.write("x.yaml", "chip: {cores: 3}\n");
  EXPECT_EQ(problem_of(path),
            path + ":1:15: chip.cores: 3 do not share 2 hbm_stacks evenly; one must be a multiple of the other");
  EXPECT_NE(problems_of(path, {"chip.cores=1", "chips=0"}).front().find("--set chips=0: chips: 0 is outside"),
            std::string::npos);
}

TEST(PlatformFiles, OverridesInAFileAreCheckedWhereTheyStand) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.write("x.yaml",
                                           "overrides:\n"
                                           "  chip0.nc0.dma.bandwidth: 0 B/s\n"
                                           "  chip0.nc0: 3\n"
                                           "  chip0.nc1.sbuf: 3\n"
                                           "  nc0.dma.queues: 3\n"
                                           "  chip0.hbm0.latency: {a: b}\n"
                                           "  chip0.hbm9.latency: 1 ns\n");
  const std::vector<std::string> problems = problems_of(path);
  const auto found = [&](const std::string& text) {
    for (const std::string& problem : problems) {
      if (problem.find(text) != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_EQ(problems.size(), 6U);
  EXPECT_TRUE(found(path + ":2:28: chip0.nc0.dma.bandwidth: 0 B/s is outside 1 B/s to 1000 TB/s"));
  EXPECT_TRUE(found(path + ":3:14: overrides: 'chip0.nc0' is an instance without a key"));
  EXPECT_TRUE(found(path + ":4:19: chip0.nc1.sbuf: names a group of keys; write one of sbuf.partitions"));
  EXPECT_TRUE(found("'nc0.dma.queues' is no instance"));
  EXPECT_TRUE(found("'chip0.hbm0.latency' needs one value"));
  EXPECT_TRUE(found(path + ":7:23: chip0.hbm9.latency: there is no such instance; a chip has hbm0 to hbm1"));
}

}  // namespace
}  // namespace azulejo
