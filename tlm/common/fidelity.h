// SPDX-License-Identifier: Apache-2.0
// How a part with a Verilated twin is simulated.
#pragma once

#include <cstdint>

namespace azulejo {

enum class Fidelity : std::uint8_t {
  Tlm,       // the model
  Rtl,       // the Verilated RTL: its bits are the result
  Lockstep,  // both on the same operands, compared; the model's bits are the result
};

// What a unit in RTL counts.
struct RtlCounts {
  std::uint64_t cycles = 0;
  std::uint64_t mismatches = 0;      // elements, in lockstep
  std::uint64_t mismatch_cycle = 0;  // of the engine's clock, in which the newest of them left the unit
};

}  // namespace azulejo
