// SPDX-License-Identifier: Apache-2.0
// Lets a program that crashes finish what it was writing.
#pragma once

namespace azulejo {

// While one exists, a signal that would end this program (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT) calls
// `flush(context)` first and then ends it as it would have been. `flush` may fail or hang: it is given two seconds. The
// newest one counts.
class CrashFlush {
 public:
  using Flush = void (*)(void* context);

  CrashFlush(Flush flush, void* context);
  ~CrashFlush();
  CrashFlush(const CrashFlush&) = delete;
  CrashFlush& operator=(const CrashFlush&) = delete;

  // What a handler of another signal calls before it ends the program.
  static void run();
};

}  // namespace azulejo
