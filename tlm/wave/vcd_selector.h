// SPDX-License-Identifier: Apache-2.0
// Leaves signals out of VCD text, with the scopes that then hold none.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/wave/vcd_stream.h"
#include "tlm/wave/wave_output.h"

namespace azulejo {

class VcdSelector : private VcdHandler {
 public:
  // `output` outlives the selector.
  VcdSelector(std::function<bool(const VcdVariable&)> wanted, WaveOutput& output)
      : wanted_(std::move(wanted)), output_(output), stream_(*this) {}

  // The next piece of text, selected, to the output; times at which nothing selected changes are left out.
  void write(std::string_view text);
  // The last time, which ends the time axis.
  void close();

 private:
  void scope_begins(std::string_view name) override;
  void scope_ends() override;
  void variable(const VcdVariable& variable) override;
  void definitions_end() override;
  void time(std::uint64_t time) override;
  void value(std::uint32_t code, std::string_view bits) override;

  const std::function<bool(const VcdVariable&)> wanted_;
  WaveOutput& output_;
  VcdStream stream_;
  std::vector<std::string> codes_;    // by number; empty: left out
  std::vector<std::string> opening_;  // scopes that hold nothing so far
  std::size_t open_ = 0;              // scopes that are written
  std::string text_;                  // of this call
  std::string time_;                  // the newest, as text; empty: written
};

// The first lines of a file whose times are femtoseconds.
std::string vcd_preamble();

}  // namespace azulejo
