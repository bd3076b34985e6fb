// SPDX-License-Identifier: Apache-2.0
// Where the text of a waveform goes: a VCD file, an FST file (fst_output.h), or nowhere.
//
// The simulation goes on whatever happens here: an output that cannot be written completely ends cleanly, with what was
// complete before, and says so at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace azulejo {

class WaveOutput {
 public:
  virtual ~WaveOutput() = default;

  // The next piece of VCD text, as Verilator's writer makes it; lines may be cut anywhere.
  virtual void write(std::string_view text) = 0;
  // Completes the file. Nothing is written after it.
  virtual void close() = 0;
  // In a signal handler of a program that crashes: no more than has to be for the file to be read.
  virtual void abandon() {}
  // That the file has by now, or will have soon.
  virtual std::uint64_t bytes() const { return 0; }
  // Why not everything was written, without the file's name; empty: it was.
  virtual std::string error() const { return {}; }
};

// For lists of signals and for triggers.
class NoOutput : public WaveOutput {
 public:
  void write(std::string_view) override {}
  void close() override {}
};

// A plain file, made by the first text. If the disk is full it ends with the last complete line.
std::unique_ptr<WaveOutput> make_vcd_output(const std::string& path);

}  // namespace azulejo
