// SPDX-License-Identifier: Apache-2.0
// The inside of a Verilated PE array in a waveform: replicas of chosen tiles, edges and drains, which are given the
// inputs that those of the array had, at the simulated times of their cycles.
//
// Chosen are the north-western tile with its edges and drain, and what the wave's scopes name ("*.tile_3_4",
// "*.drain_*").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/cosim/replica_clock.h"
#include "tlm/cosim/rtl_abi.h"

namespace azulejo {

struct ArrayWaveConfig {
  std::string name;  // hierarchical, with dots
  std::uint32_t tile_rows = 0;
  std::uint32_t tile_cols = 0;
  std::uint64_t clock_hz = 0;
  std::vector<std::string> also;  // units that are recorded by default besides, "tile_3_4"
};

class ArrayWave : public ReplicaClock {
 public:
  // REQUIRES: a library with waveforms, and a wave that has not begun; both outlive this.
  ArrayWave(WaveFile& wave, const ArrayWaveConfig& config, const rtl::LibraryAbi& abi);
  ~ArrayWave() override;

  // The fault that the array's unit has; `unit` as in "tile_3_4", empty: all of them.
  void select_fault(const std::string& unit, const rtl::FaultSelect& select);

  bool has_drain(std::uint32_t col) const;

  // What went into a unit and came out of it in cycles that begin with `first`. Inputs of several calls for the same
  // cycles add up, where one had nothing valid.
  void west(std::uint32_t row, std::uint64_t first, const rtl::EdgeBlock& block);
  void north(std::uint32_t col, std::uint64_t first, const rtl::EdgeBlock& block);
  void tile(std::uint32_t row, std::uint32_t col, std::uint64_t first, const rtl::PeTileBlock& block);
  // Of one cycle, with the row that left in it and what was added to it; null: none.
  void drain(std::uint32_t col, std::uint64_t cycle, const rtl::DrainBlock& block, const std::uint32_t* addend,
             const std::uint32_t* row);
  // The array ran these cycles.
  void ran(std::uint64_t first, std::uint64_t count);
  // In these cycles the rows of a stationary tile, or moving columns, enter the array; `what` is shown as text. `lag`:
  // by how many cycles later than the engine's timing says.
  void load(std::uint64_t first, std::uint64_t count, std::string_view what);
  void columns(std::uint64_t first, std::uint64_t count, std::string_view what, std::uint64_t lag);

  // Valid outputs of tiles and drains that were others than in the array: none, or the wave does not show what ran.
  std::uint64_t differences() const;

 private:
  void rise(std::uint64_t cycle) override;
  void fall() override;

  WaveText load_;
  WaveText stream_;
  WaveSignal lag_;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace azulejo
