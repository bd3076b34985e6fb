// SPDX-License-Identifier: Apache-2.0
// The clock of Verilated units that exist for a waveform only: replicas of units that ran a block of cycles at once,
// given the same inputs cycle by cycle at the simulated times of those cycles.
//
// Cycle c lasts from edge c to edge c + 1 of the clock. Its inputs are there from its beginning, and the registers take
// them at its end. The clock stands while no cycle is asked for.
#pragma once

#include <cstdint>
#include <deque>

#include "tlm/common/time.h"
#include "tlm/wave/wave_file.h"

namespace azulejo {

class ReplicaClock : public WaveProcess {
 public:
  ReplicaClock(WaveFile& wave, std::uint64_t hz) : wave_(wave), clock_(hz) { wave.add(*this); }
  ~ReplicaClock() override { wave_.remove(*this); }
  ReplicaClock(const ReplicaClock&) = delete;
  ReplicaClock& operator=(const ReplicaClock&) = delete;

  const Clock& clock() const { return clock_; }
  Femtoseconds next() const override;
  void step() override;

 protected:
  // The clock runs for the cycles first .. first + count - 1, and the edge after them. REQUIRES: none of them has
  // begun.
  void ask(std::uint64_t first, std::uint64_t count);

  WaveFile& wave() const { return wave_; }

 private:
  // The edge at which `cycle` begins: registers take the inputs that are there, then come those of the cycle.
  virtual void rise(std::uint64_t cycle) = 0;
  virtual void fall() = 0;

  struct Span {
    std::uint64_t first;
    std::uint64_t last;  // the edge after the last cycle
  };

  WaveFile& wave_;
  const Clock clock_;
  std::deque<Span> spans_;
  bool high_ = false;
};

}  // namespace azulejo
