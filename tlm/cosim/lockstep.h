// SPDX-License-Identifier: Apache-2.0
// What the lockstep twins report: comparisons, and differences with everything that is needed to reproduce them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tlm/common/time.h"
#include "tlm/cosim/case.h"

namespace azulejo {

// The first difference of one operation between model and RTL.
struct Difference {
  std::string unit;                // hierarchical name, "chip0.nc0.tensor_engine"
  std::uint64_t operation = 0;     // index of the operation of that unit: matmul, converted row, PE cycle
  std::uint64_t cycle = 0;         // RTL cycle at which the differing output left, from the operation's first
  std::uint64_t engine_cycle = 0;  // the same as a cycle of the engine's clock; 0 outside platforms
  Femtoseconds time = 0;           // when that cycle begins, in simulated time; 0 in campaigns without a wave
  std::uint32_t lane = 0;          // that it left by: column of an array, lane of a rounding unit
  std::string place;               // "row 3, column 17"
  std::string what;                // "psum", "code", "act_valid"
  std::uint32_t model = 0;         // both results, as bits
  std::uint32_t rtl = 0;
  bool is_fp32 = true;   // the bits are an FP32 value
  std::string operands;  // hex and value of what went in
  CosimCase reproducer;  // the whole operation, for `azulejo cosim replay`
};

// One line: cycle, place, operands, both results in hex and value.
std::string describe(const Difference& difference);

// Shared by the lockstep units of one run.
class LockstepLog {
 public:
  // `on_first` is called once, at the first difference.
  explicit LockstepLog(std::function<void(const Difference&)> on_first = {}) : on_first_(std::move(on_first)) {}

  void compared(std::uint64_t elements) { compared_ += elements; }
  // Elements that differ, of which `first` is the first of its operation. Keeps the first kMaxKept of them.
  void differed(std::uint64_t elements, Difference first);

  std::uint64_t compared() const { return compared_; }
  std::uint64_t mismatches() const { return mismatches_; }
  // Difference::engine_cycle of the newest operation that differed.
  std::uint64_t newest_cycle() const { return newest_cycle_; }
  const std::vector<Difference>& differences() const { return differences_; }

  static constexpr std::size_t kMaxKept = 10;

 private:
  std::function<void(const Difference&)> on_first_;
  std::uint64_t compared_ = 0;
  std::uint64_t mismatches_ = 0;
  std::uint64_t newest_cycle_ = 0;
  std::vector<Difference> differences_;
};

}  // namespace azulejo
