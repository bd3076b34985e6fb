// SPDX-License-Identifier: Apache-2.0
// Strict reader of configuration: YAML text to plain structs.
//
// A struct is described once, by a function template `describe(visitor, config)` that names every field with its
// meaning; ConfigReader is the visitor that reads. A field keeps its value unless the text gives one, so defaults live
// in the structs only. Every problem is collected, with its place, the key's path, the value, what is allowed and the
// nearest known word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tlm/common/error.h"
#include "tlm/common/units.h"

namespace azulejo {

// The words of an enumeration and what they stand for.
template <class E>
using ConfigWords = std::vector<std::pair<std::string_view, E>>;

template <class E>
std::vector<std::string_view> names_of(const ConfigWords<E>& words) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : words) names.push_back(name);
  return names;
}

// "[[vector, gpsimd]]".
template <class E>
std::string word_groups_text(const std::vector<std::vector<E>>& groups, const ConfigWords<E>& words) {
  std::string text;
  for (const std::vector<E>& group : groups) {
    std::string members;
    for (const E member : group) {
      for (const auto& [name, value] : words) {
        if (value == member) members += (members.empty() ? "" : ", ") + std::string(name);
      }
    }
    text += (text.empty() ? "[" : ", [") + members + "]";
  }
  return "[" + text + "]";
}

// One value as written: nothing, a scalar, a list or a map.
struct ConfigNode {
  enum class Kind : std::uint8_t { Empty, Scalar, List, Map };
  struct Entry;

  Kind kind = Kind::Empty;
  std::string place;  // "trn.yaml:12:9"
  std::string scalar;
  std::vector<std::shared_ptr<const ConfigNode>> items;
  std::vector<Entry> entries;  // in the order of the text, keys unique
  std::size_t values = 1;      // this one and all below it, aliases written out

  // The value of `key`; null if there is none. REQUIRES: a map.
  const ConfigNode* find(std::string_view key) const;
};

struct ConfigNode::Entry {
  std::string key;
  std::string place;
  std::shared_ptr<const ConfigNode> value;
};

struct ConfigProblem {
  std::string place;  // "trn.yaml:12:9", "--set hbm.capacity=1"; empty if it is no one's
  std::string path;   // of the key, "chip.hbm.capacity"; empty if it is about no key
  std::string sentence;

  // The parts that are not empty, separated by ": "; a path that someone mistyped is made printable.
  std::string text() const;
};

// What reading gathers over all files and settings.
struct ConfigLog {
  std::vector<ConfigProblem> problems;
  std::map<std::string, std::string> places;  // key path -> where its value was said last

  void add(std::string_view place, std::string_view path, std::string_view sentence);
  void add(const ConfigError& error);
  std::vector<std::string> texts() const;  // of all problems
};

// A configuration file's text. Throws ConfigError if `path` cannot be read, is a directory or is larger than 256 KiB.
std::string read_config_text(const std::string& path);

// Parses `text`, whose root must be a map; `name` stands for it in messages. Throws ConfigError for text that is no
// YAML, holds more than one document, a duplicate key, tags, an alias inside its own anchor, more than 16 nested levels
// or more than 20,000 values (aliases written out).
std::shared_ptr<const ConfigNode> parse_config(const std::string& text, const std::string& name);

// One value of a command line at `place`: text that begins with '[' is a YAML list, any other a scalar. Throws
// ConfigError.
std::shared_ptr<const ConfigNode> parse_config_value(const std::string& text, const std::string& place);

// The value as one line that parse_config_value reads back: a scalar, or a list in brackets. REQUIRES: no map inside.
std::string config_value_text(const ConfigNode& node);

// `text` as a YAML scalar, quoted if a plain one would be read as something else.
std::string yaml_scalar(std::string_view text);

// A chain of maps, one for each part of the dotted `path`, that ends in `value`.
std::shared_ptr<const ConfigNode> nest_config(std::string_view path, const std::shared_ptr<const ConfigNode>& value,
                                              const std::string& place);

// Visitor that reads one map into one struct.
class ConfigReader {
 public:
  // `prefix` is put before each key in messages: "" or "chip.nc.". Both references must outlive the reader.
  ConfigReader(const ConfigNode& map, std::string prefix, ConfigLog& log);

  void integer(std::string_view key, std::uint32_t& value, std::string_view meaning);
  void integer(std::string_view key, std::uint64_t& value, std::string_view meaning);
  void quantity(std::string_view key, std::uint64_t& value, Quantity quantity, std::string_view meaning);
  void flag(std::string_view key, bool& value, std::string_view meaning);
  void text(std::string_view key, std::string& value, std::string_view meaning);

  template <class E>
  void word(std::string_view key, E& value, const ConfigWords<E>& words, std::string_view /*meaning*/) {
    if (const ConfigNode* node = take(key)) {
      if (const auto index = word_index(*node, key, names_of(words))) value = words[*index].second;
    }
  }

  // A list of lists of words.
  template <class E>
  void word_groups(std::string_view key, std::vector<std::vector<E>>& value, const ConfigWords<E>& words,
                   std::string_view /*meaning*/) {
    const ConfigNode* node = take(key);
    if (node == nullptr) return;
    const auto groups = word_group_indices(*node, key, names_of(words));
    if (!groups) return;
    value.clear();
    for (const std::vector<std::size_t>& group : *groups) {
      value.emplace_back();
      for (const std::size_t index : group) value.back().push_back(words[index].second);
    }
  }

  // A struct of its own below `key`.
  template <class C>
  void group(std::string_view key, C& config, std::string_view /*meaning*/) {
    if (const ConfigNode* node = take_map(key)) {
      ConfigReader reader(*node, prefix_ + std::string(key) + ".", log_);
      describe(reader, config);
      reader.finish();
    }
  }

  // The value of `key`, which becomes a known one; null if it is not given.
  const ConfigNode* take(std::string_view key);
  // As take(), and a problem unless it is a map.
  const ConfigNode* take_map(std::string_view key);
  // Reports `sentence` about `key` at `node`.
  void problem(const ConfigNode& node, std::string_view key, std::string_view sentence);

  // Reports the keys that nobody took.
  void finish();

 private:
  // The scalar's text; nothing, and a problem that says what is `expected`, for any other kind.
  std::optional<std::string_view> scalar(const ConfigNode& node, std::string_view key, std::string_view expected);
  std::optional<std::uint64_t> integer(std::string_view key, std::uint64_t limit);
  std::optional<std::size_t> word_index(const ConfigNode& node, std::string_view key,
                                        const std::vector<std::string_view>& words);
  std::optional<std::vector<std::vector<std::size_t>>> word_group_indices(const ConfigNode& node, std::string_view key,
                                                                          const std::vector<std::string_view>& words);

  const ConfigNode& map_;
  std::string prefix_;
  ConfigLog& log_;
  std::vector<std::string> known_;
};

// Reads `map` into `config`; problems go to `log`.
template <class C>
void read_config(const ConfigNode& map, C& config, ConfigLog& log, const std::string& prefix = {}) {
  ConfigReader reader(map, prefix, log);
  describe(reader, config);
  reader.finish();
}

}  // namespace azulejo
