// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/validate.h"

#include <algorithm>
#include <optional>

#include "platforms/config/overrides.h"
#include "tlm/common/error.h"
#include "tlm/common/units.h"
#include "tlm/isa/address_map.h"

namespace azulejo {

namespace {

constexpr std::uint32_t kMaxChips = 1024;  // far beyond the largest instance: 144 in a Trn3 Gen2 UltraServer

void check_window(std::vector<std::string>& problems, const std::string& key, std::uint64_t size,
                  std::uint64_t window) {
  if (size <= window) return;
  problems.push_back(key + ": " + format_quantity(Quantity::Size, size) + " is more than the " +
                     format_quantity(Quantity::Size, window) + " that the address map leaves");
}

// What the address map adds to the part's own rules.
std::vector<std::string> window_problems(const NeuronCoreConfig& config) {
  std::vector<std::string> problems;
  check_window(problems, "sbuf.partition_size", config.sbuf.partition_size, address_map::kSbufPartitionStride);
  check_window(problems, "psum.partition_size", config.psum.partition_size, address_map::kPsumPartitionStride);
  return problems;
}

std::vector<std::string> window_problems(const HbmConfig& config) {
  std::vector<std::string> problems;
  check_window(problems, "capacity", config.capacity, address_map::kHbmStride);
  return problems;
}

template <class C>
std::vector<std::string> part_problems(const C& config) {
  std::vector<std::string> problems = validate(config);
  const std::vector<std::string> more = window_problems(config);
  problems.insert(problems.end(), more.begin(), more.end());
  return problems;
}

ConfigProblem split(const std::string& problem) {
  const std::size_t colon = problem.find(": ");
  return {{}, problem.substr(0, colon), problem.substr(colon + 2)};
}

// "nc0 to nc7", "only nc0". REQUIRES: count > 0.
std::string numbered_from_zero(const std::string& word, std::uint32_t count) {
  return count == 1 ? "only " + word + "0" : word + "0 to " + word + std::to_string(count - 1);
}

// Out of range or unknown; nothing if the override can be applied.
std::optional<std::string> misplaced(const PlatformConfig& config, const InstanceOverride& override) {
  const auto instance = parse_instance(override.path);
  if (!instance) return split_instance_key(override.path).error;
  if (instance->chip >= config.chips) {
    return "there is no such chip; the platform has " + numbered_from_zero("chip", config.chips);
  }
  const bool core = instance->kind == Instance::Kind::Core;
  const std::uint32_t count = core ? config.chip.cores : config.chip.hbm_stacks;
  if (instance->index >= count) {
    return "there is no such instance; a chip has " + numbered_from_zero(core ? "nc" : "hbm", count);
  }
  return std::nullopt;
}

// Where an instance's problem with `key` was caused: by the override of that key, else by the instance's first.
const InstanceOverride& cause(const std::vector<const InstanceOverride*>& overrides, const std::string& key) {
  for (const InstanceOverride* override : overrides) {
    if (override->key == key) return *override;
  }
  return *overrides.front();
}

// The overrides of one instance, applied to a copy of its type's configuration.
template <class C>
void check_instance(std::vector<ConfigProblem>& problems, const C& type,
                    const std::vector<const InstanceOverride*>& overrides) {
  C config = type;
  ConfigLog log;
  for (const InstanceOverride* override : overrides) apply_override(config, *override, log);
  problems.insert(problems.end(), log.problems.begin(), log.problems.end());
  const std::vector<std::string> of_type = part_problems(type);
  for (const std::string& problem : part_problems(config)) {
    if (std::find(of_type.begin(), of_type.end(), problem) != of_type.end()) continue;
    ConfigProblem found = split(problem);
    const InstanceOverride& override = cause(overrides, found.path);
    problems.push_back({override.place, override.path + "." + found.path, found.sentence});
  }
}

void check_overrides(std::vector<ConfigProblem>& problems, const PlatformConfig& config) {
  std::vector<const InstanceOverride*> good;
  for (const InstanceOverride& override : config.overrides) {
    if (auto sentence = misplaced(config, override)) {
      problems.push_back({override.place, override.path + "." + override.key, *sentence});
    } else {
      good.push_back(&override);
    }
  }
  while (!good.empty()) {
    const std::string path = good.front()->path;
    const auto others = std::stable_partition(good.begin(), good.end(),
                                              [&](const InstanceOverride* override) { return override->path == path; });
    const std::vector<const InstanceOverride*> same(good.begin(), others);
    if (parse_instance(path)->kind == Instance::Kind::Core) {
      check_instance(problems, config.chip.nc, same);
    } else {
      check_instance(problems, config.chip.hbm, same);
    }
    good.erase(good.begin(), others);
  }
}

}  // namespace

std::vector<ConfigProblem> check_platform(const PlatformConfig& config) {
  std::vector<std::string> of_types;
  check_range(of_types, "chips", config.chips, 1, kMaxChips);
  add_problems(of_types, "chip", validate(config.chip));
  add_problems(of_types, "chip.nc", window_problems(config.chip.nc));
  add_problems(of_types, "chip.hbm", window_problems(config.chip.hbm));

  std::vector<ConfigProblem> problems;
  for (const std::string& problem : of_types) problems.push_back(split(problem));
  if (config.chips != 0 && config.chip.cores != 0 && config.chip.hbm_stacks != 0) check_overrides(problems, config);
  return problems;
}

std::vector<std::string> validate(const PlatformConfig& config) {
  std::vector<std::string> problems;
  for (const ConfigProblem& problem : check_platform(config)) problems.push_back(problem.text());
  return problems;
}

}  // namespace azulejo
