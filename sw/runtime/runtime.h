// SPDX-License-Identifier: Apache-2.0
// Runs programs on a platform: device memory, loading, and the simulation loop with progress and clean ends.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sw/nki/kernel.h"
#include "tlm/common/time.h"

namespace azulejo {

// Bump allocator of one HBM stack.
class HbmAllocator {
 public:
  HbmAllocator(std::uint32_t stack, std::uint64_t capacity);

  // A row-major tensor with rows next to each other, aligned to 4 KiB. Throws ConfigError if the stack is full.
  nki::HbmTensor tensor(const std::string& name, std::uint64_t rows, std::uint64_t cols, Format format);

 private:
  std::uint32_t stack_;
  std::uint64_t capacity_;
  std::uint64_t used_ = 0;
};

enum class RunEnd : std::uint8_t {
  Finished,     // every core ran to its end
  Until,        // the time limit came first
  Range,        // more simulated time than kTimeRange
  Interrupted,  // the stop flag was set
  Fault,        // stopped at the first fault
  Deadlock,     // nothing can happen any more and a core still waits
};

struct RunLimits {
  Femtoseconds until = 0;                            // 0: none
  const volatile std::sig_atomic_t* stop = nullptr;  // set by a signal handler
  const bool* fault = nullptr;                       // set when the run is to stop at a fault
  // Called every few ten milliseconds of host time with the simulated time.
  std::function<void(Femtoseconds)> progress;
};

// Runs the simulation from now on until `finished()` and nothing is left to happen, or a limit is reached.
RunEnd run_simulation(const RunLimits& limits, const std::function<bool()>& finished);

}  // namespace azulejo
