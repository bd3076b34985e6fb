// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/run_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <systemc>

#include "platforms/cli/list_command.h"
#include "platforms/cli/log.h"
#include "platforms/cli/pe_sources.h"
#include "platforms/cli/program_workload.h"
#include "platforms/cli/progress.h"
#include "platforms/cli/report.h"
#include "tlm/common/error.h"
#include "tlm/common/output_file.h"
#include "tlm/common/trace_file.h"
#include "tlm/common/units.h"
#include "tlm/isa/text.h"
#include "tlm/wave/verilator_hooks.h"
#include "tlm/wave/wave_file.h"

namespace azulejo::cli {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

extern "C" void request_stop(int signal) {
  if (stop_requested != 0) {  // the second one ends at once
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  stop_requested = 1;
}

// Keeps the first faults and counts the rest; stops the run one femtosecond after the first, when its instant is
// complete, or after whatever else calls stop().
class FaultRecorder : public sc_core::sc_module, public FaultSink {
 public:
  explicit FaultRecorder(bool stop_at_fault)
      : sc_module(sc_core::sc_module_name("fault_recorder")), stop_at_fault_(stop_at_fault) {
    SC_HAS_PROCESS(FaultRecorder);
    SC_METHOD(pause);
    sensitive << pause_;
    dont_initialize();
  }

  void fault(const Fault& fault) override {
    ++count_;
    if (faults_.size() < kMaxFaults) faults_.push_back(fault);
    if (stop_at_fault_) stop();
  }

  void stop() { pause_.notify(sc_core::sc_time::from_value(1)); }

  const std::vector<Fault>& faults() const { return faults_; }
  std::uint64_t count() const { return count_; }
  const bool* stopped() const { return &stopped_; }

 private:
  void pause() {
    stopped_ = true;
    sc_core::sc_pause();
  }

  const bool stop_at_fault_;
  bool stopped_ = false;
  sc_core::sc_event pause_;
  std::uint64_t count_ = 0;
  std::vector<Fault> faults_;
};

std::string one_of(const std::string& option, const std::string& word, const std::vector<std::string_view>& allowed) {
  for (std::string_view known : allowed) {
    if (known == word) return "";
  }
  return fmt::format("{}: unknown {}; allowed: {}{}", option, quote_word(word), join_words(allowed),
                     did_you_mean(word, allowed));
}

std::uint64_t read_seed(const std::string& text, std::vector<std::string>& problems) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    problems.push_back(fmt::format("--seed: {} is no whole number from 0 to 2^64 - 1", quote_word(text)));
  }
  return value;
}

// bitflip:psum or bitflip:psum:BIT
PsumBitFlip read_inject(const std::string& text, std::uint64_t seed, bool keep_data,
                        std::vector<std::string>& problems) {
  PsumBitFlip flip;
  if (text.empty()) return flip;
  const std::string prefix = "bitflip:psum";
  std::uint32_t bit = flip.bit;
  bool ok = text.rfind(prefix, 0) == 0;
  if (ok && text.size() > prefix.size()) {
    const char* first = text.data() + prefix.size() + 1;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(first, last, bit);
    ok = text[prefix.size()] == ':' && error == std::errc() && end == last && bit < 32;
  }
  if (!ok) {
    problems.push_back(
        fmt::format("--inject: unknown {}; allowed: bitflip:psum or bitflip:psum:BIT with BIT from 0 to 31{}",
                    quote_word(text), text.rfind(prefix + ":", 0) == 0 ? "" : did_you_mean(text, {prefix})));
  } else if (!keep_data) {
    problems.push_back("--inject needs --data full: without data there is no bit to flip");
  }
  flip.enabled = true;
  flip.bit = bit;
  flip.seed = seed;
  return flip;
}

// Runs `read` and keeps its problems for later, each after `prefix`.
template <class Read>
bool collect(std::vector<std::string>& problems, Read read, const std::string& prefix = "") {
  try {
    read();
    return true;
  } catch (const ConfigError& error) {
    for (const std::string& problem : error.problems()) problems.push_back(prefix + problem);
    return false;
  }
}

// What --rtl and --rtl-fault say.
struct RtlArguments {
  std::string pe_directory;
  std::string pe_top = "pe";
  FaultPlace fault;
};

RtlArguments read_rtl(const RunArguments& arguments, std::vector<std::string>& problems) {
  RtlArguments read;
  if (!arguments.rtl.empty()) {
    const PeSources sources = read_pe_sources(arguments.rtl, problems);
    read.pe_directory = sources.directory;
    read.pe_top = sources.top;
  }
  if (!arguments.rtl_fault.empty()) {
    collect(
        problems, [&] { read.fault = parse_fault(arguments.rtl_fault); }, "--rtl-fault: ");
  }
  return read;
}

// Options that need units in RTL, and units in RTL that need data.
void check_rtl(const RunArguments& arguments, const RtlArguments& rtl, const std::vector<RtlUnit>& units,
               bool keep_data, std::vector<std::string>& problems) {
  const auto any = [&](auto&& is) { return std::any_of(units.begin(), units.end(), is); };
  if (!units.empty() && !keep_data) {
    problems.push_back(fmt::format(
        "--data none moves no values, and {} in RTL would have nothing to compute; use --data full, or --pe tlm",
        units.front().name));
  }
  if (!rtl.pe_directory.empty() && rtl.fault.fault != nullptr && runs_module("array", rtl.fault.fault->module)) {
    problems.push_back("--rtl-fault: seeded faults of the array are in the shipped RTL only; leave out --rtl");
  }
  if (!rtl.pe_directory.empty() && !any([](const RtlUnit& unit) { return unit.array; })) {
    problems.push_back("--rtl: no PE array is in RTL; add --pe rtl or --pe lockstep");
  }
  const std::string fault = fault_problem(rtl.fault, units);
  if (!fault.empty()) problems.push_back(fmt::format("--rtl-fault {}: {}", arguments.rtl_fault, fault));
  if (!arguments.reproducer.empty() && !any([](const RtlUnit& unit) { return unit.fidelity == Fidelity::Lockstep; })) {
    problems.push_back("--reproducer: no unit is in lockstep; add --pe lockstep");
  }
}

std::size_t read_capture_count(const RunArguments& arguments, std::vector<std::string>& problems) {
  constexpr std::size_t kMost = 1000;
  std::size_t count = 0;
  const std::string text = arguments.capture_count.empty() ? "4" : arguments.capture_count;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count == 0 || count > kMost) {
    problems.push_back(
        fmt::format("--capture-count: {} is no count; a whole number from 1 to {}", quote_word(text), kMost));
  }
  if (arguments.capture.empty() && !arguments.capture_count.empty()) {
    problems.push_back("--capture-count needs --capture FILE");
  }
  return arguments.capture.empty() ? 0 : count;
}

struct NamedFile {
  std::string option;
  std::string path;
};

// Outputs that would overwrite each other or an input.
void check_distinct(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs,
                    std::vector<std::string>& problems) {
  namespace fs = std::filesystem;
  const auto same = [](const NamedFile& a, const NamedFile& b) {
    std::error_code ignored;
    if (a.path.empty() || b.path.empty()) return false;
    if (fs::exists(a.path, ignored) && !fs::is_regular_file(a.path, ignored)) return false;  // /dev/null, a pipe
    return fs::weakly_canonical(fs::absolute(a.path, ignored), ignored) ==
           fs::weakly_canonical(fs::absolute(b.path, ignored), ignored);
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t j = i + 1; j < outputs.size(); ++j) {
      if (!same(outputs[i], outputs[j])) continue;
      problems.push_back(fmt::format("{} and {} name the same file {}; give each its own", outputs[i].option,
                                     outputs[j].option, quote_word(outputs[i].path)));
    }
    for (const NamedFile& input : inputs) {
      if (!same(outputs[i], input)) continue;
      problems.push_back(fmt::format("{} {} would overwrite {}; give another name", outputs[i].option,
                                     quote_word(outputs[i].path), input.option));
    }
  }
}

}  // namespace

int run_command(const RunArguments& arguments) {
  const auto host_start = std::chrono::steady_clock::now();
  std::vector<std::string> problems;
  const auto note = [&](std::string problem) {
    if (!problem.empty()) problems.push_back(std::move(problem));
  };
  note(one_of("--data", arguments.data, {"full", "none"}));
  note(one_of("--stop-on", arguments.stop_on, {"fault", "mismatch", "never"}));
  const bool keep_data = arguments.data != "none";
  const std::uint64_t seed = read_seed(arguments.seed, problems);
  RunLimits limits;
  if (!arguments.until.empty()) {
    const ParsedQuantity until = parse_quantity(Quantity::Time, arguments.until);
    if (!until.ok) {
      problems.push_back("--until: " + until.error);
    } else if (until.value == 0) {
      problems.push_back(fmt::format("--until: {} is no time above zero", quote_word(arguments.until)));
    }
    limits.until = until.value;
  }
  const PsumBitFlip flip = read_inject(arguments.inject, seed, keep_data, problems);
  const RtlArguments rtl = read_rtl(arguments, problems);
  const std::size_t capture = read_capture_count(arguments, problems);
  if (capture > 0 && !keep_data) problems.push_back("--capture needs --data full: without data there are no operands");
  const std::vector<NamedFile> outputs = {{"--report", arguments.report},
                                          {"--trace", arguments.trace},
                                          {"--wave", arguments.wave},
                                          {"--capture", arguments.capture},
                                          {"--reproducer", arguments.reproducer}};
  for (const NamedFile& output : outputs) {
    if (!output.path.empty())
      collect(
          problems, [&] { check_writable(output.path); }, output.option + " ");
  }
  if (!arguments.wave_scopes.empty() && arguments.wave.empty()) problems.push_back("--wave-scope needs --wave FILE");
  const bool vcd = arguments.wave.size() > 4 && arguments.wave.compare(arguments.wave.size() - 4, 4, ".vcd") == 0;
  if (!arguments.wave.empty() && !vcd) {
    problems.push_back(
        fmt::format("--wave: {} is no .vcd file, the format that is written", quote_word(arguments.wave)));
  }
  note(one_of("workload", arguments.workload, {"gemm", "program"}));
  std::vector<NamedFile> all_outputs = outputs;
  all_outputs.push_back({"--out", arguments.gemm.out});
  const std::vector<NamedFile> inputs = {{"--a", arguments.gemm.a},
                                         {"--b", arguments.gemm.b},
                                         {"the program", arguments.program_file},
                                         {"the platform", arguments.platform}};
  check_distinct(all_outputs, inputs, problems);
  std::vector<std::string> settings = arguments.settings;
  if (!arguments.pe.empty()) {
    std::string problem = one_of("--pe", arguments.pe, {"tlm", "rtl", "lockstep"});
    if (problem.empty()) {
      settings.insert(settings.begin(),
                      {"tensor_engine.pe=" + arguments.pe, "vector_engine.rounding_unit=" + arguments.pe});
    }
    note(std::move(problem));
  }
  PlatformConfig config;
  const bool known = collect(problems, [&] { config = load_platform(arguments.platform, settings); });
  if (known) check_rtl(arguments, rtl, rtl_units(config), keep_data, problems);
  std::unique_ptr<Workload> workload;
  if (arguments.workload == "program") {
    collect(problems, [&] { workload = make_program(arguments.program_file); });
  } else if (known) {
    collect(problems, [&] { workload = make_gemm(arguments.gemm, config, keep_data, seed); });
  }
  if (!problems.empty()) throw ConfigError(problems);

  RunRecord record;
  std::unique_ptr<WaveFile> wave;
  if (!arguments.wave.empty()) {
    WaveOptions options;
    options.path = arguments.wave;
    options.scopes = arguments.wave_scopes;
    options.now = now_fs;
    wave = std::make_unique<WaveFile>(options);
  }
  FaultRecorder faults(arguments.stop_on == "fault");
  const bool stop_at_difference = arguments.stop_on != "never";

  log(LogLevel::Info, fmt::format("building {}", config.name));
  PlatformOptions options;
  options.keep_data = keep_data;
  options.seed = seed;
  options.psum_bit_flip = flip;
  options.twins.pe_directory = rtl.pe_directory;
  options.twins.pe_top = rtl.pe_top;
  options.twins.fault = rtl.fault;
  if (wave) options.twins.context = &wave->context();
  options.twins.capture = capture;
  options.twins.origin = arguments.command;
  options.twins.progress = [&](const std::string& message) {
    if (!arguments.quiet) std::fprintf(stderr, "azulejo: %s\n", message.c_str());
  };
  options.twins.on_difference = [&](const Difference& difference) {
    if (record.difference) return;
    record.difference = difference;
    record.difference_time = now_fs();
    if (stop_at_difference) faults.stop();
  };
  Platform platform(config, options);

  // From here on files are written: a signal ends the run cleanly.
  stop_requested = 0;
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  std::unique_ptr<TraceFile> trace;
  if (!arguments.trace.empty()) trace = std::make_unique<TraceFile>(arguments.trace);
  Instruments instruments;
  if (trace) instruments.trace = trace.get();
  if (wave) instruments.wave = wave.get();
  instruments.faults = &faults;
  platform.attach(instruments);
  if (wave && !wave->unmatched_scopes().empty()) {
    throw ConfigError(unmatched_signals("--wave-scope", platform, wave->unmatched_scopes()));
  }
  sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborates: sockets are bound from here on
  log(LogLevel::Info, "loading");
  workload->start(platform);

  log(LogLevel::Info, "running");
  {
    Progress progress(!arguments.quiet);
    limits.stop = &stop_requested;
    limits.fault = faults.stopped();
    limits.progress = [&](Femtoseconds now) {
      progress.show(now, workload->fraction(platform));
      if (wave) wave->flush();
    };
    const auto start = std::chrono::steady_clock::now();
    record.end = run_simulation(limits, [&] { return platform.finished(); });
    record.host_seconds_simulation = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  record.simulated = now_fs();
  platform.finish_account(record.simulated);
  record.command = arguments.command;
  record.data = arguments.data;
  record.seed = seed;
  record.faults = faults.faults();
  record.fault_count = faults.count();
  if (flip.enabled) record.injected = fmt::format("bit {} of one PSUM word flipped after every matmul", flip.bit);
  record.rtl_fault = arguments.rtl_fault;
  record.pe_directory = rtl.pe_directory;
  record.pe_top = rtl.pe_directory.empty() ? "" : rtl.pe_top;
  record.stopped_at_difference = record.difference && !(arguments.stop_on == "fault" && record.fault_count > 0);
  for (const auto& unit : platform.twins().units()) {
    record.lockstep = record.lockstep || unit->unit.fidelity == Fidelity::Lockstep;
  }
  record.rtl_failures = rtl_failures();
  record.lockstep_compared = platform.twins().compared();
  record.lockstep_mismatches = platform.twins().mismatches();
  if (record.end == RunEnd::Deadlock) record.waiting = platform.waiting_for();

  int status = 0;
  if (record.end == RunEnd::Finished && keep_data) {
    log(LogLevel::Info, "checking");
    record.check = workload->check(platform);
  }
  record.host_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - host_start).count();

  const auto write = [&](auto&& action) {
    try {
      action();
    } catch (const OutputError& error) {
      log(LogLevel::Error, error.what());
      status = 3;
    }
  };
  if (record.end == RunEnd::Finished && keep_data) write([&] { workload->write_outputs(); });
  if (record.difference) {
    const std::string path =
        arguments.reproducer.empty()
            ? fmt::format("azulejo-mismatch-{}-{}.json", record.difference->unit, record.difference->operation)
            : arguments.reproducer;
    write([&] {
      write_file_atomically(path, cases_to_json({record.difference->reproducer}));
      record.reproducer = path;
    });
  }
  for (const std::string& message : rtl_messages()) log(LogLevel::Warning, "RTL: " + message);
  if (record.lockstep && record.lockstep_compared == 0 && record.end == RunEnd::Finished) {
    log(LogLevel::Error, "lockstep compared nothing: no unit in lockstep had anything to do");
  }
  if (capture > 0) {
    const std::vector<CosimCase>& cases = platform.twins().captured();
    if (cases.empty()) {
      log(LogLevel::Warning, fmt::format("--capture: no matmul ran, so {} is not written", arguments.capture));
    } else {
      write([&] { write_file_atomically(arguments.capture, cases_to_json(cases)); });
    }
  }
  if (trace) write([&] { trace->close(); });
  if (wave) write([&] { wave->close(); });
  if (!arguments.report.empty()) {
    write([&] { write_file_atomically(arguments.report, build_report(record, platform, *workload).dump(2) + "\n"); });
  }
  if (!arguments.quiet) std::fputs(build_summary(record, platform, *workload).c_str(), stdout);
  if (status != 0) return status;
  if (record.end == RunEnd::Range) {
    log(LogLevel::Error,
        fmt::format("the run needs more than {} of simulated time, the longest there is; the report is partial",
                    human_time(kTimeRange)));
  }
  if (record.end == RunEnd::Interrupted || record.end == RunEnd::Range) return 3;
  return succeeded(record) ? 0 : 1;
}

}  // namespace azulejo::cli
