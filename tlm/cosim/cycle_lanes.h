// SPDX-License-Identifier: Apache-2.0
// What goes into or comes out of a unit in cycles that are still to be shown.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace azulejo {

// What is known of some cycles from `base_` on, `lanes` values each; unknown ones are the default.
template <class T>
class CycleLanes {
 public:
  explicit CycleLanes(std::uint32_t lanes, T absent = {}) : lanes_(lanes), absent_(lanes, absent) {}

  // To be written.
  T* at(std::uint64_t cycle) {
    if (values_.empty()) base_ = cycle;
    if (cycle < base_) {
      values_.insert(values_.begin(), (base_ - cycle) * lanes_, absent_.front());
      base_ = cycle;
    }
    const std::size_t index = static_cast<std::size_t>(cycle - base_) * lanes_;
    if (index + lanes_ > values_.size()) values_.resize(index + lanes_, absent_.front());
    return values_.data() + index;
  }

  const T* get(std::uint64_t cycle) const {
    const std::size_t index = static_cast<std::size_t>(cycle - base_) * lanes_;
    return cycle < base_ || index >= values_.size() ? absent_.data() : values_.data() + index;
  }

  // Cycles before this one are not asked for any more.
  void forget(std::uint64_t cycle) {
    constexpr std::uint64_t kWorthMoving = 4096;
    if (values_.empty() || cycle < base_ + kWorthMoving) return;
    const std::size_t count = std::min(values_.size(), static_cast<std::size_t>(cycle - base_) * lanes_);
    values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(count));
    base_ = cycle;
  }

 private:
  std::uint32_t lanes_;
  std::vector<T> absent_;
  std::vector<T> values_;
  std::uint64_t base_ = 0;
};

}  // namespace azulejo
