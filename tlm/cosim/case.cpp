// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "tlm/common/check.h"
#include "tlm/common/error.h"
#include "tlm/cosim/fault_table.h"
#include "tlm/cosim/pe.h"
#include "tlm/isa/instruction.h"
#include "tlm/isa/text.h"

namespace azulejo {
namespace {

using Json = nlohmann::ordered_json;

// Of the file's own layout, raised when a file of an older program would be misread.
constexpr std::uint64_t kVersion = 1;
constexpr std::string_view kVersionKey = "azulejo_cosim";

// Bounds of a file, so that a wrong one cannot take the memory: a matmul of 128 x 128 x 512 takes 1.5 MB and 1,000
// lines.
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxValues = 4'000'000;
constexpr std::size_t kMaxDepth = 6;
constexpr std::uint32_t kMaxMoving = 65535;  // FreeDim::size has 16 bits
constexpr std::size_t kValuesPerLine = 8;

// The columns of a line of a unit's inputs in one cycle, and their bits.
constexpr unsigned kOperandBits = 25;
struct Columns {
  std::string_view names;
  std::vector<unsigned> bits;
};
const Columns kPeColumns = {"act act_swap act_valid weight weight_row weight_valid psum enable",
                            {kOperandBits, 1, 1, kOperandBits, 16, 1, 32, 1}};
const Columns kRoundingColumns = {
    "valid ready format stochastic saturate lane value load state state state state state state",
    {1, 1, 4, 1, 1, 1, 32, 1, 32, 32, 32, 32, 32, 32}};

unsigned hex_digits(unsigned bits) { return (bits + 3) / 4; }

bool is_array_format(Format format) {
  return format != Format::Int16 && format != Format::Uint16 && format != Format::Int32 && format != Format::Uint32;
}

std::string_view word_of(RandomSource source) { return source == RandomSource::Lfsr ? "lfsr" : "xorwow"; }
std::string_view word_of(Rounding rounding) {
  return rounding == Rounding::NearestEven ? "nearest_even" : "stochastic";
}

// Writing

std::string hex_line(const std::uint32_t* words, std::size_t count, unsigned bits) {
  std::string line;
  for (std::size_t i = 0; i < count; ++i) {
    fmt::format_to(std::back_inserter(line), "{}{:0{}x}", i == 0 ? "" : " ", words[i], hex_digits(bits));
  }
  return line;
}

// Lines of `columns` words; none if there are no words.
Json hex_lines(const std::vector<std::uint32_t>& words, std::size_t columns, unsigned bits) {
  Json lines = Json::array();
  for (std::size_t i = 0; i < words.size(); i += columns) {
    lines.push_back(hex_line(words.data() + i, std::min(columns, words.size() - i), bits));
  }
  return lines;
}

std::string hex_row(const std::vector<std::uint32_t>& words, const Columns& columns) {
  std::string line;
  for (std::size_t i = 0; i < words.size(); ++i) {
    fmt::format_to(std::back_inserter(line), "{}{:0{}x}", i == 0 ? "" : " ", words[i], hex_digits(columns.bits[i]));
  }
  return line;
}

void write_operation(Json& json, const PeCase& operation) {
  json["unit"] = "pe";
  json["columns"] = kPeColumns.names;
  Json lines = Json::array();
  for (const rtl::PeInputs& in : operation.inputs) {
    lines.push_back(hex_row({in.act.operand, in.act.tag, in.act.valid, in.weight.operand, in.weight.tag,
                             in.weight.valid, in.psum, in.enable},
                            kPeColumns));
  }
  json["inputs"] = std::move(lines);
}

void write_operation(Json& json, const ArrayCase& operation) {
  json["unit"] = "array";
  json["rows"] = operation.rows;
  json["cols"] = operation.cols;
  json["k"] = operation.k;
  json["m"] = operation.m;
  json["n"] = operation.n;
  json["stationary_format"] = spec(operation.stationary_format).name;
  json["moving_format"] = spec(operation.moving_format).name;
  json["accumulate"] = operation.accumulate;
  json["stationary_one_zero"] = operation.stationary_one_zero;
  json["moving_one_zero"] = operation.moving_one_zero;
  json["stationary"] = hex_lines(operation.stationary, operation.m, spec(operation.stationary_format).storage_bits);
  json["moving"] = hex_lines(operation.moving, operation.n, spec(operation.moving_format).storage_bits);
  json["psum"] = hex_lines(operation.psum, operation.n, 32);
}

void write_operation(Json& json, const RoundingCase& operation) {
  if (!operation.cycles.empty()) {
    json["unit"] = "rounding_cycles";
    json["source"] = word_of(operation.source);
    json["columns"] = kRoundingColumns.names;
    Json lines = Json::array();
    for (const rtl::RoundingInputs& in : operation.cycles) {
      std::vector<std::uint32_t> words = {in.valid,    in.ready, in.format, in.stochastic,
                                          in.saturate, in.lane,  in.value,  in.load};
      words.insert(words.end(), std::begin(in.state), std::end(in.state));
      lines.push_back(hex_row(words, kRoundingColumns));
    }
    json["inputs"] = std::move(lines);
    return;
  }
  json["unit"] = "rounding";
  json["source"] = word_of(operation.source);
  json["state"] = hex_line(operation.state.data(), operation.state.size(), 32);
  json["format"] = spec(operation.format).name;
  json["rounding"] = word_of(operation.mode.rounding);
  json["saturate"] = operation.mode.saturate;
  json["values"] = hex_lines(operation.values, kValuesPerLine, 32);
}

void write_operation(Json&, const std::monostate&) { AZULEJO_CHECK(false, "a case without an operation is written"); }

// Reading

struct Place {
  const std::string& file;
  std::string path;  // "cases[0].psum[3]"; empty: the whole file

  [[noreturn]] void fail(const std::string& sentence) const {
    throw ConfigError(path.empty() ? file + ": " + sentence : file + ": " + path + ": " + sentence);
  }
  Place member(std::string_view key) const {
    return {file, path.empty() ? std::string(key) : path + "." + std::string(key)};
  }
  Place element(std::size_t index) const { return {file, fmt::format("{}[{}]", path, index)}; }
};

// Watches the text as it is parsed: refuses what is too large or too deep before memory is taken for it, and keys that
// come twice, which the parser would merge.
class Guard {
 public:
  explicit Guard(const std::string& file) : file_(file) {}

  bool operator()(int depth, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      std::vector<std::string>& keys = keys_[static_cast<std::size_t>(depth) - 1];
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) fail("the key " + quote_word(key) + " comes twice");
      keys.push_back(key);
      if (keys.size() > kMaxKeys) fail(fmt::format("more than {} keys in one object", kMaxKeys));
      return true;
    }
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      if (static_cast<std::size_t>(depth) >= kMaxDepth) fail("brackets nested too deeply");
      keys_[static_cast<std::size_t>(depth)].clear();
    }
    if (++events_ > kMaxValues) fail(fmt::format("more than {} values", kMaxValues));
    return true;
  }

 private:
  static constexpr std::size_t kMaxKeys = 64;

  [[noreturn]] void fail(const std::string& sentence) const {
    throw ConfigError(file_ + ": " + sentence + "; no reproducer file has that");
  }

  const std::string& file_;
  std::array<std::vector<std::string>, kMaxDepth> keys_;  // of the open objects, by depth
  std::size_t events_ = 0;
};

// A value as it stands in the file, shortened for a message.
std::string quote_value(const Json& value) {
  if (value.is_string()) return quote_word(value.get_ref<const std::string&>());
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return value.dump();
}

// One JSON object whose keys are all known, present and of the right type.
class ObjectReader {
 public:
  ObjectReader(const Json& json, Place place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) place_.fail(quote_value(json) + " where an object { ... } belongs");
  }

  // Refuses keys that are not in `known`.
  void allow(const std::vector<std::string_view>& known) const {
    for (const auto& [key, value] : json_.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      place_.fail("unknown key " + quote_word(key) + did_you_mean(key, known) + "; known here: " + join_words(known));
    }
  }

  Place at(std::string_view key) const { return place_.member(key); }

  const Json& need(std::string_view key) const {
    const auto found = json_.find(std::string(key));
    if (found == json_.end()) place_.fail("the key '" + std::string(key) + "' is missing");
    return *found;
  }

  bool flag(std::string_view key) const {
    const Json& value = need(key);
    if (!value.is_boolean()) at(key).fail(quote_value(value) + " where true or false belongs");
    return value.get<bool>();
  }

  std::uint32_t number(std::string_view key, std::uint32_t low, std::uint32_t high) const {
    const Json& value = need(key);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < low || value.get<std::uint64_t>() > high) {
      at(key).fail(fmt::format("{} where a whole number from {} to {} belongs", quote_value(value), low, high));
    }
    return value.get<std::uint32_t>();
  }

  std::string text(std::string_view key) const {
    const Json& value = need(key);
    if (!value.is_string()) at(key).fail(quote_value(value) + " where a text in quotes belongs");
    return value.get<std::string>();
  }

  const Json& list(std::string_view key) const {
    const Json& value = need(key);
    if (!value.is_array()) at(key).fail(quote_value(value) + " where a list [ ... ] belongs");
    return value;
  }

  // One of `words`, by its index.
  std::size_t word(std::string_view key, const std::vector<std::string_view>& words) const {
    const std::string value = text(key);
    const auto found = std::find(words.begin(), words.end(), value);
    if (found == words.end()) {
      at(key).fail("unknown word " + quote_word(value) + did_you_mean(value, words) +
                   "; allowed: " + join_words(words));
    }
    return static_cast<std::size_t>(found - words.begin());
  }

  Format format(std::string_view key) const {
    std::vector<std::string_view> names;
    for (const Format known : all_formats()) names.push_back(spec(known).name);
    return all_formats()[word(key, names)];
  }

  Format array_format(std::string_view key) const {
    const Format value = format(key);
    if (!is_array_format(value)) {
      at(key).fail(fmt::format("the array does not multiply {}; its operands have at most 12 significand bits",
                               spec(value).name));
    }
    return value;
  }

  // Lines of hexadecimal words: `lines` of `columns` words each.
  std::vector<std::uint32_t> tile(std::string_view key, std::uint32_t lines, std::uint32_t columns,
                                  unsigned bits) const {
    const Json& value = list(key);
    if (value.size() != lines) {
      at(key).fail(fmt::format("{} lines where the sizes of the case need {}", value.size(), lines));
    }
    std::vector<std::uint32_t> words;
    words.reserve(std::min(std::size_t{lines} * columns, kMaxValues));
    for (std::size_t i = 0; i < value.size(); ++i) append_line(words, value[i], at(key).element(i), columns, bits);
    return words;
  }

  // Appends the words of one line, `columns` of them; 0: as many as there are, at least one.
  static void append_line(std::vector<std::uint32_t>& words, const Json& line, const Place& place, std::size_t columns,
                          unsigned bits) {
    if (!line.is_string()) place.fail(quote_value(line) + " where a text of hexadecimal words belongs");
    const std::string_view text = line.get_ref<const std::string&>();
    std::size_t count = 0;
    for (std::size_t begin = 0; begin < text.size();) {
      if (text[begin] == ' ') {
        ++begin;
        continue;
      }
      const std::size_t end = std::min(text.find(' ', begin), text.size());
      words.push_back(hex_word(text.substr(begin, end - begin), place, bits));
      ++count;
      begin = end;
    }
    if (columns == 0 ? count == 0 : count != columns) {
      place.fail(fmt::format("{} words where {}{} belong", count, columns == 0 ? "at least " : "",
                             std::max<std::size_t>(columns, 1)));
    }
  }

 private:
  static std::uint32_t hex_word(std::string_view word, const Place& place, unsigned bits) {
    std::uint64_t value = 0;
    bool good = word.size() <= 8;
    for (const char c : good ? word : std::string_view()) {
      const std::size_t digit =
          std::string_view("0123456789abcdef").find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
      good = good && digit != std::string_view::npos;
      value = value << 4 | (digit & 0xF);
    }
    if (!good || value >> bits != 0) {
      place.fail(fmt::format("{} where a hexadecimal number of {} bits belongs", quote_word(word), bits));
    }
    return static_cast<std::uint32_t>(value);
  }

  const Json& json_;
  const Place place_;
};

const std::vector<std::string_view> kUnits = {"pe", "array", "rounding", "rounding_cycles"};
const std::vector<std::string_view> kCommonKeys = {
    "unit", "pipeline_stages", "flush_denormals", "fault", "pe_directory", "pe_top", "note"};
// Of the units.
const std::vector<std::string_view> kOwnKeys[] = {
    {"columns", "inputs"},
    {"rows", "cols", "k", "m", "n", "stationary_format", "moving_format", "accumulate", "stationary_one_zero",
     "moving_one_zero", "stationary", "moving", "psum"},
    {"source", "state", "format", "rounding", "saturate", "values"},
    {"source", "columns", "inputs"}};

// A valid operand that fp_decode could have made.
void check_operand(const rtl::OperandBeat& beat, std::string_view name, const Place& place) {
  if (beat.valid == 0) return;
  const Operand operand = unpack_operand(beat.operand);
  const bool has_value = operand.kind == OperandKind::Finite || operand.kind == OperandKind::LowHalf;
  if (operand.kind > OperandKind::LowHalf ||
      (operand.significand != 0 && (!has_value || operand.significand < 0x800))) {
    place.fail(fmt::format("{} {:07x} is no operand: its class is unknown, or its significand not normalized", name,
                           beat.operand));
  }
}

// The inputs of each cycle, by `visit(words, place)`.
template <class Visit>
void read_cycles(const ObjectReader& reader, const Columns& columns, Visit visit) {
  reader.word("columns", {columns.names});
  const Json& lines = reader.list("inputs");
  if (lines.empty()) reader.at("inputs").fail("an empty list; at least one cycle belongs here");
  std::vector<std::uint32_t> words;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Place place = reader.at("inputs").element(i);
    words.clear();
    ObjectReader::append_line(words, lines[i], place, columns.bits.size(), 32);
    for (std::size_t c = 0; c < words.size(); ++c) {
      if (columns.bits[c] == 32 || words[c] >> columns.bits[c] == 0) continue;
      place.fail(fmt::format("word {}, {:x}, has more than {} bit{}; the columns are: {}", c + 1, words[c],
                             columns.bits[c], columns.bits[c] == 1 ? "" : "s", columns.names));
    }
    visit(words, place);
  }
}

PeCase read_pe(const ObjectReader& reader) {
  PeCase operation;
  read_cycles(reader, kPeColumns, [&](const std::vector<std::uint32_t>& words, const Place& place) {
    rtl::PeInputs in;
    in.act = {words[0], static_cast<std::uint16_t>(words[1]), static_cast<std::uint16_t>(words[2])};
    in.weight = {words[3], static_cast<std::uint16_t>(words[4]), static_cast<std::uint16_t>(words[5])};
    in.psum = words[6];
    in.enable = words[7];
    if (in.act.tag > in.act.valid) place.fail("act_swap is 1 where act_valid is 0; a swap comes with an activation");
    check_operand(in.act, "act", place);
    check_operand(in.weight, "weight", place);
    operation.inputs.push_back(in);
  });
  return operation;
}

ArrayCase read_array(const ObjectReader& reader) {
  ArrayCase operation;
  operation.rows = reader.number("rows", 1, kPartitions);
  operation.cols = reader.number("cols", 1, kPartitions);
  operation.k = reader.number("k", 1, operation.rows);
  operation.m = reader.number("m", 1, operation.cols);
  operation.n = reader.number("n", 1, kMaxMoving);
  operation.stationary_format = reader.array_format("stationary_format");
  operation.moving_format = reader.array_format("moving_format");
  if ((operation.stationary_format == Format::Fp32) != (operation.moving_format == Format::Fp32)) {
    reader.at("moving_format")
        .fail(fmt::format("{} meets stationary {}; both are fp32 or neither", spec(operation.moving_format).name,
                          spec(operation.stationary_format).name));
  }
  operation.accumulate = reader.flag("accumulate");
  operation.stationary_one_zero = reader.flag("stationary_one_zero");
  operation.moving_one_zero = reader.flag("moving_one_zero");
  operation.stationary =
      reader.tile("stationary", operation.k, operation.m, spec(operation.stationary_format).storage_bits);
  operation.moving = reader.tile("moving", operation.k, operation.n, spec(operation.moving_format).storage_bits);
  operation.psum = reader.tile("psum", operation.accumulate ? operation.m : 0, operation.n, 32);
  return operation;
}

RandomSource read_source(const ObjectReader& reader) {
  return static_cast<RandomSource>(reader.word("source", {word_of(RandomSource::Lfsr), word_of(RandomSource::Xorwow)}));
}

RoundingCase read_rounding_cycles(const ObjectReader& reader, bool flush_denormals) {
  RoundingCase operation;
  operation.source = read_source(reader);
  operation.mode.flush_denormals = flush_denormals;
  read_cycles(reader, kRoundingColumns, [&](const std::vector<std::uint32_t>& words, const Place&) {
    const auto byte = [&](std::size_t column) { return static_cast<std::uint8_t>(words[column]); };
    rtl::RoundingInputs in;
    in.valid = byte(0);
    in.ready = byte(1);
    in.format = byte(2);
    in.stochastic = byte(3);
    in.saturate = byte(4);
    in.lane = byte(5);
    in.value = words[6];
    in.load = byte(7);
    std::copy(words.begin() + 8, words.end(), std::begin(in.state));
    operation.cycles.push_back(in);
  });
  return operation;
}

RoundingCase read_rounding(const ObjectReader& reader, bool flush_denormals) {
  RoundingCase operation;
  operation.source =
      static_cast<RandomSource>(reader.word("source", {word_of(RandomSource::Lfsr), word_of(RandomSource::Xorwow)}));
  std::vector<std::uint32_t> words;
  ObjectReader::append_line(words, reader.need("state"), reader.at("state"), operation.state.size(), 32);
  std::copy(words.begin(), words.end(), operation.state.begin());
  if (operation.source == RandomSource::Lfsr &&
      std::any_of(words.begin() + 1, words.end(), [](auto w) { return w != 0; })) {
    reader.at("state").fail("words 2 to 6 of an lfsr are not 0; its state is the first word");
  }
  operation.format = reader.format("format");
  operation.mode.rounding =
      static_cast<Rounding>(reader.word("rounding", {word_of(Rounding::NearestEven), word_of(Rounding::Stochastic)}));
  operation.mode.saturate = reader.flag("saturate");
  operation.mode.flush_denormals = flush_denormals;
  const Json& lines = reader.list("values");
  if (lines.empty()) reader.at("values").fail("an empty list; at least one value belongs here");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ObjectReader::append_line(operation.values, lines[i], reader.at("values").element(i), 0, 32);
  }
  return operation;
}

CosimCase read_case(const Json& json, const Place& place) {
  const ObjectReader reader(json, place);
  CosimCase result;
  const std::size_t unit = reader.word("unit", kUnits);
  std::vector<std::string_view> known = kCommonKeys;
  known.insert(known.end(), kOwnKeys[unit].begin(), kOwnKeys[unit].end());
  reader.allow(known);
  result.pipeline_stages = reader.number("pipeline_stages", 1, 3);
  result.flush_denormals = reader.flag("flush_denormals");
  result.fault = reader.text("fault");
  if (!result.fault.empty()) {
    try {
      parse_fault(result.fault);
    } catch (const ConfigError& error) {
      reader.at("fault").fail(error.what());
    }
  }
  result.pe_directory = reader.text("pe_directory");
  result.pe_top = reader.text("pe_top");
  result.note = reader.text("note");
  if (unit == 0) {
    result.operation = read_pe(reader);
  } else if (unit == 1) {
    result.operation = read_array(reader);
  } else if (unit == 2) {
    result.operation = read_rounding(reader, result.flush_denormals);
  } else {
    result.operation = read_rounding_cycles(reader, result.flush_denormals);
  }
  return result;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw ConfigError(path + ": cannot be read: " + std::generic_category().message(errno) +
                      "; a reproducer file belongs here");
  }
  std::string text;
  std::vector<char> block(1 << 16);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxBytes) {
      throw ConfigError(fmt::format("{}: more than {} MiB; split the reproducer file", path, kMaxBytes >> 20));
    }
  }
  if (file.bad()) throw ConfigError(path + ": cannot be read to its end; a reproducer file belongs here");
  return text;
}

Json parse(const std::string& path, const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw ConfigError(path + ": the file is empty; a reproducer file of azulejo cosim belongs here");
  }
  try {
    return Json::parse(text, Guard(path));
  } catch (const Json::out_of_range&) {
    throw ConfigError(path + ": a number beyond any that belongs into a reproducer file; run the campaign again");
  } catch (const Json::parse_error& error) {
    const std::size_t byte = error.byte;
    const std::size_t around = std::min(byte == 0 ? 0 : byte - 1, text.size());
    const std::string what =
        around < text.size() ? "unexpected " + quote_word(text.substr(around, 1)) : "unexpected end";
    throw ConfigError(fmt::format(
        "{}: byte {}: {}; the file is no JSON, so it was cut or changed: run the campaign again", path, byte, what));
  }
}

}  // namespace

std::string cases_to_json(const std::vector<CosimCase>& cases) {
  Json list = Json::array();
  for (const CosimCase& one : cases) {
    Json json = Json::object();
    std::visit([&](const auto& operation) { write_operation(json, operation); }, one.operation);
    json["pipeline_stages"] = one.pipeline_stages;
    json["flush_denormals"] = one.flush_denormals;
    json["fault"] = one.fault;
    json["pe_directory"] = one.pe_directory;
    json["pe_top"] = one.pe_top;
    json["note"] = one.note;
    list.push_back(std::move(json));
  }
  const Json file = {{kVersionKey, kVersion}, {"cases", std::move(list)}};
  return file.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<CosimCase> read_cases(const std::string& path) { return parse_cases(read_text(path), path); }

std::vector<CosimCase> parse_cases(const std::string& text, const std::string& file) {
  const Json json = parse(file, text);
  const Place root{file, ""};
  const ObjectReader reader(json, root);
  reader.allow({kVersionKey, "cases"});
  const Json& version = reader.need(kVersionKey);
  if (!version.is_number_unsigned() || version.get<std::uint64_t>() != kVersion) {
    reader.at(kVersionKey).fail(quote_value(version) + fmt::format("; this program reads version {}", kVersion));
  }
  const Json& list = reader.list("cases");
  if (list.empty()) reader.at("cases").fail("an empty list; at least one case belongs here");
  std::vector<CosimCase> cases;
  cases.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) cases.push_back(read_case(list[i], reader.at("cases").element(i)));
  return cases;
}

}  // namespace azulejo
