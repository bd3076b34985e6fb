// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/cosim_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "platforms/cli/list_command.h"
#include "platforms/cli/log.h"
#include "platforms/cli/pe_sources.h"
#include "tlm/common/error.h"
#include "tlm/common/output_file.h"
#include "tlm/common/units.h"
#include "tlm/cosim/campaign.h"
#include "tlm/cosim/campaign_wave.h"
#include "tlm/cosim/case.h"
#include "tlm/cosim/pe.h"
#include "tlm/isa/text.h"
#include "tlm/tensor_engine/config.h"
#include "tlm/wave/crash_flush.h"
#include "tlm/wave/verilator_hooks.h"

namespace azulejo::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostCases = 1'000'000'000'000;
constexpr std::uint64_t kDefaultCases = 1'000'000;  // of each format
constexpr double kPassingScore = 0.95;              // of the mutants that are not equivalent

using Rows = std::vector<std::vector<std::string>>;

// Left-aligned columns, two blanks apart, a line each.
std::string table(const Rows& rows, std::size_t indent = 0) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (std::size_t c = 0; c < row.size(); ++c) line += fmt::format("{:<{}}  ", row[c], widths[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  // Rounded down, so that 100 % is all.
  return fmt::format("{:.1f} %", std::floor(1000.0 * static_cast<double>(part) / static_cast<double>(whole)) / 10);
}

std::string counted(std::uint64_t count, const std::string& one, const std::string& many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// A bar on stderr, when that is a terminal.
class Bar {
 public:
  explicit Bar(bool wanted) : shown_(wanted && isatty(STDERR_FILENO) == 1) {}
  ~Bar() { clear(); }
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;

  void clear() {
    if (drawn_) std::fputs("\r\033[K", stderr);
    drawn_ = false;
  }

  void show(double fraction) {
    constexpr int kWidth = 24;
    constexpr auto kInterval = std::chrono::milliseconds(200);
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || fraction <= 0 || now - last_ < kInterval) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const int done = std::clamp(static_cast<int>(fraction * kWidth), 0, kWidth);
    std::fprintf(stderr, "\r\033[K%s",
                 fmt::format("[{:#<{}}{:.<{}}] {:3.0f} %  {:.0f} s left", "", done, "", kWidth - done, 100 * fraction,
                             seconds * (1 - fraction) / fraction)
                     .c_str());
    std::fflush(stderr);
    drawn_ = true;
  }

 private:
  const bool shown_;
  bool drawn_ = false;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = start_;
};

// Reading of arguments: problems are collected.

using Problems = std::vector<std::string>;

template <class Read>
void collect(Problems& problems, Read read, const std::string& prefix = "") {
  try {
    read();
  } catch (const ConfigError& error) {
    for (const std::string& problem : error.problems()) problems.push_back(prefix + problem);
  }
}

std::uint64_t read_number(const std::string& option, const std::string& text, std::uint64_t low, std::uint64_t high,
                          Problems& problems) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    problems.push_back(fmt::format("{}: {} is no whole number from {} to {}", option, quote_word(text), low,
                                   high == UINT64_MAX ? std::string("2^64 - 1") : std::to_string(high)));
    return low;
  }
  return value;
}

std::vector<Format> read_formats(const std::vector<std::string>& words, const std::vector<Format>& allowed,
                                 Problems& problems) {
  std::vector<std::string_view> names;
  for (const Format format : allowed) names.push_back(spec(format).name);
  std::vector<Format> formats;
  for (const std::string& word : words) {
    const std::optional<Format> format = parse_format(word);
    if (!format || std::find(allowed.begin(), allowed.end(), *format) == allowed.end()) {
      problems.push_back(fmt::format("--format: {} {}; allowed: {}{}", format ? "not for this unit:" : "unknown",
                                     quote_word(word), join_words(names), did_you_mean(word, names)));
    } else if (std::find(formats.begin(), formats.end(), *format) != formats.end()) {
      problems.push_back(fmt::format("--format: {} comes twice", quote_word(word)));
    } else {
      formats.push_back(*format);
    }
  }
  return formats;
}

void read_fault(const CosimArguments& arguments, CampaignOptions& options, Problems& problems) {
  const std::string& text = arguments.rtl_fault;
  options.fault_text = text;
  if (text.empty() || (text == "none" && arguments.campaign == "replay")) return;
  collect(
      problems, [&] { options.fault = parse_fault(text); }, "--rtl-fault: ");
  const FaultPlace& place = options.fault;
  if (place.fault == nullptr) return;
  if (!place.instance.empty()) {
    problems.push_back(fmt::format("--rtl-fault: {} is an instance of a platform; here NAME or NAME@pe_R_C",
                                   quote_word(place.instance)));
  } else if (arguments.campaign != "replay" &&
             !runs_module(arguments.campaign, place.fault->module)) {  // a file's cases say
    std::string where;
    for (const char* other : {"pe", "array", "rounding"}) {
      if (runs_module(other, place.fault->module))
        where += fmt::format("{}cosim {}", where.empty() ? "" : " or ", other);
    }
    problems.push_back(fmt::format("--rtl-fault: {} is a fault of {}, which is not in this unit; use {}", text,
                                   place.fault->module, where));
  } else if (place.row >= 0 && arguments.campaign == "pe") {
    problems.push_back(
        fmt::format("--rtl-fault: {} names a PE of an array, and this is a single one; leave out @pe_{}_{}", text,
                    place.row, place.col));
  }
}

void check_outputs(const CosimArguments& arguments, const std::string& reproducer, Problems& problems) {
  const auto check = [&](const std::string& option, const std::string& path) {
    if (!path.empty())
      collect(
          problems, [&] { check_writable(path); }, option + " ");
  };
  check("--coverage", arguments.coverage);
  check("--reproducer", reproducer);
  check("--wave", arguments.wave.path);
  const auto resolved = [](const std::string& path) {
    std::error_code ignored;
    return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  };
  for (const auto& [option, path] :
       {std::pair("--coverage", &arguments.coverage), std::pair("--wave", &arguments.wave.path)}) {
    for (const auto& [other, other_path] :
         {std::pair("--reproducer", &reproducer), std::pair("FILE", &arguments.file)}) {
      if (!path->empty() && !other_path->empty() && resolved(*path) == resolved(*other_path)) {
        problems.push_back(
            fmt::format("{} and {} name the same file {}; give each its own", option, other, quote_word(*path)));
      }
    }
  }
}

// Verilator's coverage data

struct FileCoverage {
  std::map<std::uint64_t, bool> lines;  // by number: whether it was reached
  std::uint64_t toggles = 0;
  std::uint64_t toggled = 0;
};

// "50-52,54"
void add_lines(const std::string& ranges, bool covered, std::map<std::uint64_t, bool>& lines) {
  const char* at = ranges.data();
  const char* const end = at + ranges.size();
  while (at < end) {
    std::uint64_t first = 0;
    at = std::from_chars(at, end, first).ptr;
    std::uint64_t last = first;
    if (at < end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
    for (std::uint64_t line = first; line <= last; ++line) lines[line] = lines[line] || covered;
    if (at < end && *at != ',') return;  // not of this form
    ++at;
  }
}

// By RTL file. A line or bit counts once, however many instances and parametrizations have it; the wires that select
// seeded faults do not count.
std::map<std::string, FileCoverage> read_coverage(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, FileCoverage> files;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, bool> toggles;  // file, line, column, name
  for (std::string line; std::getline(file, line);) {
    const std::size_t quote = line.rfind("' ");
    if (line.rfind("C '", 0) != 0 || quote == std::string::npos) continue;
    const bool covered = line.compare(quote + 2, std::string::npos, "0") != 0;
    std::map<std::string, std::string> fields;
    for (std::size_t at = 3; at < quote && line[at] == '\1';) {
      const std::size_t next = std::min(line.find('\1', at + 1), quote);
      const std::size_t split = line.find('\2', at);
      if (split < next) fields[line.substr(at + 1, split - at - 1)] = line.substr(split + 1, next - split - 1);
      at = next;
    }
    const std::string name = fs::path(fields["f"]).filename().string();
    if (fields["page"].rfind("v_toggle", 0) == 0) {
      if (fields["o"].rfind("fault_", 0) == 0) continue;
      bool& toggled = toggles[{name, fields["l"], fields["n"], fields["o"]}];
      toggled = toggled || covered;
    } else {
      add_lines(fields["S"], covered, files[name].lines);
    }
  }
  for (const auto& [key, toggled] : toggles) {
    FileCoverage& of_file = files[std::get<0>(key)];
    ++of_file.toggles;
    if (toggled) ++of_file.toggled;
  }
  return files;
}

std::string coverage_text(const std::string& path) {
  FileCoverage all;
  std::uint64_t lines = 0;
  std::uint64_t reached = 0;
  Rows rows = {{"RTL file", "lines", "covered", "not covered", "bits", "toggled", "not toggled"}};
  const auto row = [](const std::string& name, std::uint64_t of_lines, std::uint64_t of_reached, std::uint64_t bits,
                      std::uint64_t toggled) {
    return std::vector<std::string>{name,
                                    std::to_string(of_lines),
                                    percent(of_reached, of_lines),
                                    std::to_string(of_lines - of_reached),
                                    std::to_string(bits),
                                    percent(toggled, bits),
                                    std::to_string(bits - toggled)};
  };
  for (const auto& [name, coverage] : read_coverage(path)) {
    const auto covered = static_cast<std::uint64_t>(
        std::count_if(coverage.lines.begin(), coverage.lines.end(), [](const auto& line) { return line.second; }));
    rows.push_back(row(name, coverage.lines.size(), covered, coverage.toggles, coverage.toggled));
    lines += coverage.lines.size();
    reached += covered;
    all.toggles += coverage.toggles;
    all.toggled += coverage.toggled;
  }
  rows.push_back(row("all", lines, reached, all.toggles, all.toggled));
  return fmt::format("RTL coverage, {} ({} of lines, {} of toggles):\n{}", path, percent(reached, lines),
                     percent(all.toggled, all.toggles), table(rows, 2));
}

// Results

std::string difference_text(const CampaignResult& result, const std::string& reproducer, int& status) {
  if (result.differences.empty()) return "";
  const Difference& first = result.differences.front();
  std::string text = "first difference: " + describe(first) + "\n";
  if (reproducer.empty()) return text;
  try {
    write_file_atomically(reproducer, cases_to_json({first.reproducer}));
    text += fmt::format("reproducer: {}; run it again with: azulejo cosim replay {}\n", reproducer, reproducer);
  } catch (const OutputError& error) {
    log(LogLevel::Error, error.what());
    status = 3;
  }
  return text;
}

// Prints the result and gives the exit status. `reproducer`: where the first difference goes, empty: nowhere. `wave`:
// what to say of it, empty: nothing.
int report(const CosimArguments& arguments, const CampaignResult& result, const std::string& noun,
           const std::string& what, const std::string& reproducer, const std::string& wave) {
  int status = result.passed() ? 0 : 1;
  const std::string difference = difference_text(result, reproducer, status);
  std::string text;
  if (!arguments.quiet) {
    Rows figures = {{noun, std::to_string(result.cases)},
                    {"mismatches", std::to_string(result.mismatches)},
                    {"RTL cycles in all", std::to_string(result.cycles)},
                    {"time in model and RTL", fmt::format("{:.2f} s", result.seconds)}};
    for (const auto& [name, value] : result.figures) figures.push_back({name, value});
    if (!wave.empty()) figures.push_back({"wave", wave});
    text += table(figures);
    if (!result.table.empty()) text += "\n" + result.table;
    if (!result.holes.empty()) {
      text += fmt::format("\nholes: {}\n", result.holes.size());
      for (const std::string& hole : result.holes) text += "  " + hole + "\n";
    }
    if (!arguments.coverage.empty()) text += "\n" + coverage_text(arguments.coverage);
    text += "\n" + difference;
  }
  const std::string counts =
      fmt::format("{}: {} {}, {}", what, result.cases, noun, counted(result.mismatches, "mismatch", "mismatches"));
  text += fmt::format("{} {}{}\n", result.passed() ? "PASS" : "FAIL", counts,
                      result.cases == 0 && result.mismatches == 0 ? "; nothing was compared" : "");
  std::fputs(text.c_str(), stdout);
  return status;
}

std::string names_of(const std::vector<Format>& formats) {
  std::vector<std::string_view> names;
  for (const Format format : formats) names.push_back(spec(format).name);
  return join_words(names);
}

int report_mutants(const CosimArguments& arguments, const std::vector<MutantOutcome>& outcomes, double seconds,
                   const std::string& wave) {
  const bool clean = !outcomes.front().detected;
  Rows rows = {{"fault", "module", "detected by", "RTL cycles", "cases"}};
  Rows equivalents;
  std::vector<std::string> wrong;  // said to be equivalent, and detected
  std::vector<std::string> survivors;
  std::uint64_t detected = 0;
  std::uint64_t counting = 0;
  for (const MutantOutcome& outcome : outcomes) {
    if (outcome.fault == nullptr) continue;
    const RtlFault& fault = *outcome.fault;
    rows.push_back({std::string(fault.name), std::string(fault.module), outcome.detected ? outcome.by : "-",
                    std::to_string(outcome.cycles), std::to_string(outcome.cases)});
    if (!fault.equivalent.empty()) {
      equivalents.push_back({std::string(fault.name), std::string(fault.equivalent)});
      if (outcome.detected) wrong.emplace_back(fault.name);
      continue;
    }
    ++counting;
    if (outcome.detected) ++detected;
    if (!outcome.detected) survivors.emplace_back(fault.name);
  }
  const bool passed =
      clean && wrong.empty() && static_cast<double>(detected) >= kPassingScore * static_cast<double>(counting);
  std::string text;
  if (!arguments.quiet) {
    text += table(rows) + "\n";
    const MutantOutcome& good = outcomes.front();
    text += fmt::format("without a fault: {} in {} cases, {} RTL cycles\n",
                        clean ? "no mismatch" : "MISMATCH in " + good.by, good.cases, good.cycles);
    text += fmt::format("equivalent, which no output can show: {}\n", equivalents.size());
    text += table(equivalents, 2);
    for (const std::string& name : wrong) text += fmt::format("said to be equivalent, but detected: {}\n", name);
    text += fmt::format("survivors: {}\n", survivors.size());
    for (const std::string& name : survivors) text += "  " + name + "\n";
    text += fmt::format("host time: {:.1f} s\n", seconds);
    if (!wave.empty()) text += fmt::format("wave: {}\n", wave);
    text += "\n";
  }
  text += fmt::format("{} mutation score {}/{} = {}{}{}\n", passed ? "PASS" : "FAIL", detected, counting,
                      percent(detected, counting),
                      clean ? "" : "; the RTL without a fault differs, in " + outcomes.front().by,
                      wrong.empty() ? "" : fmt::format("; {} detected though held equivalent", wrong.size()));
  std::fputs(text.c_str(), stdout);
  return passed ? 0 : 1;
}

// What the campaigns are given

void read_pe(const CosimArguments& arguments, PeCampaign& campaign, Problems& problems) {
  campaign.formats = read_formats(arguments.formats, array_formats(), problems);
  campaign.mixed = arguments.mixed;
  campaign.exhaustive = arguments.exhaustive;
  campaign.stalls = !arguments.no_stalls;
  // An FP32 operand has too many codes.
  const auto exhaustible = [](Format format) { return format != Format::Fp32; };
  if (campaign.exhaustive && !std::all_of(campaign.formats.begin(), campaign.formats.end(), exhaustible)) {
    problems.push_back("--exhaustive: fp32 has too many codes; leave it out, or take --macs");
  }
  if (campaign.exhaustive && !arguments.macs.empty()) {
    problems.push_back("--macs counts random MACs, and --exhaustive has none; give one of them");
  }
  if (arguments.formats.empty()) {
    for (const Format format : array_formats()) {
      if (!campaign.exhaustive || exhaustible(format)) campaign.formats.push_back(format);
    }
  }
  const std::uint64_t macs =
      arguments.macs.empty() ? kDefaultCases : read_number("--macs", arguments.macs, 1, kMostCases, problems);
  campaign.macs = macs * campaign.formats.size();
}

void read_rounding(const CosimArguments& arguments, RoundingCampaign& campaign, Problems& problems) {
  campaign.formats = read_formats(arguments.formats, all_formats(), problems);
  if (arguments.formats.empty()) campaign.formats = all_formats();
  campaign.exhaustive = arguments.exhaustive;
  campaign.stalls = !arguments.no_stalls;
  if (campaign.exhaustive && !arguments.values.empty()) {
    problems.push_back("--values counts random values, and --exhaustive has none; give one of them");
  }
  campaign.values =
      arguments.values.empty() ? kDefaultCases : read_number("--values", arguments.values, 1, kMostCases, problems);
}

void read_array(const CosimArguments& arguments, ArrayCampaign& campaign, Problems& problems) {
  campaign.formats = read_formats(arguments.formats, array_formats(), problems);
  if (arguments.formats.empty()) campaign.formats = {Format::Bf16, Format::Fp16, Format::Fp32, Format::E4M3};
  // run_array_campaign() knows the array's limits.
  const auto size = [&](const char* option, const std::string& text) {
    return static_cast<std::uint32_t>(read_number(option, text, 0, UINT32_MAX, problems));
  };
  campaign.rows = size("--rows", arguments.rows);
  campaign.cols = size("--cols", arguments.cols);
  campaign.n = size("--n", arguments.n);
  campaign.matmuls = size("--matmuls", arguments.matmuls);
  campaign.stalls = arguments.stalls;
}

// The command line

void add_outcome_options(CLI::App& app, CosimArguments& arguments) {
  app.add_option("--rtl", arguments.rtl, "A PE of your own: SystemVerilog with the ports of rtl/pe/pe.sv")
      ->type_name("pe=DIR[:TOP]");
  app.add_option("--coverage", arguments.coverage,
                 "Write Verilator's line and toggle coverage, and print a table of it")
      ->type_name("FILE");
}

void add_seed(CLI::App& app, CosimArguments& arguments) {
  app.add_option("--seed", arguments.seed, "Seed of operands and stalls")->type_name("N")->capture_default_str();
}

void add_build_options(CLI::App& app, CosimArguments& arguments) {
  app.add_option("--pe-stages", arguments.pe_stages, "Pipeline stages of the PE")
      ->type_name("1|2|3")
      ->capture_default_str();
  app.add_flag("--flush-denormals", arguments.flush_denormals, "RTL and model that flush denormals to zero");
}

void add_campaign_options(CLI::App& app, CosimArguments& arguments) {
  app.add_option("--format", arguments.formats, "Formats, with commas between (azulejo list formats)")
      ->type_name("F[,F...]")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_seed(app, arguments);
  add_build_options(app, arguments);
  app.add_option("--rtl-fault", arguments.rtl_fault, "A seeded fault in the RTL (azulejo list faults)")
      ->type_name("NAME[@pe_R_C]");
  add_outcome_options(app, arguments);
  app.add_option("--reproducer", arguments.reproducer, "Where the first difference is written")
      ->type_name("FILE")
      ->capture_default_str();
}

// One command, found good.

struct CosimPlan {
  CampaignOptions options;
  PeCampaign pe;
  RoundingCampaign rounding;
  ArrayCampaign array;
  MutantsCampaign mutants;
  std::vector<CosimCase> cases;
  WaveRequest wave;
};

void read_cosim_wave(const CosimArguments& arguments, CosimPlan& plan, Problems& problems) {
  plan.wave = read_wave(arguments.wave, problems);
  if (plan.wave.trigger == WaveTriggerKind::Fault) {
    problems.push_back(
        "--wave-trigger: fault is one of a program, and no program runs here; use mismatch or PATH==VALUE, such as "
        "compare.mismatches==1");
  }
  if (plan.wave.wanted && !arguments.coverage.empty()) {
    problems.push_back("--wave: RTL with --coverage has no waveforms; leave out one of them");
  }
}

CosimPlan read_cosim(const CosimArguments& arguments, const std::string& reproducer) {
  const std::string& campaign = arguments.campaign;
  Problems problems;
  CosimPlan plan;
  CampaignOptions& options = plan.options;
  options.seed = read_number("--seed", arguments.seed, 0, UINT64_MAX, problems);
  options.rtl.pipeline_stages =
      static_cast<std::uint32_t>(read_number("--pe-stages", arguments.pe_stages, 1, 3, problems));
  options.rtl.flush_denormals = arguments.flush_denormals;
  options.coverage_file = arguments.coverage;
  if (!arguments.rtl.empty()) {
    const PeSources sources = read_pe_sources(arguments.rtl, problems);
    options.rtl.pe_directory = sources.directory;
    options.rtl.pe_top = sources.top;
  }
  read_fault(arguments, options, problems);
  read_cosim_wave(arguments, plan, problems);
  check_outputs(arguments, reproducer, problems);
  if (campaign == "pe") read_pe(arguments, plan.pe, problems);
  if (campaign == "rounding") read_rounding(arguments, plan.rounding, problems);
  if (campaign == "array") read_array(arguments, plan.array, problems);
  if (campaign == "mutants") {
    plan.mutants.names = arguments.mutants;
    for (const std::string& name : plan.mutants.names) {
      collect(problems, [&] {
        if (parse_fault(name).fault->name != name) {
          throw ConfigError(fmt::format("{}: give the fault without a place", quote_word(name)));
        }
      });
    }
  }
  if (campaign == "replay") collect(problems, [&] { plan.cases = read_cases(arguments.file); });
  if (!problems.empty()) throw ConfigError(problems);
  return plan;
}

// What ran: the mutants' outcomes, or the result of another campaign.
struct CosimOutcome {
  CampaignResult result;
  std::vector<MutantOutcome> mutants;
  double seconds = 0;  // of the mutants
};

CosimOutcome run_plan(const CosimArguments& arguments, const CosimPlan& plan, const CampaignOptions& options) {
  CosimOutcome outcome;
  if (arguments.campaign == "mutants") {
    const auto start = std::chrono::steady_clock::now();
    outcome.mutants = run_mutants(plan.mutants, options);
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  } else if (arguments.campaign == "pe") {
    outcome.result = run_pe_campaign(plan.pe, options);
  } else if (arguments.campaign == "rounding") {
    outcome.result = run_rounding_campaign(plan.rounding, options);
  } else if (arguments.campaign == "array") {
    outcome.result = run_array_campaign(plan.array, options);
  } else {
    try {
      outcome.result = run_replay(plan.cases, options);
    } catch (const ConfigError& error) {
      Problems problems;
      for (const std::string& problem : error.problems()) {  // one of an option is none of the file
        problems.push_back(problem.rfind("--", 0) == 0 ? problem : arguments.file + ": " + problem);
      }
      throw ConfigError(problems);
    }
  }
  return outcome;
}

// The kind of campaign whose units a wave has; empty: of several.
std::string wave_kind(const CosimArguments& arguments, const CosimPlan& plan) {
  static constexpr std::array<const char*, 4> kUnits = {"", "pe", "array", "rounding"};  // of the variant
  if (arguments.campaign == "mutants") return "";
  if (arguments.campaign != "replay") return arguments.campaign;
  const std::size_t first = plan.cases.front().operation.index();
  const bool same = std::all_of(plan.cases.begin(), plan.cases.end(),
                                [&](const CosimCase& one) { return one.operation.index() == first; });
  return same ? kUnits[first] : "";
}

// Without a fault, and with our own PE.
bool is_shipped_rtl(const CosimArguments& arguments, const CosimPlan& plan) {
  const auto shipped = [](const CosimCase& one) { return one.fault.empty() && one.pe_directory.empty(); };
  return arguments.campaign != "mutants" && plan.options.fault.fault == nullptr &&
         plan.options.rtl.pe_directory.empty() && std::all_of(plan.cases.begin(), plan.cases.end(), shipped);
}

// The campaign up to the trigger, with nothing but what it takes to see it.
TriggerResult look_for_trigger(const CosimArguments& arguments, const CosimPlan& plan) {
  const bool several = wave_kind(arguments, plan).empty();
  CampaignOptions options = plan.options;
  std::shared_ptr<TriggerOutput> watched;
  std::unique_ptr<CampaignWave> wave;
  if (plan.wave.trigger == WaveTriggerKind::Condition) {
    watched = std::make_shared<TriggerOutput>(plan.wave.condition);
    WaveOptions look;
    look.output = watched;
    look.scopes = {plan.wave.condition.path};
    wave = std::make_unique<CampaignWave>(look, several);
    wave->declared = [](const WaveFile& file) {
      const Problems problems = unmatched_signals("--wave-trigger", "", file);
      if (!problems.empty()) throw ConfigError(problems);
    };
    wave->enough = [&] { return watched->fired().has_value(); };
  } else {
    wave = std::make_unique<CampaignWave>(several);
    wave->enough = [&] { return wave->first_mismatch().has_value(); };
  }
  options.wave = wave.get();
  try {
    run_plan(arguments, plan, options);
  } catch (const CampaignWave::Enough&) {
  }
  wave->close();
  TriggerResult result;
  result.end = wave->clock().edge(wave->cycle());
  if (watched != nullptr) {
    result.fired = watched->fired().has_value();
    result.time = watched->fired().value_or(0);
  } else if (wave->first_mismatch()) {
    result.fired = true;
    result.time = wave->first_mismatch()->time;
    result.unit = wave->first_mismatch()->unit;
    result.lane = wave->first_mismatch()->lane;
  }
  return result;
}

std::string wave_text(const CosimArguments& arguments, const WaveFile::Summary& wave,
                      const std::optional<CampaignWave::Mismatch>& mismatch) {
  if (!wave.started) return "";
  std::string text = fmt::format("{}, {}, {} signals, {} to {}", arguments.wave.path, human_bytes(wave.bytes),
                                 wave.signals + wave.rtl_signals, human_time(wave.first), human_time(wave.last));
  if (mismatch) text += fmt::format("; first mismatch at {}", human_time(mismatch->time));
  return text;
}

volatile std::sig_atomic_t stop_requested = 0;

extern "C" void stop_cosim(int signal) {
  if (stop_requested != 0) {  // the second one ends at once
    CrashFlush::run();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  stop_requested = 1;
}

}  // namespace

void add_cosim_command(CLI::App& app, CosimArguments& arguments) {
  CLI::App* cosim = app.add_subcommand("cosim", "Verify the RTL against the model, bit for bit");
  cosim->require_subcommand(0, 1);
  cosim->fallthrough();
  cosim->callback([cosim] {
    if (cosim->get_subcommands().empty()) {
      throw ConfigError("cosim: which campaign? pe, rounding, array, mutants or replay; see azulejo cosim --help");
    }
  });
  cosim->footer(R"(
Examples:
  azulejo cosim pe --format e4m3 --exhaustive
  azulejo cosim rounding --exhaustive
  azulejo cosim array --rows 128 --cols 128 --n 512
  azulejo cosim mutants

The last line is PASS or FAIL, with exit status 0 or 1.)");
  const auto add = [&](const char* name, const char* what, const char* examples) {
    CLI::App* campaign = cosim->add_subcommand(name, what);
    campaign->fallthrough();
    campaign->footer(fmt::format(
        "\nA wave shows the RTL beside its model. Its time is the RTL cycles so far, at {} GHz.\n\nExamples:\n{}",
        static_cast<double>(TensorEngineConfig{}.clock) / 1e9, examples));
    campaign->callback([&arguments, name] { arguments.campaign = name; });
    campaign->add_flag("--quiet", arguments.quiet, "Only the last line, and no progress bar");
    add_wave_options(*campaign, arguments.wave, false);
    return campaign;
  };

  CLI::App* pe = add("pe", "One PE: directed corners, then random or all operands",
                     "  azulejo cosim pe                                  10^6 MACs of every format\n"
                     "  azulejo cosim pe --format e4m3,e5m2 --exhaustive  every pair of codes\n"
                     "  azulejo cosim pe --format bf16 --macs 1000000000\n"
                     "  azulejo cosim pe --rtl-fault round_tie_away       does it show?\n"
                     "  azulejo cosim pe --rtl-fault round_tie_away --wave w.vcd --wave-trigger mismatch  where?\n"
                     "  azulejo cosim pe --rtl pe=./my_rtl:my_pe          your own PE");
  pe->add_flag("--mixed", arguments.mixed, "Every format with every other, not only with itself");
  pe->add_flag("--exhaustive", arguments.exhaustive,
               "Every pair of codes of 8-bit formats, every code of wider ones against corners");
  pe->add_option("--macs", arguments.macs, "Random MACs of each format (default 1000000)")->type_name("N");
  pe->add_flag("--no-stalls", arguments.no_stalls, "Operands in every cycle");
  add_campaign_options(*pe, arguments);

  CLI::App* rounding = add("rounding", "The rounding unit, with both random sources",
                           "  azulejo cosim rounding --exhaustive\n"
                           "  azulejo cosim rounding --format bf16,e4m3 --values 100000000 --seed 7");
  rounding->add_flag("--exhaustive", arguments.exhaustive,
                     "Every code's value and its neighbours, and a sweep of all FP32 exponents and fractions");
  rounding->add_option("--values", arguments.values, "Random values (default 1000000)")->type_name("N");
  rounding->add_flag("--no-stalls", arguments.no_stalls, "A value in every cycle");
  add_campaign_options(*rounding, arguments);

  CLI::App* array = add("array", "The PE array, edges and drain: whole matmuls",
                        "  azulejo cosim array --rows 128 --cols 128 --n 512\n"
                        "  azulejo cosim array --rows 8 --cols 8 --n 32 --matmuls 100 --stalls\n"
                        "  azulejo cosim array --rows 8 --cols 8 --rtl-fault pe_stale_weight@pe_3_5");
  array->add_option("--rows", arguments.rows, "Rows of PEs")->type_name("N")->capture_default_str();
  array->add_option("--cols", arguments.cols, "Columns of PEs")->type_name("N")->capture_default_str();
  array->add_option("--n", arguments.n, "Moving columns of a matmul")->type_name("N")->capture_default_str();
  array->add_option("--matmuls", arguments.matmuls, "Matmuls of each format")->type_name("N")->capture_default_str();
  array->add_flag("--stalls", arguments.stalls, "Random bubbles, and random cycles in which the array is held");
  add_campaign_options(*array, arguments);

  CLI::App* mutants = add("mutants", "Does every seeded fault of the RTL show?",
                          "  azulejo cosim mutants\n"
                          "  azulejo cosim mutants round_tie_away pe_stale_weight");
  mutants->add_option("name", arguments.mutants, "Faults (azulejo list faults); default: all")->type_name("NAME");
  add_seed(*mutants, arguments);
  add_build_options(*mutants, arguments);

  CLI::App* replay = add("replay", "Run the cases of a reproducer, or of what a platform run captured",
                         "  azulejo cosim replay azulejo-mismatch.json\n"
                         "  azulejo cosim replay azulejo-mismatch.json --rtl-fault none   without the fault");
  replay->add_option("file", arguments.file, "Cases (azulejo cosim and run write them)")->required()->type_name("FILE");
  replay->add_option("--rtl-fault", arguments.rtl_fault, "Another fault than the file's, or none")
      ->type_name("NAME[@pe_R_C]|none");
  add_outcome_options(*replay, arguments);
}

int cosim_command(const CosimArguments& arguments) {
  const std::string& campaign = arguments.campaign;
  const bool own_reproducer = campaign == "pe" || campaign == "rounding" || campaign == "array";
  const std::string reproducer = own_reproducer ? arguments.reproducer : "";
  CosimPlan plan = read_cosim(arguments, reproducer);
  Bar bar(!arguments.quiet);
  plan.options.message = [&](const std::string& message) {
    bar.clear();
    if (!arguments.quiet) std::fprintf(stderr, "azulejo: %s\n", message.c_str());
  };

  std::optional<TriggerResult> trigger;
  if (plan.wave.trigger != WaveTriggerKind::None) {
    trigger = find_trigger([&] { return look_for_trigger(arguments, plan); });
    plan.wave.wanted = trigger->fired;
    plan.wave.set_window_around(trigger->time);
  }
  plan.options.progress = [&](double fraction) { bar.show(fraction); };
  const std::string kind = wave_kind(arguments, plan);
  std::unique_ptr<CampaignWave> wave;
  if (plan.wave.wanted) {
    wave = std::make_unique<CampaignWave>(plan.wave.options, kind.empty());
    if (trigger && trigger->unit == "array") wave->lane = trigger->lane;
    wave->declared = [](const WaveFile& file) {
      const Problems problems = unmatched_signals("--wave-scope", "", file);
      if (!problems.empty()) throw ConfigError(problems);
      // From here on a file is written: a signal ends it cleanly.
      for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, stop_cosim);
    };
    wave->enough = [] { return stop_requested != 0; };
    plan.options.wave = wave.get();
  }

  CosimOutcome outcome;
  bool interrupted = false;
  try {
    outcome = run_plan(arguments, plan, plan.options);
  } catch (const CampaignWave::Enough&) {
    interrupted = true;
  }
  bar.clear();
  int status = 0;
  std::optional<WaveFile::Summary> written;
  std::string text;
  if (wave) {
    try {
      wave->close();
    } catch (const OutputError& error) {
      log(LogLevel::Error, error.what());
      status = 3;
    }
    written = wave->file()->summary();
    text = wave_text(arguments, *written, wave->first_mismatch());
    const bool shipped = is_shipped_rtl(arguments, plan);
    const std::string problem = replica_problem(wave->replica_differences(), shipped);
    if (!problem.empty()) log(shipped ? LogLevel::Error : LogLevel::Warning, problem);
    if (!problem.empty() && shipped) status = 3;
  }
  if (interrupted) {
    log(LogLevel::Error, fmt::format("interrupted; {} ends at {}", arguments.wave.path, human_time(written->last)));
    return 3;
  }
  for (const std::string& message : rtl_messages()) log(LogLevel::Warning, "RTL: " + message);
  const std::string said = wave_message(plan.wave, written, trigger);
  if (!said.empty()) log(LogLevel::Warning, said);

  int passed = 0;
  if (campaign == "mutants") {
    passed = report_mutants(arguments, outcome.mutants, outcome.seconds, text);
  } else {
    std::string noun = "sums";
    std::string what = campaign;
    if (campaign == "pe") {
      noun = "MACs";
      what += fmt::format(" {}{}", names_of(plan.pe.formats), plan.pe.exhaustive ? ", exhaustive" : "");
    } else if (campaign == "rounding") {
      noun = "conversions";
      what += fmt::format(" {}{}", names_of(plan.rounding.formats), plan.rounding.exhaustive ? ", exhaustive" : "");
    } else if (campaign == "array") {
      what += fmt::format(" {} x {} {}", plan.array.rows, plan.array.cols, names_of(plan.array.formats));
    } else {
      noun = plan.cases.size() == 1 ? "case" : "cases";
      what += " " + arguments.file;
    }
    passed = report(arguments, outcome.result, noun, what, reproducer, text);
  }
  if (plan.wave.view && written && written->started) {
    const std::string problem = view_wave(arguments.wave.path, kind.empty() ? "" : "cosim_" + kind);
    if (!problem.empty()) log(LogLevel::Warning, problem);
  }
  return status != 0 ? status : passed;
}

}  // namespace azulejo::cli
