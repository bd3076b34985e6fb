// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/lockstep.h"

#include <fmt/format.h>

#include "tlm/numerics/float_bits.h"

namespace azulejo {
namespace {

std::string show(std::uint32_t bits, bool is_fp32) {
  return is_fp32 ? fmt::format("{:08x} ({:.9g})", bits, bits_to_float(bits)) : fmt::format("{:x}", bits);
}

}  // namespace

std::string describe(const Difference& difference) {
  std::string text = fmt::format("{}: operation {}, cycle {}", difference.unit, difference.operation, difference.cycle);
  if (!difference.place.empty()) text += ", " + difference.place;
  text += fmt::format(": {} is {} in the model, {} in the RTL", difference.what,
                      show(difference.model, difference.is_fp32), show(difference.rtl, difference.is_fp32));
  if (!difference.operands.empty()) text += "; operands: " + difference.operands;
  return text;
}

void LockstepLog::differed(std::uint64_t elements, Difference first) {
  const bool is_first = mismatches_ == 0;
  mismatches_ += elements;
  newest_cycle_ = first.engine_cycle;
  if (differences_.size() < kMaxKept) differences_.push_back(first);
  if (is_first && on_first_) on_first_(first);
}

}  // namespace azulejo
