// SPDX-License-Identifier: Apache-2.0
// Watches one signal of a wave for a value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tlm/wave/vcd_stream.h"
#include "tlm/wave/wave_output.h"

namespace azulejo {

// "chip0.nc0.tensor_engine.state==wait": a number (decimal, 0x, 0b), or text for a signal of text.
struct SignalCondition {
  std::string path;
  std::string value;

  // Throws ConfigError if it has no `==`, no path or no value.
  static SignalCondition parse(std::string_view text);
  // Whether `bits`, most significant first, are that value.
  bool holds(std::string_view bits, bool text) const;
  // Whether a signal of so many bits can have that value.
  bool possible(unsigned bits, bool text) const;
};

// A wave that is written nowhere: finds the first time at whose end a condition holds.
class TriggerOutput : public WaveOutput, private VcdHandler {
 public:
  explicit TriggerOutput(SignalCondition condition) : condition_(std::move(condition)), stream_(*this) {}

  void write(std::string_view text) override { stream_.write(text); }
  void close() override { settle(); }
  // Whether the signal holds text; a number otherwise. To be said before the first value.
  void set_text(bool text) { text_ = text; }

  // What is known so far: the newest time is not complete before the next one.
  std::optional<std::uint64_t> fired() const { return fired_; }

 private:
  void variable(const VcdVariable& variable) override;
  void time(std::uint64_t time) override;
  void value(std::uint32_t code, std::string_view bits) override;
  void settle();

  const SignalCondition condition_;
  VcdStream stream_;
  bool text_ = false;
  std::optional<std::uint32_t> code_;
  std::uint64_t time_ = 0;
  bool holds_ = false;
  std::optional<std::uint64_t> fired_;
};

}  // namespace azulejo
