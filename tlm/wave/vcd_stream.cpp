// SPDX-License-Identifier: Apache-2.0
#include "tlm/wave/vcd_stream.h"

#include <charconv>
#include <numeric>

namespace azulejo {
namespace {

constexpr char kFirst = '!';
constexpr std::uint32_t kCharacters = 94;  // printable ASCII without the blank

// The next word of `text`, which then begins behind it.
std::string_view next_word(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) {
    text = {};
    return {};
  }
  const std::size_t end = std::min(text.find(' ', begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string join(const std::vector<std::string>& scopes) {
  std::string path;
  for (const std::string& scope : scopes) path += (path.empty() ? "" : ".") + scope;
  return path;
}

}  // namespace

std::string vcd_code(std::uint32_t number) {
  std::string code(1, static_cast<char>(kFirst + number % kCharacters));
  for (number /= kCharacters; number != 0; number /= kCharacters) {
    --number;
    code += static_cast<char>(kFirst + number % kCharacters);
  }
  return code;
}

std::uint32_t vcd_code_number(std::string_view code) {
  std::uint32_t number = 0;
  for (std::size_t i = code.size(); i-- > 0;) {
    number = number * kCharacters + static_cast<std::uint32_t>(code[i] - kFirst) + (i > 0 ? 1 : 0);
  }
  return number;
}

void VcdStream::write(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      rest_ += text;
      return;
    }
    if (rest_.empty()) {
      line(text.substr(0, end));
    } else {
      rest_ += text.substr(0, end);
      const std::string whole = std::move(rest_);
      rest_.clear();
      line(whole);
    }
    text.remove_prefix(end + 1);
  }
}

void VcdStream::line(std::string_view text) {
  if (text.empty()) return;
  if (defining_) return definition(text);
  switch (text.front()) {
    case '#':
      return handler_.time(number_of(text.substr(1)));
    case 'b': {
      const std::size_t blank = text.find(' ');
      return handler_.value(vcd_code_number(text.substr(blank + 1)), text.substr(1, blank - 1));
    }
    case '0':
    case '1':
      return handler_.value(vcd_code_number(text.substr(1)), text.substr(0, 1));
    default:
      return;
  }
}

void VcdStream::definition(std::string_view text) {
  const std::string_view keyword = next_word(text);
  if (keyword == "$scope") {
    next_word(text);  // "module"
    scopes_.emplace_back(next_word(text));
    handler_.scope_begins(scopes_.back());
  } else if (keyword == "$upscope") {
    scopes_.pop_back();
    handler_.scope_ends();
  } else if (keyword == "$var") {
    VcdVariable variable;
    variable.scope = join(scopes_);
    variable.type = next_word(text);
    variable.bits = static_cast<unsigned>(number_of(next_word(text)));
    variable.code = vcd_code_number(next_word(text));
    variable.name = next_word(text);
    const std::string_view range = next_word(text);
    if (range != "$end") variable.range = range;
    handler_.variable(variable);
  } else if (keyword == "$enddefinitions") {
    defining_ = false;
    handler_.definitions_end();
  }
}

}  // namespace azulejo
