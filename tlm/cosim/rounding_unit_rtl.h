// SPDX-License-Identifier: Apache-2.0
// The rounding unit as Verilated RTL: one instance of rtl/rounding/stochastic_rounding_unit.sv per lane.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tlm/cosim/fault_table.h"
#include "tlm/cosim/lane_wave.h"
#include "tlm/cosim/lockstep.h"
#include "tlm/cosim/rtl_library.h"
#include "tlm/rounding/rounding_unit.h"

namespace azulejo {

class RoundingWave;

struct RoundingUnitRtlConfig {
  std::string name;  // hierarchical, with dots
  RandomSource source = RandomSource::Lfsr;
  FaultPlace fault;  // of this instance; fault null: none
};

class RoundingUnitRtl : public RoundingUnit {
 public:
  // Of all lanes together.
  virtual std::uint64_t cycles() const = 0;
  // Gives a wave, which may be null, the inputs of its lanes; values enter one a cycle from begin() on.
  virtual void record(LaneWave* wave) = 0;
  // The cycle, on begin()'s time axis, in which the code of value `index` of the last conversion left.
  virtual std::uint64_t engine_cycle(std::uint64_t index) const = 0;
};

// Lanes start with the states of `model`, which they then share draw by draw.
std::unique_ptr<RoundingUnitRtl> make_rounding_unit_rtl(const RoundingUnitRtlConfig& config, const RtlLibrary& library,
                                                        VerilatedContext& context, const RoundingUnit& model);

// Model and RTL on the same values, comparing codes and the lanes' states; the model's codes are what is written. After
// a difference the RTL goes on from the model's state. `log` outlives the unit.
std::unique_ptr<RoundingUnit> make_rounding_unit_lockstep(std::unique_ptr<RoundingUnit> model,
                                                          std::unique_ptr<RoundingUnitRtl> rtl, RandomSource source,
                                                          const std::string& name, const CosimCase& origin,
                                                          LockstepLog& log);

// Runs a case through model and RTL, cycle by cycle from reset, and adds what it finds to `log`; the number of cycles.
// The Verilated unit, which has the coverage counters, goes to `kept` if there is one. REQUIRES: origin.operation is
// `operation`. `wave`, which may be null, gets the cycles.
std::uint64_t replay_rounding(const RoundingCase& operation, const CosimCase& origin, const FaultPlace& fault,
                              const RtlLibrary& library, VerilatedContext& context, LockstepLog& log,
                              std::vector<std::shared_ptr<void>>* kept = nullptr, RoundingWave* wave = nullptr);

}  // namespace azulejo
