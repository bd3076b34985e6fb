// SPDX-License-Identifier: Apache-2.0
// The function table of a tile of PEs.
#include UNIT_HEADER
#include UNIT_ROOT_HEADER

#include "tlm/cosim/units/unit.h"

namespace azulejo::rtl {
namespace {

using Model = UNIT_CLASS;

constexpr std::uint32_t kRows = UNIT_PARAMETER(Rows);
constexpr std::uint32_t kCols = UNIT_PARAMETER(Cols);
// Cycles after the last valid input until nothing valid is left inside.
constexpr std::uint32_t kDrain = kRows * UNIT_PARAMETER(PipelineStages) + kCols + 2;

struct Tile {
  Tile(VerilatedContext* context, const char* name) : model(context, name) { reset_model<Model>(&model); }
  Model model;
  std::uint32_t quiet = kDrain;  // cycles since the last valid input
};

bool any_valid(const OperandBeat* beats, std::uint32_t lanes) {
  std::uint32_t valid = 0;
  for (std::uint32_t i = 0; i < lanes; ++i) valid |= beats[i].valid;
  return valid != 0;
}

void set_inputs(Model& model, const PeTileBlock& block, std::uint32_t t) {
  const OperandBeat* west = block.west + t * kRows;
  const OperandBeat* north = block.north_weight == nullptr ? nullptr : block.north_weight + t * kCols;
  model.enable_i = block.enable == nullptr || block.enable[t] != 0;
  for (std::uint32_t r = 0; r < kRows; ++r) {
    model.act_valid_i[r] = west[r].valid != 0;
    model.act_swap_i[r] = west[r].tag != 0;
    model.act_i[r] = west[r].operand;
  }
  for (std::uint32_t c = 0; c < kCols; ++c) {
    model.psum_i[c] = block.north_psum == nullptr ? 0 : block.north_psum[t * kCols + c].value;
    model.weight_valid_i[c] = north != nullptr && north[c].valid != 0;
    if (model.weight_valid_i[c] == 0) continue;
    model.weight_row_i[c] = static_cast<CData>(north[c].tag);
    model.weight_i[c] = north[c].operand;
  }
}

void show_outputs(Model& model, const PeTileBlock& block, std::uint32_t t) {
  OperandBeat* east = block.east + t * kRows;
  PsumBeat* south = block.south_psum + t * kCols;
  OperandBeat* south_weight = block.south_weight == nullptr ? nullptr : block.south_weight + t * kCols;
  for (std::uint32_t r = 0; r < kRows; ++r) east[r] = {model.act_o[r], model.act_swap_o[r], model.act_valid_o[r]};
  for (std::uint32_t c = 0; c < kCols; ++c) south[c] = {model.psum_o[c], model.psum_valid_o[c]};
  for (std::uint32_t c = 0; south_weight != nullptr && c < kCols; ++c) {
    south_weight[c] = {model.weight_o[c], model.weight_row_o[c], model.weight_valid_o[c]};
  }
}

void run(void* unit, PeTileBlock& block) {
  Tile& tile = *static_cast<Tile*>(unit);
  Model& model = tile.model;
  for (std::uint32_t t = 0; t < block.cycles; ++t) {
    const OperandBeat* west = block.west + t * kRows;
    const OperandBeat* north = block.north_weight == nullptr ? nullptr : block.north_weight + t * kCols;
    OperandBeat* east = block.east + t * kRows;
    PsumBeat* south = block.south_psum + t * kCols;
    OperandBeat* south_weight = block.south_weight == nullptr ? nullptr : block.south_weight + t * kCols;
    const bool enable = block.enable == nullptr || block.enable[t] != 0;
    if (any_valid(west, kRows) || (north != nullptr && any_valid(north, kCols))) {
      tile.quiet = 0;
    } else if (tile.quiet >= kDrain) {
      for (std::uint32_t r = 0; r < kRows; ++r) east[r] = {};
      for (std::uint32_t c = 0; c < kCols; ++c) south[c] = {};
      for (std::uint32_t c = 0; south_weight != nullptr && c < kCols; ++c) south_weight[c] = {};
      continue;
    }
    if (enable) ++tile.quiet;
    ++block.evaluated;

    set_inputs(model, block, t);
    clock(model);
    show_outputs(model, block, t);
  }
}

UnitAbi functions() {
  UnitAbi unit;
  unit.create = [](VerilatedContext* context, const char* name) -> void* { return new Tile(context, name); };
  unit.destroy = [](void* tile) {
    static_cast<Tile*>(tile)->model.final();
    delete static_cast<Tile*>(tile);
  };
  unit.reset = [](void* tile) {
    reset_model<Model>(&static_cast<Tile*>(tile)->model);
    static_cast<Tile*>(tile)->quiet = kDrain;
  };
  unit.evaluate = [](void* tile, std::uint8_t clock) { evaluate(static_cast<Tile*>(tile)->model, clock); };
  unit.trace = nullptr;
  unit.select_fault = nullptr;
#ifdef AZULEJO_RTL_TRACE
  unit.trace = [](void* tile, VerilatedVcdC* writer) { static_cast<Tile*>(tile)->model.trace(writer, 99); };
#endif
#ifdef AZULEJO_RTL_FAULTS
  unit.select_fault = [](void* tile, const FaultSelect& select) {
    Model& model = static_cast<Tile*>(tile)->model;
    model.fault_i = select.fault;
    model.fault_row_i = select.row;
    model.fault_col_i = select.col;
  };
#endif
  return unit;
}

}  // namespace

extern const PeTileAbi UNIT_TABLE;
const PeTileAbi UNIT_TABLE = {
    functions(),
    kRows,
    kCols,
    UNIT_PARAMETER(PipelineStages),
    UNIT_PARAMETER(FlushDenormals),
    UNIT_PARAMETER(RowWidth),
    run,
    [](void* unit, const PeTileBlock& block) { set_inputs(static_cast<Tile*>(unit)->model, block, 0); },
    [](void* unit, const PeTileBlock& block) { show_outputs(static_cast<Tile*>(unit)->model, block, 0); }};

}  // namespace azulejo::rtl
