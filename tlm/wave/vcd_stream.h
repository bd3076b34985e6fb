// SPDX-License-Identifier: Apache-2.0
// The text that Verilator's VCD writer makes, taken apart as it comes: for what selects, converts and watches signals.
// Not a reader for VCD files of others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace azulejo {

struct VcdVariable {
  std::string scope;  // with dots; a dot in a name of its own cannot be told from one between scopes
  std::string name;   // without its range
  std::string range;  // "[7:0]"; empty: none
  std::string type;   // "wire"
  unsigned bits = 0;
  std::uint32_t code = 0;  // the writer's number of it; two names of one signal have the same
};

// What hears of the parts, in the order of the text.
class VcdHandler {
 public:
  virtual ~VcdHandler() = default;
  virtual void scope_begins(std::string_view /*name*/) {}
  virtual void scope_ends() {}
  virtual void variable(const VcdVariable& /*variable*/) {}
  virtual void definitions_end() {}
  virtual void time(std::uint64_t /*time*/) {}
  // `bits` is as many characters of 0 and 1 as the variable has bits.
  virtual void value(std::uint32_t /*code*/, std::string_view /*bits*/) {}
};

class VcdStream {
 public:
  explicit VcdStream(VcdHandler& handler) : handler_(handler) {}

  // The next piece of the text; lines may be cut anywhere.
  void write(std::string_view text);

 private:
  void line(std::string_view text);
  void definition(std::string_view text);

  VcdHandler& handler_;
  std::string rest_;  // a line that is not complete
  bool defining_ = true;
  std::vector<std::string> scopes_;
};

// The writer's number of a signal as it stands in the file, and back.
std::string vcd_code(std::uint32_t number);
std::uint32_t vcd_code_number(std::string_view code);

}  // namespace azulejo
