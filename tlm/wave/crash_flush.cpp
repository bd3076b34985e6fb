// SPDX-License-Identifier: Apache-2.0
#include "tlm/wave/crash_flush.h"

#include <unistd.h>

#include <array>
#include <csignal>

namespace azulejo {
namespace {

constexpr std::array<int, 6> kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT};
constexpr unsigned kSeconds = 2;

struct Pending {
  CrashFlush::Flush flush = nullptr;
  void* context = nullptr;
};
Pending pending;
std::array<struct sigaction, kSignals.size()> before;
std::array<char, 64 << 10> spare_stack;

volatile std::sig_atomic_t ending = 0;  // the signal that ends the program

extern "C" void end_as_before(int) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
  std::raise(ending);
}

extern "C" void flush_and_end(int signal) {
  ending = signal;
  // A crash within ends at once, a hang with the alarm.
  for (const int other : kSignals) std::signal(other, SIG_DFL);
  CrashFlush::run();
  end_as_before(signal);
}

}  // namespace

CrashFlush::CrashFlush(Flush flush, void* context) {
  pending = {flush, context};
  struct sigaction action {};
  action.sa_handler = flush_and_end;
  action.sa_flags = SA_NODEFER | SA_ONSTACK;
  stack_t stack{};  // for a program that has used up its own
  stack.ss_sp = spare_stack.data();
  stack.ss_size = spare_stack.size();
  ::sigaltstack(&stack, nullptr);
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before[i]);
}

CrashFlush::~CrashFlush() {
  pending = {};
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
}

void CrashFlush::run() {
  const Pending once = pending;
  pending = {};
  if (once.flush == nullptr) return;
  std::signal(SIGALRM, ending != 0 ? end_as_before : SIG_DFL);
  ::alarm(kSeconds);
  once.flush(once.context);
  ::alarm(0);
}

}  // namespace azulejo
