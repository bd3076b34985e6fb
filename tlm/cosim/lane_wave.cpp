// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/lane_wave.h"

#include <fmt/format.h>

#include "tlm/cosim/cycle_lanes.h"
#include "tlm/cosim/verilated_unit.h"

namespace azulejo {

struct LaneWave::Lane {
  Lane(const rtl::UnitAbi& table, VerilatedContext& context, const std::string& path)
      : unit(table, context, path), inputs(1) {}
  VerilatedUnit unit;
  CycleLanes<rtl::RoundingInputs> inputs;
};

LaneWave::LaneWave(WaveFile& wave, const LaneWaveConfig& config, const rtl::RoundingUnitAbi& abi)
    : ReplicaClock(wave, config.clock_hz), abi_(abi), lanes_(config.lanes) {
  for (std::uint32_t lane = 0; lane < config.lanes; ++lane) {
    const std::string path = fmt::format("{}.lane_{}", config.name, lane);
    if (!wave.selects_unit(path, lane == 0 || lane == config.also)) continue;
    lanes_[lane] = std::make_unique<Lane>(abi.unit, wave.context(), path);
    if (config.fault.fault != 0) lanes_[lane]->unit.select_fault(config.fault);
    lanes_[lane]->unit.trace(wave.writer());
  }
}

LaneWave::~LaneWave() = default;

void LaneWave::lane(std::uint32_t lane, std::uint64_t first, std::uint64_t count, const rtl::RoundingInputs* inputs) {
  if (lanes_[lane] == nullptr || wave().finished()) return;
  for (std::uint64_t t = 0; t < count; ++t) *lanes_[lane]->inputs.at(first + t) = inputs[t];
  ask(first, count);
}

void LaneWave::rise(std::uint64_t cycle) {
  for (const auto& lane : lanes_) {
    if (lane == nullptr) continue;
    lane->unit.evaluate(true);
    abi_.drive(lane->unit.get(), *lane->inputs.get(cycle));
    lane->unit.evaluate(true);
    lane->inputs.forget(cycle);
  }
}

void LaneWave::fall() {
  for (const auto& lane : lanes_) {
    if (lane != nullptr) lane->unit.evaluate(false);
  }
}

}  // namespace azulejo
