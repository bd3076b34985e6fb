// SPDX-License-Identifier: Apache-2.0
// Waves of tests: `--wave FILE` on the command line of a test program writes what the tests' platforms and campaigns
// show.
//
// Where AZULEJO_FAILED_WAVES names a directory, a test that fails runs again and leaves one there, of the time around
// its first difference between model and RTL if it had one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tlm/common/time.h"
#include "tlm/wave/wave_file.h"

namespace azulejo::test {

// Takes the options about waves off the command line.
void read_wave_options(int& argc, char** argv);

// Options of the next wave, which has a file of its own; none was asked for: nothing. `now` as in WaveOptions.
std::optional<WaveOptions> next_wave(std::function<Femtoseconds()> now);

// A difference between model and RTL at that time; the first one counts.
void note_difference(Femtoseconds time);

// Runs tests that failed again for their waves, if that is asked for. `program` is this one.
void leave_waves(const char* program);

// Hands everything to two sinks.
class TeeSink : public WaveSink {
 public:
  TeeSink(WaveSink& first, WaveSink& second) : first_(first), second_(second) {}

  SignalId declare(std::string_view scope, std::string_view name, unsigned bits) override;
  SignalId declare_text(std::string_view scope, std::string_view name, unsigned characters) override;
  void change(SignalId signal, std::uint64_t value) override;
  void change_text(SignalId signal, std::string_view value) override;
  void change_at(SignalId signal, std::uint64_t value, Femtoseconds time) override;
  void change_text_at(SignalId signal, std::string_view value, Femtoseconds time) override;
  void add_at(SignalId signal, std::int64_t difference, Femtoseconds time) override;

 private:
  struct Pair {
    SignalId first;
    SignalId second;
  };
  template <class Action>
  void each(SignalId signal, Action action);

  WaveSink& first_;
  WaveSink& second_;
  std::vector<Pair> signals_;
};

}  // namespace azulejo::test
