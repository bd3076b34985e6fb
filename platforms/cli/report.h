// SPDX-License-Identifier: Apache-2.0
// What a run found, as JSON (schema: report.schema.json) and as text.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/builder/platform.h"
#include "platforms/cli/wave_arguments.h"
#include "platforms/cli/workload.h"
#include "sw/runtime/runtime.h"
#include "tlm/common/instruments.h"

namespace azulejo::cli {

inline constexpr int kReportSchemaVersion = 1;

struct RunRecord {
  std::string command;  // as typed
  std::string data;     // "full" or "none"
  std::uint64_t seed = 0;
  RunEnd end = RunEnd::Finished;
  Femtoseconds simulated = 0;  // from the start of the program to the end of the run
  double host_seconds = 0;
  double host_seconds_simulation = 0;  // of which in the simulation loop
  std::vector<Fault> faults;           // the first kMaxFaults
  std::uint64_t fault_count = 0;
  std::vector<std::string> waiting;  // why the run did not finish
  CheckResult check;
  std::string injected;  // "" or what --inject did

  // RTL twins. What they counted is in Platform::twins().
  std::string rtl_fault;                 // as typed
  std::string pe_directory, pe_top;      // of a PE of one's own
  std::optional<Difference> difference;  // the first of the run
  Femtoseconds difference_time = 0;
  std::string reproducer;              // the file that has it
  bool stopped_at_difference = false;  // what `end` calls a fault is the difference
  bool lockstep = false;               // a unit is in lockstep
  std::uint64_t lockstep_compared = 0;
  std::uint64_t lockstep_mismatches = 0;
  std::uint64_t rtl_failures = 0;  // assertions of the RTL, $error, $stop and $finish

  std::string wave_path;                  // --wave; empty: none was asked for
  std::optional<WaveFile::Summary> wave;  // none: not asked for, or its trigger never fired
  std::uint64_t wave_differences = 0;     // between the RTL that ran and that in the wave
  std::string trigger_text;               // --wave-trigger
  std::optional<TriggerResult> trigger;
};

inline constexpr std::size_t kMaxFaults = 100;

// REQUIRES: the accounts of time are finished at record.simulated.
nlohmann::ordered_json build_report(const RunRecord& record, Platform& platform, const Workload& workload);

// The text summary: time, rate against peak, where the time went, what bounded it, check, faults.
std::string build_summary(const RunRecord& record, Platform& platform, const Workload& workload);

// "finished", "until", "range", "interrupted", "fault", "mismatch", "deadlock"
std::string_view end_name(const RunRecord& record);

// True if the run is a success: finished or at its time limit, without faults and differences, and with a clean check
// and a comparison where they were asked for.
bool succeeded(const RunRecord& record);

}  // namespace azulejo::cli
