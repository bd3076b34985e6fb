// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/overrides.h"

#include "platforms/config/describe.h"
#include "tlm/common/error.h"

namespace azulejo {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "nc12" with the word "nc" is 12; nothing for any other text, for leading zeros and for more than six digits.
std::optional<std::uint32_t> numbered(std::string_view text, std::string_view word) {
  if (text.substr(0, word.size()) != word) return std::nullopt;
  const std::string_view digits = text.substr(word.size());
  if (digits.empty() || digits.size() > 6 || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : digits) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return value;
}

template <class C>
void apply(C& config, const KeyTable& keys, const InstanceOverride& override, ConfigLog& log) {
  const ResolvedKey resolved = resolve_key(keys, override.key);
  if (!resolved.error.empty()) {
    log.add(override.place, override.path + "." + override.key, resolved.error);
    return;
  }
  try {
    const auto value = parse_config_value(override.value, override.place);
    read_config(*nest_config(resolved.path, value, override.place), config, log, override.path + ".");
  } catch (const ConfigError& error) {
    log.add(error);
  }
}

// REQUIRES: a validated platform.
void require_none(const ConfigLog& log) {
  if (!log.problems.empty()) throw ConfigError(log.texts());
}

}  // namespace

std::optional<Instance> parse_instance(std::string_view path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto chip = numbered(path.substr(0, dot), "chip");
  if (!chip) return std::nullopt;
  const std::string_view part = path.substr(dot + 1);
  if (const auto core = numbered(part, "nc")) return Instance{Instance::Kind::Core, *chip, *core};
  if (const auto stack = numbered(part, "hbm")) return Instance{Instance::Kind::Stack, *chip, *stack};
  return std::nullopt;
}

const KeyTable& instance_keys(const Instance& instance) {
  return instance.kind == Instance::Kind::Core ? neuron_core_keys() : hbm_keys();
}

bool means_instance(std::string_view text) {
  return text.size() > 4 && text.substr(0, 4) == "chip" && is_digit(text[4]);
}

InstanceKey split_instance_key(std::string_view text) {
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  const std::string_view path = text.substr(0, second);
  const auto instance = parse_instance(path);
  if (!instance) {
    return {{}, {}, "is no instance; one is a core or an HBM stack of a chip, such as chip0.nc0 or chip0.hbm1"};
  }
  if (second == std::string_view::npos)
    return {{},
            {},
            "is an instance without a key, such as " + std::string(path) + "." +
                instance_keys(*instance).leaves.front().path};
  const std::string_view key = text.substr(second + 1);
  const ResolvedKey resolved = resolve_key(instance_keys(*instance), key);
  return {std::string(path), resolved.error.empty() ? resolved.path : std::string(key), {}};
}

void set_override(std::vector<InstanceOverride>& overrides, InstanceOverride added) {
  for (InstanceOverride& present : overrides) {
    if (present.path == added.path && present.key == added.key) {
      present = std::move(added);
      return;
    }
  }
  overrides.push_back(std::move(added));
}

void apply_override(NeuronCoreConfig& config, const InstanceOverride& override, ConfigLog& log) {
  apply(config, neuron_core_keys(), override, log);
}

void apply_override(HbmConfig& config, const InstanceOverride& override, ConfigLog& log) {
  apply(config, hbm_keys(), override, log);
}

NeuronCoreConfig core_config(const PlatformConfig& platform, std::uint32_t chip, std::uint32_t core) {
  NeuronCoreConfig config = platform.chip.nc;
  ConfigLog log;
  const std::string path = "chip" + std::to_string(chip) + ".nc" + std::to_string(core);
  for (const InstanceOverride& override : platform.overrides) {
    if (override.path == path) apply_override(config, override, log);
  }
  require_none(log);
  return config;
}

HbmConfig hbm_config(const PlatformConfig& platform, std::uint32_t chip, std::uint32_t stack) {
  HbmConfig config = platform.chip.hbm;
  ConfigLog log;
  const std::string path = "chip" + std::to_string(chip) + ".hbm" + std::to_string(stack);
  for (const InstanceOverride& override : platform.overrides) {
    if (override.path == path) apply_override(config, override, log);
  }
  require_none(log);
  return config;
}

}  // namespace azulejo
