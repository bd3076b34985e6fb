// SPDX-License-Identifier: Apache-2.0
// Values of single instances: which instance, which key, and the configuration that results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/config/keys.h"
#include "platforms/config/platform_config.h"
#include "tlm/common/config_reader.h"

namespace azulejo {

struct Instance {
  enum class Kind : std::uint8_t { Core, Stack };
  Kind kind = Kind::Core;
  std::uint32_t chip = 0;
  std::uint32_t index = 0;  // of the core or the stack
};

// "chip0.nc1" and "chip0.hbm1"; nothing for any other text.
std::optional<Instance> parse_instance(std::string_view path);

// The keys below an instance of that kind.
const KeyTable& instance_keys(const Instance& instance);

// An instance's key as a person writes it, "chip0.nc1.tensor_engine.clock".
struct InstanceKey {
  std::string path;  // "chip0.nc1"; empty if there is an error
  std::string key;   // "tensor_engine.clock", in full if it is a known one
  std::string error;
};
InstanceKey split_instance_key(std::string_view text);

// True if `text` begins with "chip" and a digit, so means an instance.
bool means_instance(std::string_view text);

// Replaces the override of the same instance and key, or appends.
void set_override(std::vector<InstanceOverride>& overrides, InstanceOverride added);

// Reads the override's value into a copy of the type's configuration; problems go to `log`.
void apply_override(NeuronCoreConfig& config, const InstanceOverride& override, ConfigLog& log);
void apply_override(HbmConfig& config, const InstanceOverride& override, ConfigLog& log);

}  // namespace azulejo
