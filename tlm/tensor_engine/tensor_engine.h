// SPDX-License-Identifier: Apache-2.0
// Tensor engine: a weight-stationary systolic array of rows x cols processing elements (PEs) that multiplies a
// stationary tile [K <= rows partitions, M <= cols] by a moving tile [K, N] into PSUM [M partitions, N].
//
// Abstraction: loosely timed, one event per instruction. Values are bit-exact by the multiply-accumulate contract of
// tlm/numerics; cycle counts follow matmul_timing.h. Weights are double-buffered: load_stationary runs behind the
// matmul before it. Not modelled: sparsity, row and column tiling, transposes. Source: Trainium/Inferentia2
// Architecture Guide for NKI, "Tensor Engine".
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tlm/common/engine.h"
#include "tlm/common/fidelity.h"
#include "tlm/common/tile_data.h"
#include "tlm/tensor_engine/config.h"
#include "tlm/tensor_engine/pe_array.h"

namespace azulejo {

// Seeded damage for tests of the checks: one flipped bit in one word of every matmul's result.
struct PsumBitFlip {
  bool enabled = false;
  std::uint32_t bit = 30;
  std::uint64_t seed = 0;
};

class TensorEngine : public Engine {
 public:
  tlm_utils::simple_initiator_socket<Engine> sbuf_initiator{"sbuf_initiator"};
  tlm_utils::simple_initiator_socket<Engine> psum_initiator{"psum_initiator"};

  struct Stats {
    std::uint64_t matmuls = 0;
    std::uint64_t macs = 0;  // multiply-adds of the modelled program
  };

  // The array is the model. REQUIRES: validate(config) is empty.
  TensorEngine(const sc_core::sc_module_name& name, const TensorEngineConfig& config);

  const Stats& stats() const { return stats_; }
  // Another array of the same sizes; `counts`, which may be empty, is asked after each matmul. REQUIRES: before the
  // first load_stationary.
  void set_array(std::unique_ptr<PeArray> array, std::function<RtlCounts()> counts = {});
  void inject(const PsumBitFlip& flip) { flip_ = flip; }
  void attach(const Instruments& instruments) override;

 private:
  bool executes(Opcode opcode) const override;
  Response request(const Instruction& instruction) override;
  Availability available(const Instruction& instruction) override;
  Started begin(const Instruction& instruction) override;
  void end_of_elaboration() override;

  Response check(const Instruction& instruction) const;
  Started begin_load(const Instruction& instruction);
  Started begin_matmul(const Instruction& instruction);
  void multiply(const Instruction& instruction, std::uint64_t begin_cycle, std::uint64_t first_column_cycle);

  // What load_stationary left in the array.
  struct Weights {
    bool loaded = false;
    std::uint32_t k = 0;
    std::uint32_t m = 0;
    Format format = Format::Bf16;
  };

  const TensorEngineConfig config_;
  std::unique_ptr<PeArray> array_;
  std::function<RtlCounts()> rtl_counts_;
  TileStore sbuf_;
  TileStore psum_;
  Weights weights_;
  std::vector<float> result_;     // [m][n], when PSUM's access pattern is not contiguous
  std::uint64_t load_free_ = 0;   // cycle at which the weight load path is free
  std::uint64_t array_free_ = 0;  // cycle at which the array takes the next matmul
  TileAccess sbuf_access_;
  TileAccess psum_access_;
  PsumBitFlip flip_;
  Stats stats_;
  WaveSignal wave_matmuls_;
  WaveSignal wave_load_busy_;  // weights are being loaded
  WaveSignal wave_streaming_;  // moving columns enter the array
  WaveSignal wave_rtl_cycles_;
  WaveSignal wave_mismatches_;
};

}  // namespace azulejo
