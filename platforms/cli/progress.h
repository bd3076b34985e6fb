// SPDX-License-Identifier: Apache-2.0
// A progress bar on stderr when that is a terminal; nothing otherwise.
#pragma once

#include <chrono>

#include "tlm/common/time.h"

namespace azulejo::cli {

class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress();  // removes the bar

  // `fraction` of the work done, negative if unknown.
  void show(Femtoseconds simulated, double fraction);

 private:
  const bool shown_;
  bool drawn_ = false;
  const std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace azulejo::cli
