// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/replica_clock.h"

#include <algorithm>

#include "tlm/wave/verilator_hooks.h"

namespace azulejo {

Femtoseconds ReplicaClock::next() const {
  if (spans_.empty()) return kNever;
  const std::uint64_t cycle = spans_.front().first;
  const Femtoseconds edge = clock_.edge(cycle);
  return high_ ? edge + (clock_.edge(cycle + 1) - edge) / 2 : edge;
}

void ReplicaClock::step() {
  const RtlMute mute;
  Span& span = spans_.front();
  if (!high_) {
    high_ = true;
    return rise(span.first);
  }
  high_ = false;
  fall();
  if (span.first++ == span.last) spans_.pop_front();
}

void ReplicaClock::ask(std::uint64_t first, std::uint64_t count) {
  const Span span{first, first + count};
  if (!spans_.empty() && span.first <= spans_.back().last + 1) {
    spans_.back().last = std::max(spans_.back().last, span.last);
  } else {
    spans_.push_back(span);
  }
}

}  // namespace azulejo
