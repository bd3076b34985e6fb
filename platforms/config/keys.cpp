// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/keys.h"

#include <algorithm>

#include "platforms/config/describe.h"
#include "tlm/isa/text.h"

namespace azulejo {

namespace {

std::string_view type_name(Quantity quantity) {
  const std::string_view noun = quantity_noun(quantity);  // "a time"
  return noun.substr(noun.find(' ') + 1);
}

// Visitor: one row a key, with the struct's own value as the default.
class KeyLister {
 public:
  explicit KeyLister(KeyTable& table, std::string prefix = {}) : table_(table), prefix_(std::move(prefix)) {}

  template <class T>
  void integer(std::string_view key, T& value, std::string_view meaning) {
    add(key, "integer", std::to_string(value), meaning);
  }
  void quantity(std::string_view key, std::uint64_t& value, Quantity quantity, std::string_view meaning) {
    add(key, type_name(quantity), format_quantity(quantity, value), meaning);
  }
  void flag(std::string_view key, bool& value, std::string_view meaning) {
    add(key, "true | false", value ? "true" : "false", meaning);
  }
  void text(std::string_view key, std::string& value, std::string_view meaning) { add(key, "text", value, meaning); }

  template <class E>
  void word(std::string_view key, E& value, const ConfigWords<E>& words, std::string_view meaning) {
    std::string type;
    std::string_view chosen;
    for (const auto& [name, meant] : words) {
      type += (type.empty() ? "" : " | ") + std::string(name);
      if (meant == value) chosen = name;
    }
    add(key, type, chosen, meaning);
  }

  template <class E>
  void word_groups(std::string_view key, std::vector<std::vector<E>>& value, const ConfigWords<E>& words,
                   std::string_view meaning) {
    add(key, "groups of " + join_words(names_of(words)), word_groups_text(value, words), meaning);
  }

  template <class C>
  void group(std::string_view key, C& config, std::string_view /*meaning*/) {
    table_.groups.push_back(prefix_ + std::string(key));
    KeyLister lister(table_, prefix_ + std::string(key) + ".");
    describe(lister, config);
  }

  void base(std::string_view key, std::string_view meaning) { add(key, "preset | path", "", meaning); }
  void overrides(std::string_view key, std::vector<InstanceOverride>& /*value*/, std::string_view meaning) {
    add(key, "instance keys", "", meaning);
  }

 private:
  void add(std::string_view key, std::string_view type, std::string_view default_value, std::string_view meaning) {
    table_.leaves.push_back(
        {prefix_ + std::string(key), std::string(type), std::string(default_value), std::string(meaning)});
  }

  KeyTable& table_;
  std::string prefix_;
};

template <class C>
KeyTable keys_of() {
  KeyTable table;
  C config;
  KeyLister lister(table);
  describe(lister, config);
  return table;
}

bool ends_in(std::string_view path, std::string_view key) {
  if (path == key) return true;
  if (path.size() <= key.size() || path[path.size() - key.size() - 1] != '.') return false;
  return path.substr(path.size() - key.size()) == key;
}

bool begins_with(std::string_view path, std::string_view prefix) { return path.substr(0, prefix.size()) == prefix; }

// The last `parts` parts of a dotted path; all of it if it has fewer.
std::string_view last_parts(std::string_view path, std::size_t parts) {
  std::size_t at = path.size();
  for (; parts > 0; --parts) {
    if (at == 0) return path;
    const std::size_t dot = path.rfind('.', at - 1);
    if (dot == std::string_view::npos) return path;
    at = dot;
  }
  return path.substr(at + 1);
}

std::string list_of(const std::vector<std::string>& words) {
  return join_words(std::vector<std::string_view>(words.begin(), words.end()));
}

// The leaves directly or deeper below any group that `key` names.
std::vector<std::string> below_group(const KeyTable& keys, std::string_view key) {
  std::vector<std::string> found;
  for (const std::string& group : keys.groups) {
    if (!ends_in(group, key)) continue;
    for (const KeyInfo& leaf : keys.leaves) {
      if (begins_with(leaf.path, group + ".")) found.push_back(leaf.path);
    }
  }
  return found;
}

std::string unknown_key(const KeyTable& keys, std::string_view key) {
  const auto parts = static_cast<std::size_t>(std::count(key.begin(), key.end(), '.')) + 1;
  std::vector<std::string_view> candidates;
  for (const KeyInfo& leaf : keys.leaves) candidates.push_back(last_parts(leaf.path, parts));
  std::string hint = did_you_mean(key, candidates);
  if (hint.empty() && parts > 1) {
    const std::vector<std::string> siblings = below_group(keys, key.substr(0, key.rfind('.')));
    if (!siblings.empty() && siblings.size() <= 12) hint = "; known there: " + list_of(siblings);
  }
  return "unknown key" + (hint.empty() ? "; `azulejo list keys` prints all" : hint);
}

}  // namespace

const KeyTable& platform_keys() {
  static const KeyTable kTable = keys_of<PlatformConfig>();
  return kTable;
}

const KeyTable& neuron_core_keys() {
  static const KeyTable kTable = keys_of<NeuronCoreConfig>();
  return kTable;
}

const KeyTable& hbm_keys() {
  static const KeyTable kTable = keys_of<HbmConfig>();
  return kTable;
}

std::vector<KeyInfo> list_keys() { return platform_keys().leaves; }

ResolvedKey resolve_key(const KeyTable& keys, std::string_view key) {
  std::vector<std::string> found;
  for (const KeyInfo& leaf : keys.leaves) {
    if (leaf.path == key) return {leaf.path, {}};
    if (ends_in(leaf.path, key)) found.push_back(leaf.path);
  }
  if (found.size() == 1) return {found.front(), {}};
  if (found.size() > 1) return {{}, "names several keys; write one of " + list_of(found)};
  const std::vector<std::string> below = below_group(keys, key);
  if (!below.empty()) return {{}, "names a group of keys; write one of " + list_of(below)};
  return {{}, unknown_key(keys, key)};
}

}  // namespace azulejo
