// SPDX-License-Identifier: Apache-2.0
// Writes the signals of the TLM models and of Verilated units as one waveform with a time unit of 1 fs: VCD (IEEE
// 1364), or FST.
//
// Uses Verilator's own VCD writer, since Verilated code writes into nothing else, and so includes its header in
// wave_file.cpp only. That writer polls every variable at every dump; the TLM signals keep a list of those that changed
// instead, so a change costs the same however many signals there are.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/common/time.h"
#include "tlm/common/wave_sink.h"
#include "tlm/wave/wave_output.h"
#include "tlm/wave/wave_process.h"

class VerilatedContext;
class VerilatedVcdC;

namespace azulejo {

struct WaveOptions {
  std::string path;                    // .vcd or .fst
  std::shared_ptr<WaveOutput> output;  // where the text goes instead; null: to `path`
  std::vector<std::string> scopes;     // what to record: see ScopeFilter; empty: everything
  unsigned depth = 0;                  // scopes below each other; 0: all
  std::function<Femtoseconds()> now;   // the simulated time. REQUIRES: set, and never goes backwards
  Femtoseconds from = 0;               // only from <= time <= to is written
  Femtoseconds to = std::numeric_limits<Femtoseconds>::max();
  std::uint64_t limit_bytes = std::numeric_limits<std::uint64_t>::max();  // ends when the file has so many
};

struct WaveDeclaration {
  std::string scope;  // hierarchical name with dots
  std::string name;
  unsigned bits = 0;  // text: 8 a character
  bool text = false;
  bool rtl = false;  // a variable of a Verilated unit
};

// A signal is 0 (text: empty) until its first change. Of several changes at one time the last counts. The values of a
// time are written when a later one begins.
class WaveFile : public WaveSink {
 public:
  // Throws ConfigError if the path has another extension or cannot be written, or the window ends before it begins. The
  // file is made with the first dump.
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
  void change_at(SignalId signal, std::uint64_t value, Femtoseconds time) override;
  void change_text_at(SignalId signal, std::string_view value, Femtoseconds time) override;
  void add_at(SignalId signal, std::int64_t difference, Femtoseconds time) override;

  // Ends the declarations; done by the first change of time too.
  void begin();
  // Nothing more is written: the window or the limit has been reached, or it is closed.
  bool finished() const;
  // The recorded signals: those of the models in the order of declaration, then, after begin(), those of Verilated
  // units.
  const std::vector<WaveDeclaration>& declared() const;
  // The scope patterns that matched nothing declared so far: probably misspelt.
  std::vector<std::string> unmatched_scopes() const;

  // Every path that was declared, recorded or not, for suggestions.
  std::vector<std::string> known_paths() const;

  // Hands everything earlier than now() to the operating system.
  void flush();
  // Writes what is left and the time of the end, and closes; later changes are ignored. Throws OutputError if the file
  // could not be written completely (the simulation itself goes on when the disk is full). To be called before the
  // Verilated units are destroyed.
  void close();

  struct Summary {
    std::uint64_t bytes = 0;        // of the file, so far
    std::uint64_t signals = 0;      // recorded, of the models
    std::uint64_t rtl_signals = 0;  // recorded, of Verilated units
    Femtoseconds first = 0;         // the earliest time written
    Femtoseconds last = 0;          // the newest
    bool started = false;           // something was written
    bool limit_reached = false;
    std::string error;  // why not everything was written; empty: it was
  };
  Summary summary() const;

  // For Verilated units: whether anything of the unit of that path is recorded (ScopeFilter::selects_unit); the
  // context of what it shows, for which tracing is on and the time unit 1 fs; the writer for their trace(), before
  // begin(). A unit named by its path with spaces for dots ("chip0 nc0 pe") appears inside the hierarchy of the TLM
  // signals.
  bool selects_unit(std::string_view path, bool by_default);
  VerilatedContext& context();
  VerilatedVcdC& writer();
  // Steps `process` from now on. REQUIRES: it outlives this or remove() is called.
  void add(WaveProcess& process);
  void remove(WaveProcess& process);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace azulejo
