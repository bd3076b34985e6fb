// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/check.h"

#include <exception>
#include <string>
#include <systemc>

namespace azulejo {

void check_failed(const char* expression, const char* message, const char* file, int line) {
  const std::string text = std::string(message) + " (" + expression + ")";
  sc_core::sc_report_handler::report(sc_core::SC_FATAL, "azulejo/check", text.c_str(), file, line);
  std::terminate();  // SC_FATAL does not return unless the handler was changed
}

}  // namespace azulejo
