// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/array_wave.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tlm/cosim/cycle_lanes.h"
#include "tlm/cosim/verilated_unit.h"

namespace azulejo {
namespace {

template <class Beat>
void merge(Beat* into, const Beat* from, std::uint32_t lanes) {
  for (std::uint32_t i = 0; i < lanes; ++i) {
    if (from[i].valid != 0) into[i] = from[i];
  }
}

bool same(const rtl::OperandBeat& a, const rtl::OperandBeat& b) { return a.operand == b.operand && a.tag == b.tag; }
bool same(const rtl::PsumBeat& a, const rtl::PsumBeat& b) { return a.value == b.value; }

// Lanes in which something was to come out and did not, or something else.
template <class Beat>
std::uint64_t count_differences(const Beat* expected, const Beat* found, std::uint32_t lanes) {
  std::uint64_t count = 0;
  for (std::uint32_t i = 0; i < lanes; ++i) {
    const bool valid = expected[i].valid != 0;
    if (valid != (found[i].valid != 0) || (valid && !same(expected[i], found[i]))) ++count;
  }
  return count;
}

struct TileReplica {
  TileReplica(const rtl::PeTileAbi& table, VerilatedContext& context, const std::string& path)
      : abi(table),
        unit(table.unit, context, path),
        enable(1, 1),
        west(table.rows),
        east(table.rows),
        east_found(table.rows),
        weight(table.cols),
        south_weight(table.cols),
        weight_found(table.cols),
        psum(table.cols),
        south(table.cols),
        south_found(table.cols) {}

  void add(std::uint64_t first, const rtl::PeTileBlock& block) {
    for (std::uint32_t t = 0; t < block.cycles; ++t) {
      const std::uint64_t cycle = first + t;
      if (block.enable != nullptr) *enable.at(cycle) = block.enable[t];
      merge(west.at(cycle), block.west + t * abi.rows, abi.rows);
      merge(east.at(cycle), block.east + t * abi.rows, abi.rows);
      merge(south.at(cycle), block.south_psum + t * abi.cols, abi.cols);
      if (block.north_psum != nullptr) merge(psum.at(cycle), block.north_psum + t * abi.cols, abi.cols);
      if (block.north_weight == nullptr) continue;
      merge(weight.at(cycle), block.north_weight + t * abi.cols, abi.cols);
      merge(south_weight.at(cycle), block.south_weight + t * abi.cols, abi.cols);
    }
  }

  // The edge that ends cycle - 1.
  void rise(std::uint64_t cycle) {
    unit.evaluate(true);
    if (cycle > 0) compare(cycle - 1);
    rtl::PeTileBlock block;
    block.cycles = 1;
    block.enable = enable.get(cycle);
    block.west = west.get(cycle);
    block.north_weight = weight.get(cycle);
    block.north_psum = psum.get(cycle);
    abi.drive(unit.get(), block);
    unit.evaluate(true);
    for (auto* beats : {&west, &east, &weight, &south_weight}) beats->forget(cycle);
    for (auto* beats : {&psum, &south}) beats->forget(cycle);
    enable.forget(cycle);
  }

  void compare(std::uint64_t cycle) {
    rtl::PeTileBlock block;
    block.cycles = 1;
    block.east = east_found.data();
    block.south_psum = south_found.data();
    block.south_weight = weight_found.data();
    abi.observe(unit.get(), block);
    differences += count_differences(east.get(cycle), east_found.data(), abi.rows) +
                   count_differences(south.get(cycle), south_found.data(), abi.cols) +
                   count_differences(south_weight.get(cycle), weight_found.data(), abi.cols);
  }

  const rtl::PeTileAbi& abi;
  VerilatedUnit unit;
  CycleLanes<std::uint8_t> enable;
  CycleLanes<rtl::OperandBeat> west, east;
  std::vector<rtl::OperandBeat> east_found;
  CycleLanes<rtl::OperandBeat> weight, south_weight;
  std::vector<rtl::OperandBeat> weight_found;
  CycleLanes<rtl::PsumBeat> psum, south;
  std::vector<rtl::PsumBeat> south_found;
  std::uint64_t differences = 0;
};

struct EdgeReplica {
  EdgeReplica(const rtl::EdgeAbi& table, VerilatedContext& context, const std::string& path)
      : abi(table),
        unit(table.unit, context, path),
        enable(1, 1),
        valid(1),
        tag(1),
        part(1),
        codes(table.lanes),
        present(table.lanes) {}

  void add(std::uint64_t first, const rtl::EdgeBlock& block) {
    for (std::uint32_t t = 0; t < block.cycles; ++t) {
      const std::uint64_t cycle = first + t;
      if (block.enable != nullptr) *enable.at(cycle) = block.enable[t];
      if (block.valid[t] == 0) continue;
      *valid.at(cycle) = 1;
      *tag.at(cycle) = block.tag[t];
      *part.at(cycle) = {block.format, block.part};
      std::copy_n(block.codes + t * abi.lanes, abi.lanes, codes.at(cycle));
      std::copy_n(block.present + t * abi.lanes, abi.lanes, present.at(cycle));
    }
  }

  void rise(std::uint64_t cycle) {
    unit.evaluate(true);
    rtl::EdgeBlock block;
    block.cycles = 1;
    block.enable = enable.get(cycle);
    block.valid = valid.get(cycle);
    block.tag = tag.get(cycle);
    block.codes = codes.get(cycle);
    block.present = present.get(cycle);
    if (*block.valid != 0) shown = *part.get(cycle);
    block.format = shown.first;
    block.part = shown.second;
    abi.drive(unit.get(), block);
    unit.evaluate(true);
    for (auto* flags : {&enable, &valid, &present}) flags->forget(cycle);
    tag.forget(cycle);
    part.forget(cycle);
    codes.forget(cycle);
  }

  const rtl::EdgeAbi& abi;
  VerilatedUnit unit;
  CycleLanes<std::uint8_t> enable, valid;
  CycleLanes<std::uint16_t> tag;
  CycleLanes<std::pair<std::uint32_t, std::uint32_t>> part;  // format and part
  CycleLanes<std::uint32_t> codes;
  CycleLanes<std::uint8_t> present;
  std::pair<std::uint32_t, std::uint32_t> shown{0, 0};
};

struct DrainReplica {
  DrainReplica(const rtl::DrainAbi& table, VerilatedContext& context, const std::string& path)
      : abi(table),
        unit(table.unit, context, path),
        enable(1, 1),
        accumulate(1),
        leaves(1),
        psum(table.lanes),
        addend(table.lanes),
        sums(table.lanes),
        values(table.lanes) {}

  void add(std::uint64_t cycle, const rtl::DrainBlock& block, const std::uint32_t* addends, const std::uint32_t* row) {
    if (block.enable != nullptr) *enable.at(cycle) = block.enable[0];
    merge(psum.at(cycle), block.psum, abi.lanes);
    if (addends != nullptr) {
      *accumulate.at(cycle) = 1;
      std::copy_n(addends, abi.lanes, addend.at(cycle));
    }
    if (row == nullptr) return;
    *leaves.at(cycle) = 1;
    std::copy_n(row, abi.lanes, sums.at(cycle));
  }

  void rise(std::uint64_t cycle) {
    unit.evaluate(true);
    rtl::DrainBlock block;
    block.cycles = 1;
    block.enable = enable.get(cycle);
    block.psum = psum.get(cycle);
    block.accumulate = *accumulate.get(cycle);
    block.max_rows = 1;
    block.addends = addend.get(cycle);
    block.values = values.data();
    block.stride = abi.lanes;
    abi.drive(unit.get(), block);
    unit.evaluate(true);
    const bool left = block.rows != 0;
    if (left != (*leaves.get(cycle) != 0) || (left && !std::equal(values.begin(), values.end(), sums.get(cycle)))) {
      ++differences;
    }
    for (auto* flags : {&enable, &accumulate, &leaves}) flags->forget(cycle);
    for (auto* words : {&addend, &sums}) words->forget(cycle);
    psum.forget(cycle);
  }

  const rtl::DrainAbi& abi;
  VerilatedUnit unit;
  CycleLanes<std::uint8_t> enable, accumulate, leaves;
  CycleLanes<rtl::PsumBeat> psum;
  CycleLanes<std::uint32_t> addend, sums;
  std::vector<std::uint32_t> values;
  std::uint64_t differences = 0;
};

}  // namespace

struct ArrayWave::Impl {
  using Place = std::pair<std::uint32_t, std::uint32_t>;

  Impl(WaveFile& wave, const ArrayWaveConfig& config, const rtl::LibraryAbi& abi) {
    const auto chosen = [&](const std::string& unit, bool corner) {
      const bool also = std::find(config.also.begin(), config.also.end(), unit) != config.also.end();
      return wave.selects_unit(config.name + "." + unit, corner || also);
    };
    const auto make = [&](auto& replicas, const auto& table, const auto& place, const std::string& unit, bool corner) {
      if (!chosen(unit, corner)) return;
      const auto made = replicas.try_emplace(place, table, wave.context(), config.name + "." + unit).first;
      made->second.unit.trace(wave.writer());
    };
    for (std::uint32_t r = 0; r < config.tile_rows; ++r) {
      make(wests, abi.west, r, fmt::format("west_{}", r), r == 0);
      for (std::uint32_t c = 0; c < config.tile_cols; ++c) {
        make(tiles, abi.tile, Place{r, c}, fmt::format("tile_{}_{}", r, c), r == 0 && c == 0);
      }
    }
    for (std::uint32_t c = 0; c < config.tile_cols; ++c) {
      make(norths, abi.north, c, fmt::format("north_{}", c), c == 0);
      make(drains, abi.drain, c, fmt::format("drain_{}", c), c == 0);
    }
  }

  template <class Action>
  void for_each(Action action) {
    for (auto& [place, replica] : wests) action(replica);
    for (auto& [place, replica] : norths) action(replica);
    for (auto& [place, replica] : tiles) action(replica);
    for (auto& [place, replica] : drains) action(replica);
  }

  bool empty() const { return tiles.empty() && wests.empty() && norths.empty() && drains.empty(); }

  std::map<Place, TileReplica> tiles;
  std::map<std::uint32_t, EdgeReplica> wests, norths;
  std::map<std::uint32_t, DrainReplica> drains;
};

ArrayWave::ArrayWave(WaveFile& wave, const ArrayWaveConfig& config, const rtl::LibraryAbi& abi)
    : ReplicaClock(wave, config.clock_hz),
      load_(wave, config.name, "rtl_load", 24),
      stream_(wave, config.name, "rtl_stream", 24),
      lag_(wave, config.name, "rtl_lag_cycles", 32),
      impl_(std::make_unique<Impl>(wave, config, abi)) {}

ArrayWave::~ArrayWave() = default;

void ArrayWave::select_fault(const std::string& unit, const rtl::FaultSelect& select) {
  for (auto& [place, replica] : impl_->tiles) {
    if (unit.empty() || unit == fmt::format("tile_{}_{}", place.first, place.second)) replica.unit.select_fault(select);
  }
  if (!unit.empty()) return;
  for (auto& [place, replica] : impl_->wests) replica.unit.select_fault(select);
  for (auto& [place, replica] : impl_->norths) replica.unit.select_fault(select);
  for (auto& [place, replica] : impl_->drains) replica.unit.select_fault(select);
}

bool ArrayWave::has_drain(std::uint32_t col) const { return !wave().finished() && impl_->drains.count(col) != 0; }

void ArrayWave::west(std::uint32_t row, std::uint64_t first, const rtl::EdgeBlock& block) {
  const auto found = impl_->wests.find(row);
  if (found != impl_->wests.end() && !wave().finished()) found->second.add(first, block);
}

void ArrayWave::north(std::uint32_t col, std::uint64_t first, const rtl::EdgeBlock& block) {
  const auto found = impl_->norths.find(col);
  if (found != impl_->norths.end() && !wave().finished()) found->second.add(first, block);
}

void ArrayWave::tile(std::uint32_t row, std::uint32_t col, std::uint64_t first, const rtl::PeTileBlock& block) {
  const auto found = impl_->tiles.find({row, col});
  if (found != impl_->tiles.end() && !wave().finished()) found->second.add(first, block);
}

void ArrayWave::drain(std::uint32_t col, std::uint64_t cycle, const rtl::DrainBlock& block, const std::uint32_t* addend,
                      const std::uint32_t* row) {
  const auto found = impl_->drains.find(col);
  if (found != impl_->drains.end()) found->second.add(cycle, block, addend, row);
}

void ArrayWave::ran(std::uint64_t first, std::uint64_t count) {
  if (!impl_->empty() && !wave().finished()) ask(first, count);
}

void ArrayWave::load(std::uint64_t first, std::uint64_t count, std::string_view what) {
  load_.at(clock().edge(first), what);
  load_.at(clock().edge(first + count), "");
}

void ArrayWave::columns(std::uint64_t first, std::uint64_t count, std::string_view what, std::uint64_t lag) {
  stream_.at(clock().edge(first), what);
  stream_.at(clock().edge(first + count), "");
  lag_.at(clock().edge(first), lag);
}

std::uint64_t ArrayWave::differences() const {
  std::uint64_t sum = 0;
  for (const auto& [place, replica] : impl_->tiles) sum += replica.differences;
  for (const auto& [place, replica] : impl_->drains) sum += replica.differences;
  return sum;
}

void ArrayWave::rise(std::uint64_t cycle) {
  impl_->for_each([&](auto& replica) { replica.rise(cycle); });
}

void ArrayWave::fall() {
  impl_->for_each([](auto& replica) { replica.unit.evaluate(false); });
}

}  // namespace azulejo
