// SPDX-License-Identifier: Apache-2.0
// Workload `gemm`: C = A * B on one or more cores of chip 0.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "platforms/cli/workload.h"
#include "sw/kernels/gemm.h"

namespace azulejo::cli {

// As given on the command line; nothing is checked yet.
struct GemmArguments {
  std::string m, k, n;   // sizes as text
  std::string type;      // empty: bf16, or the type of the files
  std::string out_type;  // empty: as `type`, bf16 for integers and FP8
  std::string partials = "fp32";
  std::string tiling = "full";
  std::string cores = "1";
  std::string a, b, out;  // .npy files
};

// Checks the arguments against each other and the platform and reads the files. Throws ConfigError with all problems.
std::unique_ptr<Workload> make_gemm(const GemmArguments& arguments, const PlatformConfig& platform, bool keep_data,
                                    std::uint64_t seed);

}  // namespace azulejo::cli
