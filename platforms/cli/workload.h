// SPDX-License-Identifier: Apache-2.0
// What `azulejo run` runs: a program (or a kernel) with its data, its check and its own lines of the summary.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "platforms/builder/platform.h"

namespace azulejo::cli {

struct CheckResult {
  bool done = false;  // false: the run moved no data, or did not reach its end
  std::uint64_t elements = 0;
  std::uint64_t mismatches = 0;
  std::uint64_t max_ulp = 0;
  bool sampled = false;
  std::string first_mismatch;  // place and both values; empty if none
  std::string no_check;        // why there was nothing to compare with, if so
};

// Operations that the workload asked for, for rates and utilization.
struct WorkDone {
  double flops = 0;             // 2 per multiply-add of the mathematical problem
  double peak_flops_per_s = 0;  // of the cores used, at the workload's element type
};

class Workload {
 public:
  virtual ~Workload() = default;

  virtual std::string name() const = 0;
  // Places data and programs and starts the cores. Throws ConfigError.
  virtual void start(Platform& platform) = 0;
  // Share of the work that is done, 0 to 1, for the progress bar; negative if unknown.
  virtual double fraction(Platform& platform) const = 0;
  // After the run reached its end: compares the results. Called only with data.
  virtual CheckResult check(Platform& platform) = 0;
  // After the check: writes the workload's own output files.
  virtual void write_outputs() {}
  virtual WorkDone work() const = 0;
  // The workload's parameters and what it derived from them.
  virtual nlohmann::ordered_json report() const = 0;
  // Lines for the head of the text summary.
  virtual std::vector<std::string> describe() const = 0;
};

}  // namespace azulejo::cli
