// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/wave_arguments.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tlm/common/error.h"
#include "tlm/common/output_file.h"
#include "tlm/common/units.h"
#include "tlm/isa/text.h"

namespace azulejo::cli {
namespace {

constexpr const char* kBefore = "1 us";
constexpr const char* kAfter = "200 ns";
constexpr const char* kLimit = "1 GiB";

std::uint64_t read_quantity(const std::string& option, Quantity quantity, const std::string& text,
                            const std::string& otherwise, std::vector<std::string>& problems) {
  const ParsedQuantity parsed = parse_quantity(quantity, text.empty() ? otherwise : text);
  if (!parsed.ok) problems.push_back(option + ": " + parsed.error);
  return parsed.value;
}

void read_window(const std::string& text, WaveOptions& options, std::vector<std::string>& problems) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    problems.push_back(fmt::format("--wave-window: {} is no FROM:TO, such as 10us:12.5us or 10us:", quote_word(text)));
    return;
  }
  const std::string from = text.substr(0, colon);
  const std::string to = text.substr(colon + 1);
  const std::size_t before = problems.size();
  if (!from.empty()) options.from = read_quantity("--wave-window", Quantity::Time, from, "", problems);
  if (!to.empty()) options.to = read_quantity("--wave-window", Quantity::Time, to, "", problems);
  if (problems.size() == before && options.from > options.to) {
    problems.push_back(
        fmt::format("--wave-window: {} ends before it begins; write the earlier time first", quote_word(text)));
  }
}

void read_trigger(const std::string& text, WaveRequest& request, std::vector<std::string>& problems) {
  request.trigger_text = text;
  if (text == "mismatch") {
    request.trigger = WaveTriggerKind::Mismatch;
  } else if (text == "fault") {
    request.trigger = WaveTriggerKind::Fault;
  } else {
    request.trigger = WaveTriggerKind::Condition;
    try {
      request.condition = SignalCondition::parse(text);
    } catch (const ConfigError&) {
      problems.push_back(
          fmt::format("--wave-trigger: unknown {}; allowed: mismatch, fault, or PATH==VALUE such as "
                      "chip0.nc0.tensor_engine.busy==1{}",
                      quote_word(text), did_you_mean(text, {"mismatch", "fault"})));
    }
  }
}

std::string older_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) ? "; the file of that name is an older one" : "";
}

}  // namespace

void add_wave_options(CLI::App& app, WaveArguments& arguments, bool program) {
  const char* const group = "Waveform";
  app.add_option("--wave", arguments.path, "Write a waveform of the models and, where they run, of the RTL's inside")
      ->type_name("FILE.vcd|FILE.fst")
      ->group(group);
  app.add_option(
         "--wave-scope", arguments.scopes,
         "Only signals that match, ! excludes (repeatable). RTL: the corner tile_0_0 with its edges, and what is "
         "named, as '*.tile_3_4'")
      ->type_name("GLOB")
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--wave-depth", arguments.depth, "Only signals with at most N scopes above them")
      ->type_name("N")
      ->group(group);
  app.add_option("--wave-window", arguments.window, "Only this stretch of simulated time; either end may be empty")
      ->type_name("FROM:TO")
      ->group(group);
  app.add_option("--wave-trigger", arguments.trigger,
                 fmt::format("Only the time around the first of these, into {} without --wave (runs twice, to find it "
                             "first)",
                             kTriggeredWave))
      ->type_name(program ? "mismatch|fault|PATH==VALUE" : "mismatch|PATH==VALUE")
      ->group(group);
  app.add_option("--wave-before", arguments.before, fmt::format("How much before the trigger (default {})", kBefore))
      ->type_name("TIME")
      ->group(group);
  app.add_option("--wave-after", arguments.after, fmt::format("How much after it (default {})", kAfter))
      ->type_name("TIME")
      ->group(group);
  app.add_option("--wave-limit", arguments.limit, fmt::format("End the file at this size (default {})", kLimit))
      ->type_name("SIZE")
      ->group(group);
  app.add_flag("--view", arguments.view, "Open GTKWave at the end, with the saved view that fits")->group(group);
}

void WaveRequest::check_condition(const WaveFile& wave) const {
  for (const WaveDeclaration& signal : wave.declared()) {
    if (signal.scope + "." + signal.name != condition.path) continue;
    if (condition.possible(signal.bits, signal.text)) return;
    throw ConfigError(fmt::format("--wave-trigger: {} can never be {}; it has {}", condition.path,
                                  quote_word(condition.value),
                                  signal.text ? fmt::format("{} characters of text", signal.bits / 8)
                                              : fmt::format("{} bit{}", signal.bits, signal.bits == 1 ? "" : "s")));
  }
  throw ConfigError(
      fmt::format("--wave-trigger: {} is no signal; give the whole path of one", quote_word(condition.path)));
}

void set_default_path(WaveArguments& arguments) {
  if (arguments.path.empty() && !arguments.trigger.empty()) arguments.path = kTriggeredWave;
}

bool WaveRequest::condition_is_text(const WaveFile& wave) const {
  return std::any_of(wave.declared().begin(), wave.declared().end(), [&](const WaveDeclaration& signal) {
    return signal.text && signal.scope + "." + signal.name == condition.path;
  });
}

void WaveRequest::add_scope_of_condition() {
  if (options.scopes.empty() || options.scopes.front().front() == '!')
    options.scopes.insert(options.scopes.begin(), "*");
  options.scopes.push_back(condition.path);
}

void WaveRequest::set_window_around(Femtoseconds time) {
  options.from = time > before ? time - before : 0;
  options.to = add_time(time, after);
}

WaveRequest read_wave(const WaveArguments& arguments, std::vector<std::string>& problems) {
  WaveRequest request;
  request.wanted = !arguments.path.empty();
  request.view = arguments.view;
  const std::vector<std::pair<const char*, bool>> given = {
      {"--wave-scope", !arguments.scopes.empty()},  {"--wave-depth", !arguments.depth.empty()},
      {"--wave-window", !arguments.window.empty()}, {"--wave-trigger", !arguments.trigger.empty()},
      {"--wave-before", !arguments.before.empty()}, {"--wave-after", !arguments.after.empty()},
      {"--wave-limit", !arguments.limit.empty()},   {"--view", arguments.view}};
  for (const auto& [option, is_given] : given) {
    if (is_given && !request.wanted) problems.push_back(fmt::format("{} needs --wave FILE", option));
  }
  if (!request.wanted) return request;
  WaveOptions& options = request.options;
  options.path = arguments.path;
  options.scopes = arguments.scopes;
  const std::string extension = std::filesystem::path(arguments.path).extension().string();
  if (extension != ".vcd" && extension != ".fst") {
    problems.push_back(fmt::format("--wave: {} is neither a .vcd nor a .fst file, the formats that are written",
                                   quote_word(arguments.path)));
  }
  if (!arguments.depth.empty()) {
    const char* const end = arguments.depth.data() + arguments.depth.size();
    const auto [stop, error] = std::from_chars(arguments.depth.data(), end, options.depth);
    if (error != std::errc() || stop != end || options.depth == 0) {
      problems.push_back(
          fmt::format("--wave-depth: {} is no depth; a whole number from 1 on", quote_word(arguments.depth)));
    }
  }
  if (!arguments.window.empty()) read_window(arguments.window, options, problems);
  if (!arguments.trigger.empty()) read_trigger(arguments.trigger, request, problems);
  if (arguments.trigger.empty()) {
    if (!arguments.before.empty()) problems.push_back("--wave-before needs --wave-trigger");
    if (!arguments.after.empty()) problems.push_back("--wave-after needs --wave-trigger");
  } else if (!arguments.window.empty()) {
    problems.push_back("--wave-trigger and --wave-window both say which time is kept; leave one out");
  }
  request.before = read_quantity("--wave-before", Quantity::Time, arguments.before, kBefore, problems);
  request.after = read_quantity("--wave-after", Quantity::Time, arguments.after, kAfter, problems);
  const std::size_t known = problems.size();
  options.limit_bytes = read_quantity("--wave-limit", Quantity::Size, arguments.limit, kLimit, problems);
  if (problems.size() == known && options.limit_bytes == 0) {
    problems.push_back(fmt::format("--wave-limit: {} leaves nothing; a size above zero", quote_word(arguments.limit)));
  }
  return request;
}

TriggerResult find_trigger(const std::function<TriggerResult()>& run) {
  int ends[2];
  if (::pipe(ends) != 0) throw OutputError("--wave-trigger: no pipe can be made");
  const pid_t process = ::fork();
  if (process < 0) throw OutputError("--wave-trigger: no second process can be made");
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it has no use of its own
    ::close(ends[0]);
    nlohmann::json answer;
    try {
      const TriggerResult found = run();
      answer = {
          {"fired", found.fired}, {"time", found.time}, {"unit", found.unit}, {"lane", found.lane}, {"end", found.end}};
    } catch (const ConfigError& error) {
      answer = {{"problems", error.problems()}};
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    const std::string text = answer.dump();
    const ssize_t written = ::write(ends[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t size = 0; (size = ::read(ends[0], piece, sizeof piece)) != 0;) {
    if (size > 0) text.append(piece, static_cast<std::size_t>(size));
    if (size < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  const nlohmann::json answer = nlohmann::json::parse(text, nullptr, false);
  if (answer.contains("problems")) throw ConfigError(answer["problems"].get<std::vector<std::string>>());
  if (answer.contains("error")) throw OutputError("--wave-trigger: " + answer["error"].get<std::string>());
  if (!answer.contains("fired")) {
    throw OutputError("--wave-trigger: the run that looks for it ended early, and nothing is known of the trigger");
  }
  return {answer["fired"], answer["time"], answer["unit"], answer["lane"], answer["end"]};
}

std::string wave_message(const WaveRequest& request, const std::optional<WaveFile::Summary>& summary,
                         const std::optional<TriggerResult>& trigger) {
  const std::string& path = request.options.path;
  if (trigger && !trigger->fired) {
    return fmt::format("--wave-trigger {} never fired in {}; {} is not written{}", request.trigger_text,
                       human_time(trigger->end), path, older_file(path));
  }
  if (!summary) return {};
  if (summary->limit_reached) {
    return fmt::format("{} ends at {}, where it reaches --wave-limit {}; later times are left out", path,
                       human_time(summary->last), format_quantity(Quantity::Size, request.options.limit_bytes));
  }
  if (!summary->started) {
    return fmt::format("{} is not written: the run ended before --wave-window begins at {}{}", path,
                       human_time(request.options.from), older_file(path));
  }
  return {};
}

std::string replica_problem(std::uint64_t differences, bool shipped) {
  if (differences == 0) return {};
  const char* const why =
      shipped ? "an internal error"
              : "there, loads overlap with the columns before them and idle tiles are clocked too, which this RTL does "
                "not bear";
  return fmt::format("the wave's RTL differs from the RTL that ran in {} outputs: {}", differences, why);
}

std::string view_wave(const std::string& path, const std::string& name) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) {
    return "--view: there is no display; look at it elsewhere with: gtkwave " + path;
  }
  const std::filesystem::path saved = std::filesystem::path(AZULEJO_SOURCE_DIR) / "waves" / (name + ".gtkw");
  std::error_code ignored;
  const bool has_view = !name.empty() && std::filesystem::exists(saved, ignored);
  const pid_t process = ::fork();
  if (process < 0) return "--view: no second process can be made";
  if (process == 0) {
    ::setsid();
    const int nowhere = ::open("/dev/null", O_RDWR);  // GTKWave talks
    for (int standard = 0; standard <= 2; ++standard) ::dup2(nowhere, standard);
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
    if (has_view) {
      ::execlp("gtkwave", "gtkwave", path.c_str(), saved.c_str(), nullptr);
    } else {
      ::execlp("gtkwave", "gtkwave", path.c_str(), nullptr);
    }
    ::_exit(127);
  }
  ::usleep(200'000);
  int status = 0;
  if (::waitpid(process, &status, WNOHANG) == process) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
      return "--view: GTKWave is not installed (Debian package gtkwave)";
    }
    return "--view: GTKWave ended at once; see what it says: gtkwave " + path;
  }
  return {};
}

}  // namespace azulejo::cli
