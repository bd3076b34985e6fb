// SPDX-License-Identifier: Apache-2.0
// What evaluates Verilated units for a waveform, step by step at the simulated times of their clock.
#pragma once

#include "tlm/common/time.h"

namespace azulejo {

// The wave calls step() once everything earlier has been written, so behind the simulation, which may have gone on; a
// step changes signals and Verilated models at next().
class WaveProcess {
 public:
  virtual ~WaveProcess() = default;
  // The time of the next step; kNever: none until something new is known. REQUIRES: never before a time that the
  // simulation has left behind.
  virtual Femtoseconds next() const = 0;
  virtual void step() = 0;
};

}  // namespace azulejo
