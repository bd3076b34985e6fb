// SPDX-License-Identifier: Apache-2.0
// Number formats, and the types that travel between the units of the processing-element (PE) array.
//
// Twin: tlm/numerics/format_table.h; tests/cosim compares the two tables row by row. Bit-level contract: the "Numerics"
// section of ARCHITECTURE.md.
package azulejo_pkg;

  // The order of `Format` in tlm/numerics/format.h.
  typedef enum logic [3:0] {
    Fp32   = 4'd0,
    Tf32   = 4'd1,  // FP32 container, low 13 bits ignored
    Bf16   = 4'd2,
    Fp16   = 4'd3,
    E4M3   = 4'd4,  // IEEE-like
    E4M3FN = 4'd5,  // OCP
    E5M2   = 4'd6,
    E3M4   = 4'd7,  // IEEE-like: assumed
    E8M0   = 4'd8,
    E2M1   = 4'd9,
    Int8   = 4'd10,
    Uint8  = 4'd11,
    Int16  = 4'd12,
    Uint16 = 4'd13,
    Int32  = 4'd14,
    Uint32 = 4'd15
  } format_e;

  parameter int unsigned FORMATS = 16;

  typedef enum logic [1:0] {
    NanNone    = 2'd0,  // no code is a NaN
    NanIeee    = 2'd1,  // exponent all ones, fraction not zero
    NanAllOnes = 2'd2   // exponent and fraction all ones only
  } nan_codes_e;

  // One row of the format table. A format with integer_bits != 0 is an integer.
  typedef struct packed {
    logic [5:0]  storage_bits;
    logic        sign_bits;
    logic [3:0]  exponent_bits;
    logic [4:0]  mantissa_bits;  // stored fraction bits
    logic [7:0]  bias;
    logic        has_infinity;
    nan_codes_e  nan_codes;
    logic [31:0] canonical_nan;  // 0 when the format has no NaN
    logic [31:0] max_finite;     // code of the largest finite value
    logic [5:0]  integer_bits;
  } format_spec_t;

  // Scoped names, since Yosys 0.23 finds no others in a function of a package.
  function automatic format_spec_t format_spec(input format_e format);
    unique case (format)
      // bits, sign, exponent, mantissa, bias, infinity, NaN codes, canonical NaN, max finite, integer bits
      azulejo_pkg::Fp32:    format_spec = {6'd32, 1'b1, 4'd8, 5'd23, 8'd127, 1'b1, azulejo_pkg::NanIeee,    32'h7FC0_0000, 32'h7F7F_FFFF, 6'd0};
      azulejo_pkg::Tf32:    format_spec = {6'd32, 1'b1, 4'd8, 5'd10, 8'd127, 1'b1, azulejo_pkg::NanIeee,    32'h7FC0_0000, 32'h7F7F_E000, 6'd0};
      azulejo_pkg::Bf16:    format_spec = {6'd16, 1'b1, 4'd8, 5'd7,  8'd127, 1'b1, azulejo_pkg::NanIeee,    32'h0000_7FC0, 32'h0000_7F7F, 6'd0};
      azulejo_pkg::Fp16:    format_spec = {6'd16, 1'b1, 4'd5, 5'd10, 8'd15,  1'b1, azulejo_pkg::NanIeee,    32'h0000_7E00, 32'h0000_7BFF, 6'd0};
      azulejo_pkg::E4M3:    format_spec = {6'd8,  1'b1, 4'd4, 5'd3,  8'd7,   1'b1, azulejo_pkg::NanIeee,    32'h0000_007C, 32'h0000_0077, 6'd0};
      azulejo_pkg::E4M3FN:  format_spec = {6'd8,  1'b1, 4'd4, 5'd3,  8'd7,   1'b0, azulejo_pkg::NanAllOnes, 32'h0000_007F, 32'h0000_007E, 6'd0};
      azulejo_pkg::E5M2:    format_spec = {6'd8,  1'b1, 4'd5, 5'd2,  8'd15,  1'b1, azulejo_pkg::NanIeee,    32'h0000_007E, 32'h0000_007B, 6'd0};
      azulejo_pkg::E3M4:    format_spec = {6'd8,  1'b1, 4'd3, 5'd4,  8'd3,   1'b1, azulejo_pkg::NanIeee,    32'h0000_0078, 32'h0000_006F, 6'd0};
      azulejo_pkg::E8M0:    format_spec = {6'd8,  1'b0, 4'd8, 5'd0,  8'd127, 1'b0, azulejo_pkg::NanAllOnes, 32'h0000_00FF, 32'h0000_00FE, 6'd0};
      azulejo_pkg::E2M1:    format_spec = {6'd4,  1'b1, 4'd2, 5'd1,  8'd1,   1'b0, azulejo_pkg::NanNone,    32'h0000_0000, 32'h0000_0007, 6'd0};
      azulejo_pkg::Int8:    format_spec = {6'd8,  1'b1, 4'd0, 5'd0,  8'd0,   1'b0, azulejo_pkg::NanNone,    32'h0000_0000, 32'h0000_007F, 6'd8};
      azulejo_pkg::Uint8:   format_spec = {6'd8,  1'b0, 4'd0, 5'd0,  8'd0,   1'b0, azulejo_pkg::NanNone,    32'h0000_0000, 32'h0000_00FF, 6'd8};
      azulejo_pkg::Int16:   format_spec = {6'd16, 1'b1, 4'd0, 5'd0,  8'd0,   1'b0, azulejo_pkg::NanNone,    32'h0000_0000, 32'h0000_7FFF, 6'd16};
      azulejo_pkg::Uint16:  format_spec = {6'd16, 1'b0, 4'd0, 5'd0,  8'd0,   1'b0, azulejo_pkg::NanNone,    32'h0000_0000, 32'h0000_FFFF, 6'd16};
      azulejo_pkg::Int32:   format_spec = {6'd32, 1'b1, 4'd0, 5'd0,  8'd0,   1'b0, azulejo_pkg::NanNone,    32'h0000_0000, 32'h7FFF_FFFF, 6'd32};
      default:             format_spec = {6'd32, 1'b0, 4'd0, 5'd0,  8'd0,   1'b0, azulejo_pkg::NanNone,    32'h0000_0000, 32'hFFFF_FFFF, 6'd32};
    endcase
  endfunction

  typedef enum logic [2:0] {
    Absent   = 3'd0,  // no operand: the pair adds nothing
    Zero     = 3'd1,
    Finite   = 3'd2,  // not zero; the half of an FP32 value may have a zero significand
    Infinity = 3'd3,
    NotANumber = 3'd4,
    LowHalf  = 3'd5   // of a finite FP32 value, zero included: multiplied by an infinity or NaN it adds nothing
  } operand_class_e;

  // What of an operand enters the array: all of it, or one half of an FP32 value.
  typedef enum logic [1:0] {
    Whole = 2'd0,
    High  = 2'd1,
    Low   = 2'd2
  } part_e;

  // An operand of a PE: (-1)^sign * significand * 2^(exponent - OPERAND_BIAS); the significand's top bit is set unless it
  // is zero, as that of a Finite may be, the high half of a small FP32 value.
  typedef struct packed {
    operand_class_e kind;
    logic           sign;
    logic [8:0]     exponent;
    logic [11:0]    significand;
  } operand_t;

  parameter int unsigned OPERAND_BIAS = 256;

  // An exact product: (-1)^sign * significand * 2^(exponent - 2 * OPERAND_BIAS).
  typedef struct packed {
    operand_class_e kind;
    logic           sign;
    logic [9:0]     exponent;
    logic [23:0]    significand;
  } product_t;

  // A sum before rounding: (-1)^sign * magnitude * 2^(exponent - 2 * OPERAND_BIAS - 36), bit 0 of the magnitude sticky.
  typedef struct packed {
    logic        special;  // the result is `value`, which needs no rounding
    logic [31:0] value;
    logic        sign;
    logic [9:0]  exponent;
    logic [63:0] magnitude;
  } sum_t;

  parameter logic [31:0] FP32_NAN = 32'h7FC0_0000;
  parameter logic [31:0] FP32_INFINITY = 32'h7F80_0000;

endpackage
