// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "platforms/config/describe.h"
#include "platforms/config/overrides.h"
#include "platforms/config/platform_config.h"
#include "platforms/config/validate.h"
#include "tlm/common/config_reader.h"
#include "tlm/common/error.h"
#include "tlm/isa/text.h"

namespace azulejo {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBases = 16;
constexpr std::size_t kMaxShownSetting = 120;

bool has_yaml_ending(const std::string& name) {
  const fs::path ending = fs::path(name).extension();
  return ending == ".yaml" || ending == ".yml";
}

bool is_path(const std::string& name) { return name.find('/') != std::string::npos || has_yaml_ending(name); }

std::string stem(const std::string& path) {
  const fs::path name = fs::path(path).filename();
  return has_yaml_ending(path) ? name.stem().string() : name.string();
}

// Sorted. Throws ConfigError if there is no such directory.
std::vector<std::string> preset_names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".yaml") names.push_back(entry->path().stem().string());
  }
  if (error) throw ConfigError(directory + ": the preset directory cannot be read: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

// The file of `name`: a preset, or a path as seen from `directory`. Throws ConfigError for an unknown preset.
std::string find_file(const std::string& name, const fs::path& directory, const std::string& preset_directory) {
  if (is_path(name)) return directory.empty() || fs::path(name).is_absolute() ? name : (directory / name).string();
  const std::vector<std::string> presets = preset_names(preset_directory);
  if (std::find(presets.begin(), presets.end(), name) != presets.end()) {
    return (fs::path(preset_directory) / (name + ".yaml")).string();
  }
  const std::vector<std::string_view> words(presets.begin(), presets.end());
  throw ConfigError(quote_word(name) + " is no preset; presets: " + join_words(words) + did_you_mean(name, words) +
                    "; a file is given by a path with a '/' or ending in .yaml");
}

// Visitor that adds what only a whole platform has.
class PlatformReader : public ConfigReader {
 public:
  using ConfigReader::ConfigReader;

  // The file's reader has followed it already.
  void base(std::string_view key, std::string_view /*meaning*/) { take(key); }

  void overrides(std::string_view key, std::vector<InstanceOverride>& value, std::string_view /*meaning*/) {
    const ConfigNode* node = take_map(key);
    if (node == nullptr) return;
    for (const ConfigNode::Entry& entry : node->entries) {
      const InstanceKey instance = split_instance_key(entry.key);
      if (!instance.error.empty()) {
        problem(*entry.value, key, quote_word(entry.key) + " " + instance.error);
      } else if (entry.value->kind == ConfigNode::Kind::Scalar || entry.value->kind == ConfigNode::Kind::List) {
        set_override(value, {instance.path, instance.key, config_value_text(*entry.value), entry.value->place});
      } else {
        problem(*entry.value, key, quote_word(entry.key) + " needs one value");
      }
    }
  }
};

// Reads files, each after its base, and settings into one platform.
class Loader {
 public:
  explicit Loader(std::string preset_directory) : preset_directory_(std::move(preset_directory)) {}

  // Problems of a file that cannot be read or parsed are collected as all others.
  void read_file(const std::string& path) {
    try {
      read_text(read_config_text(path), path);
    } catch (const ConfigError& error) {
      give_up(error);
    }
  }

  void read_named(const std::string& name) {
    try {
      read_file(find_file(name, {}, preset_directory_));
    } catch (const ConfigError& error) {
      give_up(error);
    }
  }

  // Throws ConfigError if `text` does not parse.
  void read_text(const std::string& text, const std::string& path) {
    if (main_file_.empty()) main_file_ = path;
    const auto root = parse_config(text, path);
    std::error_code ignored;
    fs::path canonical = fs::weakly_canonical(path, ignored);
    chain_.push_back(canonical.empty() ? fs::path(path) : std::move(canonical));
    if (const ConfigNode* base = root->find("base")) read_base(*base, path);
    chain_.pop_back();
    platform_.name = stem(path);
    PlatformReader reader(*root, {}, log_);
    describe(reader, platform_);
    reader.finish();
  }

  void apply(const std::string& setting) {
    std::string place = "--set " + setting.substr(0, kMaxShownSetting);
    for (char& c : place) c = c >= ' ' && c <= '~' ? c : '?';
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      log_.add(place, {}, "KEY=VALUE is expected, such as hbm.bandwidth='400 GB/s'");
      return;
    }
    const std::string key = setting.substr(0, equals);
    const std::string value = setting.substr(equals + 1);
    if (means_instance(key)) {
      InstanceKey instance = split_instance_key(key);
      if (instance.error.empty()) {
        set_override(platform_.overrides, {instance.path, instance.key, value, place});
      } else {
        log_.add(place, {}, quote_word(key) + " " + instance.error);
      }
      return;
    }
    apply_to_type(key, value, place);
  }

  // Validates what was read. Throws ConfigError with all problems.
  PlatformConfig finish() {
    if (complete_) {
      for (ConfigProblem problem : check_platform(platform_)) {
        if (problem.place.empty()) problem.place = said_at(problem.path);
        log_.problems.push_back(std::move(problem));
      }
    }
    if (!log_.problems.empty()) throw ConfigError(log_.texts());
    return std::move(platform_);
  }

  // The platform as far as it was read, not validated.
  const PlatformConfig& platform() const { return platform_; }
  const std::vector<ConfigProblem>& problems() const { return log_.problems; }

 private:
  // What was read so far is no platform: validating it would blame the defaults.
  void give_up(const ConfigError& error) {
    log_.add(error);
    complete_ = false;
  }

  void read_base(const ConfigNode& base, const std::string& path) {
    if (base.kind != ConfigNode::Kind::Scalar || base.scalar.empty()) {
      log_.add(base.place, "base", "the name of a preset or the path of a file is expected");
      complete_ = false;
      return;
    }
    try {
      const std::string file = find_file(base.scalar, fs::path(path).parent_path(), preset_directory_);
      std::error_code ignored;
      const fs::path canonical = fs::weakly_canonical(file, ignored);
      if (std::find(chain_.begin(), chain_.end(), canonical) != chain_.end()) {
        throw ConfigError(file + " is its own base");
      }
      if (chain_.size() >= kMaxBases) throw ConfigError("more than " + std::to_string(kMaxBases) + " files in a row");
      if (!fs::exists(file, ignored)) throw ConfigError("there is no file " + quote_word(file));
      read_file(file);
    } catch (const ConfigError& error) {
      log_.add(base.place, "base", error.what());
      complete_ = false;
    }
  }

  void apply_to_type(const std::string& key, const std::string& value, const std::string& place) {
    if (key == "base" || key == "overrides") {
      log_.add(place, key, "can be given in a file only");
      return;
    }
    const ResolvedKey resolved = resolve_key(platform_keys(), key);
    if (!resolved.error.empty()) {
      const bool instance = split_instance_key("chip0." + key).error.empty();
      log_.add(place, key,
               resolved.error + (instance ? "; an instance begins with its chip: " + quote_word("chip0." + key) : ""));
      return;
    }
    try {
      const auto node = nest_config(resolved.path, parse_config_value(value, place), place);
      PlatformReader reader(*node, {}, log_);
      describe(reader, platform_);
    } catch (const ConfigError& error) {
      log_.add(error);
    }
  }

  // Where the key, or the nearest map around it, was said last; the file if nowhere.
  std::string said_at(std::string path) const {
    while (!path.empty()) {
      const auto found = log_.places.find(path);
      if (found != log_.places.end()) return found->second;
      const std::size_t dot = path.rfind('.');
      path.resize(dot == std::string::npos ? 0 : dot);
    }
    return main_file_;
  }

  const std::string preset_directory_;
  PlatformConfig platform_;
  ConfigLog log_;
  std::vector<fs::path> chain_;  // the files being read, each the base of the one before
  std::string main_file_;
  bool complete_ = true;
};

}  // namespace

std::string default_preset_directory() { return AZULEJO_PRESET_DIR; }

PlatformConfig load_platform(const std::string& name_or_path, const std::vector<std::string>& settings,
                             const std::string& preset_directory) {
  Loader loader(preset_directory);
  loader.read_named(name_or_path);
  for (const std::string& setting : settings) loader.apply(setting);
  return loader.finish();
}

PlatformConfig parse_platform(const std::string& text, const std::string& file_name,
                              const std::vector<std::string>& settings, const std::string& preset_directory) {
  Loader loader(preset_directory);
  loader.read_text(text, file_name);
  for (const std::string& setting : settings) loader.apply(setting);
  return loader.finish();
}

std::vector<PresetInfo> list_presets(const std::string& preset_directory) {
  std::vector<PresetInfo> presets;
  for (const std::string& name : preset_names(preset_directory)) {
    Loader loader(preset_directory);
    loader.read_named(name);
    const bool good = loader.problems().empty();
    presets.push_back({name, good ? loader.platform().description : loader.problems().front().text()});
  }
  return presets;
}

}  // namespace azulejo
