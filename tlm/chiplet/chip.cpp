// SPDX-License-Identifier: Apache-2.0
#include "tlm/chiplet/chip.h"

#include <fmt/format.h>

namespace azulejo {

Chip::Chip(const sc_core::sc_module_name& name, const std::vector<NeuronCoreConfig>& cores,
           const std::vector<HbmConfig>& stacks, bool keep_data, bool probes)
    : sc_module(name), interconnect("interconnect"), probes_(probes) {
  for (std::size_t s = 0; s < stacks.size(); ++s) {
    stacks_.push_back(std::make_unique<Hbm>(fmt::format("hbm{}", s).c_str(), stacks[s], keep_data));
    Hbm& stack = *stacks_.back();
    probes_.bind(interconnect.hbm_initiator, stack.target, stack.target);
  }
  std::uint32_t initiator = 0;
  for (std::size_t c = 0; c < cores.size(); ++c) {
    cores_.push_back(std::make_unique<NeuronCore>(fmt::format("nc{}", c).c_str(), cores[c],
                                                  static_cast<std::uint32_t>(c), initiator, keep_data, probes));
    NeuronCore& core = *cores_.back();
    probes_.bind(interconnect.core_initiator, core.target, core.target);
    for (std::size_t e = 0; e < core.dma.size(); ++e) {
      auto& memory_initiator = core.dma.engine(e).memory_initiator;
      probes_.name_initiator(fmt::format("nc{}.dma.engine{}", c, e));
      probes_.bind(memory_initiator, interconnect.target, memory_initiator);
    }
    initiator += static_cast<std::uint32_t>(core.dma.size());
  }
}

void Chip::attach(const Instruments& instruments) {
  for (auto& core : cores_) core->attach(instruments);
  for (auto& stack : stacks_) stack->attach(instruments);
  probes_.attach(*instruments.wave);
}

void Chip::finish_account(Femtoseconds end) {
  for (auto& core : cores_) core->finish_account(end);
  for (auto& stack : stacks_) stack->finish_account(end);
}

}  // namespace azulejo
