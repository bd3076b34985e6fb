// SPDX-License-Identifier: Apache-2.0
// The function table of one PE.
#include UNIT_HEADER
#include UNIT_ROOT_HEADER

#include "tlm/cosim/units/unit.h"

namespace azulejo::rtl {
namespace {

using Model = UNIT_CLASS;

void drive(void* unit, const PeInputs& in) {
  Model& model = *static_cast<Model*>(unit);
  model.enable_i = in.enable != 0;
  model.act_valid_i = in.act.valid != 0;
  model.act_swap_i = in.act.tag != 0;
  model.act_i = in.act.operand;
  model.weight_valid_i = in.weight.valid != 0;
  model.weight_row_i = static_cast<CData>(in.weight.tag);
  model.weight_i = in.weight.operand;
  model.psum_i = in.psum;
}

void run(void* unit, std::uint32_t cycles, const PeInputs* inputs, PeOutputs* outputs) {
  Model& model = *static_cast<Model*>(unit);
  for (std::uint32_t t = 0; t < cycles; ++t) {
    drive(unit, inputs[t]);
    clock(model);
    outputs[t] = {{model.act_o, model.act_swap_o, model.act_valid_o},
                  {model.weight_o, model.weight_row_o, model.weight_valid_o},
                  {model.psum_o, model.psum_valid_o}};
  }
}

}  // namespace

extern const PeAbi UNIT_TABLE;
const PeAbi UNIT_TABLE = {unit_functions<Model>(),
                          UNIT_PARAMETER(PipelineStages),
                          UNIT_PARAMETER(FlushDenormals),
                          UNIT_PARAMETER(RowWidth),
                          run,
                          drive};

}  // namespace azulejo::rtl
