// SPDX-License-Identifier: Apache-2.0
// `azulejo cosim`: the RTL against the model, without a platform.
#pragma once

#include <string>
#include <vector>

#include "platforms/cli/wave_arguments.h"

namespace CLI {
class App;
}

namespace azulejo::cli {

struct CosimArguments {
  std::string campaign;              // pe, rounding, array, mutants or replay; empty: another command
  std::vector<std::string> formats;  // --format; empty: the campaign's own choice
  bool mixed = false;
  bool exhaustive = false;
  bool no_stalls = false;
  bool stalls = false;
  std::string macs, values;  // empty: not given
  std::string rows = "128", cols = "128", n = "512";
  std::string matmuls = "1";
  std::vector<std::string> mutants;  // names; empty: all
  std::string file;                  // of cases to replay
  std::string seed = "0";
  std::string rtl;        // pe=DIR[:TOP]
  std::string rtl_fault;  // NAME[@pe_R_C], or none
  std::string pe_stages = "1";
  bool flush_denormals = false;
  std::string coverage;
  std::string reproducer = "azulejo-mismatch.json";
  WaveArguments wave;
  bool quiet = false;
};

// The subcommand "cosim" with its own subcommands, whose parsing throws ConfigError if none of those is given.
void add_cosim_command(CLI::App& app, CosimArguments& arguments);

// Exit status of the process: 0 if it passed, 1 if not, 3 if an output could not be written. Throws ConfigError.
int cosim_command(const CosimArguments& arguments);

}  // namespace azulejo::cli
