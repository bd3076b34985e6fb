// SPDX-License-Identifier: Apache-2.0
// What the function tables of all Verilated units share. Compiled by rtl/verilate.sh only, which says what the library
// has: AZULEJO_RTL_TRACE, AZULEJO_RTL_FAULTS; UNIT_HEADER and UNIT_ROOT_HEADER name the unit's Verilated headers,
// UNIT_CLASS its class and UNIT_TABLE the table to define.
#pragma once

#include <verilated.h>
#ifdef AZULEJO_RTL_TRACE
#include <verilated_vcd_c.h>
#endif

#include "tlm/cosim/rtl_abi.h"

namespace azulejo::rtl {

template <class Model>
void clock(Model& model) {
  model.clk_i = 1;
  model.eval();
  model.clk_i = 0;
  model.eval();
}

template <class Model>
void evaluate(Model& model, std::uint8_t clock) {
  model.clk_i = clock;
  model.eval();
}

template <class Model>
void reset_model(void* unit) {
  auto& model = *static_cast<Model*>(unit);
  model.rst_ni = 1;
  model.eval();
  model.rst_ni = 0;
  model.eval();
  clock(model);
  model.rst_ni = 1;
  model.eval();
}

template <class Model>
void* create_model(VerilatedContext* context, const char* name) {
  auto* model = new Model(context, name);
  reset_model<Model>(model);
  return model;
}

template <class Model>
void destroy_model(void* unit) {
  auto* model = static_cast<Model*>(unit);
  model->final();
  delete model;
}

// Part of a table: the functions for a Verilated class whose faults, if any, are everywhere.
template <class Model>
UnitAbi unit_functions() {
  UnitAbi unit{create_model<Model>,
               destroy_model<Model>,
               reset_model<Model>,
               [](void* model, std::uint8_t clock) { evaluate(*static_cast<Model*>(model), clock); },
               nullptr,
               nullptr};
#ifdef AZULEJO_RTL_TRACE
  unit.trace = [](void* model, VerilatedVcdC* writer) { static_cast<Model*>(model)->trace(writer, 99); };
#endif
#ifdef AZULEJO_RTL_FAULTS
  unit.select_fault = [](void* model, const FaultSelect& select) {
    static_cast<Model*>(model)->fault_i = select.fault;
  };
#endif
  return unit;
}

}  // namespace azulejo::rtl
