// SPDX-License-Identifier: Apache-2.0
// The whole platform as plain structs: what a preset file describes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tlm/chiplet/config.h"

namespace azulejo {

// `chip0.nc1.tensor_engine.clock=1 GHz`: one instance's value; wins over the type's. A later one of the same key wins.
struct InstanceOverride {
  std::string path;   // instance, "chip0.nc1" or "chip0.hbm1"
  std::string key;    // key below it, "tensor_engine.clock"
  std::string value;  // as text
  std::string place;  // where it was said, for errors
};

struct PlatformConfig {
  std::string name;  // "trn1.2xlarge"
  std::string description;
  std::uint32_t chips = 1;
  ChipConfig chip;  // every chip
  std::vector<InstanceOverride> overrides;
};

// Configuration of chip `chip` and of its core `core`/stack `stack` with the overrides applied.
// REQUIRES: a validated platform, indices in range.
NeuronCoreConfig core_config(const PlatformConfig& platform, std::uint32_t chip, std::uint32_t core);
HbmConfig hbm_config(const PlatformConfig& platform, std::uint32_t chip, std::uint32_t stack);

// All problems, the overrides' included; empty if none.
std::vector<std::string> validate(const PlatformConfig& config);

// Where the presets of this build lie.
std::string default_preset_directory();

// Reads a preset by name from the preset directory, or a file by path (anything with a '/' or ending in .yaml or .yml),
// applies the `settings` ("KEY=VALUE", in order, later wins; an instance wins over its type) and validates.
//
// A KEY is a key of list_keys() or the end of exactly one of them ("hbm.bandwidth", every HBM), or one instance and a
// key below it ("chip0.nc0.tensor_engine.clock", "chip0.hbm1.bandwidth"). Throws ConfigError with all problems.
PlatformConfig load_platform(const std::string& name_or_path, const std::vector<std::string>& settings,
                             const std::string& preset_directory = default_preset_directory());

// As load_platform(), of `text` as if it stood in the file `file_name`.
PlatformConfig parse_platform(const std::string& text, const std::string& file_name,
                              const std::vector<std::string>& settings = {},
                              const std::string& preset_directory = default_preset_directory());

// Names of the presets, sorted, with their descriptions. Throws ConfigError if there is no such directory.
struct PresetInfo {
  std::string name;
  std::string description;  // of a preset with errors: the first of them
};
std::vector<PresetInfo> list_presets(const std::string& preset_directory = default_preset_directory());

// The effective configuration as YAML that reads back to the same structs.
std::string print_platform(const PlatformConfig& config);

// Every key: path, type or unit, default, meaning; for `azulejo list keys`.
struct KeyInfo {
  std::string path;
  std::string type;
  std::string default_value;
  std::string meaning;
};
std::vector<KeyInfo> list_keys();

}  // namespace azulejo
