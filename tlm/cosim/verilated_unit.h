// SPDX-License-Identifier: Apache-2.0
// One Verilated unit and the functions of its table.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "tlm/cosim/rtl_abi.h"

namespace azulejo {

class VerilatedUnit {
 public:
  // `path` is hierarchical, with dots.
  VerilatedUnit(const rtl::UnitAbi& abi, VerilatedContext& context, std::string path)
      : abi_(&abi), unit_(nullptr, abi.destroy) {
    std::replace(path.begin(), path.end(), '.', ' ');
    unit_.reset(abi.create(&context, path.c_str()));
  }

  void* get() const { return unit_.get(); }
  void reset() const { abi_->reset(get()); }
  void evaluate(bool clock) const { abi_->evaluate(get(), clock ? 1 : 0); }
  void select_fault(const rtl::FaultSelect& select) const { abi_->select_fault(get(), select); }
  void trace(VerilatedVcdC& writer) const { abi_->trace(get(), &writer); }

 private:
  const rtl::UnitAbi* abi_;
  std::unique_ptr<void, void (*)(void*)> unit_;
};

}  // namespace azulejo
