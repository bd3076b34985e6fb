// SPDX-License-Identifier: Apache-2.0
#include "tlm/wave/verilator_hooks.h"

#include <verilated.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <stdexcept>

namespace azulejo {
namespace {

struct Record {
  std::uint64_t failures = 0;
  std::vector<std::string> messages;
  unsigned mutes = 0;

  void failed() {
    if (mutes == 0) ++failures;
  }
};

Record& record() {
  static Record instance;
  return instance;
}

void keep(std::string line) {
  while (!line.empty() && line.back() == '\n') line.pop_back();
  const bool wanted = record().mutes == 0 && record().messages.size() < kMaxRtlMessages;
  if (!line.empty() && wanted) record().messages.push_back(std::move(line));
}

std::string place(const char* file, int line) {
  return file == nullptr || file[0] == '\0' ? std::string() : std::string(file) + ":" + std::to_string(line) + ": ";
}

}  // namespace

std::uint64_t rtl_failures() { return record().failures; }
const std::vector<std::string>& rtl_messages() { return record().messages; }

RtlMute::RtlMute() { ++record().mutes; }
RtlMute::~RtlMute() { --record().mutes; }

}  // namespace azulejo

int azulejo_rtl_message(const char* format, ...) {
  std::array<char, 1024> text;
  std::va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  azulejo::keep(text.data());
  return length;
}

// Verilator's hooks (verilated.h, "User definable functions"). An assertion that fails has printed its line before.
void vl_stop_maybe(const char* /*file*/, int /*line*/, const char* /*hier*/, bool /*maybe*/) {
  azulejo::record().failed();
}

void vl_stop(const char* file, int line, const char* /*hier*/) {
  azulejo::record().failed();
  azulejo::keep(azulejo::place(file, line) + "$stop");
}

void vl_finish(const char* file, int line, const char* /*hier*/) {
  azulejo::record().failed();
  azulejo::keep(azulejo::place(file, line) + "$finish; the platform decides when a run ends");
}

// Of the run-time library itself, after which it cannot go on.
void vl_fatal(const char* file, int line, const char* /*hier*/, const char* message) {
  throw std::runtime_error(azulejo::place(file, line) + message);
}
