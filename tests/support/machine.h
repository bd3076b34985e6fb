// SPDX-License-Identifier: Apache-2.0
// A small platform for tests: elaborates a preset with settings, loads programs written as text, runs them and keeps
// what the modules report: faults, timeline spans and every change of a semaphore.
//
// SystemC elaborates once per process: at most one Machine per TEST; in_child() gives a test more of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/builder/platform.h"
#include "sw/runtime/runtime.h"
#include "tests/support/test_wave.h"
#include "tlm/isa/address_map.h"

namespace azulejo::test {

// Edge `cycle` of a clock of `hz`, by the formula of the design: floor(cycle * 10^15 / hz) fs.
Femtoseconds edge(std::uint64_t cycle, std::uint64_t hz);
// Number of the first edge at or after `time`, found by search.
std::uint64_t first_edge(Femtoseconds time, std::uint64_t hz);
// Time of `bytes` at a rate of bytes/s, rounded up to whole fs.
Femtoseconds at_rate(std::uint64_t bytes, std::uint64_t bytes_per_second);

inline constexpr Femtoseconds kNs = 1'000'000;

// A closed interval of an engine's, queue's or channel's timeline.
struct Span {
  std::string track;
  std::string name;
  Femtoseconds start = 0;
  Femtoseconds end = 0;
  std::string detail;
  std::string cause;
};

struct Change {
  Femtoseconds time = 0;
  std::uint64_t value = 0;
};

class Recorder : public TraceSink, public WaveSink, public FaultSink {
 public:
  // Timeline spans are kept only if `spans`; semaphores and faults always.
  explicit Recorder(bool spans) : enabled_(spans) {}

  bool enabled() const override { return enabled_; }
  TrackId track(std::string_view path, std::string_view kind) override;
  void span(TrackId track, std::string_view name, Femtoseconds start, Femtoseconds end, std::string_view detail,
            std::string_view cause) override;
  SignalId declare(std::string_view scope, std::string_view name, unsigned bits) override;
  void change(SignalId signal, std::uint64_t value) override;
  void fault(const Fault& fault) override { faults_.push_back(fault); }

  const std::vector<Fault>& faults() const { return faults_; }
  // Spans of one track, in order; of one name only if given.
  std::vector<Span> spans(std::string_view track, std::string_view name = {}) const;
  // Every value that a signal took, with its time.
  const std::vector<Change>& changes(const std::string& signal) const;

 private:
  const bool enabled_;
  std::vector<std::string> tracks_;
  std::vector<Span> spans_;
  std::map<std::string, SignalId> signals_;
  std::vector<std::vector<Change>> changes_;
  std::vector<Fault> faults_;
};

struct MachineOptions {
  PlatformOptions platform;
  bool spans = true;
};

class Machine {
 public:
  explicit Machine(const std::string& preset, const std::vector<std::string>& settings = {},
                   const MachineOptions& options = {});

  // Assembles and loads; a text with errors fails the test.
  void load(std::string_view text, std::uint32_t core = 0);
  void load(const Program& program, std::uint32_t core = 0);

  // Starts every loaded core, runs to the end or to `until`, and closes the accounts of time.
  RunEnd run(Femtoseconds until = 0);
  // Simulated time at which run() ended.
  Femtoseconds end() const { return end_; }

  Platform& platform() { return platform_; }
  NeuronCore& core(std::uint32_t index = 0) { return platform_.core(index); }
  Recorder& recorder() { return recorder_; }
  const std::vector<Fault>& faults() const { return recorder_.faults(); }
  std::uint32_t semaphore(std::uint32_t index, std::uint32_t core = 0) {
    return platform_.core(core).semaphores.value(index);
  }
  // Every value that semaphore `index` took, with its time.
  const std::vector<Change>& semaphore_changes(std::uint32_t index, std::uint32_t core = 0);

  template <class T>
  void write(std::uint64_t address, const std::vector<T>& values, std::uint32_t chip = 0) {
    write_bytes(chip, address, values.data(), values.size() * sizeof(T));
  }
  template <class T>
  std::vector<T> read(std::uint64_t address, std::size_t count, std::uint32_t chip = 0) {
    std::vector<T> values(count);
    read_bytes(chip, address, values.data(), count * sizeof(T));
    return values;
  }

 private:
  void write_bytes(std::uint32_t chip, std::uint64_t address, const void* data, std::uint64_t bytes);
  void read_bytes(std::uint32_t chip, std::uint64_t address, void* data, std::uint64_t bytes);

  static MachineOptions with_wave(MachineOptions options, WaveFile* wave);

  Recorder recorder_;
  std::unique_ptr<WaveFile> wave_;  // of --wave; outlives the platform
  TeeSink both_;
  Platform platform_;
  std::vector<std::uint32_t> loaded_;
  Femtoseconds end_ = 0;
};

// Everything that the platform counted, as text: equal texts mean equal runs.
std::string statistics(Machine& machine);

// Checks of every account of time: the causes sum to `end`, on every engine, DMA engine, used queue and HBM stack.
void expect_accounts_add_up(Machine& machine);

// Runs `work` in a process of its own and returns its text, so that one test may elaborate several machines. A child
// that fails an expectation or dies fails the test.
std::string in_child(const std::function<std::string()>& work);

}  // namespace azulejo::test
