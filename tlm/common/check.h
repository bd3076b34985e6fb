// SPDX-License-Identifier: Apache-2.0
// Internal consistency: a failed check is a bug of the model, never the user's or the modelled program's fault.
#pragma once

namespace azulejo {

// Reports expression, message, place and simulated time as SC_FATAL, which ends the run with exit status 3.
[[noreturn]] void check_failed(const char* expression, const char* message, const char* file, int line);

}  // namespace azulejo

#define AZULEJO_CHECK(condition, message) \
  ((condition) ? static_cast<void>(0) : ::azulejo::check_failed(#condition, message, __FILE__, __LINE__))
