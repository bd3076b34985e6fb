// SPDX-License-Identifier: Apache-2.0
// The function table of a drain of the array.
#include UNIT_HEADER
#include UNIT_ROOT_HEADER

#include "tlm/cosim/units/unit.h"

namespace azulejo::rtl {
namespace {

using Model = UNIT_CLASS;

constexpr std::uint32_t kLanes = UNIT_PARAMETER(Lanes);

// The inputs of cycle t, and what leaves in it.
void show(Model& model, DrainBlock& block, std::uint32_t t) {
  const bool enable = block.enable == nullptr || block.enable[t] != 0;
  model.enable_i = enable;
  model.accumulate_i = block.accumulate != 0;
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    model.psum_i[i] = block.psum[t * kLanes + i].value;
    model.psum_valid_i[i] = block.psum[t * kLanes + i].valid != 0;
  }
  model.eval();
  if (model.valid_o == 0 || !enable) return;
  if (block.rows < block.max_rows) {
    for (std::uint32_t i = 0; i < kLanes; ++i) {
      model.addend_i[i] = block.addends == nullptr ? 0 : block.addends[block.rows * block.stride + i];
    }
    model.eval();
    for (std::uint32_t i = 0; i < kLanes; ++i) block.values[block.rows * block.stride + i] = model.value_o[i];
  }
  ++block.rows;
  block.last_row_cycle = t;
}

void drive(void* unit, DrainBlock& block) { show(*static_cast<Model*>(unit), block, 0); }

void run(void* unit, DrainBlock& block) {
  Model& model = *static_cast<Model*>(unit);
  for (std::uint32_t t = 0; t < block.cycles; ++t) {
    show(model, block, t);
    clock(model);
  }
}

}  // namespace

extern const DrainAbi UNIT_TABLE;
const DrainAbi UNIT_TABLE = {unit_functions<Model>(), kLanes, UNIT_PARAMETER(FlushDenormals), run, drive};

}  // namespace azulejo::rtl
