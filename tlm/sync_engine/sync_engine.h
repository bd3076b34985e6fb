// SPDX-License-Identifier: Apache-2.0
// An engine without a data path: runs semaphores, registers, branches and DMA triggers. The Sync engine is one; the
// Scalar and GpSimd engines are used as such until they get theirs.
// Source: Trainium/Inferentia2 Architecture Guide for NKI, "NeuronCore-v2 Compute Engines".
#pragma once

#include "tlm/common/check.h"
#include "tlm/common/engine.h"
#include "tlm/sync_engine/config.h"

namespace azulejo {

class SyncEngine : public Engine {
 public:
  // REQUIRES: validate(config) is empty.
  SyncEngine(const sc_core::sc_module_name& name, EngineId id, const SyncEngineConfig& config)
      : Engine(name, {id, config.clock, config.issue_cycles}) {}

 private:
  bool executes(Opcode) const override { return false; }
  Response request(const Instruction&) override { return no_data_path(); }
  Availability available(const Instruction&) override { return no_data_path(), Availability{}; }
  Started begin(const Instruction&) override { return no_data_path(), Started{}; }
  static Response no_data_path() { check_failed("executes()", "an engine without data path", __FILE__, __LINE__); }
};

}  // namespace azulejo
