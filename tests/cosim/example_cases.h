// SPDX-License-Identifier: Apache-2.0
// One reproducer case of each kind, and their comparison.
#pragma once

#include <algorithm>
#include <iterator>
#include <tuple>
#include <variant>
#include <vector>

#include "tlm/cosim/case.h"

namespace azulejo::test {

inline std::vector<CosimCase> example_cases() {
  CosimCase pe;
  PeCase cycles;
  rtl::PeInputs in;
  in.act = {0x0903800, 1, 1};
  in.psum = 0x3F800000;
  cycles.inputs.push_back(in);
  in = {};
  in.weight = {0x0BFF800, 0x12, 1};
  in.enable = 0;
  cycles.inputs.push_back(in);
  pe.operation = cycles;
  pe.pipeline_stages = 3;
  pe.flush_denormals = true;
  pe.pe_directory = "my pe";
  pe.pe_top = "my_pe";
  pe.note = "a PE";

  CosimCase array;
  ArrayCase matmul;
  matmul.rows = 4;
  matmul.cols = 2;
  matmul.k = 2;
  matmul.m = 2;
  matmul.n = 3;
  matmul.stationary_format = Format::E4M3;
  matmul.accumulate = true;
  matmul.moving_one_zero = true;
  matmul.stationary = {0x7E, 1, 2, 3};
  matmul.moving = {0x3F80, 0x4000, 0xC040, 0, 0x8000, 0x7F80};
  matmul.psum = {1, 2, 3, 0xFFFFFFFF, 0, 0x80000000};
  array.operation = matmul;
  array.fault = "add_sticky_dropped@pe_0_1";
  array.note = "an array";

  CosimCase rounding;
  RoundingCase row;
  row.source = RandomSource::Xorwow;
  row.state = {1, 2, 3, 4, 5, 6};
  row.format = Format::Fp16;
  row.mode = {Rounding::Stochastic, true, true};
  for (std::uint32_t i = 0; i < 19; ++i) row.values.push_back(0x3F800000 + i);
  rounding.operation = row;
  rounding.flush_denormals = true;
  rounding.note = "a rounding";

  CosimCase stalled;
  RoundingCase steps;
  rtl::RoundingInputs step;
  step.load = 1;
  for (std::uint32_t i = 0; i < 6; ++i) step.state[i] = 0xFFFFFFF0 + i;
  steps.cycles.push_back(step);
  step = {};
  step.valid = 1;
  step.ready = 0;
  step.format = 15;
  step.stochastic = 1;
  step.saturate = 1;
  step.lane = 0;
  step.value = 0x7FC12345;
  steps.cycles.push_back(step);
  stalled.operation = steps;
  return {pe, array, rounding, stalled};
}

inline bool equal(const rtl::OperandBeat& a, const rtl::OperandBeat& b) {
  return std::tie(a.operand, a.tag, a.valid) == std::tie(b.operand, b.tag, b.valid);
}
inline bool equal(const rtl::PeInputs& a, const rtl::PeInputs& b) {
  return equal(a.act, b.act) && equal(a.weight, b.weight) && a.psum == b.psum && a.enable == b.enable;
}
inline bool equal(const rtl::RoundingInputs& a, const rtl::RoundingInputs& b) {
  return std::tie(a.valid, a.ready, a.format, a.stochastic, a.saturate, a.load, a.lane, a.value) ==
             std::tie(b.valid, b.ready, b.format, b.stochastic, b.saturate, b.load, b.lane, b.value) &&
         std::equal(std::begin(a.state), std::end(a.state), std::begin(b.state));
}
template <class T>
bool equal(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return equal(x, y); });
}
inline bool equal(const std::monostate&, const std::monostate&) { return true; }
inline bool equal(const PeCase& a, const PeCase& b) { return equal(a.inputs, b.inputs); }
inline bool equal(const ArrayCase& a, const ArrayCase& b) {
  const auto members = [](const ArrayCase& c) {
    return std::tie(c.rows, c.cols, c.k, c.m, c.n, c.stationary_format, c.moving_format, c.accumulate,
                    c.stationary_one_zero, c.moving_one_zero, c.stationary, c.moving, c.psum);
  };
  return members(a) == members(b);
}
inline bool equal(const RoundingCase& a, const RoundingCase& b) {
  const auto members = [](const RoundingCase& c) {
    return std::tie(c.source, c.state, c.format, c.mode.rounding, c.mode.saturate, c.mode.flush_denormals, c.values);
  };
  return members(a) == members(b) && equal(a.cycles, b.cycles);
}
inline bool equal(const CosimCase& a, const CosimCase& b) {
  const auto members = [](const CosimCase& c) {
    return std::tie(c.pipeline_stages, c.flush_denormals, c.fault, c.pe_directory, c.pe_top, c.note);
  };
  if (members(a) != members(b) || a.operation.index() != b.operation.index()) return false;
  return std::visit(
      [&](const auto& operation) { return equal(operation, std::get<std::decay_t<decltype(operation)>>(b.operation)); },
      a.operation);
}

}  // namespace azulejo::test
