// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/list_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "platforms/cli/program_workload.h"
#include "tlm/common/error.h"
#include "tlm/common/output_file.h"
#include "tlm/cosim/fault_table.h"
#include "tlm/isa/assembler.h"
#include "tlm/isa/opcode_table.h"
#include "tlm/isa/text.h"
#include "tlm/wave/wave_file.h"

namespace azulejo::cli {
namespace {

// Left-aligned columns, two blanks apart.
void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) line += fmt::format("{:<{}}  ", row[c], widths[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    std::puts(line.c_str());
  }
}

void list_platforms() {
  std::vector<std::vector<std::string>> rows = {{"PLATFORM", "DESCRIPTION"}};
  for (const PresetInfo& preset : list_presets()) rows.push_back({preset.name, preset.description});
  print_table(rows);
}

void list_workloads() {
  print_table({{"WORKLOAD", "DESCRIPTION"},
               {"gemm", "C = A * B on one or more NeuronCores, in four tilings (azulejo run PLATFORM gemm --help)"},
               {"program", "an assembled or binary program on core 0 (azulejo run PLATFORM program FILE)"}});
}

void list_key_table() {
  std::vector<std::vector<std::string>> rows = {{"KEY", "TYPE", "DEFAULT", "MEANING"}};
  for (const KeyInfo& key : list_keys()) rows.push_back({key.path, key.type, key.default_value, key.meaning});
  print_table(rows);
}

void list_instructions() {
  std::vector<std::vector<std::string>> rows = {
      {"INSTRUCTION", "ENGINES", "OPERANDS", "COST (CYCLES)", "STATUS", "SOURCE"}};
  for (const OpcodeInfo& info : opcode_table()) {
    std::string engines;
    for (std::size_t e = 0; e < kEngines; ++e) {
      if ((info.engines >> e & 1) == 0) continue;
      engines += (engines.empty() ? "" : ",") + std::string(engine_name(static_cast<EngineId>(e)));
    }
    rows.push_back({std::string(info.name), engines, fmt::format("{}", fmt::join(info.operands, " ")),
                    std::string(info.cost), info.status == OpcodeStatus::Executed ? "executed" : "defined",
                    std::string(info.source)});
  }
  print_table(rows);
}

void list_formats() {
  std::vector<std::vector<std::string>> rows = {
      {"FORMAT", "BITS", "EXPONENT", "FRACTION", "BIAS", "INFINITY", "MAX FINITE"}};
  for (Format format : all_formats()) {
    const FormatSpec& row = spec(format);
    const bool integer = row.integer_bits != 0;
    rows.push_back({std::string(row.name), fmt::format("{}", row.storage_bits),
                    integer ? "-" : fmt::format("{}", row.exponent_bits),
                    integer ? "-" : fmt::format("{}", row.mantissa_bits), integer ? "-" : fmt::format("{}", row.bias),
                    row.has_infinity ? "yes" : "no", fmt::format("{:g}", decode(format, row.max_finite))});
  }
  print_table(rows);
}

void list_causes() {
  for (std::size_t c = 0; c < kCauses; ++c) std::puts(std::string(cause_name(static_cast<Cause>(c))).c_str());
}

void list_faults() {
  std::vector<std::vector<std::string>> rows = {{"FAULT", "MODULE", "WHAT"}};
  for (const RtlFault& fault : rtl_faults()) {
    rows.push_back({std::string(fault.name), std::string(fault.module), std::string(fault.what)});
  }
  print_table(rows);
}

void list_signals(const std::string& name, const std::vector<std::string>& globs,
                  const std::vector<std::string>& settings) {
  const PlatformConfig config = load_platform(name, settings);
  WaveOptions wanted;
  wanted.output = std::make_shared<NoOutput>();
  wanted.scopes = globs;
  wanted.now = [] { return Femtoseconds{0}; };
  WaveFile list(wanted);
  PlatformOptions options;
  options.keep_data = !rtl_units(config).empty();  // without data there is no RTL
  options.transactions = true;
  options.twins.wave = &list;
  Platform platform(config, options);
  Instruments instruments;
  instruments.wave = &list;
  platform.attach(instruments);
  list.begin();
  const std::vector<std::string> problems = unmatched_signals("list signals", config.name, list);
  if (!problems.empty()) throw ConfigError(problems);
  std::vector<std::vector<std::string>> rows = {{"SIGNAL", "TYPE"}};
  for (const WaveDeclaration& signal : list.declared()) {
    rows.push_back({signal.scope + "." + signal.name,
                    signal.text ? fmt::format("text[{}]", signal.bits / 8)
                                : fmt::format("{} bit{}", signal.bits, signal.rtl ? ", RTL" : "")});
  }
  print_table(rows);
}

// Kinds of units in RTL that a wave shows.
constexpr std::array<const char*, 5> kRtlUnits = {"tile_", "west_", "north_", "drain_", "lane_"};

}  // namespace

std::vector<std::string> unmatched_signals(const std::string& place, const std::string& platform,
                                           const WaveFile& wave) {
  std::vector<std::string> problems;
  if (wave.unmatched_scopes().empty()) return problems;
  const std::vector<std::string> paths = wave.known_paths();
  std::vector<std::string_view> known;
  for (const std::string& path : paths) {
    for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
      known.push_back(std::string_view(path).substr(0, dot));
    }
    known.push_back(path);
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  const std::vector<WaveDeclaration>& declared = wave.declared();
  const bool rtl = std::any_of(declared.begin(), declared.end(), [](const WaveDeclaration& s) { return s.rtl; });
  for (const std::string& glob : wave.unmatched_scopes()) {
    const std::string_view word = glob.front() == '!' ? std::string_view(glob).substr(1) : std::string_view(glob);
    const bool names_rtl = std::any_of(kRtlUnits.begin(), kRtlUnits.end(),
                                       [&](const char* unit) { return glob.find(unit) != std::string::npos; });
    const char* const hint = names_rtl && !rtl ? "; the inside of the RTL is there with --pe rtl or --pe lockstep" : "";
    problems.push_back(fmt::format("{}: {} matches no signal{}{}{}", place, quote_word(glob), hint,
                                   platform.empty() ? "" : "; `azulejo list signals " + platform + "` lists them",
                                   did_you_mean(word, known)));
  }
  return problems;
}

int list_command(const std::string& what, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& settings) {
  const std::vector<std::string_view> known = {"platforms",    "workloads", "keys",   "signals",
                                               "instructions", "formats",   "causes", "faults"};
  if (what.empty()) throw ConfigError("list: what? One of " + join_words(known));
  if (std::find(known.begin(), known.end(), what) == known.end()) {
    throw ConfigError(
        fmt::format("list: unknown {}; allowed: {}{}", quote_word(what), join_words(known), did_you_mean(what, known)));
  }
  if (what == "signals") {
    if (arguments.empty())
      throw ConfigError("list signals: which platform? For instance: azulejo list signals trn1.2xlarge");
    list_signals(arguments.front(), {arguments.begin() + 1, arguments.end()}, settings);
    return 0;
  }
  if (!arguments.empty())
    throw ConfigError(
        fmt::format("list {}: unexpected {}; only list signals takes arguments", what, quote_word(arguments.front())));
  if (what == "platforms") list_platforms();
  if (what == "workloads") list_workloads();
  if (what == "keys") list_key_table();
  if (what == "instructions") list_instructions();
  if (what == "formats") list_formats();
  if (what == "causes") list_causes();
  if (what == "faults") list_faults();
  return 0;
}

int config_command(const std::string& platform, const std::vector<std::string>& settings) {
  std::fputs(print_platform(load_platform(platform, settings)).c_str(), stdout);
  return 0;
}

int asm_command(const std::string& input, const std::string& output) {
  std::error_code ignored;
  if (!output.empty() && std::filesystem::equivalent(input, output, ignored)) {
    throw ConfigError(fmt::format("-o {}: the program's text itself; give the binary program another name", output));
  }
  if (!output.empty()) check_writable(output);
  const std::vector<std::uint8_t> bytes = write_program(read_program_file(input));
  if (!output.empty()) {
    write_file_atomically(output, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  return 0;
}

int disasm_command(const std::string& input, const std::string& output) {
  if (!output.empty()) check_writable(output);
  const std::string text = disassemble(read_program_file(input));
  if (output.empty()) {
    std::fputs(text.c_str(), stdout);
  } else {
    write_file_atomically(output, text);
  }
  return 0;
}

}  // namespace azulejo::cli
