// SPDX-License-Identifier: Apache-2.0
// The inside of a Verilated rounding unit in a waveform: replicas of chosen lanes, which are given the inputs that
// those of the unit had, at the simulated times of their cycles.
//
// Chosen are lane 0, and what the wave's scopes name ("*.lane_5").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tlm/cosim/replica_clock.h"
#include "tlm/cosim/rtl_abi.h"

namespace azulejo {

struct LaneWaveConfig {
  std::string name;  // hierarchical, with dots
  std::uint32_t lanes = 0;
  std::uint32_t also = 0;  // a lane that is recorded by default besides
  std::uint64_t clock_hz = 0;
  rtl::FaultSelect fault;  // 0: none
};

class LaneWave : public ReplicaClock {
 public:
  // REQUIRES: a library with waveforms, and a wave that has not begun; both outlive this.
  LaneWave(WaveFile& wave, const LaneWaveConfig& config, const rtl::RoundingUnitAbi& abi);
  ~LaneWave() override;

  bool has_lane(std::uint32_t lane) const { return lanes_[lane] != nullptr; }
  // What went into a lane in `count` cycles that begin with `first`.
  void lane(std::uint32_t lane, std::uint64_t first, std::uint64_t count, const rtl::RoundingInputs* inputs);

 private:
  void rise(std::uint64_t cycle) override;
  void fall() override;

  struct Lane;
  const rtl::RoundingUnitAbi& abi_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // null: not chosen
};

}  // namespace azulejo
