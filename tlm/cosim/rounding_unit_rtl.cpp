// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/rounding_unit_rtl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "tlm/common/check.h"

namespace azulejo {
namespace {

class VerilatedRoundingUnit final : public RoundingUnitRtl {
 public:
  VerilatedRoundingUnit(const RoundingUnitRtlConfig& config, const RtlLibrary& library, VerilatedContext& context,
                        const RoundingUnit& model)
      : config_(config),
        abi_(config.source == RandomSource::Xorwow ? library.abi().rounding_xorwow : library.abi().rounding_lfsr),
        context_(context) {
    AZULEJO_CHECK((abi_.xorwow != 0) == (config.source == RandomSource::Xorwow), "another source than asked for");
    for (std::uint32_t lane = 0; lane < kPartitions; ++lane) lanes_[lane].state = model.state(lane);
  }

  ~VerilatedRoundingUnit() override {
    for (const Lane& lane : lanes_) {
      if (lane.unit != nullptr) abi_.unit.destroy(lane.unit);
    }
  }
  VerilatedRoundingUnit(const VerilatedRoundingUnit&) = delete;
  VerilatedRoundingUnit& operator=(const VerilatedRoundingUnit&) = delete;

  void convert(std::uint32_t lane, Format format, const ConversionMode& mode, const float* values, std::size_t count,
               std::uint32_t* codes) override {
    AZULEJO_CHECK(mode.flush_denormals == (abi_.flush_denormals != 0), "another treatment of denormals than built");
    void* const verilated = unit(lane);
    rtl::RoundingInputs beat;
    beat.valid = 1;
    beat.format = static_cast<std::uint8_t>(format);
    beat.stochastic = mode.rounding == Rounding::Stochastic;
    beat.saturate = mode.saturate;
    inputs_.assign(count, beat);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(&inputs_[i].value, &values[i], sizeof(float));
    inputs_.emplace_back();  // lets the last code leave; the next value can enter in that cycle
    run(verilated, lane, count);
    // A code is seen after the clock edge that takes its value; one that never comes out is no code.
    std::size_t received = 0;
    for (const rtl::RoundingOutputs& out : outputs_) {
      if (out.valid != 0 && received < count) codes[received++] = out.code;
    }
    std::fill(codes + received, codes + count, ~0U);
  }

  void write_row(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, std::uint32_t p,
                 const float* values, const ConversionMode& mode) override {
    codes_.resize(access.free_size());
    convert(access.start_partition + p, access.format, mode, values, codes_.size(), codes_.data());
    write_codes(store, access, offset_bytes, p, codes_.data());
  }

  std::array<std::uint32_t, 6> state(std::uint32_t lane) const override { return lanes_[lane].state; }

  void set_state(std::uint32_t lane, const std::array<std::uint32_t, 6>& state) override {
    load(unit(lane), lane, state);
  }

  std::uint64_t cycles() const override { return cycles_; }

  void record(LaneWave* wave) override {
    wave_ = wave;
    for (std::uint32_t lane = 0; wave != nullptr && lane < kPartitions; ++lane) {
      if (!wave->has_lane(lane)) continue;
      unit(lane);
      set_inputs_to_load(lanes_[lane].state);
      wave->lane(lane, 0, 1, inputs_.data());
    }
  }

  void begin(std::uint64_t cycle) override { begin_ = cycle; }

  // A code leaves in the cycle after its value entered.
  std::uint64_t engine_cycle(std::uint64_t index) const override { return first_ + index + 1; }

 private:
  struct Lane {
    void* unit = nullptr;                // made when first used
    std::array<std::uint32_t, 6> state;  // after the last cycle
    std::uint64_t free_from = 0;         // the engine's cycle after its last one
  };

  void* unit(std::uint32_t lane) {
    Lane& slot = lanes_[lane];
    if (slot.unit == nullptr) {
      std::string name = fmt::format("{}.lane_{}", config_.name, lane);
      std::replace(name.begin(), name.end(), '.', ' ');
      slot.unit = abi_.unit.create(&context_, name.c_str());
      if (config_.fault.fault != nullptr) {
        AZULEJO_CHECK(abi_.unit.select_fault != nullptr, "a fault in a library without faults");
        abi_.unit.select_fault(slot.unit, {config_.fault.fault->id, rtl::kEverywhere, rtl::kEverywhere});
      }
      set_inputs_to_load(slot.state);  // before the time that counts
      rtl::RoundingOutputs loaded;
      abi_.run(slot.unit, 1, inputs_.data(), &loaded);
      std::copy(std::begin(loaded.state), std::end(loaded.state), slot.state.begin());
    }
    return slot.unit;
  }

  void load(void* verilated, std::uint32_t lane, const std::array<std::uint32_t, 6>& state) {
    set_inputs_to_load(state);
    run(verilated, lane, 1);
  }

  void set_inputs_to_load(const std::array<std::uint32_t, 6>& state) {
    inputs_.assign(1, {});
    inputs_[0].load = 1;
    std::copy(state.begin(), state.end(), std::begin(inputs_[0].state));
  }

  // `inputs_` to `outputs_`; the lane is taken for that many cycles.
  void run(void* verilated, std::uint32_t lane, std::uint64_t taken) {
    outputs_.resize(inputs_.size());
    abi_.run(verilated, static_cast<std::uint32_t>(inputs_.size()), inputs_.data(), outputs_.data());
    std::copy(std::begin(outputs_.back().state), std::end(outputs_.back().state), lanes_[lane].state.begin());
    cycles_ += inputs_.size();
    // An engine that moves several elements a cycle is ahead of the lane.
    first_ = std::max(begin_, lanes_[lane].free_from);
    lanes_[lane].free_from = first_ + taken;
    if (wave_ != nullptr) wave_->lane(lane, first_, inputs_.size(), inputs_.data());
  }

  const RoundingUnitRtlConfig config_;
  const rtl::RoundingUnitAbi& abi_;
  VerilatedContext& context_;
  std::array<Lane, kPartitions> lanes_;
  std::vector<rtl::RoundingInputs> inputs_;
  std::vector<rtl::RoundingOutputs> outputs_;
  std::vector<std::uint32_t> codes_;
  std::uint64_t cycles_ = 0;
  LaneWave* wave_ = nullptr;
  std::uint64_t begin_ = 0;
  std::uint64_t first_ = 0;  // of the last run
};

}  // namespace

std::unique_ptr<RoundingUnitRtl> make_rounding_unit_rtl(const RoundingUnitRtlConfig& config, const RtlLibrary& library,
                                                        VerilatedContext& context, const RoundingUnit& model) {
  return std::make_unique<VerilatedRoundingUnit>(config, library, context, model);
}

}  // namespace azulejo
