// SPDX-License-Identifier: Apache-2.0
// Quantities as text with units: `2.8 GHz`, `24 MiB`, `1300 ns`, `17 GB/s`. Exact: parsed with integers, no double.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/common/time.h"

namespace azulejo {

enum class Quantity : std::uint8_t { Time, Frequency, Size, Bandwidth };

struct ParsedQuantity {
  bool ok = false;
  std::uint64_t value = 0;  // fs, Hz, bytes or bytes/s
  std::string error;        // names the allowed units and, when near, the one that was probably meant
};

// "a frequency" and "2.8 GHz", for messages.
std::string_view quantity_noun(Quantity quantity);
std::string_view quantity_example(Quantity quantity);

// Accepted units: fs ps ns us ms s | Hz kHz MHz GHz | B KiB MiB GiB TiB kB MB GB TB | B/s kB/s MB/s GB/s TB/s KiB/s …
// TiB/s b/s kb/s Mb/s Gb/s Tb/s. The space before the unit may be left out. GB/s, GiB/s and Gb/s (bits) are different
// words. A value that is not a whole number of the base unit is an error, and so are a missing unit, a negative number
// and overflow.
ParsedQuantity parse_quantity(Quantity quantity, std::string_view text);

// Exact and re-readable: the largest unit of which the value is a short decimal ("2.8 GHz", "192 KiB").
std::string format_quantity(Quantity quantity, std::uint64_t value);

// For people: three or four significant digits ("6.93 ms", "102 GB/s", "1.50 GiB").
std::string human_time(Femtoseconds time);
std::string human_bytes(std::uint64_t bytes);
std::string human_rate(double per_second, std::string_view unit);  // human_rate(4.4e10, "FLOP/s") = "44.0 GFLOP/s"

// Limits that every validate() uses; far beyond any hardware. Times that they lead to
// saturate (time.h).
inline constexpr std::uint64_t kMaxClock = 1'000'000'000'000;          // Hz
inline constexpr std::uint64_t kMaxBandwidth = 1'000'000'000'000'000;  // bytes/s
inline constexpr std::uint64_t kMaxCycles = 1'000'000;                 // fixed cost of one instruction
inline constexpr Femtoseconds kMaxLatency = kFsPerSecond;

// For validate(): adds "key: 0 Hz is outside 1 Hz to 1000 GHz" unless low <= value <= high.
void check_range(std::vector<std::string>& problems, std::string_view key, Quantity quantity, std::uint64_t value,
                 std::uint64_t low, std::uint64_t high);

}  // namespace azulejo
