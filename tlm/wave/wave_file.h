// SPDX-License-Identifier: Apache-2.0
// Writes the signals of the TLM models, and of Verilated models when there are any, as one VCD file (IEEE 1364) with a
// time unit of 1 fs.
//
// Uses Verilator's own VCD writer, and so includes its header in wave_file.cpp only. That writer polls every variable
// at every dump; the TLM signals keep a list of those that changed instead, so a change costs the same however many
// signals there are.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/common/time.h"
#include "tlm/common/wave_sink.h"
#include "tlm/wave/listing_sink.h"

class VerilatedContext;
class VerilatedVcdC;

namespace azulejo {

struct WaveOptions {
  std::string path;
  std::vector<std::string> scopes;    // what to record: see ScopeFilter; empty: everything
  std::function<Femtoseconds()> now;  // the simulated time. REQUIRES: set, and never goes backwards
  Femtoseconds from = 0;              // only from <= time <= to is written
  Femtoseconds to = std::numeric_limits<Femtoseconds>::max();
};

// A signal is 0 (text: empty) until its first change. Of several changes at one time the last counts. The values of a
// time reach the file when a later one begins; declarations end with that.
class WaveFile : public WaveSink {
 public:
  // Throws ConfigError if the path cannot be written or the window is empty. The file is opened with the first dump.
  explicit WaveFile(WaveOptions options);
  ~WaveFile() override;  // closes a file that was begun; does not throw

  WaveFile(const WaveFile&) = delete;
  WaveFile& operator=(const WaveFile&) = delete;

  // REQUIRES: no signal of that path yet, 1 <= bits <= 64, 1 <= characters.
  SignalId declare(std::string_view scope, std::string_view name, unsigned bits) override;
  SignalId declare_text(std::string_view scope, std::string_view name, unsigned characters) override;

  // Bits and characters beyond the declared width are cut off; a character that is not printable ASCII becomes `?`.
  void change(SignalId signal, std::uint64_t value) override;
  void change_text(SignalId signal, std::string_view value) override;

  // The recorded signals, in the order of declaration.
  const std::vector<WaveDeclaration>& declared() const;
  // The scope patterns that matched no declared signal: probably misspelt.
  std::vector<std::string> unmatched_scopes() const;

  // Hands everything earlier than now() to the operating system.
  void flush();
  // Writes what is left and the time of the end, and closes; later changes are ignored. Throws OutputError if the file
  // could not be written completely (the simulation itself goes on when the disk is full). To be called before the
  // Verilated models are destroyed.
  void close();

  // For Verilated models: the one context of the run, for which tracing is on and the time unit 1 fs; the writer for
  // their trace(), before the first change of time. A model named by its path with spaces for dots ("chip0 nc0 pe")
  // appears inside the hierarchy of the TLM signals.
  VerilatedContext& context();
  VerilatedVcdC& writer();
  // To be called before such a model is evaluated: writes what belongs to earlier times, as the writer reads the
  // model's variables, and has the model's values of this time written too.
  void before_evaluation();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace azulejo
