// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/units.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <vector>

#include "tlm/isa/text.h"

namespace azulejo {

namespace {

// A unit is 2^twos * 5^fives base units, which covers powers of ten, powers of 1024 and bits.
enum class Family : std::uint8_t { Decimal, Binary, Bits };

struct Unit {
  std::string_view name;
  int twos;
  int fives;
  Family family;
};

struct QuantityTable {
  std::string_view noun;  // "a frequency"
  std::string_view example;
  std::vector<Unit> units;  // each family from small to large
};

constexpr Unit ten(std::string_view name, int power) { return {name, power, power, Family::Decimal}; }
constexpr Unit two(std::string_view name, int power) { return {name, power, 0, Family::Binary}; }
constexpr Unit bits(std::string_view name, int power) { return {name, power - 3, power, Family::Bits}; }

const QuantityTable& table(Quantity quantity) {
  static const std::array<QuantityTable, 4> kTables{{
      {"a time", "1300 ns", {ten("fs", 0), ten("ps", 3), ten("ns", 6), ten("us", 9), ten("ms", 12), ten("s", 15)}},
      {"a frequency", "2.8 GHz", {ten("Hz", 0), ten("kHz", 3), ten("MHz", 6), ten("GHz", 9)}},
      {"a size",
       "24 MiB",
       {ten("B", 0), two("KiB", 10), two("MiB", 20), two("GiB", 30), two("TiB", 40), ten("kB", 3), ten("MB", 6),
        ten("GB", 9), ten("TB", 12)}},
      {"a bandwidth",
       "17 GB/s",
       {ten("B/s", 0), ten("kB/s", 3), ten("MB/s", 6), ten("GB/s", 9), ten("TB/s", 12), two("KiB/s", 10),
        two("MiB/s", 20), two("GiB/s", 30), two("TiB/s", 40), bits("b/s", 0), bits("kb/s", 3), bits("Mb/s", 6),
        bits("Gb/s", 9), bits("Tb/s", 12)}},
  }};
  return kTables[static_cast<std::size_t>(quantity)];
}

const Unit& base_unit(Quantity quantity) { return table(quantity).units.front(); }

std::vector<std::string_view> unit_names(Quantity quantity) {
  std::vector<std::string_view> names;
  for (const Unit& unit : table(quantity).units) names.push_back(unit.name);
  return names;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool same_letters(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

// "; did you mean 'GHz'?". Units that differ by their letters' case only are all named: GB/s and Gb/s are not the same.
std::string unit_hint(Quantity quantity, std::string_view word) {
  std::string spelled(word);
  const std::string_view micro = "\xC2\xB5";  // U+00B5
  if (const std::size_t at = spelled.find(micro); at != std::string::npos) spelled.replace(at, micro.size(), "u");
  if (spelled.size() > 2 && spelled.compare(spelled.size() - 2, 2, "ps") == 0) {  // Gbps
    spelled.replace(spelled.size() - 2, 2, "/s");
    for (const std::string_view name : unit_names(quantity)) {
      if (name == spelled) return "; did you mean '" + spelled + "'?";
    }
  }
  std::vector<std::string_view> same;
  for (const std::string_view name : unit_names(quantity)) {
    if (same_letters(spelled, name)) same.push_back(name);
  }
  if (same.empty()) return did_you_mean(word, unit_names(quantity));
  std::string hint;
  for (const std::string_view name : same) {
    hint += (hint.empty() ? "; did you mean '" : " or '") + std::string(name) + "'";
  }
  return hint + "?";
}

struct Decimal {
  Wide digits = 0;  // value = digits / 10^fraction
  int fraction = 0;
  bool too_long = false;  // more digits than `digits` holds
};

// REQUIRES: digits and at most one '.'.
Decimal parse_decimal(std::string_view number) {
  Decimal decimal;
  const std::size_t point = number.find('.');
  std::string text(number.substr(0, point));
  if (point != std::string_view::npos) {
    std::string_view fraction = number.substr(point + 1);
    while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
    text += fraction;
    decimal.fraction = static_cast<int>(std::min<std::size_t>(fraction.size(), 1000));
  }
  const std::size_t first = text.find_first_not_of('0');
  text.erase(0, first == std::string::npos ? text.size() : first);
  if (text.size() > 38) {  // 10^38 < 2^128
    decimal.too_long = true;
    return decimal;
  }
  for (const char c : text) decimal.digits = decimal.digits * 10 + static_cast<unsigned>(c - '0');
  return decimal;
}

// `decimal` units as a whole number of base units.
struct Scaled {
  std::uint64_t value = 0;
  bool whole = true;
  bool overflow = false;
};

Scaled scale(const Decimal& decimal, const Unit& unit) {
  Scaled scaled;
  Wide value = decimal.digits;
  if (value == 0) return scaled;
  const std::array<int, 2> powers{unit.twos - decimal.fraction, unit.fives - decimal.fraction};
  const std::array<unsigned, 2> factors{2, 5};
  for (std::size_t f = 0; f < factors.size(); ++f) {
    for (int i = powers[f]; i < 0; ++i) {
      if (value % factors[f] != 0) {
        scaled.whole = false;
        return scaled;
      }
      value /= factors[f];
    }
  }
  constexpr Wide kMax = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t f = 0; f < factors.size(); ++f) {
    for (int i = 0; i < powers[f] && value <= kMax; ++i) value *= factors[f];
  }
  scaled.overflow = value > kMax;
  scaled.value = static_cast<std::uint64_t>(value);
  return scaled;
}

std::string wide_text(Wide value) {
  std::string text;
  do {
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  return text;
}

// "2.8 GHz" if `value` is at least one `unit` and needs no more than `decimals` decimals of it.
std::optional<std::string> short_form(std::uint64_t value, const Unit& unit, int decimals) {
  Wide size = 1;
  for (int i = 0; i < unit.twos; ++i) size *= 2;
  for (int i = 0; i < unit.fives; ++i) size *= 5;
  if (value < size) return std::nullopt;
  Wide power = 1;
  for (int i = 0; i < decimals; ++i) power *= 10;
  if (Wide{value} * power % size != 0) return std::nullopt;
  const Wide scaled = Wide{value} * power / size;
  std::string text = wide_text(scaled / power);
  std::string fraction = wide_text(power + scaled % power).substr(1);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  if (!fraction.empty()) text += "." + fraction;
  return text + " " + std::string(unit.name);
}

// The largest unit of `family` of which `value` has at most `decimals` decimals; nothing if there is none.
std::optional<std::string> shortest(Quantity quantity, Family family, std::uint64_t value, int decimals) {
  std::optional<std::string> best;
  for (const Unit& unit : table(quantity).units) {
    if (unit.family != family || &unit == &base_unit(quantity)) continue;
    if (auto text = short_form(value, unit, decimals)) best = text;
  }
  return best;
}

// `value` with three significant digits: "6.93", "44.0", "821". REQUIRES: 0 <= value < 10^6.
std::string three_digits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::array<char, 48> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  return buffer.data();
}

struct Step {
  std::string_view name;
  double size;
};

// The first step whose three-digit text stays below `limit`, else the last.
template <std::size_t N>
std::string stepped(double value, const std::array<Step, N>& steps, double limit) {
  for (std::size_t i = 0; i + 1 < N; ++i) {
    if (value / steps[i].size < limit - 0.5) {
      return three_digits(value / steps[i].size) + " " + std::string(steps[i].name);
    }
  }
  return three_digits(value / steps[N - 1].size) + " " + std::string(steps[N - 1].name);
}

}  // namespace

std::string_view quantity_noun(Quantity quantity) { return table(quantity).noun; }
std::string_view quantity_example(Quantity quantity) { return table(quantity).example; }

ParsedQuantity parse_quantity(Quantity quantity, std::string_view text) {
  const auto failed = [](std::string error) { return ParsedQuantity{false, 0, std::move(error)}; };
  const std::string expected = std::string(table(quantity).noun) + " such as " + std::string(table(quantity).example);
  const std::string units = "allowed units: " + join_words(unit_names(quantity));

  const std::string_view trimmed = trim(text);
  if (trimmed.empty()) return failed("is empty; " + expected + " is expected");
  if (trimmed.front() == '-') return failed(quote_word(trimmed) + " is negative; " + expected + " is expected");
  std::size_t end = 0;
  std::size_t digits = 0;
  std::size_t points = 0;
  for (; end < trimmed.size() && (is_digit(trimmed[end]) || trimmed[end] == '.'); ++end) {
    ++(trimmed[end] == '.' ? points : digits);
  }
  if (digits == 0 || points > 1) return failed(quote_word(trimmed) + " is not " + expected);
  const std::string_view number = trimmed.substr(0, end);
  const std::string_view word = trim(trimmed.substr(end));
  if (word.empty()) return failed(quote_word(trimmed) + " has no unit; " + units);

  const Unit* unit = nullptr;
  for (const Unit& candidate : table(quantity).units) {
    if (candidate.name == word) unit = &candidate;
  }
  if (unit == nullptr) {
    return failed(quote_word(trimmed) + " has the unknown unit " + quote_word(word) + "; " + units +
                  unit_hint(quantity, word));
  }

  const Decimal decimal = parse_decimal(number);
  if (decimal.too_long) return failed(quote_word(trimmed) + " has more than 38 digits");
  const Scaled scaled = scale(decimal, *unit);
  const std::string base(base_unit(quantity).name);
  if (!scaled.whole) return failed(quote_word(trimmed) + " is not a whole number of " + base);
  if (scaled.overflow) {
    return failed(quote_word(trimmed) + " is too large; at most " +
                  std::to_string(std::numeric_limits<std::uint64_t>::max()) + " " + base);
  }
  return {true, scaled.value, {}};
}

std::string format_quantity(Quantity quantity, std::uint64_t value) {
  const Family first = quantity == Quantity::Size ? Family::Binary : Family::Decimal;
  const Family second = first == Family::Binary ? Family::Decimal : Family::Binary;
  const auto one = shortest(quantity, first, value, 2);
  const auto other = shortest(quantity, second, value, 0);
  if (one && (!other || one->find(' ') <= other->find(' '))) return *one;
  if (other) return *other;  // 24 MB, not 23437.5 KiB
  return std::to_string(value) + " " + std::string(base_unit(quantity).name);
}

std::string human_time(Femtoseconds time) {
  static constexpr std::array<Step, 6> kSteps{
      {{"fs", 1}, {"ps", 1e3}, {"ns", 1e6}, {"us", 1e9}, {"ms", 1e12}, {"s", 1e15}}};
  if (time == 0) return "0 s";
  if (time < kFsPerPicosecond) return std::to_string(time) + " fs";
  return stepped(static_cast<double>(time), kSteps, 1000);
}

std::string human_bytes(std::uint64_t bytes) {
  static constexpr std::array<Step, 7> kSteps{
      {{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}, {"EiB", 0x1p60}}};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  return stepped(static_cast<double>(bytes), kSteps, 1024);
}

std::string human_rate(double per_second, std::string_view unit) {
  static constexpr std::array<Step, 7> kSteps{
      {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18}}};
  if (!std::isfinite(per_second) || std::fabs(per_second) >= 1e24) return "unknown " + std::string(unit);
  return (per_second < 0 ? "-" : "") + stepped(std::fabs(per_second), kSteps, 1000) + std::string(unit);
}

void check_range(std::vector<std::string>& problems, std::string_view key, Quantity quantity, std::uint64_t value,
                 std::uint64_t low, std::uint64_t high) {
  if (value >= low && value <= high) return;
  problems.push_back(std::string(key) + ": " + format_quantity(quantity, value) + " is outside " +
                     format_quantity(quantity, low) + " to " + format_quantity(quantity, high));
}

}  // namespace azulejo
