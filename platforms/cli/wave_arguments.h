// SPDX-License-Identifier: Apache-2.0
// The options about waveforms, which every run and every co-verification campaign takes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tlm/wave/wave_file.h"
#include "tlm/wave/wave_trigger.h"

namespace CLI {
class App;
}

namespace azulejo::cli {

struct WaveArguments {
  std::string path;                                          // --wave; empty: no wave
  std::vector<std::string> scopes;                           // --wave-scope
  std::string depth, window, trigger, before, after, limit;  // empty: not given
  bool view = false;
};

// `program`: there is one, which can fault.
void add_wave_options(CLI::App& app, WaveArguments& arguments, bool program);

inline constexpr const char* kNothingSelected =
    "--wave: --wave-scope and --wave-depth leave no signal; leave some of them out";

// A trigger without a file gets one of this name.
inline constexpr const char* kTriggeredWave = "azulejo-trigger.fst";
void set_default_path(WaveArguments& arguments);

enum class WaveTriggerKind : std::uint8_t { None, Mismatch, Fault, Condition };

// What the options say.
struct WaveRequest {
  bool wanted = false;
  WaveOptions options;  // `now` is for the caller to set
  WaveTriggerKind trigger = WaveTriggerKind::None;
  std::string trigger_text;   // as typed
  SignalCondition condition;  // of WaveTriggerKind::Condition
  Femtoseconds before = 0;    // of the trigger, that is kept
  Femtoseconds after = 0;
  bool view = false;

  // Throws ConfigError if the condition's path is none of the wave's signals, which has begun.
  void check_condition(const WaveFile& wave) const;
  // REQUIRES: check_condition() found it.
  bool condition_is_text(const WaveFile& wave) const;
  // The wave shows the signal of the condition too.
  void add_scope_of_condition();
  // The window around a trigger that fired at `time`.
  void set_window_around(Femtoseconds time);
};

// Adds what is wrong to `problems`.
WaveRequest read_wave(const WaveArguments& arguments, std::vector<std::string>& problems);

// What a first run, without outputs, found of the trigger.
struct TriggerResult {
  bool fired = false;
  Femtoseconds time = 0;
  std::string unit;        // of a mismatch: hierarchical name, and the lane that it left
  std::uint32_t lane = 0;  // column of an array, lane of a rounding unit
  Femtoseconds end = 0;    // of the run
};

// A trigger is found by running everything twice: once in a process of its own that writes nothing and ends when the
// trigger fires, and then with a wave of the time around it. The same seed gives the same run, to the femtosecond.
// `run` is called in that process. Throws ConfigError with the problems that it threw.
TriggerResult find_trigger(const std::function<TriggerResult()>& run);

// What to say about a finished wave: that it ended early, or that the trigger never fired. Empty: nothing.
std::string wave_message(const WaveRequest& request, const std::optional<WaveFile::Summary>& summary,
                         const std::optional<TriggerResult>& trigger);

// What to say when RTL in a wave showed so many outputs that differ from those of the RTL that ran. `shipped`: RTL of
// the project without a fault, where that is an internal error.
std::string replica_problem(std::uint64_t differences, bool shipped);

// Opens GTKWave on the wave with the saved view of that name (waves/NAME.gtkw), if there is one, in a process of its
// own; what is in the way otherwise. `name` may be empty.
std::string view_wave(const std::string& path, const std::string& name);

}  // namespace azulejo::cli
