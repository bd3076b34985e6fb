// SPDX-License-Identifier: Apache-2.0
#include "tlm/wave/wave_trigger.h"

#include <algorithm>
#include <charconv>

#include "tlm/common/error.h"

namespace azulejo {
namespace {

// The number's bits without leading zeros; empty: zero, or none at all with `ok` false.
std::string bits_of_number(std::string_view text, bool& ok) {
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'b')) {
    base = text[1] == 'x' ? 16 : 2;
    text.remove_prefix(2);
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  ok = error == std::errc() && end == text.data() + text.size();
  std::string bits;
  for (; number != 0; number /= 2) bits.insert(bits.begin(), number % 2 != 0 ? '1' : '0');
  return bits;
}

}  // namespace

SignalCondition SignalCondition::parse(std::string_view text) {
  const std::size_t equal = text.find("==");
  if (equal == std::string_view::npos || equal == 0 || equal + 2 == text.size()) {
    throw ConfigError("'" + std::string(text) +
                      "' is no condition PATH==VALUE, such as chip0.nc0.tensor_engine.busy==1");
  }
  return {std::string(text.substr(0, equal)), std::string(text.substr(equal + 2))};
}

bool SignalCondition::holds(std::string_view bits, bool text) const {
  bits.remove_prefix(std::min(bits.find('1'), bits.size()));
  if (!text) {
    bool is_number = false;
    const std::string number = bits_of_number(value, is_number);
    return is_number && bits == number;
  }
  std::string packed;
  for (const char c : value) {
    for (int bit = 7; bit >= 0; --bit) packed += (c >> bit & 1) != 0 ? '1' : '0';
  }
  packed.erase(0, packed.find('1'));
  return bits == packed;
}

bool SignalCondition::possible(unsigned bits, bool text) const {
  bool is_number = false;
  const std::string number = bits_of_number(value, is_number);
  return text ? 8 * value.size() <= bits : is_number && number.size() <= bits;
}

void TriggerOutput::variable(const VcdVariable& variable) {
  if (variable.scope + "." + variable.name == condition_.path) code_ = variable.code;
}

void TriggerOutput::time(std::uint64_t time) {
  settle();
  time_ = time;
}

void TriggerOutput::value(std::uint32_t code, std::string_view bits) {
  if (code == code_) holds_ = condition_.holds(bits, text_);
}

void TriggerOutput::settle() {
  if (holds_ && !fired_) fired_ = time_;
}

}  // namespace azulejo
