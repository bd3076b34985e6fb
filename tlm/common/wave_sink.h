// SPDX-License-Identifier: Apache-2.0
// Signals for a waveform. A module declares each in one line and assigns it like a variable; nothing is stored or
// polled when no wave is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tlm/common/time.h"

namespace azulejo {

using SignalId = std::uint32_t;

class WaveSink {
 public:
  static constexpr SignalId kNoSignal = 0xFFFF'FFFF;

  virtual ~WaveSink() = default;

  // Declares a signal of `bits` (1..64) below `scope` (hierarchical name with dots). kNoSignal: not recorded (off or
  // outside the selected scopes). Declarations end when the first value is dumped.
  virtual SignalId declare(std::string_view /*scope*/, std::string_view /*name*/, unsigned /*bits*/) {
    return kNoSignal;
  }

  // A signal of up to `characters` characters of text, written as a packed ASCII vector (plain IEEE 1364).
  virtual SignalId declare_text(std::string_view /*scope*/, std::string_view /*name*/, unsigned /*characters*/) {
    return kNoSignal;
  }

  // New value at the current simulated time. REQUIRES: a declared id of the right kind.
  virtual void change(SignalId /*signal*/, std::uint64_t /*value*/) {}
  virtual void change_text(SignalId /*signal*/, std::string_view /*value*/) {}
  // New value at a time that is still to come. Of several at one time the last one asked for counts.
  virtual void change_at(SignalId /*signal*/, std::uint64_t /*value*/, Femtoseconds /*time*/) {}
  virtual void change_text_at(SignalId /*signal*/, std::string_view /*value*/, Femtoseconds /*time*/) {}
  // Adds to the value that the signal will have at `time`, now or later: for counts of what overlaps.
  virtual void add_at(SignalId /*signal*/, std::int64_t /*difference*/, Femtoseconds /*time*/) {}

  static WaveSink& none();
};

// A declared signal: `depth_ = 3;` records a change if the signal is selected and the value is new.
class WaveSignal {
 public:
  WaveSignal() = default;
  WaveSignal(WaveSink& sink, std::string_view scope, std::string_view name, unsigned bits)
      : sink_(&sink), id_(sink.declare(scope, name, bits)) {}

  WaveSignal& operator=(std::uint64_t value) {
    if (id_ != WaveSink::kNoSignal) sink_->change(id_, value);
    return *this;
  }
  // The same at a later time, for what a model knows before it happens.
  void at(Femtoseconds time, std::uint64_t value) {
    if (id_ != WaveSink::kNoSignal) sink_->change_at(id_, value, time);
  }
  void add_at(Femtoseconds time, std::int64_t difference) {
    if (id_ != WaveSink::kNoSignal) sink_->add_at(id_, difference, time);
  }
  bool recorded() const { return id_ != WaveSink::kNoSignal; }

 private:
  WaveSink* sink_ = nullptr;
  SignalId id_ = WaveSink::kNoSignal;
};

class WaveText {
 public:
  WaveText() = default;
  WaveText(WaveSink& sink, std::string_view scope, std::string_view name, unsigned characters)
      : sink_(&sink), id_(sink.declare_text(scope, name, characters)) {}

  WaveText& operator=(std::string_view value) {
    if (id_ != WaveSink::kNoSignal) sink_->change_text(id_, value);
    return *this;
  }
  void at(Femtoseconds time, std::string_view value) {
    if (id_ != WaveSink::kNoSignal) sink_->change_text_at(id_, value, time);
  }
  // False: not worth composing a text for.
  bool recorded() const { return id_ != WaveSink::kNoSignal; }

 private:
  WaveSink* sink_ = nullptr;
  SignalId id_ = WaveSink::kNoSignal;
};

}  // namespace azulejo
