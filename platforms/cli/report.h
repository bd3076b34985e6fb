// SPDX-License-Identifier: Apache-2.0
// What a run found, as JSON (schema: report.schema.json) and as text.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platforms/builder/platform.h"
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
};

inline constexpr std::size_t kMaxFaults = 100;

// REQUIRES: the accounts of time are finished at record.simulated.
nlohmann::ordered_json build_report(const RunRecord& record, Platform& platform, const Workload& workload);

// The text summary: time, rate against peak, where the time went, what bounded it, check, faults.
std::string build_summary(const RunRecord& record, Platform& platform, const Workload& workload);

std::string_view end_name(RunEnd end);  // "finished", "until", "range", "interrupted", "fault", "deadlock"

// True if the run is a success: finished or at its time limit, without faults, and with a clean check where there was
// one.
bool succeeded(const RunRecord& record);

}  // namespace azulejo::cli
