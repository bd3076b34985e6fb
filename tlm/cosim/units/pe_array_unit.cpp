// SPDX-License-Identifier: Apache-2.0
// The function table of a whole array with its handshakes.
#include UNIT_HEADER
#include UNIT_ROOT_HEADER

#include "tlm/cosim/units/unit.h"

namespace azulejo::rtl {
namespace {

using Model = UNIT_CLASS;

constexpr std::uint32_t kRows = UNIT_PARAMETER(Rows);
constexpr std::uint32_t kCols = UNIT_PARAMETER(Cols);

void settle(void* unit, PeArrayPins& pins) {
  Model& model = *static_cast<Model*>(unit);
  model.weight_valid_i = pins.weight_valid != 0;
  model.weight_row_i = static_cast<CData>(pins.weight_row);
  model.weight_format_i = pins.weight_format;
  model.weight_part_i = pins.weight_part;
  for (std::uint32_t c = 0; pins.weight_codes != nullptr && c < kCols; ++c) {
    model.weight_present_i[c] = pins.weight_present[c] != 0;
    model.weight_code_i[c] = pins.weight_codes[c];
  }
  model.act_valid_i = pins.act_valid != 0;
  model.act_swap_i = pins.act_swap != 0;
  model.act_format_i = pins.act_format;
  model.act_part_i = pins.act_part;
  for (std::uint32_t r = 0; pins.act_codes != nullptr && r < kRows; ++r) {
    model.act_present_i[r] = pins.act_present[r] != 0;
    model.act_code_i[r] = pins.act_codes[r];
  }
  model.psum_ready_i = pins.psum_ready != 0;
  model.accumulate_i = pins.accumulate != 0;
  for (std::uint32_t c = 0; c < kCols; ++c) model.addend_i[c] = pins.addends == nullptr ? 0 : pins.addends[c];
  model.eval();
  pins.weight_ready = model.weight_ready_o;
  pins.act_ready = model.act_ready_o;
  pins.psum_valid = model.psum_valid_o;
  for (std::uint32_t c = 0; pins.psum != nullptr && c < kCols; ++c) pins.psum[c] = model.psum_o[c];
}

UnitAbi functions() {
  UnitAbi unit = unit_functions<Model>();
#ifdef AZULEJO_RTL_FAULTS
  unit.select_fault = [](void* array, const FaultSelect& select) {
    Model& model = *static_cast<Model*>(array);
    model.fault_i = select.fault;
    model.fault_row_i = select.row;
    model.fault_col_i = select.col;
  };
#endif
  return unit;
}

}  // namespace

extern const PeArrayAbi UNIT_TABLE;
const PeArrayAbi UNIT_TABLE = {functions(),
                               kRows,
                               kCols,
                               UNIT_PARAMETER(PipelineStages),
                               UNIT_PARAMETER(FlushDenormals),
                               UNIT_PARAMETER(RowWidth),
                               settle,
                               [](void* unit) { clock(*static_cast<Model*>(unit)); }};

}  // namespace azulejo::rtl
