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
#include "tlm/wave/crash_flush.h"
#include "tlm/wave/verilator_hooks.h"
#include "tlm/wave/wave_file.h"

namespace azulejo::cli {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

extern "C" void request_stop(int signal) {
  if (stop_requested != 0) {  // the second one ends at once
    CrashFlush::run();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  stop_requested = 1;
}

// Keeps the first faults and counts the rest; stops the run one femtosecond after the first, when its instant is
// complete, or after the time that stop_after() names.
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
    if (stop_at_fault_) stop_after(now_fs());
  }

  void stop_after(Femtoseconds time) { pause_.notify(to_sc_time(std::max(time, now_fs()) + 1 - now_fs())); }

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

// All that the user asked for, found good.
struct RunPlan {
  std::uint64_t seed = 0;
  bool keep_data = true;
  RunLimits limits;
  PsumBitFlip flip;
  RtlArguments rtl;
  std::size_t capture = 0;
  WaveRequest wave;
  PlatformConfig config;
  std::unique_ptr<Workload> workload;
};

RunPlan read_run(const RunArguments& arguments) {
  RunPlan plan;
  std::vector<std::string> problems;
  const auto note = [&](std::string problem) {
    if (!problem.empty()) problems.push_back(std::move(problem));
  };
  note(one_of("--data", arguments.data, {"full", "none"}));
  note(one_of("--stop-on", arguments.stop_on, {"fault", "mismatch", "never"}));
  plan.keep_data = arguments.data != "none";
  plan.seed = read_seed(arguments.seed, problems);
  if (!arguments.until.empty()) {
    const ParsedQuantity until = parse_quantity(Quantity::Time, arguments.until);
    if (!until.ok) {
      problems.push_back("--until: " + until.error);
    } else if (until.value == 0) {
      problems.push_back(fmt::format("--until: {} is no time above zero", quote_word(arguments.until)));
    }
    plan.limits.until = until.value;
  }
  plan.flip = read_inject(arguments.inject, plan.seed, plan.keep_data, problems);
  plan.rtl = read_rtl(arguments, problems);
  plan.capture = read_capture_count(arguments, problems);
  if (plan.capture > 0 && !plan.keep_data) {
    problems.push_back("--capture needs --data full: without data there are no operands");
  }
  plan.wave = read_wave(arguments.wave, problems);
  std::vector<NamedFile> outputs = {{"--report", arguments.report},
                                    {"--trace", arguments.trace},
                                    {"--wave", arguments.wave.path},
                                    {"--capture", arguments.capture},
                                    {"--reproducer", arguments.reproducer}};
  for (const NamedFile& output : outputs) {
    if (!output.path.empty())
      collect(
          problems, [&] { check_writable(output.path); }, output.option + " ");
  }
  note(one_of("workload", arguments.workload, {"gemm", "program"}));
  outputs.push_back({"--out", arguments.gemm.out});
  check_distinct(outputs,
                 {{"--a", arguments.gemm.a},
                  {"--b", arguments.gemm.b},
                  {"the program", arguments.program_file},
                  {"the platform", arguments.platform}},
                 problems);
  std::vector<std::string> settings = arguments.settings;
  if (!arguments.pe.empty()) {
    std::string problem = one_of("--pe", arguments.pe, {"tlm", "rtl", "lockstep"});
    if (problem.empty()) {
      settings.insert(settings.begin(),
                      {"tensor_engine.pe=" + arguments.pe, "vector_engine.rounding_unit=" + arguments.pe});
    }
    note(std::move(problem));
  }
  const bool known = collect(problems, [&] { plan.config = load_platform(arguments.platform, settings); });
  if (known) {
    const std::vector<RtlUnit> units = rtl_units(plan.config);
    check_rtl(arguments, plan.rtl, units, plan.keep_data, problems);
    if (plan.wave.trigger == WaveTriggerKind::Mismatch &&
        std::none_of(units.begin(), units.end(), [](const RtlUnit& u) { return u.fidelity == Fidelity::Lockstep; })) {
      problems.push_back("--wave-trigger mismatch: no unit is in lockstep; add --pe lockstep");
    }
    const bool stops = (plan.wave.trigger == WaveTriggerKind::Mismatch && arguments.stop_on != "never") ||
                       (plan.wave.trigger == WaveTriggerKind::Fault && arguments.stop_on == "fault");
    if (stops && !arguments.wave.after.empty()) {
      problems.push_back(fmt::format("--wave-after: the run ends at the {}, with nothing after it; add --stop-on never",
                                     arguments.wave.trigger));
    }
  }
  if (arguments.workload == "program") {
    collect(problems, [&] { plan.workload = make_program(arguments.program_file); });
  } else if (known) {
    collect(problems, [&] { plan.workload = make_gemm(arguments.gemm, plan.config, plan.keep_data, plan.seed); });
  }
  if (!problems.empty()) throw ConfigError(problems);
  return plan;
}

// The platform of a plan, and one run of its workload.
class PlatformRun {
 public:
  struct Sinks {
    TraceSink* trace = nullptr;  // null: none
    WaveFile* wave = nullptr;
    bool wave_looks = false;  // for a trigger
    std::string wave_unit;    // a unit in RTL of which the wave shows more, and the lane of it
    std::uint32_t wave_lane = 0;
  };

  // `stop_at_difference`: ends when the first differing value is at the RTL's output.
  PlatformRun(const RunArguments& arguments, RunPlan& plan, bool stop_at_fault, bool stop_at_difference, Sinks sinks)
      : arguments_(arguments),
        plan_(plan),
        stop_at_difference_(stop_at_difference),
        sinks_(std::move(sinks)),
        faults_(stop_at_fault),
        platform_(plan.config, platform_options()) {
    // From here on files are written: a signal ends the run cleanly.
    stop_requested = 0;
    std::signal(SIGINT, request_stop);
    std::signal(SIGTERM, request_stop);
    std::signal(SIGHUP, request_stop);
    Instruments instruments;
    if (sinks_.trace != nullptr) instruments.trace = sinks_.trace;
    if (sinks_.wave != nullptr) instruments.wave = sinks_.wave;
    instruments.faults = &faults_;
    platform_.attach(instruments);
    if (sinks_.wave == nullptr) return;
    sinks_.wave->begin();
    const std::vector<std::string> problems =
        unmatched_signals(sinks_.wave_looks ? "--wave-trigger" : "--wave-scope", plan.config.name, *sinks_.wave);
    if (!problems.empty()) throw ConfigError(problems);
    if (sinks_.wave->declared().empty()) throw ConfigError(kNothingSelected);
    if (sinks_.wave_looks) plan.wave.check_condition(*sinks_.wave);
  }

  // `look` is called every few ten milliseconds; true: the run ends.
  void run(const std::function<bool()>& look) {
    sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborates: sockets are bound from here on
    log(LogLevel::Info, "loading");
    plan_.workload->start(platform_);
    log(LogLevel::Info, "running");
    Progress progress(!arguments_.quiet);
    RunLimits limits = plan_.limits;
    limits.stop = &stop_requested;
    limits.fault = faults_.stopped();
    limits.progress = [&](Femtoseconds now) {
      progress.show(now, plan_.workload->fraction(platform_));
      if (sinks_.wave != nullptr) sinks_.wave->flush();
      if (look()) faults_.stop_after(now);
    };
    const auto start = std::chrono::steady_clock::now();
    record_.end = run_simulation(limits, [&] { return platform_.finished(); });
    record_.host_seconds_simulation = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    record_.simulated = now_fs();
    platform_.finish_account(record_.simulated);
    finish_record();
  }

  Platform& platform() { return platform_; }
  RunRecord& record() { return record_; }

 private:
  PlatformOptions platform_options() {
    log(LogLevel::Info, fmt::format("building {}", plan_.config.name));
    PlatformOptions options;
    options.keep_data = plan_.keep_data;
    options.seed = plan_.seed;
    options.psum_bit_flip = plan_.flip;
    options.transactions = sinks_.wave != nullptr;
    TwinOptions& twins = options.twins;
    twins.pe_directory = plan_.rtl.pe_directory;
    twins.pe_top = plan_.rtl.pe_top;
    twins.fault = plan_.rtl.fault;
    twins.wave = sinks_.wave;
    twins.wave_unit = sinks_.wave_unit;
    twins.wave_lane = sinks_.wave_lane;
    twins.capture = plan_.capture;
    twins.origin = arguments_.command;
    twins.progress = [this](const std::string& message) {
      if (!arguments_.quiet) std::fprintf(stderr, "azulejo: %s\n", message.c_str());
    };
    twins.on_difference = [this](const Difference& difference) {
      // The first in time: units find theirs ahead of it, one after the other.
      const Femtoseconds time = std::max(now_fs(), difference.time);
      if (record_.difference && time >= record_.difference_time) return;
      record_.difference = difference;
      record_.difference_time = time;
      if (stop_at_difference_) faults_.stop_after(record_.difference_time);
    };
    return options;
  }

  void finish_record() {
    record_.command = arguments_.command;
    record_.data = arguments_.data;
    record_.seed = plan_.seed;
    record_.faults = faults_.faults();
    record_.fault_count = faults_.count();
    if (plan_.flip.enabled) {
      record_.injected = fmt::format("bit {} of one PSUM word flipped after every matmul", plan_.flip.bit);
    }
    record_.rtl_fault = arguments_.rtl_fault;
    record_.pe_directory = plan_.rtl.pe_directory;
    record_.pe_top = plan_.rtl.pe_directory.empty() ? "" : plan_.rtl.pe_top;
    record_.stopped_at_difference = record_.difference && !(arguments_.stop_on == "fault" && record_.fault_count > 0);
    for (const auto& unit : platform_.twins().units()) {
      record_.lockstep = record_.lockstep || unit->unit.fidelity == Fidelity::Lockstep;
    }
    record_.rtl_failures = rtl_failures();
    record_.lockstep_compared = platform_.twins().compared();
    record_.lockstep_mismatches = platform_.twins().mismatches();
    if (record_.end == RunEnd::Deadlock) record_.waiting = platform_.waiting_for();
  }

  const RunArguments& arguments_;
  RunPlan& plan_;
  const bool stop_at_difference_;
  const Sinks sinks_;
  RunRecord record_;
  FaultRecorder faults_;
  Platform platform_;
};

// Throws ConfigError if the wave's scopes select nothing.
TriggerResult check_scopes(const RunArguments& arguments, RunPlan& plan) {
  WaveOptions options;
  options.output = std::make_shared<NoOutput>();
  options.scopes = plan.wave.options.scopes;
  options.depth = plan.wave.options.depth;
  options.now = now_fs;
  WaveFile wave(options);
  PlatformRun::Sinks sinks;
  sinks.wave = &wave;
  PlatformRun(arguments, plan, false, false, sinks);
  return {};
}

// The run up to the trigger, with nothing but what it takes to see it.
TriggerResult look_for_trigger(const RunArguments& arguments, RunPlan& plan) {
  std::shared_ptr<TriggerOutput> watched;
  std::unique_ptr<WaveFile> wave;
  PlatformRun::Sinks sinks;
  const bool stops = arguments.stop_on != "never";
  if (plan.wave.trigger == WaveTriggerKind::Condition) {
    watched = std::make_shared<TriggerOutput>(plan.wave.condition);
    WaveOptions options;
    options.output = watched;
    options.scopes = {plan.wave.condition.path};
    options.now = now_fs;
    wave = std::make_unique<WaveFile>(options);
    sinks.wave = wave.get();
    sinks.wave_looks = true;
  }
  PlatformRun run(arguments, plan, arguments.stop_on == "fault" || plan.wave.trigger == WaveTriggerKind::Fault,
                  stops || plan.wave.trigger == WaveTriggerKind::Mismatch, sinks);
  if (watched) watched->set_text(plan.wave.condition_is_text(*wave));
  run.run([&] { return watched != nullptr && watched->fired().has_value(); });
  TriggerResult result;
  result.end = run.record().simulated;
  switch (plan.wave.trigger) {
    case WaveTriggerKind::None:
      break;
    case WaveTriggerKind::Mismatch:
      if (!run.record().difference) break;
      result.fired = true;
      result.time = std::min(run.record().difference_time, result.end);
      result.unit = run.record().difference->unit;
      result.lane = run.record().difference->lane;
      break;
    case WaveTriggerKind::Fault:
      if (run.record().faults.empty()) break;
      result.fired = true;
      result.time = run.record().faults.front().time;
      break;
    case WaveTriggerKind::Condition:
      wave->close();
      result.fired = watched->fired().has_value();
      result.time = watched->fired().value_or(0);
      break;
  }
  return result;
}

// The saved view that shows most of a run's wave.
std::string view_of(const RunPlan& plan) { return rtl_units(plan.config).empty() ? plan.config.name : "lockstep"; }

}  // namespace

int run_command(const RunArguments& arguments) {
  const auto host_start = std::chrono::steady_clock::now();
  RunPlan plan = read_run(arguments);

  std::optional<TriggerResult> trigger;
  PlatformRun::Sinks sinks;
  if (plan.wave.trigger != WaveTriggerKind::None) {
    if (!plan.wave.options.scopes.empty() || plan.wave.options.depth != 0) {
      find_trigger([&] { return check_scopes(arguments, plan); });  // before the time that it takes
    }
    trigger = find_trigger([&] { return look_for_trigger(arguments, plan); });
    if (plan.wave.trigger == WaveTriggerKind::Condition) plan.wave.add_scope_of_condition();
    plan.wave.wanted = trigger->fired;
    plan.wave.set_window_around(trigger->time);
    sinks.wave_unit = trigger->unit;
    sinks.wave_lane = trigger->lane;
  }
  std::unique_ptr<WaveFile> wave;
  if (plan.wave.wanted) {
    plan.wave.options.now = now_fs;
    wave = std::make_unique<WaveFile>(plan.wave.options);
    sinks.wave = wave.get();
  }
  std::unique_ptr<TraceFile> trace;
  if (!arguments.trace.empty()) trace = std::make_unique<TraceFile>(arguments.trace);
  sinks.trace = trace.get();
  PlatformRun run(arguments, plan, arguments.stop_on == "fault", arguments.stop_on != "never", sinks);
  run.run([] { return false; });
  Platform& platform = run.platform();
  RunRecord& record = run.record();

  int status = 0;
  if (record.end == RunEnd::Finished && plan.keep_data) {
    log(LogLevel::Info, "checking");
    record.check = plan.workload->check(platform);
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
  if (record.end == RunEnd::Finished && plan.keep_data) write([&] { plan.workload->write_outputs(); });
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
  if (plan.capture > 0) {
    const std::vector<CosimCase>& cases = platform.twins().captured();
    if (cases.empty()) {
      log(LogLevel::Warning, fmt::format("--capture: no matmul ran, so {} is not written", arguments.capture));
    } else {
      write([&] { write_file_atomically(arguments.capture, cases_to_json(cases)); });
    }
  }
  if (trace) write([&] { trace->close(); });
  if (wave) {
    write([&] { wave->close(); });
    record.wave = wave->summary();
    record.wave_differences = platform.twins().wave_differences();
    const bool shipped = plan.rtl.fault.fault == nullptr && plan.rtl.pe_directory.empty();
    const std::string problem = replica_problem(record.wave_differences, shipped);
    if (!problem.empty()) log(shipped ? LogLevel::Error : LogLevel::Warning, problem);
    if (!problem.empty() && shipped) status = 3;
  }
  record.wave_path = arguments.wave.path;
  record.trigger = trigger;
  record.trigger_text = arguments.wave.trigger;
  const std::string said = wave_message(plan.wave, record.wave, trigger);
  if (!said.empty()) log(LogLevel::Warning, said);
  if (!arguments.report.empty()) {
    write([&] {
      write_file_atomically(arguments.report, build_report(record, platform, *plan.workload).dump(2) + "\n");
    });
  }
  if (!arguments.quiet) std::fputs(build_summary(record, platform, *plan.workload).c_str(), stdout);
  if (plan.wave.view && record.wave && record.wave->started) {
    const std::string problem = view_wave(arguments.wave.path, view_of(plan));
    if (!problem.empty()) log(LogLevel::Warning, problem);
  }
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
