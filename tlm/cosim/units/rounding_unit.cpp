// SPDX-License-Identifier: Apache-2.0
// The function table of a rounding unit with one lane.
#include UNIT_HEADER
#include UNIT_ROOT_HEADER

#include "tlm/cosim/units/unit.h"

namespace azulejo::rtl {
namespace {

using Model = UNIT_CLASS;

constexpr int kWords = 6;

void drive(void* unit, const RoundingInputs& in) {
  Model& model = *static_cast<Model*>(unit);
  model.load_i = in.load != 0;
  for (int i = 0; i < kWords; ++i) model.state_i[i] = in.state[i];
  model.valid_i = in.valid != 0;
  model.ready_i = in.ready != 0;
  model.format_i = in.format;
  model.stochastic_i = in.stochastic != 0;
  model.saturate_i = in.saturate != 0;
  model.lane_i = in.lane != 0;
  model.value_i = in.value;
}

void run(void* unit, std::uint32_t cycles, const RoundingInputs* inputs, RoundingOutputs* outputs) {
  Model& model = *static_cast<Model*>(unit);
  for (std::uint32_t t = 0; t < cycles; ++t) {
    RoundingOutputs& out = outputs[t];
    drive(unit, inputs[t]);
    model.eval();
    out.ready = model.ready_o;
    clock(model);
    out.valid = model.valid_o;
    out.code = model.code_o;
    for (int i = 0; i < kWords; ++i) out.state[i] = model.state_o[i];
  }
}

}  // namespace

extern const RoundingUnitAbi UNIT_TABLE;
const RoundingUnitAbi UNIT_TABLE = {unit_functions<Model>(), UNIT_PARAMETER(Xorwow), UNIT_PARAMETER(FlushDenormals),
                                    run, drive};

}  // namespace azulejo::rtl
