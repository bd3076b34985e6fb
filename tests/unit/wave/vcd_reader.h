// SPDX-License-Identifier: Apache-2.0
// A strict reader of four-state VCD (IEEE 1364-2005, clause 18), for tests: everything irregular is an error.
//
// Beyond the grammar: a name may have the index of an array's word or of a generate block (`psum[3]`), as all
// simulators write it; there is a time scale, no value comes before the first time, times grow, and the last line is
// complete.
#pragma once

#include <cctype>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
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
    bool range = false;
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
    for (const char bit : at(path, time)) {
      if (bit != '0' && bit != '1') throw std::runtime_error(path + " is not a number");
      number = 2 * number + (bit == '1' ? 1 : 0);
    }
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
  std::string content;
  {
    std::ifstream opened(path, std::ios::binary);
    if (!opened) throw std::runtime_error("cannot open " + path);
    std::ostringstream all;
    all << opened.rdbuf();
    content = all.str();
  }
  const auto fail = [&](const std::string& what) { throw std::runtime_error(path + ": " + what); };
  if (content.empty() || content.back() != '\n') fail("the last line is not complete");
  std::istringstream file(content);
  const auto word = [&] {
    std::string text;
    if (!(file >> text)) fail("ends early");
    return text;
  };
  const auto number = [&](const std::string& text) {  // decimal digits and nothing else, up to 64 bits
    std::uint64_t value = 0;
    if (text.empty()) fail("a number is missing");
    for (const char c : text) {
      const auto digit = static_cast<std::uint64_t>(c - '0');
      if (c < '0' || c > '9' || value > (UINT64_MAX - digit) / 10) fail("number " + text);
      value = 10 * value + digit;
    }
    return value;
  };
  const auto name_of = [&](const std::string& text) {  // an identifier, with indices
    std::size_t i = 0;
    if (text[0] == '\\') return text;
    for (; i < text.size() && text[i] != '['; ++i) {
      const bool letter = std::isalpha(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_';
      const bool more = std::isdigit(static_cast<unsigned char>(text[i])) != 0 || text[i] == '$';
      if (!letter && (!more || i == 0)) fail("name " + text);
    }
    if (i == 0) fail("name " + text);
    while (i < text.size()) {
      const std::size_t end = text.find(']', i);
      if (text[i] != '[' || end == std::string::npos) fail("name " + text);
      number(text.substr(i + 1, end - i - 1));
      i = end + 1;
    }
    return text;
  };
  const auto section = [&] {  // the words up to $end
    std::vector<std::string> words;
    for (std::string text = word(); text != "$end"; text = word()) words.push_back(text);
    return words;
  };
  const std::set<std::string> scope_types = {"begin", "fork", "function", "module", "task"};
  const std::set<std::string> variable_types = {"event", "integer", "parameter", "reg",   "supply0", "supply1",
                                                "time",  "tri",     "triand",    "trior", "trireg",  "tri0",
                                                "tri1",  "wand",    "wire",      "wor"};
  const std::set<std::string> timescales = {"s", "ms", "us", "ns", "ps", "fs"};

  Vcd vcd;
  std::vector<std::string> scopes;
  std::map<std::string, std::vector<std::string>> paths;  // by identifier code: one variable may have several names
  for (bool in_header = true; in_header;) {
    const std::string keyword = word();
    const std::vector<std::string> words = section();
    if (keyword == "$version" || keyword == "$date" || keyword == "$comment") {
      continue;
    } else if (keyword == "$timescale") {
      if (!vcd.timescale.empty() || words.size() > 2) fail("malformed $timescale");
      for (const std::string& part : words) vcd.timescale += part;
      const std::size_t unit = vcd.timescale.find_first_not_of("0123456789");
      const std::string count = vcd.timescale.substr(0, unit);
      if (count != "1" && count != "10" && count != "100") fail("malformed $timescale");
      if (timescales.count(vcd.timescale.substr(count.size())) == 0) fail("malformed $timescale");
    } else if (keyword == "$scope") {
      if (words.size() != 2 || scope_types.count(words[0]) == 0) fail("malformed $scope");
      scopes.push_back(name_of(words[1]));
    } else if (keyword == "$upscope") {
      if (!words.empty() || scopes.empty()) fail("$upscope without $scope");
      scopes.pop_back();
    } else if (keyword == "$var") {
      if (words.size() != 4 && words.size() != 5) fail("malformed $var");
      if (variable_types.count(words[0]) == 0) fail("variable type " + words[0]);
      if (scopes.empty()) fail("variable outside every scope");
      const std::uint64_t bits = number(words[1]);
      if (bits == 0 || bits > 1'000'000) fail("size " + words[1]);
      for (const char c : words[2]) {
        if (c < '!' || c > '~') fail("identifier code is not printable");
      }
      if (words.size() == 5 && words[4] != "[" + std::to_string(bits - 1) + ":0]")
        fail("range does not fit " + words[1]);
      std::string name;
      for (const std::string& scope : scopes) name += scope + '.';
      name += name_of(words[3]);
      std::vector<std::string>& names = paths[words[2]];
      if (!names.empty() && vcd.variables.at(names.front()).bits != bits) fail("one identifier code of two widths");
      names.push_back(name);
      if (!vcd.variables.emplace(name, Vcd::Variable{words[0], static_cast<unsigned>(bits), words.size() == 5, {}})
               .second)
        fail(name + " declared twice");
    } else if (keyword == "$enddefinitions") {
      if (!words.empty() || !scopes.empty()) fail("unbalanced scopes");
      if (vcd.timescale.empty()) fail("no $timescale");
      in_header = false;
    } else {
      fail("unknown keyword " + keyword);
    }
  }

  bool have_time = false;
  std::string block;  // $dumpvars or $dumpall, until its $end
  for (std::string text; file >> text;) {
    if (text == "$dumpvars" || text == "$dumpall") {
      if (!block.empty()) fail(text + " inside " + block);
      block = text;
      continue;
    }
    if (text == "$end" && !block.empty()) {
      block.clear();
      continue;
    }
    if (text.front() == '#') {
      if (!block.empty()) fail("a time inside " + block);
      const std::uint64_t time = number(text.substr(1));
      if (have_time && time <= vcd.times.back()) fail("time does not advance at " + text);
      vcd.times.push_back(time);
      have_time = true;
      continue;
    }
    if (!have_time) fail("value before the first time");
    const bool vector = text.front() == 'b' || text.front() == 'B';
    std::string bits;
    std::string code;
    if (vector) {
      bits = text.substr(1);
      code = word();
    } else {
      bits = text.substr(0, 1);
      code = text.substr(1);
    }
    for (char& c : bits) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (bits.empty() || bits.find_first_not_of("01xz") != std::string::npos) fail("malformed value " + text);
    const auto found = paths.find(code);
    if (found == paths.end()) fail("value of an undeclared identifier " + code);
    for (const std::string& name : found->second) {
      Vcd::Variable& variable = vcd.variables.at(name);
      if (vector ? variable.bits == 1 && !variable.range : variable.bits > 1)
        fail(name + " is the other of scalar and vector");
      if (bits.size() > variable.bits) fail("value wider than " + name);
      bits.insert(0, variable.bits - bits.size(), bits.front() == '1' ? '0' : bits.front());
      variable.changes.emplace_back(vcd.times.back(), bits);
    }
  }
  if (!block.empty()) fail(block + " without $end");
  return vcd;
}

}  // namespace azulejo::test
