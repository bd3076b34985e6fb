// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/config_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>

#include "tlm/isa/text.h"

namespace azulejo {

namespace {

constexpr std::size_t kMaxText = 256 * 1024;  // bytes
constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxValues = 20'000;
constexpr std::size_t kMaxShown = 120;

// `text` cut to `limit` bytes, without what a terminal could take for a command.
std::string printable(std::string_view text, std::size_t limit) {
  std::string shown(text.substr(0, limit));
  for (char& c : shown) c = c >= ' ' && c <= '~' ? c : '?';
  return text.size() > limit ? shown + "..." : shown;
}

std::string place_of(const std::string& name, const YAML::Mark& mark) {
  return name + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
}

// Builds the tree from the parser's events. Throws ConfigError for what YAML allows and we do not.
class TreeBuilder : public YAML::EventHandler {
 public:
  // With `fixed_place` every node gets `name` itself as its place.
  TreeBuilder(std::string name, bool fixed_place) : name_(std::move(name)), fixed_place_(fixed_place) {}

  std::shared_ptr<const ConfigNode> root() const { return root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) fail(mark, "a second document begins; one file holds one document");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    finish(make(mark, ConfigNode::Kind::Empty), anchor, mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) fail(mark, "an alias stands inside the value that it repeats");
    attach(found->second, mark);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    auto node = make(mark, ConfigNode::Kind::Scalar);
    node->scalar = value;
    finish(std::move(node), anchor, mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, ConfigNode::Kind::List);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, ConfigNode::Kind::Map);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::shared_ptr<ConfigNode> node;
    YAML::anchor_t anchor;
    YAML::Mark mark;
    std::shared_ptr<const ConfigNode> key;  // of a map: read, its value not yet
  };

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& sentence) const {
    throw ConfigError(place(mark) + ": " + sentence);
  }

  std::string place(const YAML::Mark& mark) const { return fixed_place_ ? name_ : place_of(name_, mark); }

  std::shared_ptr<ConfigNode> make(const YAML::Mark& mark, ConfigNode::Kind kind) const {
    auto node = std::make_shared<ConfigNode>();
    node->kind = kind;
    node->place = place(mark);
    return node;
  }

  // "?" is a plain and "!" a quoted value without a tag.
  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") {
      fail(mark, "the tag " + quote_word(tag) + " is not accepted; write the value alone");
    }
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, ConfigNode::Kind kind) {
    check_tag(mark, tag);
    if (open_.size() == kMaxDepth) fail(mark, "more than " + std::to_string(kMaxDepth) + " nested levels");
    open_.push_back({make(mark, kind), anchor, mark, nullptr});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    finish(std::move(done.node), done.anchor, done.mark);
  }

  void finish(std::shared_ptr<ConfigNode> node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
    attach(std::move(node), mark);
  }

  void attach(std::shared_ptr<const ConfigNode> node, const YAML::Mark& mark) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    ConfigNode& container = *parent.node;
    container.values += node->values;
    if (container.values > kMaxValues) {
      fail(mark, "more than " + std::to_string(kMaxValues) + " values, aliases written out");
    }
    if (container.kind == ConfigNode::Kind::List) {
      container.items.push_back(std::move(node));
    } else if (parent.key == nullptr) {
      if (node->kind != ConfigNode::Kind::Scalar) fail(mark, "a key must be a word");
      parent.key = std::move(node);
    } else {
      add_entry(container, *parent.key, std::move(node), mark);
      parent.key = nullptr;
    }
  }

  void add_entry(ConfigNode& map, const ConfigNode& key, std::shared_ptr<const ConfigNode> value,
                 const YAML::Mark& mark) {
    const auto [first, added] = keys_[&map].emplace(key.scalar, key.place);
    if (!added) {
      if (fixed_place_) fail(mark, "the key " + quote_word(key.scalar) + " is given twice");
      throw ConfigError(key.place + ": the key " + quote_word(key.scalar) + " is given twice; first at " +
                        first->second);
    }
    map.entries.push_back({key.scalar, key.place, std::move(value)});
  }

  const std::string name_;
  const bool fixed_place_;
  int documents_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::shared_ptr<const ConfigNode>> anchors_;
  std::map<const ConfigNode*, std::map<std::string, std::string>> keys_;  // of each map: key -> place
  std::shared_ptr<const ConfigNode> root_;
};

// The line of `text` that `mark` stands in begins with a tab, YAML's most common trap.
bool indented_by_tab(const std::string& text, const YAML::Mark& mark) {
  std::istringstream lines(text);
  std::string line;
  for (int i = 0; i <= mark.line && std::getline(lines, line); ++i) {
  }
  const std::size_t first = line.find_first_not_of(' ');
  return first != std::string::npos && line[first] == '\t';
}

std::shared_ptr<const ConfigNode> parse(const std::string& text, const std::string& name, bool fixed_place) {
  if (text.size() > kMaxText) {
    throw ConfigError(name + ": more than " + std::to_string(kMaxText / 1024) + " KiB is no configuration");
  }
  TreeBuilder builder(name, fixed_place);
  std::istringstream stream(text);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const std::string place = fixed_place || error.mark.is_null() ? name : place_of(name, error.mark);
    const bool tab = !error.mark.is_null() && indented_by_tab(text, error.mark);
    throw ConfigError(place + ": not YAML: " + printable(error.msg, kMaxShown) +
                      (tab ? "; indent with spaces, not tabs" : ""));
  }
  return builder.root();
}

bool plain_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// True if `text` reads back as itself without quotes outside a list.
bool plain_scalar(std::string_view text) {
  if (text.empty() || !plain_letter(text.front()) || text.back() == ' ') return false;
  for (const char c : text) {
    if (!plain_letter(c) && std::string_view(" .,/+-()=").find(c) == std::string_view::npos) return false;
  }
  return text != "null" && text != "Null" && text != "NULL";
}

std::string quoted_scalar(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      result += "\\x";
      result += kHex[byte >> 4];
      result += kHex[byte & 15];
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace

const ConfigNode* ConfigNode::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return entry.value.get();
  }
  return nullptr;
}

std::string ConfigProblem::text() const {
  return (place.empty() ? "" : place + ": ") + (path.empty() ? "" : printable(path, kMaxShown) + ": ") + sentence;
}

void ConfigLog::add(std::string_view place, std::string_view path, std::string_view sentence) {
  problems.push_back({std::string(place), std::string(path), std::string(sentence)});
}

void ConfigLog::add(const ConfigError& error) {
  for (const std::string& problem : error.problems()) problems.push_back({{}, {}, problem});
}

std::vector<std::string> ConfigLog::texts() const {
  std::vector<std::string> texts;
  for (const ConfigProblem& problem : problems) texts.push_back(problem.text());
  return texts;
}

std::string read_config_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw ConfigError(path + ": is a directory; a file is expected");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError(path + ": cannot be read; there is no such file, or permission is missing");
  std::string text(kMaxText + 1, '\0');  // bounded, since the path may name a device that never ends
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw ConfigError(path + ": reading failed");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxText) {
    throw ConfigError(path + ": more than " + std::to_string(kMaxText / 1024) + " KiB is no configuration");
  }
  return text;
}

std::shared_ptr<const ConfigNode> parse_config(const std::string& text, const std::string& name) {
  auto root = parse(text, name, false);
  if (root == nullptr || root->kind == ConfigNode::Kind::Empty) {
    throw ConfigError(name + ": is empty; a map of keys is expected");
  }
  if (root->kind != ConfigNode::Kind::Map) {
    throw ConfigError(root->place + ": a map of keys is expected, such as 'chips: 1'");
  }
  return root;
}

std::shared_ptr<const ConfigNode> parse_config_value(const std::string& text, const std::string& place) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first != std::string::npos && text[first] == '[') {
    auto root = parse(text, place, true);
    if (root != nullptr) return root;
  }
  auto node = std::make_shared<ConfigNode>();
  node->kind = ConfigNode::Kind::Scalar;
  node->place = place;
  const std::size_t last = text.find_last_not_of(' ');
  if (first != std::string::npos) node->scalar = text.substr(first, last - first + 1);
  return node;
}

std::string config_value_text(const ConfigNode& node) {
  if (node.kind == ConfigNode::Kind::Scalar) return node.scalar;
  if (node.kind == ConfigNode::Kind::Empty) return {};
  std::string text;
  for (const auto& item : node.items) {
    if (!text.empty()) text += ", ";
    if (item->kind != ConfigNode::Kind::Scalar) {
      text += config_value_text(*item);
    } else {
      const bool comma = item->scalar.find(',') != std::string::npos;
      text += comma ? quoted_scalar(item->scalar) : yaml_scalar(item->scalar);
    }
  }
  return "[" + text + "]";
}

std::string yaml_scalar(std::string_view text) { return plain_scalar(text) ? std::string(text) : quoted_scalar(text); }

std::shared_ptr<const ConfigNode> nest_config(std::string_view path, const std::shared_ptr<const ConfigNode>& value,
                                              const std::string& place) {
  std::shared_ptr<const ConfigNode> node = value;
  while (!path.empty()) {
    const std::size_t dot = path.rfind('.');
    auto map = std::make_shared<ConfigNode>();
    map->kind = ConfigNode::Kind::Map;
    map->place = place;
    map->entries.push_back({std::string(dot == std::string_view::npos ? path : path.substr(dot + 1)), place, node});
    node = map;
    path = path.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  return node;
}

ConfigReader::ConfigReader(const ConfigNode& map, std::string prefix, ConfigLog& log)
    : map_(map), prefix_(std::move(prefix)), log_(log) {}

void ConfigReader::problem(const ConfigNode& node, std::string_view key, std::string_view sentence) {
  log_.add(node.place, prefix_ + std::string(key), sentence);
}

const ConfigNode* ConfigReader::take(std::string_view key) {
  known_.emplace_back(key);
  const ConfigNode* node = map_.find(key);
  if (node != nullptr) log_.places[prefix_ + std::string(key)] = node->place;
  return node;
}

const ConfigNode* ConfigReader::take_map(std::string_view key) {
  const ConfigNode* node = take(key);
  if (node == nullptr || node->kind == ConfigNode::Kind::Map) return node;
  problem(*node, key, "a map of keys is expected");
  return nullptr;
}

std::optional<std::string_view> ConfigReader::scalar(const ConfigNode& node, std::string_view key,
                                                     std::string_view expected) {
  switch (node.kind) {
    case ConfigNode::Kind::Scalar:
      return node.scalar;
    case ConfigNode::Kind::Empty:
      problem(node, key, "has no value; " + std::string(expected) + " is expected");
      break;
    case ConfigNode::Kind::List:
      problem(node, key, "is a list; " + std::string(expected) + " is expected");
      break;
    case ConfigNode::Kind::Map:
      problem(node, key, "is a map; " + std::string(expected) + " is expected");
      break;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ConfigReader::integer(std::string_view key, std::uint64_t limit) {
  const ConfigNode* node = take(key);
  if (node == nullptr) return std::nullopt;
  const auto text = scalar(*node, key, "a whole number");
  if (!text) return std::nullopt;
  if (text->empty() || text->find_first_not_of("0123456789") != std::string_view::npos) {
    problem(*node, key, quote_word(*text) + " is not a whole number");
    return std::nullopt;
  }
  std::uint64_t value = 0;
  for (const char c : *text) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (limit - digit) / 10) {
      problem(*node, key, quote_word(*text) + " is too large; at most " + std::to_string(limit));
      return std::nullopt;
    }
    value = value * 10 + digit;
  }
  return value;
}

void ConfigReader::integer(std::string_view key, std::uint32_t& value, std::string_view /*meaning*/) {
  if (const auto read = integer(key, std::numeric_limits<std::uint32_t>::max())) {
    value = static_cast<std::uint32_t>(*read);
  }
}

void ConfigReader::integer(std::string_view key, std::uint64_t& value, std::string_view /*meaning*/) {
  if (const auto read = integer(key, std::numeric_limits<std::uint64_t>::max())) value = *read;
}

void ConfigReader::quantity(std::string_view key, std::uint64_t& value, Quantity quantity,
                            std::string_view /*meaning*/) {
  const ConfigNode* node = take(key);
  if (node == nullptr) return;
  const auto text =
      scalar(*node, key, std::string(quantity_noun(quantity)) + " such as " + std::string(quantity_example(quantity)));
  if (!text) return;
  const ParsedQuantity parsed = parse_quantity(quantity, *text);
  if (parsed.ok) {
    value = parsed.value;
  } else {
    problem(*node, key, parsed.error);
  }
}

void ConfigReader::flag(std::string_view key, bool& value, std::string_view /*meaning*/) {
  if (const ConfigNode* node = take(key)) {
    if (const auto index = word_index(*node, key, {"false", "true"})) value = *index == 1;
  }
}

void ConfigReader::text(std::string_view key, std::string& value, std::string_view /*meaning*/) {
  if (const ConfigNode* node = take(key)) {
    if (const auto read = scalar(*node, key, "text")) value = *read;
  }
}

std::optional<std::size_t> ConfigReader::word_index(const ConfigNode& node, std::string_view key,
                                                    const std::vector<std::string_view>& words) {
  const auto text = scalar(node, key, "one of " + join_words(words));
  if (!text) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), *text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  problem(node, key, quote_word(*text) + " is not one of " + join_words(words) + did_you_mean(*text, words));
  return std::nullopt;
}

std::optional<std::vector<std::vector<std::size_t>>> ConfigReader::word_group_indices(
    const ConfigNode& node, std::string_view key, const std::vector<std::string_view>& words) {
  const std::string expected =
      "a list of groups such as [[" + std::string(words.at(0)) + ", " + std::string(words.at(1)) + "]] is expected";
  bool good = true;
  const auto is_list = [&](const ConfigNode& candidate) {
    if (candidate.kind == ConfigNode::Kind::List) return true;
    problem(candidate, key, expected);
    return good = false;
  };
  std::vector<std::vector<std::size_t>> groups;
  if (!is_list(node)) return std::nullopt;
  for (const auto& item : node.items) {
    if (!is_list(*item)) continue;
    groups.emplace_back();
    for (const auto& word : item->items) {
      const auto index = word_index(*word, key, words);
      if (index) {
        groups.back().push_back(*index);
      } else {
        good = false;
      }
    }
  }
  return good ? std::optional(groups) : std::nullopt;
}

void ConfigReader::finish() {
  const std::vector<std::string_view> known(known_.begin(), known_.end());
  for (const ConfigNode::Entry& entry : map_.entries) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    log_.add(entry.place, prefix_ + entry.key,
             "unknown key; known here: " + join_words(known) + did_you_mean(entry.key, known));
  }
}

}  // namespace azulejo
