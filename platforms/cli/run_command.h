// SPDX-License-Identifier: Apache-2.0
// `azulejo run`: builds the platform, runs a workload on it and reports.
#pragma once

#include <string>
#include <vector>

#include "platforms/cli/gemm_workload.h"
#include "platforms/cli/wave_arguments.h"

namespace azulejo::cli {

struct RunArguments {
  std::string platform;
  std::string workload;  // "gemm" or "program"
  GemmArguments gemm;
  std::string program_file;
  std::vector<std::string> settings;  // --set
  std::string data = "full";
  std::string seed = "0";
  std::string until;
  std::string stop_on = "mismatch";
  std::string inject;
  std::string pe;         // --pe; empty: what the configuration says
  std::string rtl;        // pe=DIR[:TOP]
  std::string rtl_fault;  // NAME[@PATH]
  std::string capture;
  std::string capture_count;  // empty: 4
  std::string reproducer;
  std::string report, trace;
  WaveArguments wave;
  bool quiet = false;
  std::string command;  // as typed, for the report
};

// Exit status of the process. Throws ConfigError before anything is simulated or written.
int run_command(const RunArguments& arguments);

}  // namespace azulejo::cli
