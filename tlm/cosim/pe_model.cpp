// SPDX-License-Identifier: Apache-2.0
// The PE by the contract: registers as rtl/pe/pe.sv has them, arithmetic by the host's fused multiply-add.
#include <cmath>
#include <cstring>
#include <vector>

#include "tlm/common/check.h"
#include "tlm/cosim/pe.h"
#include "tlm/numerics/float_bits.h"

namespace azulejo {
namespace {

// An operand as the host computes with it.
struct HostOperand {
  OperandKind kind = OperandKind::Absent;
  float value = 0;           // FP32 holds every finite operand
  float beside_special = 0;  // stands for it beside an infinity or NaN: not 0 unless the operand is a zero
};

// 2^(exponent - 256), exactly.
double scale(std::uint32_t exponent) {
  constexpr std::uint64_t kDoubleBias = 1023 - 256;
  const std::uint64_t bits = (exponent + kDoubleBias) << 52;
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

HostOperand host_operand(std::uint32_t bits) {
  const Operand operand = unpack_operand(bits);
  HostOperand host;
  host.kind = operand.kind;
  const float sign = operand.sign ? -1.0F : 1.0F;
  switch (operand.kind) {
    case OperandKind::Zero:
      host.value = host.beside_special = 0.0F * sign;
      break;
    case OperandKind::Infinity:
      host.value = host.beside_special = HUGE_VALF * sign;
      break;
    case OperandKind::NotANumber:
      host.value = host.beside_special = bits_to_float(kFp32CanonicalNan);
      break;
    default:
      host.value = static_cast<float>(static_cast<double>(operand.significand) * scale(operand.exponent)) * sign;
      host.beside_special = sign;
      break;
  }
  return host;
}

bool is_special(OperandKind kind) { return kind == OperandKind::Infinity || kind == OperandKind::NotANumber; }

class PeModel : public Pe {
 public:
  PeModel(std::uint32_t pipeline_stages, bool flush_denormals)
      : flush_denormals_(flush_denormals), waiting_(pipeline_stages) {}

  void reset() override {
    out_.act.valid = 0;
    out_.act.tag = 0;
    out_.weight.valid = 0;
    out_.psum.valid = 0;
    for (rtl::PsumBeat& beat : waiting_) beat.valid = 0;
  }

  void run(std::uint32_t cycles, const rtl::PeInputs* inputs, rtl::PeOutputs* outputs) override {
    for (std::uint32_t t = 0; t < cycles; ++t) {
      if (inputs[t].enable != 0) step(inputs[t]);
      outputs[t] = out_;
    }
  }

  std::uint32_t latency_cycles() const override { return static_cast<std::uint32_t>(waiting_.size()); }

 private:
  void step(const rtl::PeInputs& in) {
    rtl::PsumBeat& newest = waiting_[oldest_];
    newest.valid = in.act.valid != 0;
    out_.act.valid = in.act.valid != 0;
    out_.act.tag = 0;
    if (in.act.valid != 0) {
      // The activation that brings `swap` already meets the new weight.
      if (in.act.tag != 0) active_ = shadow_;
      out_.act.operand = in.act.operand;
      out_.act.tag = in.act.tag != 0;
      newest.value = float_to_bits(multiply_add(host_operand(in.act.operand), active_, bits_to_float(in.psum)));
    }
    out_.weight.valid = 0;
    if (in.weight.valid != 0) {
      if (in.weight.tag == 0) {
        shadow_ = host_operand(in.weight.operand);
      } else {
        out_.weight.operand = in.weight.operand;
        out_.weight.tag = static_cast<std::uint16_t>(in.weight.tag - 1);
        out_.weight.valid = 1;
      }
    }
    oldest_ = oldest_ + 1 == waiting_.size() ? 0 : oldest_ + 1;
    out_.psum = waiting_[oldest_];
  }

  float multiply_add(const HostOperand& act, const HostOperand& weight, float addend) const {
    if (act.kind == OperandKind::Absent || weight.kind == OperandKind::Absent) return addend;
    float a = act.value;
    float b = weight.value;
    if (is_special(act.kind) || is_special(weight.kind)) {
      // A pair with an infinity or NaN is multiplied whole, not by halves.
      if (act.kind == OperandKind::LowHalf || weight.kind == OperandKind::LowHalf) return addend;
      a = act.beside_special;
      b = weight.beside_special;
    }
    const float sum = canonicalize_nan(std::fma(a, b, addend));
    return flush_denormals_ ? flush_subnormal(sum) : sum;
  }

  const bool flush_denormals_;
  HostOperand shadow_;
  HostOperand active_;
  rtl::PeOutputs out_;
  std::vector<rtl::PsumBeat> waiting_;  // a ring: sums on their way to psum_o
  std::size_t oldest_ = 0;              // of them
};

}  // namespace

std::unique_ptr<Pe> make_pe_model(std::uint32_t pipeline_stages, bool flush_denormals) {
  AZULEJO_CHECK(pipeline_stages > 0, "a sum takes at least a cycle");
  return std::make_unique<PeModel>(pipeline_stages, flush_denormals);
}

}  // namespace azulejo
