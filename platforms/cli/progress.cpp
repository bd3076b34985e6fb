// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tlm/common/units.h"

namespace azulejo::cli {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(200);
constexpr int kWidth = 24;

}  // namespace

Progress::Progress(bool wanted)
    : shown_(wanted && isatty(STDERR_FILENO) == 1), start_(std::chrono::steady_clock::now()), last_(start_) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::show(Femtoseconds simulated, double fraction) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kInterval) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const auto per_second = static_cast<Femtoseconds>(static_cast<double>(simulated) / seconds);
  std::string line = fmt::format("simulated {}  {} per second", human_time(simulated), human_time(per_second));
  if (fraction > 0) {
    const int done = std::clamp(static_cast<int>(fraction * kWidth), 0, kWidth);
    line = fmt::format("[{:#<{}}{:.<{}}] {:3.0f} %  {}  {:.0f} s left", "", done, "", kWidth - done, 100 * fraction,
                       line, seconds * (1 - fraction) / fraction);
  }
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace azulejo::cli
