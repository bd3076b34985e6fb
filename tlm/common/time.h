// SPDX-License-Identifier: Apache-2.0
// Simulated time as integers: femtoseconds (the SystemC resolution) and cycles of a clock, never double.
//
// Range: a run ends at kTimeRange; times beyond kNever are kNever, so that no sum of two wraps 2^64 fs.
#pragma once

#include <cstdint>

namespace azulejo {

using Femtoseconds = std::uint64_t;

__extension__ using SignedWide = __int128;
__extension__ using Wide = unsigned __int128;  // products of times and rates

inline constexpr Femtoseconds kFsPerPicosecond = 1'000;
inline constexpr Femtoseconds kFsPerNanosecond = 1'000'000;
inline constexpr Femtoseconds kFsPerMicrosecond = 1'000'000'000;
inline constexpr Femtoseconds kFsPerSecond = 1'000'000'000'000'000;
inline constexpr Femtoseconds kNever = Femtoseconds{1} << 63;        // 2.56 hours
inline constexpr Femtoseconds kTimeRange = 2 * 3600 * kFsPerSecond;  // no run simulates more

constexpr Femtoseconds saturated(Wide time) { return time < kNever ? static_cast<Femtoseconds>(time) : kNever; }
// a + b, at most kNever.
constexpr Femtoseconds add_time(Femtoseconds a, Femtoseconds b) { return saturated(Wide{a} + b); }

// A clock whose edge n lies at floor(n * 10^15 / hz) fs, so that nothing drifts.
class Clock {
 public:
  // REQUIRES: 0 < hz <= 10^15.
  explicit constexpr Clock(std::uint64_t hz) : hz_(hz) {}

  constexpr std::uint64_t hz() const { return hz_; }

  constexpr Femtoseconds edge(std::uint64_t cycle) const { return saturated(Wide{cycle} * kFsPerSecond / hz_); }

  // The first cycle whose edge is at or after `time`.
  constexpr std::uint64_t next_cycle(Femtoseconds time) const {
    // edge(n) >= time  <=>  n * 10^15 >= time * hz (floor of a value is >= an integer iff the value is)
    return static_cast<std::uint64_t>((Wide{time} * hz_ + kFsPerSecond - 1) / kFsPerSecond);
  }

 private:
  std::uint64_t hz_;
};

// Time to move `bytes` at `bytes_per_second`, rounded up. REQUIRES: bytes_per_second > 0.
constexpr Femtoseconds transfer_time(std::uint64_t bytes, std::uint64_t bytes_per_second) {
  return saturated((Wide{bytes} * kFsPerSecond + bytes_per_second - 1) / bytes_per_second);
}

}  // namespace azulejo
