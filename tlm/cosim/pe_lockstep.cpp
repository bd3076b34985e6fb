// SPDX-License-Identifier: Apache-2.0
// Two PEs compared cycle by cycle.
#include <fmt/format.h>

#include <chrono>

#include "tlm/common/check.h"
#include "tlm/cosim/pe.h"
#include "tlm/numerics/float_bits.h"

namespace azulejo {
namespace {

using HostClock = std::chrono::steady_clock;

double seconds_since(HostClock::time_point start) {
  return std::chrono::duration<double>(HostClock::now() - start).count();
}

// The weights that a PE holds, by its inputs alone.
class WeightTracker {
 public:
  // REQUIRES: an enabled cycle. After it active() is what the cycle's activation met.
  void step(const rtl::PeInputs& in) {
    if (in.act.valid != 0 && in.act.tag != 0) active_ = shadow_;
    if (in.weight.valid != 0 && in.weight.tag == 0) shadow_ = in.weight.operand;
  }
  const std::optional<std::uint32_t>& active() const { return active_; }

 private:
  std::optional<std::uint32_t> shadow_;
  std::optional<std::uint32_t> active_;
};

}  // namespace

std::optional<PeMismatch> compare_outputs(std::uint32_t cycle, const rtl::PeOutputs& model, const rtl::PeOutputs& rtl) {
  const auto differ = [&](std::string_view what, std::uint32_t m, std::uint32_t r, bool is_fp32 = false) {
    return PeMismatch{cycle, what, m, r, is_fp32};
  };
  if (model.psum.valid != rtl.psum.valid) return differ("psum_valid", model.psum.valid, rtl.psum.valid);
  if (model.psum.valid != 0 && model.psum.value != rtl.psum.value) {
    return differ("psum", model.psum.value, rtl.psum.value, true);
  }
  if (model.act.valid != rtl.act.valid) return differ("act_valid", model.act.valid, rtl.act.valid);
  if (model.act.valid != 0) {
    if (model.act.tag != rtl.act.tag) return differ("act_swap", model.act.tag, rtl.act.tag);
    if (model.act.operand != rtl.act.operand) return differ("act", model.act.operand, rtl.act.operand);
  }
  if (model.weight.valid != rtl.weight.valid) return differ("weight_valid", model.weight.valid, rtl.weight.valid);
  if (model.weight.valid != 0) {
    if (model.weight.tag != rtl.weight.tag) return differ("weight_row", model.weight.tag, rtl.weight.tag);
    if (model.weight.operand != rtl.weight.operand) return differ("weight", model.weight.operand, rtl.weight.operand);
  }
  return std::nullopt;
}

std::optional<PeMismatch> PeLockstep::run(const std::vector<rtl::PeInputs>& inputs) {
  const auto cycles = static_cast<std::uint32_t>(inputs.size());
  model_outputs_.resize(cycles);
  rtl_outputs_.resize(cycles);
  const HostClock::time_point start = HostClock::now();
  model_->reset();
  model_->run(cycles, inputs.data(), model_outputs_.data());
  const HostClock::time_point middle = HostClock::now();
  rtl_->reset();
  rtl_->run(cycles, inputs.data(), rtl_outputs_.data());
  rtl_seconds_ += seconds_since(middle);
  model_seconds_ += std::chrono::duration<double>(middle - start).count();
  for (std::uint32_t t = 0; t < cycles; ++t) {
    if (auto mismatch = compare_outputs(t, model_outputs_[t], rtl_outputs_[t])) return mismatch;
    if (inputs[t].enable != 0 && model_outputs_[t].psum.valid != 0) ++sums_;
  }
  return std::nullopt;
}

bool weights_are_loaded(const std::vector<rtl::PeInputs>& inputs) {
  WeightTracker weights;
  for (const rtl::PeInputs& in : inputs) {
    if (in.enable == 0) continue;
    weights.step(in);
    if (in.act.valid != 0 && !weights.active()) return false;
  }
  return true;
}

std::string describe_operands(const std::vector<rtl::PeInputs>& inputs, const PeMismatch& mismatch,
                              std::uint32_t latency_cycles) {
  AZULEJO_CHECK(mismatch.cycle < inputs.size(), "a mismatch outside of its inputs");
  if (mismatch.what == "psum") {
    // The sum entered latency_cycles - 1 enabled cycles before the last enabled one.
    std::uint32_t entry = mismatch.cycle;
    while (entry > 0 && inputs[entry].enable == 0) --entry;
    for (std::uint32_t left = latency_cycles - 1; left > 0 && entry > 0;) {
      if (inputs[--entry].enable != 0) --left;
    }
    WeightTracker weights;
    for (std::uint32_t t = 0; t <= entry; ++t) {
      if (inputs[t].enable != 0) weights.step(inputs[t]);
    }
    const rtl::PeInputs& in = inputs[entry];
    return fmt::format("activation {}, weight {}, psum_i {:08x} ({:.9g}), entered in cycle {}",
                       show_operand(in.act.operand), show_operand(weights.active().value_or(0)), in.psum,
                       bits_to_float(in.psum), entry);
  }
  const rtl::PeInputs& in = inputs[mismatch.cycle];
  return fmt::format("enable {}, activation {} valid {} swap {}, weight {} valid {} row {}, psum_i {:08x} ({:.9g})",
                     in.enable, show_operand(in.act.operand), in.act.valid, in.act.tag, show_operand(in.weight.operand),
                     in.weight.valid, in.weight.tag, in.psum, bits_to_float(in.psum));
}

}  // namespace azulejo
