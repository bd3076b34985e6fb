// SPDX-License-Identifier: Apache-2.0
// The PE array as Verilated RTL: rows x cols PEs out of many instances of one small tile (rtl/pe/pe_tile.sv), with
// instances of the edges (pe_array_edge.sv) and drains (pe_array_drain.sv) along its borders.
//
// Data flow only east and south, so a tile is evaluated for `cycles_per_visit` cycles before the next one is visited,
// and what crosses a border waits in a buffer; the result does not depend on that number. A waveform shows replicas of
// some tiles, each cycle at its time (array_wave.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tlm/cosim/array_wave.h"
#include "tlm/cosim/fault_table.h"
#include "tlm/cosim/lockstep.h"
#include "tlm/cosim/rtl_library.h"
#include "tlm/tensor_engine/pe_array.h"

namespace azulejo {

struct PeArrayRtlConfig {
  std::string name;  // hierarchical, with dots
  std::uint32_t rows = 128;
  std::uint32_t cols = 128;
  std::uint32_t cycles_per_visit = 64;
  FaultPlace fault;  // of this instance; fault null: none
};

// Everything that keeps the library's RTL from being that array, with both values: sizes that its tiles cannot make,
// more rows than its row count, pipeline stages or denormals that differ from those asked for.
std::vector<std::string> validate(const PeArrayRtlConfig& config, const RtlLibrary& library,
                                  std::uint32_t pipeline_stages, bool flush_denormals);

class PeArrayRtl : public PeArray {
 public:
  struct Stats {
    std::uint64_t cycles = 0;        // of the array
    std::uint64_t pe_cycles = 0;     // PEs evaluated with a valid operand
    std::uint64_t tile_cycles = 0;   // tile evaluations
    std::uint64_t idle_cycles = 0;   // tile evaluations that were skipped
    std::uint64_t surplus_sums = 0;  // rows of sums beyond those that were asked for: a fault of the RTL
  };

  // REQUIRES: validate() found nothing.
  PeArrayRtl(const PeArrayRtlConfig& config, const RtlLibrary& library, VerilatedContext& context);
  ~PeArrayRtl() override;

  // Places what follows on the engine's time axis, where loads and columns of several matmuls overlap as in the array
  // that never stands still, and gives a wave, which may be null, the inputs of its units. Without it, operations
  // follow each other from cycle 0 on. REQUIRES: before the first operation; no stalls.
  void run_in_engine_time(ArrayWave* wave);
  // The next operation begins at that cycle, and a wave, which may be null, gets the inputs of its units from there on.
  // REQUIRES: not in engine time.
  void record(ArrayWave* wave, std::uint64_t cycle);

  void load(const OperandTile& stationary, std::uint64_t cycle) override;
  void multiply(const OperandTile& moving, const MatmulMode& mode, float* psum, std::size_t stride) override;
  // Measured on the RTL with a probe when the array is built.
  std::uint32_t latency_cycles() const override;

  // Random stalls from now on: a beat is preceded by a bubble, and the whole array held for a cycle, with these
  // probabilities in 1/256 each. Results do not change.
  void stall(std::uint32_t bubble, std::uint32_t hold, std::uint64_t seed);

  const Stats& stats() const;
  // Cycle of the last pass in which the sums of moving column `column` were due.
  std::uint64_t sum_cycle(std::uint32_t column) const;
  // The same cycle on the engine's time axis.
  std::uint64_t engine_cycle(std::uint64_t pass_cycle) const;
  // By how many cycles the newest matmul's columns entered later than the engine's timing says, since the RTL had not
  // taken its weights: it takes a row of them a cycle.
  std::uint64_t lag_cycles() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Model and RTL on the same tiles; the model's bits land in PSUM. `config` is the RTL's, `origin` what a reproducer
// says of where it comes from; `log` outlives the array.
std::unique_ptr<PeArray> make_pe_array_lockstep(std::unique_ptr<PeArray> model, std::unique_ptr<PeArrayRtl> rtl,
                                                const PeArrayRtlConfig& config, const CosimCase& origin,
                                                LockstepLog& log);

// Elements of a tile, [k][columns], in the low bits.
std::vector<std::uint32_t> read_tile_codes(const OperandTile& tile);

// The operation of one matmul with its operands. `stationary` is read as it is now.
ArrayCase capture(const OperandTile& stationary, const OperandTile& moving, const MatmulMode& mode, const float* psum,
                  std::size_t stride, std::uint32_t rows, std::uint32_t cols);

}  // namespace azulejo
