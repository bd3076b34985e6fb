// SPDX-License-Identifier: Apache-2.0
// The function table of an edge of the array.
#include UNIT_HEADER
#include UNIT_ROOT_HEADER

#include "tlm/cosim/units/unit.h"

namespace azulejo::rtl {
namespace {

using Model = UNIT_CLASS;

constexpr std::uint32_t kLanes = UNIT_PARAMETER(Lanes);

void set_inputs(Model& model, const EdgeBlock& block, std::uint32_t t) {
  model.enable_i = block.enable == nullptr || block.enable[t] != 0;
  model.valid_i = block.valid[t] != 0;
  model.tag_i = static_cast<CData>(block.tag[t]);
  model.format_i = static_cast<CData>(block.format);
  model.part_i = static_cast<CData>(block.part);
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    model.present_i[i] = block.present[t * kLanes + i] != 0;
    model.code_i[i] = block.codes[t * kLanes + i];
  }
}

void drive(void* unit, const EdgeBlock& block) { set_inputs(*static_cast<Model*>(unit), block, 0); }

void run(void* unit, const EdgeBlock& block) {
  Model& model = *static_cast<Model*>(unit);
  for (std::uint32_t t = 0; t < block.cycles; ++t) {
    set_inputs(model, block, t);
    clock(model);
    for (std::uint32_t i = 0; i < kLanes; ++i) {
      block.operands[t * kLanes + i] = {model.operand_o[i], model.tag_o[i], model.valid_o[i]};
    }
  }
}

}  // namespace

extern const EdgeAbi UNIT_TABLE;
const EdgeAbi UNIT_TABLE = {unit_functions<Model>(),
                            kLanes,
                            UNIT_PARAMETER(LaneSkew),
                            UNIT_PARAMETER(TagWidth),
                            UNIT_PARAMETER(FlushDenormals),
                            run,
                            drive};

}  // namespace azulejo::rtl
