// SPDX-License-Identifier: Apache-2.0
// Campaigns and Verilated units of tests that are shown in the wave of the test program's --wave, if there is one.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "tests/support/test_wave.h"
#include "tlm/cosim/campaign.h"
#include "tlm/cosim/campaign_wave.h"
#include "tlm/cosim/pe_array_rtl.h"
#include "tlm/cosim/rounding_unit_rtl.h"

namespace azulejo::test {

inline constexpr std::uint64_t kShownHz = 1'000'000'000;

// The wave of a campaign, or what knows when its first difference is; null: neither is wanted.
inline std::unique_ptr<CampaignWave> next_campaign_wave() {
  std::optional<WaveOptions> options = next_wave({});
  if (options) return std::make_unique<CampaignWave>(*options, false);
  return std::getenv("AZULEJO_FAILED_WAVES") != nullptr ? std::make_unique<CampaignWave>(false) : nullptr;
}

template <class Campaign>
CampaignResult shown(CampaignResult (*run)(const Campaign&, const CampaignOptions&), const Campaign& campaign,
                     CampaignOptions options) {
  // Libraries with coverage have no waveforms.
  const std::unique_ptr<CampaignWave> wave = options.coverage_file.empty() ? next_campaign_wave() : nullptr;
  options.wave = wave.get();
  CampaignResult result = run(campaign, options);
  if (wave && wave->first_mismatch()) note_difference(wave->first_mismatch()->time);
  if (wave && wave->file() != nullptr) wave->close();
  return result;
}

// An array whose passes follow each other in time.
class ShownArray : public PeArrayRtl {
 public:
  ShownArray(const PeArrayRtlConfig& config, const RtlLibrary& library) : PeArrayRtl(config, library, plain_context()) {
    const std::optional<WaveOptions> options = next_wave([this] { return Clock(kShownHz).edge(cycles_); });
    if (!options) return;
    wave_ = std::make_unique<WaveFile>(*options);
    const rtl::PeTileAbi& tile = library.abi().tile;
    ArrayWaveConfig shown{config.name, config.rows / tile.rows, config.cols / tile.cols, kShownHz, {}};
    array_ = std::make_unique<ArrayWave>(*wave_, shown, library.abi());
    if (config.fault.fault != nullptr && config.fault.row < 0) array_->select_fault("", {config.fault.fault->id});
    record(array_.get(), 0);
  }

  ~ShownArray() override {
    if (wave_) wave_->close();
  }

  void multiply(const OperandTile& moving, const MatmulMode& mode, float* psum, std::size_t stride) override {
    PeArrayRtl::multiply(moving, mode, psum, stride);
    cycles_ = stats().cycles;
    if (wave_) wave_->flush();
  }

 private:
  std::uint64_t cycles_ = 0;
  std::unique_ptr<WaveFile> wave_;
  std::unique_ptr<ArrayWave> array_;
};

// A rounding unit each of whose lanes takes a value a cycle from the beginning on.
class ShownRoundingUnit : public RoundingUnitRtl {
 public:
  ShownRoundingUnit(std::unique_ptr<RoundingUnitRtl> unit, const std::string& name, const FaultPlace& fault,
                    const rtl::RoundingUnitAbi& abi)
      : unit_(std::move(unit)) {
    const std::optional<WaveOptions> options = next_wave([this] { return Clock(kShownHz).edge(now_); });
    if (!options) return;
    wave_ = std::make_unique<WaveFile>(*options);
    LaneWaveConfig shown{name, kPartitions, 0, kShownHz, {}};
    if (fault.fault != nullptr) shown.fault.fault = fault.fault->id;
    lanes_ = std::make_unique<LaneWave>(*wave_, shown, abi);
    unit_->record(lanes_.get());
  }

  ~ShownRoundingUnit() override {
    now_ = unit_->cycles();
    if (wave_) wave_->close();
  }

  void convert(std::uint32_t lane, Format format, const ConversionMode& mode, const float* values, std::size_t count,
               std::uint32_t* codes) override {
    unit_->convert(lane, format, mode, values, count, codes);
  }
  void write_row(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, std::uint32_t p,
                 const float* values, const ConversionMode& mode) override {
    unit_->write_row(store, access, offset_bytes, p, values, mode);
  }
  std::array<std::uint32_t, 6> state(std::uint32_t lane) const override { return unit_->state(lane); }
  void set_state(std::uint32_t lane, const std::array<std::uint32_t, 6>& state) override {
    unit_->set_state(lane, state);
  }
  std::uint64_t cycles() const override { return unit_->cycles(); }
  void record(LaneWave* wave) override { unit_->record(wave); }
  std::uint64_t engine_cycle(std::uint64_t index) const override { return unit_->engine_cycle(index); }

 private:
  std::uint64_t now_ = 0;
  std::unique_ptr<WaveFile> wave_;
  std::unique_ptr<LaneWave> lanes_;
  std::unique_ptr<RoundingUnitRtl> unit_;
};

}  // namespace azulejo::test
