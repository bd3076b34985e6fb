// SPDX-License-Identifier: Apache-2.0
// One accelerator chip: NeuronCores and HBM stacks on the on-die interconnect.
#pragma once

#include <memory>
#include <systemc>
#include <vector>

#include "tlm/chiplet/config.h"
#include "tlm/chiplet/interconnect.h"
#include "tlm/common/transaction_probe.h"
#include "tlm/hbm/hbm.h"
#include "tlm/neuron_core/neuron_core.h"

namespace azulejo {

class Chip : public sc_core::sc_module {
 public:
  // One configuration per core and per stack, in order; `probes` shows the transactions at the sockets of stacks,
  // cores, engines and DMA engines. REQUIRES: each validates.
  Chip(const sc_core::sc_module_name& name, const std::vector<NeuronCoreConfig>& cores,
       const std::vector<HbmConfig>& stacks, bool keep_data, bool probes);

  std::size_t cores() const { return cores_.size(); }
  std::size_t stacks() const { return stacks_.size(); }
  NeuronCore& core(std::size_t index) { return *cores_[index]; }
  const NeuronCore& core(std::size_t index) const { return *cores_[index]; }
  Hbm& hbm(std::size_t index) { return *stacks_[index]; }
  const Hbm& hbm(std::size_t index) const { return *stacks_[index]; }

  void attach(const Instruments& instruments);
  void finish_account(Femtoseconds end);

  Interconnect interconnect;

 private:
  TransactionProbes probes_;
  std::vector<std::unique_ptr<NeuronCore>> cores_;
  std::vector<std::unique_ptr<Hbm>> stacks_;
};

}  // namespace azulejo
