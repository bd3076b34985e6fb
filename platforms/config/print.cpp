// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/describe.h"
#include "platforms/config/platform_config.h"

namespace azulejo {

namespace {

// Visitor: one YAML line a key.
class Printer {
 public:
  explicit Printer(std::string& out, std::string indent = {}) : out_(out), indent_(std::move(indent)) {}

  template <class T>
  void integer(std::string_view key, T& value, std::string_view /*meaning*/) {
    line(key, std::to_string(value));
  }
  void quantity(std::string_view key, std::uint64_t& value, Quantity quantity, std::string_view /*meaning*/) {
    line(key, format_quantity(quantity, value));
  }
  void flag(std::string_view key, bool& value, std::string_view /*meaning*/) { line(key, value ? "true" : "false"); }
  void text(std::string_view key, std::string& value, std::string_view /*meaning*/) { line(key, yaml_scalar(value)); }

  template <class E>
  void word(std::string_view key, E& value, const ConfigWords<E>& words, std::string_view /*meaning*/) {
    for (const auto& [name, meant] : words) {
      if (meant == value) line(key, name);
    }
  }

  template <class E>
  void word_groups(std::string_view key, std::vector<std::vector<E>>& value, const ConfigWords<E>& words,
                   std::string_view /*meaning*/) {
    line(key, word_groups_text(value, words));
  }

  template <class C>
  void group(std::string_view key, C& config, std::string_view /*meaning*/) {
    open(key);
    Printer printer(out_, indent_ + "  ");
    describe(printer, config);
  }

  // The values that came from the base are printed themselves.
  void base(std::string_view /*key*/, std::string_view /*meaning*/) {}

  void overrides(std::string_view key, std::vector<InstanceOverride>& value, std::string_view /*meaning*/) {
    if (value.empty()) return;
    open(key);
    Printer printer(out_, indent_ + "  ");
    for (std::size_t i = 0; i < value.size(); ++i) {
      bool repeated = false;  // a later one of the same key wins, and a map has each key once
      for (std::size_t j = i + 1; j < value.size(); ++j) {
        repeated = repeated || (value[j].path == value[i].path && value[j].key == value[i].key);
      }
      const std::string& text = value[i].value;
      const bool list = !text.empty() && text.front() == '[';
      if (!repeated) printer.line(value[i].path + "." + value[i].key, list ? text : yaml_scalar(text));
    }
  }

 private:
  void open(std::string_view key) { out_ += indent_ + std::string(key) + ":\n"; }
  void line(std::string_view key, std::string_view value) {
    out_ += indent_ + std::string(key) + ": " + std::string(value) + "\n";
  }

  std::string& out_;
  std::string indent_;
};

}  // namespace

std::string print_platform(const PlatformConfig& config) {
  std::string out;
  Printer printer(out);
  PlatformConfig copy = config;  // a description names members that a reader may write
  describe(printer, copy);
  return out;
}

}  // namespace azulejo
