// SPDX-License-Identifier: Apache-2.0
// The PE as Verilated RTL.
#include <algorithm>

#include "tlm/common/check.h"
#include "tlm/cosim/pe.h"

namespace azulejo {
namespace {

class PeRtl : public Pe {
 public:
  PeRtl(const RtlLibrary& library, VerilatedContext& context, std::string name, const rtl::FaultSelect& fault)
      : abi_(library.abi().pe), latency_cycles_(library.pe_latency_cycles()) {
    std::replace(name.begin(), name.end(), '.', ' ');
    unit_ = abi_.unit.create(&context, name.c_str());
    if (fault.fault != 0) {
      AZULEJO_CHECK(abi_.unit.select_fault != nullptr, "a fault needs a library with faults");
      abi_.unit.select_fault(unit_, fault);
    }
  }
  ~PeRtl() override { abi_.unit.destroy(unit_); }
  PeRtl(const PeRtl&) = delete;
  PeRtl& operator=(const PeRtl&) = delete;

  void reset() override { abi_.unit.reset(unit_); }

  void run(std::uint32_t cycles, const rtl::PeInputs* inputs, rtl::PeOutputs* outputs) override {
    abi_.run(unit_, cycles, inputs, outputs);
  }

  std::uint32_t latency_cycles() const override { return latency_cycles_; }

 private:
  const rtl::PeAbi& abi_;
  const std::uint32_t latency_cycles_;
  void* unit_ = nullptr;
};

}  // namespace

std::unique_ptr<Pe> make_pe_rtl(const RtlLibrary& library, VerilatedContext& context, const std::string& name,
                                const rtl::FaultSelect& fault) {
  return std::make_unique<PeRtl>(library, context, name, fault);
}

}  // namespace azulejo
