// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/attribution.h"

#include <algorithm>
#include <numeric>

namespace azulejo {

std::string_view cause_name(Cause cause) {
  static constexpr std::array<std::string_view, kCauses> names = {
      "compute",       "matmul_start",  "load_stationary", "issue",       "transfer",  "tensor_engine",
      "vector_engine", "scalar_engine", "gpsimd_engine",   "sync_engine", "dma_start", "dma_descriptor",
      "dma_transfer",  "hbm",           "sbuf_space",      "psum_space",  "sbuf_port", "psum_port",
      "dma_ring",      "dma_semaphore", "queue_turn",      "semaphore",   "idle",      "not_started",
      "finished"};
  return names[static_cast<std::size_t>(cause)];
}

void Attribution::finish(Cause open, Femtoseconds end) {
  while (cursor_ > end) {
    recent_next_ = (recent_next_ + kRecent - 1) % kRecent;
    const Segment& last = recent_[recent_next_];
    const Femtoseconds start = std::max(last.start, end);
    total_[static_cast<std::size_t>(last.cause)] -= cursor_ - start;
    cursor_ = start;
  }
  charge(open, end);
}

Femtoseconds Attribution::sum() const { return std::accumulate(total_.begin(), total_.end(), Femtoseconds{0}); }

}  // namespace azulejo
