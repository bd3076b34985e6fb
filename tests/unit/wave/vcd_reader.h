// SPDX-License-Identifier: Apache-2.0
// A strict reader of four-state VCD (IEEE 1364-2005, clause 18), for tests: everything irregular is an error.
#pragma once

#include <cctype>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace azulejo::test {

struct Vcd {
  struct Variable {
    std::string type;
    unsigned bits = 0;
    std::vector<std::pair<std::uint64_t, std::string>> changes;  // time, `bits` characters of 0 1 x z
  };

  std::string timescale;
  std::map<std::string, Variable> variables;  // by dotted path
  std::vector<std::uint64_t> times;

  // The value at `time` as bits; throws if there is none yet.
  std::string at(const std::string& path, std::uint64_t time) const {
    std::string value;
    for (const auto& [when, bits] : variables.at(path).changes) {
      if (when <= time) value = bits;
    }
    if (value.empty()) throw std::runtime_error(path + " has no value yet");
    return value;
  }

  std::uint64_t number_at(const std::string& path, std::uint64_t time) const {
    std::uint64_t number = 0;
    for (const char bit : at(path, time)) number = 2 * number + (bit == '1' ? 1 : 0);
    return number;
  }

  // Packed ASCII without the leading NULs.
  std::string text_at(const std::string& path, std::uint64_t time) const {
    const std::string bits = at(path, time);
    std::string text;
    for (std::size_t i = 0; i < bits.size(); i += 8) {
      int c = 0;
      for (std::size_t j = i; j < i + 8; ++j) c = 2 * c + (bits.at(j) == '1' ? 1 : 0);
      if (c != 0) {
        text += static_cast<char>(c);
      } else if (!text.empty()) {
        throw std::runtime_error(path + ": NUL inside text");
      }
    }
    return text;
  }
};

inline Vcd read_vcd(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  const auto fail = [&](const std::string& what) { throw std::runtime_error(path + ": " + what); };
  const auto word = [&] {
    std::string text;
    if (!(file >> text)) fail("ends early");
    return text;
  };
  const auto section = [&] {  // the words up to $end
    std::vector<std::string> words;
    for (std::string text = word(); text != "$end"; text = word()) words.push_back(text);
    return words;
  };

  Vcd vcd;
  std::vector<std::string> scopes;
  std::map<std::string, std::vector<std::string>> paths;  // by identifier code: one variable may have several names
  for (bool in_header = true; in_header;) {
    const std::string keyword = word();
    const std::vector<std::string> words = section();
    if (keyword == "$version" || keyword == "$date" || keyword == "$comment") {
      continue;
    } else if (keyword == "$timescale") {
      for (const std::string& part : words) vcd.timescale += part;
    } else if (keyword == "$scope") {
      if (words.size() != 2) fail("malformed $scope");
      scopes.push_back(words[1]);
    } else if (keyword == "$upscope") {
      if (!words.empty() || scopes.empty()) fail("$upscope without $scope");
      scopes.pop_back();
    } else if (keyword == "$var") {
      if (words.size() != 4 && words.size() != 5) fail("malformed $var");
      if (scopes.empty()) fail("variable outside every scope");
      const unsigned bits = static_cast<unsigned>(std::stoul(words[1]));
      for (const char c : words[2]) {
        if (c < '!' || c > '~') fail("identifier code is not printable");
      }
      if (words.size() == 5 && words[4] != "[" + std::to_string(bits - 1) + ":0]")
        fail("range does not fit " + words[1]);
      std::string name;
      for (const std::string& scope : scopes) name += scope + '.';
      name += words[3];
      std::vector<std::string>& names = paths[words[2]];
      if (!names.empty() && vcd.variables.at(names.front()).bits != bits) fail("one identifier code of two widths");
      names.push_back(name);
      if (!vcd.variables.emplace(name, Vcd::Variable{words[0], bits, {}}).second) fail(name + " declared twice");
    } else if (keyword == "$enddefinitions") {
      if (!words.empty() || !scopes.empty()) fail("unbalanced scopes");
      in_header = false;
    } else {
      fail("unknown keyword " + keyword);
    }
  }

  bool have_time = false;
  for (std::string text; file >> text;) {
    if (text.front() == '#') {
      const std::uint64_t time = std::stoull(text.substr(1));
      if (have_time && time <= vcd.times.back()) fail("time does not advance at " + text);
      vcd.times.push_back(time);
      have_time = true;
      continue;
    }
    if (!have_time) fail("value before the first time");
    std::string bits;
    std::string code;
    if (text.front() == 'b') {
      bits = text.substr(1);
      code = word();
    } else {
      bits = text.substr(0, 1);
      code = text.substr(1);
    }
    if (bits.empty() || bits.find_first_not_of("01xz") != std::string::npos) fail("malformed value " + text);
    const auto found = paths.find(code);
    if (found == paths.end()) fail("value of an undeclared identifier " + code);
    for (const std::string& name : found->second) {
      Vcd::Variable& variable = vcd.variables.at(name);
      if (bits.size() > variable.bits) fail("value wider than " + name);
      bits.insert(0, variable.bits - bits.size(), '0');
      variable.changes.emplace_back(vcd.times.back(), bits);
    }
  }
  return vcd;
}

}  // namespace azulejo::test
