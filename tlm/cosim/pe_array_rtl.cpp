// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/pe_array_rtl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tlm/cosim/pe.h"
#include "tlm/numerics/random.h"

namespace azulejo {
namespace {

constexpr std::int64_t kNone = -1;
// A sum that never left the array: no canonical NaN, so no model gives it.
constexpr std::uint32_t kMissing = 0xFFFF'FFFF;

std::string instance_name(const std::string& name, const std::string& unit) {
  std::string text = name + "." + unit;
  std::replace(text.begin(), text.end(), '.', ' ');
  return text;
}

// One Verilated unit and the functions of its table.
class Unit {
 public:
  Unit(const rtl::UnitAbi& abi, VerilatedContext& context, const std::string& name)
      : abi_(&abi), unit_(abi.create(&context, name.c_str()), abi.destroy) {}

  void* get() const { return unit_.get(); }
  void select_fault(const rtl::FaultSelect& select) const { abi_->select_fault(get(), select); }
  void trace(VerilatedVcdC& writer) const { abi_->trace(get(), &writer); }

 private:
  const rtl::UnitAbi* abi_;
  std::unique_ptr<void, void (*)(void*)> unit_;
};

// What crosses one border in the cycles of a visit: entry i is there in cycle i; a unit writes what it shows after the
// edge of cycle i at entry i + 1, and the last entry becomes the next visit's first.
template <class Beat>
class Border {
 public:
  Border(std::uint32_t cycles, std::uint32_t lanes) : lanes_(lanes), beats_(std::size_t{cycles + 1} * lanes) {}

  const Beat* inputs() const { return beats_.data(); }
  Beat* outputs() { return beats_.data() + lanes_; }
  void carry(std::uint32_t cycles) { std::copy_n(beats_.data() + std::size_t{cycles} * lanes_, lanes_, beats_.data()); }
  void clear() { std::fill(beats_.begin(), beats_.end(), Beat{}); }
  bool active(std::uint32_t cycles) const {
    return std::any_of(beats_.begin(), beats_.begin() + std::ptrdiff_t{cycles} * lanes_,
                       [](const Beat& beat) { return beat.valid != 0; });
  }

 private:
  std::uint32_t lanes_;
  std::vector<Beat> beats_;
};

struct Pass {
  OperandPart stationary = OperandPart::Whole;
  OperandPart moving = OperandPart::Whole;
};

// The passes of one matmul: NUMERICS, "FP32 in four passes".
std::vector<Pass> passes_of(Format format, const MatmulMode& mode) {
  if (format != Format::Fp32) return {Pass{}};
  std::vector<Pass> passes;
  for (const OperandPart stationary : {OperandPart::Low, OperandPart::High}) {
    if (mode.stationary_one_zero && stationary == OperandPart::Low) continue;
    for (const OperandPart moving : {OperandPart::Low, OperandPart::High}) {
      if (mode.moving_one_zero && moving == OperandPart::Low) continue;
      passes.push_back({stationary, moving});
    }
  }
  return passes;
}

// Elements of a tile, [k][columns].
struct Codes {
  std::uint32_t k = 0;
  std::uint32_t columns = 0;
  Format format = Format::Bf16;
  std::vector<std::uint32_t> codes;

  void read(const OperandTile& tile) {
    k = tile.k();
    columns = tile.columns();
    format = tile.access.format;
    codes = read_tile_codes(tile);
  }
};

// What enters the array when. Beats are placed in enabled time, the cycles in which the array is not held; `enable` and
// `enabled_before` say for each real cycle whether it is held and how many enabled ones came before.
struct Schedule {
  std::vector<std::int64_t> weight_row;  // by enabled cycle; kNone: no beat
  std::vector<std::int64_t> act_column;
  std::vector<std::uint8_t> enable;
  std::vector<std::uint32_t> enabled_before;
  bool held = false;
};

}  // namespace

struct PeArrayRtl::Impl {
  Impl(const PeArrayRtlConfig& config_in, const RtlLibrary& library, VerilatedContext& context)
      : config(config_in),
        abi(library.abi()),
        tile_rows(config.rows / abi.tile.rows),
        tile_cols(config.cols / abi.tile.cols),
        visit(config.cycles_per_visit) {
    for (std::uint32_t r = 0; r < tile_rows; ++r) {
      west.emplace_back(abi.west.unit, context, instance_name(config.name, fmt::format("west_{}", r)));
      for (std::uint32_t c = 0; c < tile_cols; ++c) {
        tiles.emplace_back(abi.tile.unit, context, instance_name(config.name, fmt::format("tile_{}_{}", r, c)));
      }
    }
    for (std::uint32_t c = 0; c < tile_cols; ++c) {
      north.emplace_back(abi.north.unit, context, instance_name(config.name, fmt::format("north_{}", c)));
      drains.emplace_back(abi.drain.unit, context, instance_name(config.name, fmt::format("drain_{}", c)));
    }
    acts.assign(std::size_t{tile_rows} * (tile_cols + 1), {visit, abi.tile.rows});
    weights.assign(std::size_t{tile_rows + 1} * tile_cols, {visit, abi.tile.cols});
    psums.assign(std::size_t{tile_rows + 1} * tile_cols, {visit, abi.tile.cols});
    active.assign(tiles.size(), 0);
    edge_valid.resize(visit);
    edge_tag.resize(visit);
    const std::uint32_t lanes = std::max(abi.tile.rows, abi.tile.cols);
    edge_codes.resize(std::size_t{visit} * lanes);
    edge_present.resize(std::size_t{visit} * lanes);
    measure_latency();
    select_fault();
  }

  Border<rtl::OperandBeat>& act_border(std::uint32_t r, std::uint32_t c) {
    return acts[std::size_t{r} * (tile_cols + 1) + c];
  }
  Border<rtl::OperandBeat>& weight_border(std::uint32_t r, std::uint32_t c) {
    return weights[std::size_t{r} * tile_cols + c];
  }
  Border<rtl::PsumBeat>& psum_border(std::uint32_t r, std::uint32_t c) { return psums[std::size_t{r} * tile_cols + c]; }

  void select_fault() {
    if (config.fault.fault == nullptr) return;
    rtl::FaultSelect select;
    select.fault = config.fault.fault->id;
    if (config.fault.row >= 0) {  // one PE
      const auto row = static_cast<std::uint32_t>(config.fault.row);
      const auto col = static_cast<std::uint32_t>(config.fault.col);
      select.row = static_cast<std::uint8_t>(row % abi.tile.rows);
      select.col = static_cast<std::uint8_t>(col % abi.tile.cols);
      tiles[std::size_t{row / abi.tile.rows} * tile_cols + col / abi.tile.cols].select_fault(select);
      return;
    }
    for (const auto* units : {&tiles, &west, &north, &drains}) {
      for (const Unit& unit : *units) unit.select_fault(select);
    }
  }

  bool chance(std::uint32_t of_256) { return of_256 != 0 && (splitmix64(random) & 0xFF) < of_256; }

  // Weights first, if any, and the activations close behind: the last weight reaches its row just before the `swap`.
  void make_schedule(bool with_weights, std::uint32_t columns) {
    schedule.weight_row.clear();
    schedule.act_column.clear();
    const auto place = [&](std::vector<std::int64_t>& beats, std::uint32_t count) {
      for (std::uint32_t i = 0; i < count; ++i) {
        while (chance(bubble)) beats.push_back(kNone);
        beats.push_back(i);
      }
    };
    if (with_weights) place(schedule.weight_row, config.rows);
    schedule.act_column.assign(schedule.weight_row.size(), kNone);
    place(schedule.act_column, columns);
    const std::size_t enabled = schedule.act_column.size() + latency + 1;
    schedule.weight_row.resize(enabled, kNone);
    schedule.act_column.resize(enabled, kNone);
    schedule.enable.clear();
    schedule.enabled_before.clear();
    for (std::uint32_t e = 0; e < enabled; ++e) {
      while (chance(hold)) {
        schedule.enable.push_back(0);
        schedule.enabled_before.push_back(e);
      }
      schedule.enable.push_back(1);
      schedule.enabled_before.push_back(e);
    }
    schedule.held = schedule.enable.size() != enabled;
  }

  // One edge's inputs for the cycles from `start` on; beat(index) fills a beat's codes, `delay` is the edge's place.
  template <class Fill>
  rtl::EdgeBlock edge_block(std::uint32_t start, std::uint32_t cycles, const std::vector<std::int64_t>& beats,
                            std::uint32_t delay, std::uint32_t lanes, Fill fill) {
    for (std::uint32_t t = 0; t < cycles; ++t) {
      const std::uint32_t now = schedule.enabled_before[start + t];
      const std::int64_t beat = now >= delay && now - delay < beats.size() ? beats[now - delay] : kNone;
      edge_valid[t] = beat != kNone;
      edge_tag[t] = 0;
      if (beat == kNone) {
        std::fill_n(edge_present.begin() + std::ptrdiff_t{t} * lanes, lanes, std::uint8_t{0});
        std::fill_n(edge_codes.begin() + std::ptrdiff_t{t} * lanes, lanes, 0U);
        continue;
      }
      edge_tag[t] = fill(static_cast<std::uint32_t>(beat), edge_codes.data() + std::size_t{t} * lanes,
                         edge_present.data() + std::size_t{t} * lanes);
    }
    rtl::EdgeBlock block;
    block.cycles = cycles;
    block.enable = schedule.held ? schedule.enable.data() + start : nullptr;
    block.valid = edge_valid.data();
    block.tag = edge_tag.data();
    block.codes = edge_codes.data();
    block.present = edge_present.data();
    return block;
  }

  void run_west(std::uint32_t start, std::uint32_t cycles, const Codes& tile, OperandPart part, bool swap) {
    const std::uint32_t lanes = abi.tile.rows;
    for (std::uint32_t b = 0; b < tile_rows; ++b) {
      rtl::EdgeBlock block = edge_block(start, cycles, schedule.act_column, abi.west.lane_skew * lanes * b, lanes,
                                        [&](std::uint32_t column, std::uint32_t* codes, std::uint8_t* present) {
                                          for (std::uint32_t i = 0; i < lanes; ++i) {
                                            const std::uint32_t row = b * lanes + i;
                                            present[i] = row < tile.k;
                                            codes[i] =
                                                row < tile.k ? tile.codes[std::size_t{row} * tile.columns + column] : 0;
                                          }
                                          return static_cast<std::uint16_t>(swap && column == 0);
                                        });
      block.format = static_cast<std::uint32_t>(tile.format);
      block.part = static_cast<std::uint32_t>(part);
      block.operands = act_border(b, 0).outputs();
      abi.west.run(west[b].get(), block);
    }
  }

  void run_north(std::uint32_t start, std::uint32_t cycles, OperandPart part) {
    const std::uint32_t lanes = abi.tile.cols;
    for (std::uint32_t b = 0; b < tile_cols; ++b) {
      rtl::EdgeBlock block = edge_block(
          start, cycles, schedule.weight_row, lanes * b, lanes,
          [&](std::uint32_t row, std::uint32_t* codes, std::uint8_t* present) {
            for (std::uint32_t i = 0; i < lanes; ++i) {
              const std::uint32_t column = b * lanes + i;
              present[i] = row < stationary.k && column < stationary.columns;
              codes[i] = present[i] != 0 ? stationary.codes[std::size_t{row} * stationary.columns + column] : 0;
            }
            return static_cast<std::uint16_t>(row);
          });
      block.format = static_cast<std::uint32_t>(stationary.format);
      block.part = static_cast<std::uint32_t>(part);
      block.operands = weight_border(0, b).outputs();
      abi.north.run(north[b].get(), block);
    }
  }

  void run_tiles(std::uint32_t start, std::uint32_t cycles, bool with_weights) {
    for (std::uint32_t r = 0; r < tile_rows; ++r) {
      for (std::uint32_t c = 0; c < tile_cols; ++c) {
        const std::size_t index = std::size_t{r} * tile_cols + c;
        rtl::PeTileBlock block;
        block.cycles = cycles;
        const bool weights_come = with_weights && weight_border(r, c).active(cycles);
        if (active[index] == 0 && !weights_come && !act_border(r, c).active(cycles)) {
          stats.idle_cycles += cycles;
          continue;  // nothing was in the tile in the visit before, so its borders are clear
        }
        block.enable = schedule.held ? schedule.enable.data() + start : nullptr;
        block.west = act_border(r, c).inputs();
        block.north_psum = r == 0 ? nullptr : psum_border(r, c).inputs();
        block.north_weight = with_weights ? weight_border(r, c).inputs() : nullptr;
        block.east = act_border(r, c + 1).outputs();
        block.south_psum = psum_border(r + 1, c).outputs();
        block.south_weight = with_weights ? weight_border(r + 1, c).outputs() : nullptr;
        abi.tile.run(tiles[index].get(), block);
        active[index] = block.evaluated != 0;
        stats.tile_cycles += block.evaluated;
        stats.idle_cycles += cycles - block.evaluated;
      }
    }
  }

  void carry(std::uint32_t cycles) {
    for (auto& border : acts) border.carry(cycles);
    for (auto& border : weights) border.carry(cycles);
    for (auto& border : psums) border.carry(cycles);
  }

  // One pass; sums[j * cols + i] is the sum of column i for the moving column j, on PSUM's old value in `sums` if
  // `accumulate`.
  void run_pass(const Codes& tile, const Pass& pass, bool with_weights, bool accumulate) {
    make_schedule(with_weights, tile.columns);
    // Nothing valid is under way between passes.
    for (auto& border : acts) border.clear();
    for (auto& border : weights) border.clear();
    for (auto& border : psums) border.clear();
    const auto total = static_cast<std::uint32_t>(schedule.enable.size());
    if (accumulate) addends = sums;
    std::fill(sums.begin(), sums.end(), kMissing);
    std::vector<std::uint32_t> rows(tile_cols, 0);
    for (std::uint32_t start = 0; start < total; start += visit) {
      const std::uint32_t cycles = std::min(visit, total - start);
      run_west(start, cycles, tile, pass.moving, with_weights);
      if (with_weights) run_north(start, cycles, pass.stationary);
      run_tiles(start, cycles, with_weights);
      for (std::uint32_t c = 0; c < tile_cols; ++c) {
        rtl::DrainBlock block;
        block.cycles = cycles;
        block.enable = schedule.held ? schedule.enable.data() + start : nullptr;
        block.psum = psum_border(tile_rows, c).inputs();
        block.accumulate = accumulate;
        block.max_rows = tile.columns;
        block.stride = config.cols;
        block.addends = accumulate ? addends.data() + c * abi.tile.cols : nullptr;
        block.values = sums.data() + c * abi.tile.cols;
        block.rows = rows[c];
        abi.drain.run(drains[c].get(), block);
        if (c + 1 == tile_cols && block.rows != rows[c]) last_row_cycle = start + block.last_row_cycle;
        rows[c] = block.rows;
      }
      carry(cycles);
    }
    stats.cycles += total;
    stats.pe_cycles += std::uint64_t{stationary.k} * stationary.columns * tile.columns;
    for (const std::uint32_t count : rows) {
      if (count > tile.columns) stats.surplus_sums += count - tile.columns;
    }
  }

  // One column without operands, before any fault is selected.
  void measure_latency() {
    Codes probe;
    probe.columns = 1;
    sums.assign(config.cols, 0);
    latency = 4 * (config.rows + config.cols) + kSlack;  // long enough for every PE that is refused later
    last_row_cycle = 0;
    run_pass(probe, {}, false, false);
    latency = last_row_cycle;
    stats = {};
  }

  static constexpr std::uint32_t kSlack = 256;

  const PeArrayRtlConfig config;
  const rtl::LibraryAbi& abi;
  const std::uint32_t tile_rows;
  const std::uint32_t tile_cols;
  const std::uint32_t visit;
  std::vector<Unit> tiles, west, north, drains;
  std::vector<Border<rtl::OperandBeat>> acts;     // [tile_rows][tile_cols + 1]
  std::vector<Border<rtl::OperandBeat>> weights;  // [tile_rows + 1][tile_cols]
  std::vector<Border<rtl::PsumBeat>> psums;       // [tile_rows + 1][tile_cols]
  std::vector<std::uint8_t> active;               // by tile: evaluated in the last visit
  std::vector<std::uint8_t> edge_valid, edge_present;
  std::vector<std::uint16_t> edge_tag;
  std::vector<std::uint32_t> edge_codes;

  Codes stationary, moving;
  OperandPart loaded = OperandPart::Whole;
  bool weights_pending = false;
  std::vector<std::uint32_t> sums, addends;  // [n][cols]

  Schedule schedule;
  std::uint32_t bubble = 0;
  std::uint32_t hold = 0;
  std::uint64_t random = 0;
  std::uint32_t latency = 0;
  std::uint32_t last_row_cycle = 0;
  Stats stats;
};

std::vector<std::string> validate(const PeArrayRtlConfig& config, const RtlLibrary& library,
                                  std::uint32_t pipeline_stages, bool flush_denormals) {
  std::vector<std::string> problems;
  const rtl::PeTileAbi& tile = library.abi().tile;
  const auto check_size = [&](const char* key, std::uint32_t size, std::uint32_t step) {
    if (size == 0 || size % step != 0) {
      problems.push_back(fmt::format("{}: {}; the RTL's tiles of {} x {} PEs make multiples of {}", key, size,
                                     tile.rows, tile.cols, step));
    }
  };
  check_size("rows", config.rows, tile.rows);
  check_size("cols", config.cols, tile.cols);
  if (config.rows > (1U << tile.row_width)) {
    problems.push_back(fmt::format("rows: {}; the RTL's row count of {} bits reaches {}", config.rows, tile.row_width,
                                   1U << tile.row_width));
  }
  if (library.pe_latency_cycles() != pipeline_stages) {
    problems.push_back(fmt::format("pe_stages: {}; a sum leaves the RTL's PE after {} cycles{}", pipeline_stages,
                                   library.pe_latency_cycles(), library.pe_latency_cycles() == 0 ? " (never)" : ""));
  }
  if ((tile.flush_denormals != 0) != flush_denormals) {
    problems.push_back(fmt::format("flush_denormals: {}; the RTL was built with FlushDenormals = {}", flush_denormals,
                                   tile.flush_denormals));
  }
  if (config.fault.fault != nullptr) {
    if (tile.unit.select_fault == nullptr) problems.push_back("fault: this RTL was built without seeded faults");
    if (config.fault.row >= static_cast<int>(config.rows) || config.fault.col >= static_cast<int>(config.cols)) {
      problems.push_back(fmt::format("fault: pe_{}_{} lies outside the {} x {} array", config.fault.row,
                                     config.fault.col, config.rows, config.cols));
    }
  }
  return problems;
}

PeArrayRtl::PeArrayRtl(const PeArrayRtlConfig& config, const RtlLibrary& library, VerilatedContext& context)
    : impl_(std::make_unique<Impl>(config, library, context)) {}

PeArrayRtl::~PeArrayRtl() = default;

void PeArrayRtl::load(const OperandTile& stationary) {
  impl_->stationary.read(stationary);
  impl_->weights_pending = true;
}

void PeArrayRtl::multiply(const OperandTile& moving, const MatmulMode& mode, float* psum, std::size_t stride) {
  Impl& impl = *impl_;
  impl.moving.read(moving);
  const std::uint32_t n = impl.moving.columns;
  const std::uint32_t m = impl.stationary.columns;
  const std::uint32_t cols = impl.config.cols;
  impl.sums.assign(std::size_t{n} * cols, 0);
  for (std::uint32_t i = 0; mode.accumulate && i < m; ++i) {
    for (std::uint32_t j = 0; j < n; ++j) std::memcpy(&impl.sums[std::size_t{j} * cols + i], psum + i * stride + j, 4);
  }
  bool accumulate = mode.accumulate;
  for (const Pass& pass : passes_of(impl.stationary.format, mode)) {
    const bool with_weights = impl.weights_pending || pass.stationary != impl.loaded;
    impl.run_pass(impl.moving, pass, with_weights, accumulate);
    impl.loaded = pass.stationary;
    impl.weights_pending = false;
    accumulate = true;
  }
  for (std::uint32_t i = 0; i < m; ++i) {
    for (std::uint32_t j = 0; j < n; ++j) std::memcpy(psum + i * stride + j, &impl.sums[std::size_t{j} * cols + i], 4);
  }
}

std::uint32_t PeArrayRtl::latency_cycles() const { return impl_->latency; }

void PeArrayRtl::stall(std::uint32_t bubble, std::uint32_t hold, std::uint64_t seed) {
  impl_->bubble = bubble;
  impl_->hold = hold;
  impl_->random = seed;
}

const PeArrayRtl::Stats& PeArrayRtl::stats() const { return impl_->stats; }

std::uint64_t PeArrayRtl::sum_cycle(std::uint32_t column) const {
  const Schedule& schedule = impl_->schedule;
  const auto beat = std::find(schedule.act_column.begin(), schedule.act_column.end(), std::int64_t{column});
  const auto enabled = static_cast<std::uint32_t>(beat - schedule.act_column.begin()) + impl_->latency;
  const auto real = std::lower_bound(schedule.enabled_before.begin(), schedule.enabled_before.end(), enabled);
  return static_cast<std::uint64_t>(real - schedule.enabled_before.begin());
}

void PeArrayRtl::trace(VerilatedVcdC& writer) {
  for (const auto* units : {&impl_->tiles, &impl_->west, &impl_->north, &impl_->drains}) {
    for (const Unit& unit : *units) unit.trace(writer);
  }
}

}  // namespace azulejo
