// SPDX-License-Identifier: Apache-2.0
// What Verilated RTL says and does that would end or disturb the program: it is kept here, and whoever runs RTL asks.
// Compiled into Verilator's run-time library, in the place of its own functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace azulejo {

// Failed assertions, $error, $stop, $fatal and $finish of all RTL of this process.
std::uint64_t rtl_failures();
// The first lines that RTL printed, with those of its failures; at most kMaxRtlMessages.
const std::vector<std::string>& rtl_messages();
inline constexpr std::size_t kMaxRtlMessages = 5;

// While one exists nothing is kept: RTL that repeats, for a waveform, what other RTL did has nothing new to say.
class RtlMute {
 public:
  RtlMute();
  ~RtlMute();
  RtlMute(const RtlMute&) = delete;
  RtlMute& operator=(const RtlMute&) = delete;
};

}  // namespace azulejo

// In the place of the run-time library's own output (VL_PRINTF).
extern "C" int azulejo_rtl_message(const char* format, ...) __attribute__((format(printf, 1, 2)));
// Declared by verilated.h only where it is not replaced.
void vl_stop_maybe(const char* file, int line, const char* hier, bool maybe);
