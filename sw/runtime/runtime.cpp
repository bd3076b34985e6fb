// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <systemc>

#include "tlm/common/error.h"
#include "tlm/common/payload.h"
#include "tlm/common/units.h"
#include "tlm/isa/address_map.h"

namespace azulejo {
namespace {

constexpr std::uint64_t kTensorAlignment = 4096;
constexpr auto kSliceGoal = std::chrono::milliseconds(40);  // host time between two looks at the limits

}  // namespace

HbmAllocator::HbmAllocator(std::uint32_t stack, std::uint64_t capacity) : stack_(stack), capacity_(capacity) {}

nki::HbmTensor HbmAllocator::tensor(const std::string& name, std::uint64_t rows, std::uint64_t cols, Format format) {
  nki::HbmTensor tensor;
  tensor.rows = rows;
  tensor.cols = cols;
  tensor.format = format;
  const Wide row_bytes = (Wide{cols} * spec(format).storage_bits + 7) / 8;
  const Wide bytes = row_bytes * rows;
  if (bytes > capacity_ - used_) {
    throw ConfigError(fmt::format("tensor {} [{}, {}] of {} does not fit HBM stack {}: {} free of {}", name, rows, cols,
                                  spec(format).name, stack_, human_bytes(capacity_ - used_), human_bytes(capacity_)));
  }
  tensor.row_stride = static_cast<std::uint64_t>(row_bytes);
  tensor.address = address_map::hbm(stack_, used_);
  used_ += static_cast<std::uint64_t>(bytes);
  used_ = std::min(capacity_, (used_ + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment);
  return tensor;
}

RunEnd run_simulation(const RunLimits& limits, const std::function<bool()>& finished) {
  using clock = std::chrono::steady_clock;
  Femtoseconds slice = 10 * kFsPerMicrosecond;
  const bool limited = limits.until != 0 && limits.until <= kTimeRange;
  const Femtoseconds until = limited ? limits.until : kTimeRange;
  for (;;) {
    if (limits.stop != nullptr && *limits.stop != 0) return RunEnd::Interrupted;
    if (!sc_core::sc_pending_activity()) return finished() ? RunEnd::Finished : RunEnd::Deadlock;
    // Time stays at the last event when the next one lies beyond the slice: a slice reaches at least that far.
    Femtoseconds step = std::max<Femtoseconds>(slice, sc_core::sc_time_to_pending_activity().value());
    if (add_time(now_fs(), step) >= until) {
      // Without events left, time stays at the last one: a limit beyond the end changes nothing.
      const Femtoseconds left = until - now_fs();
      if (sc_core::sc_time_to_pending_activity().value() <= left) {
        sc_core::sc_start(to_sc_time(left), sc_core::SC_EXIT_ON_STARVATION);
      }
      if (limits.fault != nullptr && *limits.fault) return RunEnd::Fault;
      if (!sc_core::sc_pending_activity()) return finished() ? RunEnd::Finished : RunEnd::Deadlock;
      if (now_fs() < until) sc_core::sc_start(to_sc_time(until - now_fs()), sc_core::SC_RUN_TO_TIME);
      return limited ? RunEnd::Until : RunEnd::Range;
    }
    const auto before = clock::now();
    sc_core::sc_start(to_sc_time(step), sc_core::SC_EXIT_ON_STARVATION);
    if (limits.fault != nullptr && *limits.fault) return RunEnd::Fault;
    if (limits.progress) limits.progress(now_fs());
    // The length of a slice follows the host's speed; it has no influence on what happens.
    const auto took = clock::now() - before;
    if (took < kSliceGoal / 2 && slice < kFsPerSecond) slice *= 2;
    if (took > kSliceGoal * 2 && slice > kFsPerMicrosecond) slice /= 2;
  }
}

}  // namespace azulejo
