// SPDX-License-Identifier: Apache-2.0
// Vector engine: element-wise work on 128 partitions between SBUF and PSUM.
//
// Abstraction: loosely timed, one event per instruction; arithmetic in FP32 with free conversion of inputs and outputs
// (a copy between equal formats keeps the bits). Executes tensor_copy, memset and tensor_tensor with op add.
// Source: Trainium/Inferentia2 Architecture Guide for NKI, "Vector Engine"; costs: vector_timing.h.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tlm/common/engine.h"
#include "tlm/common/fidelity.h"
#include "tlm/rounding/rounding_unit.h"
#include "tlm/vector_engine/config.h"

namespace azulejo {

class VectorEngine : public Engine {
 public:
  tlm_utils::simple_initiator_socket<Engine> sbuf_initiator{"sbuf_initiator"};
  tlm_utils::simple_initiator_socket<Engine> psum_initiator{"psum_initiator"};

  struct Stats {
    std::uint64_t elements = 0;  // written
    std::uint64_t busy_cycles = 0;
  };

  // The rounding unit is the model. REQUIRES: validate(config) is empty.
  VectorEngine(const sc_core::sc_module_name& name, const VectorEngineConfig& config);

  const Stats& stats() const { return stats_; }
  // Another unit with the same lanes; `counts`, which may be empty, is asked after each instruction. REQUIRES: before
  // the first instruction.
  void set_rounding_unit(std::unique_ptr<RoundingUnit> unit, std::function<RtlCounts()> counts = {});
  void attach(const Instruments& instruments) override;
  const RoundingUnit& rounding_unit() const { return *rounding_unit_; }

 private:
  bool executes(Opcode opcode) const override;
  Response request(const Instruction& instruction) override;
  Availability available(const Instruction& instruction) override;
  Started begin(const Instruction& instruction) override;
  void end_of_elaboration() override;

  Response check(const Instruction& instruction) const;
  void compute(const Instruction& instruction);
  const TileStore& store(const TensorAccess& access) const { return access.space == MemorySpace::Psum ? psum_ : sbuf_; }

  const VectorEngineConfig config_;
  TileStore sbuf_;
  TileStore psum_;
  TileAccess sbuf_access_;
  TileAccess psum_access_;
  std::unique_ptr<RoundingUnit> rounding_unit_;  // of the output, one lane per partition
  std::function<RtlCounts()> rtl_counts_;
  WaveSignal wave_rtl_cycles_;
  WaveSignal wave_mismatches_;
  std::vector<float> row_a_;
  std::vector<float> row_b_;
  std::uint64_t free_ = 0;  // cycle at which the next instruction may start
  Stats stats_;
};

}  // namespace azulejo
