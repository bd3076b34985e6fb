// SPDX-License-Identifier: Apache-2.0
// The RTL twins of a platform: the PE arrays and rounding units that are Verilated RTL, alone or in lockstep with the
// model, and what they counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "platforms/config/platform_config.h"
#include "tlm/cosim/fault_table.h"
#include "tlm/cosim/lockstep.h"
#include "tlm/cosim/pe_array_rtl.h"
#include "tlm/cosim/rounding_unit_rtl.h"
#include "tlm/neuron_core/neuron_core.h"
#include "tlm/rounding/rounding_unit.h"

namespace azulejo {

struct TwinOptions {
  std::string pe_directory;  // of a PE of one's own; empty: rtl/pe/pe.sv
  std::string pe_top = "pe";
  FaultPlace fault;                                      // REQUIRES: fault_problems() found nothing
  WaveFile* wave = nullptr;                              // shows the RTL's inside; may be null
  std::string wave_unit;                                 // of which it shows, besides, the lane:
  std::uint32_t wave_lane = 0;                           // column of an array, lane of a rounding unit
  std::size_t capture = 0;                               // matmuls whose operands are kept, the first of the run
  std::string origin;                                    // where cases come from, for their notes
  std::function<void(const Difference&)> on_difference;  // the first of each unit; may be empty
  std::function<void(const std::string&)> progress;      // one line when RTL has to be compiled; may be empty
};

// A unit that the configuration wants in RTL or in lockstep.
struct RtlUnit {
  std::string name;  // "chip0.nc0.tensor_engine"
  Fidelity fidelity = Fidelity::Rtl;
  bool array = true;       // a PE array; false: a rounding unit
  std::uint32_t rows = 0;  // of an array
  std::uint32_t cols = 0;
  RandomSource random_source = RandomSource::Lfsr;  // of a rounding unit
};
std::vector<RtlUnit> rtl_units(const PlatformConfig& config);

// Why `fault` is in no unit of `units`: one sentence; empty if it is in one.
std::string fault_problem(const FaultPlace& fault, const std::vector<RtlUnit>& units);

// One core's configuration, as it is built.
struct CorePlace {
  std::string name;  // "chip0.nc0"
  NeuronCoreConfig config;
};

class Twins {
 public:
  struct Unit {
    RtlUnit unit;
    const PeArrayRtl* array = nullptr;  // one of the two
    const RoundingUnitRtl* rounding_unit = nullptr;
    std::unique_ptr<ArrayWave> array_wave;  // of the two, if there is a wave
    std::unique_ptr<LaneWave> lane_wave;
    LockstepLog log;

    Unit(RtlUnit described, std::uint64_t clock_hz, const TwinOptions& options);
  };

  // Loads the RTL of every unit that `cores` wants and builds it. Throws ConfigError with all problems: RTL that cannot
  // be loaded, parameters of the RTL that disagree with the configuration, a latency that its timing does not have.
  Twins(const std::vector<CorePlace>& cores, const TwinOptions& options);

  // Gives core `index` of the constructor's list its units. REQUIRES: before its first instruction, once.
  void install(std::size_t index, NeuronCore& core);

  const std::vector<std::unique_ptr<Unit>>& units() const { return units_; }
  std::uint64_t compared() const;    // elements, by all units in lockstep
  std::uint64_t mismatches() const;  // of which differ
  // Valid outputs that differ between RTL and its replicas in the wave; not 0: the wave does not show what ran.
  std::uint64_t wave_differences() const;
  // The operands of the first matmuls, as many as were asked for or ran.
  const std::vector<CosimCase>& captured() const { return captured_; }

 private:
  struct Built {
    std::unique_ptr<PeArray> array;  // null: the engine keeps its model
    std::function<RtlCounts()> array_counts;
    std::unique_ptr<RoundingUnit> rounding_unit;
    std::function<RtlCounts()> rounding_counts;
  };

  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<CosimCase> captured_;
  std::vector<Built> built_;  // per core, until installed
};

}  // namespace azulejo
