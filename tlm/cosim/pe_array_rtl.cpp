// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/pe_array_rtl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tlm/cosim/pe.h"
#include "tlm/cosim/verilated_unit.h"
#include "tlm/numerics/random.h"

namespace azulejo {
namespace {

constexpr std::int64_t kNone = -1;
// A sum that never left the array: no canonical NaN, so no model gives it.
constexpr std::uint32_t kMissing = 0xFFFF'FFFF;

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
  std::uint32_t weights = 0;  // cycles before the columns
  std::uint32_t columns = 0;  // cycles in which they enter
  bool held = false;
};

// When loads and columns can enter an array that never stands still. Weights travel in shadow registers, which are free
// again, row by row, once the tile before was swapped in.
class EntryTimes {
 public:
  EntryTimes(std::uint32_t rows, std::uint32_t pipeline_stages)
      : rows_(rows), after_swap_(1 + (pipeline_stages > 2 ? std::uint64_t{pipeline_stages - 2} * (rows - 1) : 0)) {}

  // The first cycle at or after `wanted` in which a load can begin; it takes a cycle for each row.
  std::uint64_t load(std::uint64_t wanted) {
    const std::uint64_t first = std::max(wanted, load_from_);
    load_from_ = first + rows_;
    columns_from_ = std::max(columns_from_, first + rows_);
    swap_ = true;
    return first;
  }

  std::uint64_t columns(std::uint64_t wanted, std::uint32_t count) {
    const std::uint64_t first = std::max(wanted, columns_from_);
    columns_from_ = first + count;
    if (swap_) load_from_ = std::max(load_from_, first + after_swap_);
    swap_ = false;
    return first;
  }

 private:
  std::uint64_t rows_;
  std::uint64_t after_swap_;
  std::uint64_t load_from_ = 0;
  std::uint64_t columns_from_ = 0;
  bool swap_ = false;
};

}  // namespace

struct PeArrayRtl::Impl {
  Impl(const PeArrayRtlConfig& config_in, const RtlLibrary& library, VerilatedContext& context)
      : config(config_in),
        abi(library.abi()),
        tile_rows(config.rows / abi.tile.rows),
        tile_cols(config.cols / abi.tile.cols),
        visit(config.cycles_per_visit),
        entries(config.rows, abi.tile.pipeline_stages) {
    for (std::uint32_t r = 0; r < tile_rows; ++r) {
      west.emplace_back(abi.west.unit, context, fmt::format("{}.west_{}", config.name, r));
      for (std::uint32_t c = 0; c < tile_cols; ++c) {
        tiles.emplace_back(abi.tile.unit, context, fmt::format("{}.tile_{}_{}", config.name, r, c));
      }
    }
    for (std::uint32_t c = 0; c < tile_cols; ++c) {
      north.emplace_back(abi.north.unit, context, fmt::format("{}.north_{}", config.name, c));
      drains.emplace_back(abi.drain.unit, context, fmt::format("{}.drain_{}", config.name, c));
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
      for (const VerilatedUnit& unit : *units) unit.select_fault(select);
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
    schedule.weights = static_cast<std::uint32_t>(schedule.weight_row.size());
    schedule.act_column.assign(schedule.weights, kNone);
    place(schedule.act_column, columns);
    schedule.columns = static_cast<std::uint32_t>(schedule.act_column.size()) - schedule.weights;
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
      if (wave != nullptr) wave->west(b, pass_begin + start, block);
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
      if (wave != nullptr) wave->north(b, pass_begin + start, block);
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
        if (wave != nullptr) wave->tile(r, c, pass_begin + start, block);
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

  // A pass is a stretch of cycles from one in which nothing valid is in the array to the next such: weights, if any,
  // and then columns, if any. sums[j * cols + i] is the sum of column i for the moving column j, on PSUM's old value in
  // `sums` if `accumulate`.
  void run_pass(const Codes* tile, const Pass& pass, bool with_weights, bool accumulate) {
    const std::uint32_t columns = tile == nullptr ? 0 : tile->columns;
    make_schedule(with_weights, columns);
    place_pass(with_weights, columns);
    for (auto& border : acts) border.clear();
    for (auto& border : weights) border.clear();
    for (auto& border : psums) border.clear();
    const auto total = static_cast<std::uint32_t>(schedule.enable.size());
    if (accumulate) addends = sums;
    std::fill(sums.begin(), sums.end(), kMissing);
    std::vector<std::uint32_t> rows(tile_cols, 0);
    for (std::uint32_t start = 0; start < total; start += visit) {
      const std::uint32_t cycles = std::min(visit, total - start);
      run_west(start, cycles, tile == nullptr ? Codes{} : *tile, pass.moving, swap_pending || with_weights);
      if (with_weights) run_north(start, cycles, pass.stationary);
      run_tiles(start, cycles, with_weights);
      for (std::uint32_t c = 0; c < tile_cols; ++c) run_drain(c, start, cycles, columns, accumulate, rows[c]);
      carry(cycles);
    }
    swap_pending = columns == 0;
    stats.cycles += columns == 0 ? schedule.weights : total;
    stats.pe_cycles += std::uint64_t{stationary.k} * stationary.columns * columns;
    for (const std::uint32_t count : rows) {
      if (count > columns) stats.surplus_sums += count - columns;
    }
    if (wave != nullptr) show_pass(pass, with_weights, columns);
  }

  void show_pass(const Pass& pass, bool with_weights, std::uint32_t columns) {
    const auto text = [](Format format, OperandPart part) {
      const char* const half = part == OperandPart::Low ? " low half" : part == OperandPart::High ? " high half" : "";
      return fmt::format("{}{}", spec(format).name, half);
    };
    wave->ran(pass_begin, schedule.enable.size());
    if (with_weights) wave->load(pass_begin, schedule.weights, text(stationary.format, pass.stationary));
    if (columns == 0) return;
    wave->columns(pass_begin + schedule.weights, schedule.columns,
                  fmt::format("{}: {}", matmuls, text(moving.format, pass.moving)), lag);
  }

  void run_drain(std::uint32_t c, std::uint32_t start, std::uint32_t cycles, std::uint32_t columns, bool accumulate,
                 std::uint32_t& rows) {
    rtl::DrainBlock block;
    block.cycles = cycles;
    block.enable = schedule.held ? schedule.enable.data() + start : nullptr;
    block.psum = psum_border(tile_rows, c).inputs();
    block.accumulate = accumulate;
    block.max_rows = columns;
    block.stride = config.cols;
    block.addends = accumulate ? addends.data() + c * abi.tile.cols : nullptr;
    block.values = sums.data() + c * abi.tile.cols;
    block.rows = rows;
    if (wave != nullptr && wave->has_drain(c)) {  // cycle by cycle, to know which row leaves when
      block.cycles = 1;
      for (std::uint32_t t = 0; t < cycles; ++t) {
        const std::uint32_t row = block.rows;
        abi.drain.run(drains[c].get(), block);
        const bool left = block.rows != row && row < columns;
        wave->drain(c, pass_begin + start + t, block, left && accumulate ? block.addends + row * block.stride : nullptr,
                    left ? block.values + row * block.stride : nullptr);
        if (block.rows != row) block.last_row_cycle = t;
        block.psum += abi.drain.lanes;
        if (block.enable != nullptr) ++block.enable;
      }
    } else {
      abi.drain.run(drains[c].get(), block);
    }
    if (c + 1 == tile_cols && block.rows != rows) last_row_cycle = start + block.last_row_cycle;
    rows = block.rows;
  }

  // Sets the cycle in which the pass begins.
  void place_pass(bool with_weights, std::uint32_t columns) {
    if (!in_engine_time) {
      pass_begin = next_pass;
      next_pass += schedule.enable.size();
      return;
    }
    if (columns == 0) {
      pass_begin = entries.load(load_cycle);
    } else if (with_weights) {
      const std::uint64_t close_before = first_column >= config.rows ? first_column - config.rows : 0;
      const std::uint64_t load = entries.load(std::max(close_before, matmul_begin));
      pass_begin = std::max(load, columns_begin(columns) - schedule.weights);
    } else {
      pass_begin = columns_begin(columns);
    }
  }

  std::uint64_t columns_begin(std::uint32_t columns) {
    const std::uint64_t begin = entries.columns(first_column, columns);
    lag = begin - first_column;
    first_column += columns;  // where the next pass of the same matmul wants to begin
    return begin;
  }

  // In engine time when it is asked for, since it is seen then; else in one pass with its first columns, close behind.
  void load(const OperandTile& tile, std::uint64_t cycle) {
    stationary.read(tile);
    loaded = tile.access.format == Format::Fp32 ? OperandPart::Low : OperandPart::Whole;
    load_cycle = cycle;
    weights_pending = !in_engine_time;
    if (in_engine_time) run_pass(nullptr, {loaded, OperandPart::Whole}, true, false);
  }

  // One column without operands, before any fault is selected.
  void measure_latency() {
    Codes probe;
    probe.columns = 1;
    sums.assign(config.cols, 0);
    latency = 4 * (config.rows + config.cols) + kSlack;  // long enough for every PE that is refused later
    last_row_cycle = 0;
    run_pass(&probe, {}, false, false);
    latency = last_row_cycle;
    stats = {};
    next_pass = 0;
  }

  static constexpr std::uint32_t kSlack = 256;

  const PeArrayRtlConfig config;
  const rtl::LibraryAbi& abi;
  const std::uint32_t tile_rows;
  const std::uint32_t tile_cols;
  const std::uint32_t visit;
  std::vector<VerilatedUnit> tiles, west, north, drains;
  std::vector<Border<rtl::OperandBeat>> acts;     // [tile_rows][tile_cols + 1]
  std::vector<Border<rtl::OperandBeat>> weights;  // [tile_rows + 1][tile_cols]
  std::vector<Border<rtl::PsumBeat>> psums;       // [tile_rows + 1][tile_cols]
  std::vector<std::uint8_t> active;               // by tile: evaluated in the last visit
  std::vector<std::uint8_t> edge_valid, edge_present;
  std::vector<std::uint16_t> edge_tag;
  std::vector<std::uint32_t> edge_codes;

  Codes stationary, moving;
  OperandPart loaded = OperandPart::Whole;
  bool weights_pending = false;              // no PE has seen them
  bool swap_pending = false;                 // they are in the shadow registers
  std::vector<std::uint32_t> sums, addends;  // [n][cols]

  Schedule schedule;
  std::uint32_t bubble = 0;
  std::uint32_t hold = 0;
  std::uint64_t random = 0;
  std::uint32_t latency = 0;
  std::uint32_t last_row_cycle = 0;
  Stats stats;

  ArrayWave* wave = nullptr;
  bool in_engine_time = false;
  EntryTimes entries;
  std::uint64_t load_cycle = 0;  // when the engine loads
  std::uint64_t matmul_begin = 0;
  std::uint64_t first_column = 0;  // when the engine's timing says that the pass's columns enter
  std::uint64_t pass_begin = 0;
  std::uint64_t next_pass = 0;  // outside engine time
  std::uint64_t lag = 0;
  std::uint64_t matmuls = 0;  // so far
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

void PeArrayRtl::run_in_engine_time(ArrayWave* wave) {
  impl_->in_engine_time = true;
  impl_->wave = wave;
}

void PeArrayRtl::record(ArrayWave* wave, std::uint64_t cycle) {
  impl_->wave = wave;
  impl_->next_pass = cycle;
}

void PeArrayRtl::load(const OperandTile& stationary, std::uint64_t cycle) { impl_->load(stationary, cycle); }

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
  impl.matmul_begin = mode.begin_cycle;
  impl.first_column = mode.first_column_cycle;
  for (const Pass& pass : passes_of(impl.stationary.format, mode)) {
    impl.run_pass(&impl.moving, pass, impl.weights_pending || pass.stationary != impl.loaded, accumulate);
    impl.loaded = pass.stationary;
    impl.weights_pending = false;
    accumulate = true;
  }
  ++impl.matmuls;
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

std::uint64_t PeArrayRtl::engine_cycle(std::uint64_t pass_cycle) const { return impl_->pass_begin + pass_cycle; }

std::uint64_t PeArrayRtl::lag_cycles() const { return impl_->lag; }

}  // namespace azulejo
