// SPDX-License-Identifier: Apache-2.0
// The boundary between azulejo and a shared library of Verilated units: plain structs and functions, so that neither
// side sees the other's classes. Each function table is filled in tlm/cosim/units by the one file that includes the
// unit's Verilated header; rtl/verilate.sh builds such a library.
//
// Cycles: a unit takes the inputs of a cycle, then the clock edge; registered outputs of a cycle are what it shows
// after that edge, so they are the neighbour's inputs of the next cycle.
#pragma once

#include <cstdint>

class VerilatedContext;
class VerilatedVcdC;

namespace azulejo::rtl {

// To be raised with every change of this file; a library of another number is refused.
inline constexpr std::uint32_t kAbiVersion = 2;

// Which PE or lane a fault is in; kEverywhere: in all.
inline constexpr std::uint8_t kEverywhere = 255;
struct FaultSelect {
  std::uint8_t fault = 0;  // azulejo_fault_pkg::fault_e; 0: none
  std::uint8_t row = kEverywhere;
  std::uint8_t col = kEverywhere;
};

// What every unit offers. `name` is the instance's path with spaces for dots, as WaveFile::context() says.
//
// A unit runs blocks of cycles with its own `run`, or, for a waveform, half a cycle at a time: `drive` sets the inputs
// of a cycle and `evaluate` sets the clock and evaluates.
struct UnitAbi {
  void* (*create)(VerilatedContext* context, const char* name);  // in reset, with all inputs 0
  void (*destroy)(void* unit);
  void (*reset)(void* unit);  // one cycle of reset; clears what is valid
  void (*evaluate)(void* unit, std::uint8_t clock);
  void (*trace)(void* unit, VerilatedVcdC* writer);             // null in a library without waveforms
  void (*select_fault)(void* unit, const FaultSelect& select);  // null in a library without faults
};

// An operand of azulejo_pkg::operand_t in the low 25 bits, and what travels with it: `swap` with an activation, the row
// count with a weight.
struct OperandBeat {
  std::uint32_t operand = 0;
  std::uint16_t tag = 0;
  std::uint16_t valid = 0;
};

struct PsumBeat {
  std::uint32_t value = 0;  // FP32
  std::uint32_t valid = 0;  // an output only
};

// rtl/pe/pe.sv
struct PeInputs {
  OperandBeat act;
  OperandBeat weight;
  std::uint32_t psum = 0;
  std::uint32_t enable = 1;
};
struct PeOutputs {
  OperandBeat act;
  OperandBeat weight;
  PsumBeat psum;
};
struct PeAbi {
  UnitAbi unit;
  std::uint32_t pipeline_stages;
  std::uint32_t flush_denormals;
  std::uint32_t row_width;
  void (*run)(void* unit, std::uint32_t cycles, const PeInputs* inputs, PeOutputs* outputs);
  void (*drive)(void* unit, const PeInputs& inputs);
};

// rtl/pe/pe_tile.sv. Arrays are [cycles][lanes]. Nothing is evaluated in a cycle in which nothing valid enters or is in
// the tile.
struct PeTileBlock {
  std::uint32_t cycles = 0;
  const std::uint8_t* enable = nullptr;  // [cycles]; null: always
  const OperandBeat* west = nullptr;
  const PsumBeat* north_psum = nullptr;       // null: +0
  const OperandBeat* north_weight = nullptr;  // null: none valid
  OperandBeat* east = nullptr;
  PsumBeat* south_psum = nullptr;
  OperandBeat* south_weight = nullptr;  // null if north_weight is
  std::uint64_t evaluated = 0;          // result: cycles that were evaluated
};
struct PeTileAbi {
  UnitAbi unit;
  std::uint32_t rows, cols;
  std::uint32_t pipeline_stages;
  std::uint32_t flush_denormals;
  std::uint32_t row_width;
  void (*run)(void* unit, PeTileBlock& block);
  void (*drive)(void* unit, const PeTileBlock& block);    // the inputs of the block's first cycle
  void (*observe)(void* unit, const PeTileBlock& block);  // writes the outputs of one cycle, as they are
};

// rtl/pe/pe_array_edge.sv, once as the west and once as the north edge of a tile.
struct EdgeBlock {
  std::uint32_t cycles = 0;
  const std::uint8_t* enable = nullptr;   // [cycles]; null: always
  const std::uint8_t* valid = nullptr;    // [cycles]
  const std::uint16_t* tag = nullptr;     // [cycles]
  const std::uint32_t* codes = nullptr;   // [cycles][lanes], elements in the low bits
  const std::uint8_t* present = nullptr;  // [cycles][lanes]
  std::uint32_t format = 0;               // azulejo_pkg::format_e
  std::uint32_t part = 0;                 // azulejo_pkg::part_e
  OperandBeat* operands = nullptr;        // out: [cycles][lanes]
};
struct EdgeAbi {
  UnitAbi unit;
  std::uint32_t lanes, lane_skew, tag_width;
  std::uint32_t flush_denormals;
  void (*run)(void* unit, const EdgeBlock& block);
  void (*drive)(void* unit, const EdgeBlock& block);  // the inputs of the block's first cycle
};

// rtl/pe/pe_array_drain.sv. Rows of sums leave it in order; `rows` counts them over the blocks of one matmul.
struct DrainBlock {
  std::uint32_t cycles = 0;
  const std::uint8_t* enable = nullptr;  // [cycles]; null: always
  const PsumBeat* psum = nullptr;        // [cycles][lanes]
  std::uint32_t accumulate = 0;
  std::uint32_t max_rows = 0;              // rows that `addends` and `values` hold; later ones are only counted
  const std::uint32_t* addends = nullptr;  // [max_rows][stride]; null: not accumulating
  std::uint32_t* values = nullptr;         // out: [max_rows][stride]
  std::uint32_t stride = 0;
  std::uint32_t rows = 0;            // in and out: rows that have left so far
  std::uint32_t last_row_cycle = 0;  // out: cycle of the block in which the last of them left
};
struct DrainAbi {
  UnitAbi unit;
  std::uint32_t lanes;
  std::uint32_t flush_denormals;
  void (*run)(void* unit, DrainBlock& block);
  // The inputs of the block's first cycle, the addend of a row that leaves in it among them; evaluates.
  void (*drive)(void* unit, DrainBlock& block);
};

// rtl/pe/pe_array.sv as a whole, for its handshakes. Arrays are [cols] for weights and sums, [rows] for activations.
struct PeArrayPins {
  // inputs
  std::uint8_t weight_valid = 0;
  std::uint16_t weight_row = 0;
  std::uint8_t weight_format = 0, weight_part = 0;
  const std::uint8_t* weight_present = nullptr;
  const std::uint32_t* weight_codes = nullptr;
  std::uint8_t act_valid = 0, act_swap = 0;
  std::uint8_t act_format = 0, act_part = 0;
  const std::uint8_t* act_present = nullptr;
  const std::uint32_t* act_codes = nullptr;
  std::uint8_t psum_ready = 0, accumulate = 0;
  const std::uint32_t* addends = nullptr;  // null: 0
  // outputs, as they are before the clock edge
  std::uint8_t weight_ready = 0, act_ready = 0, psum_valid = 0;
  std::uint32_t* psum = nullptr;
};
struct PeArrayAbi {
  UnitAbi unit;
  std::uint32_t rows, cols;
  std::uint32_t pipeline_stages;
  std::uint32_t flush_denormals;
  std::uint32_t row_width;
  // Sets the inputs and shows the outputs; the clock does not move.
  void (*settle)(void* unit, PeArrayPins& pins);
  // The clock edge, with the inputs set before.
  void (*clock)(void* unit);
};

// rtl/rounding/stochastic_rounding_unit.sv with one lane.
struct RoundingInputs {
  std::uint8_t valid = 0, ready = 1;
  std::uint8_t format = 0, stochastic = 0, saturate = 0;
  std::uint8_t load = 0;
  std::uint8_t lane = 1;  // the lane has an element
  std::uint32_t value = 0;
  std::uint32_t state[6] = {};
};
struct RoundingOutputs {
  std::uint8_t ready = 0;  // before the clock edge, with the inputs set
  std::uint8_t valid = 0;  // this and the rest after it
  std::uint32_t code = 0;
  std::uint32_t state[6] = {};
};
struct RoundingUnitAbi {
  UnitAbi unit;
  std::uint32_t xorwow;
  std::uint32_t flush_denormals;
  void (*run)(void* unit, std::uint32_t cycles, const RoundingInputs* inputs, RoundingOutputs* outputs);
  void (*drive)(void* unit, const RoundingInputs& inputs);
};

struct LibraryAbi {
  std::uint32_t abi_version;
  PeAbi pe;
  PeTileAbi tile;
  EdgeAbi west, north;
  DrainAbi drain;
  PeArrayAbi array;
  RoundingUnitAbi rounding_lfsr, rounding_xorwow;
};

}  // namespace azulejo::rtl

// The one symbol of such a library.
extern "C" const azulejo::rtl::LibraryAbi* azulejo_rtl_library();
