// SPDX-License-Identifier: Apache-2.0
// One element of any format of the array to the operand that a PE takes; combinational.
//
// FP32 enters as its halves, (-1)^sign * (high * 2^12 + low) * 2^(E - 150). An infinity or NaN is in the high half; its low
// half is absent. Integers of more than 8 bits do not fit an operand and are no formats of the array.
`include "azulejo_fault.svh"
module fp_decode #(
  parameter bit FlushDenormals = 1'b0  // an operand subnormal in its own format becomes a signed zero
) (
  input  azulejo_pkg::format_e  format_i,
  input  azulejo_pkg::part_e    part_i,  // High or Low for FP32, else Whole
  input  logic [31:0]           code_i,  // in the low bits
  output azulejo_pkg::operand_t operand_o
  `AZULEJO_FAULT_PORT
);

  // The exponent field of FP32, E, means 2^(E - 127) at the significand's top bit, bit 11 of an operand.
  localparam logic [8:0] TOP_BIT = 9'd245;  // OPERAND_BIAS - 11

  logic        sign;
  logic [7:0]  field;        // exponent field
  logic        field_ones;   // all ones
  logic [10:0] fraction;     // at the top
  logic [11:0] fraction_low; // what of an FP32 fraction does not fit
  logic [8:0]  bias;         // TOP_BIT - bias of the format
  logic        has_infinity, has_nan;
  logic        is_integer, has_hidden_bit;
  logic [7:0]  magnitude;    // of an integer

  always_comb begin
    sign           = code_i[7];
    field          = 8'd0;
    field_ones     = 1'b0;
    fraction       = 11'd0;
    fraction_low   = 12'd0;
    bias           = TOP_BIT - 9'd127;
    has_infinity   = 1'b1;
    has_nan        = 1'b1;
    is_integer     = 1'b0;
    has_hidden_bit = 1'b1;
    unique case (format_i)
      azulejo_pkg::Fp32: begin
        sign         = code_i[31];
        field        = code_i[30:23];
        field_ones   = &code_i[30:23];
        fraction     = code_i[22:12];
        fraction_low = code_i[11:0];
      end
      azulejo_pkg::Tf32: begin
        sign       = code_i[31];
        field      = code_i[30:23];
        field_ones = &code_i[30:23];
        fraction   = {code_i[22:13], `AZULEJO_FAULT(DecodeTf32ExtraBit, code_i[12], 1'b0)};
      end
      azulejo_pkg::Bf16: begin
        sign       = code_i[15];
        field      = code_i[14:7];
        field_ones = &code_i[14:7];
        fraction   = {code_i[6:0], 4'd0};
      end
      azulejo_pkg::Fp16: begin
        sign       = code_i[15];
        field      = {3'd0, code_i[14:10]};
        field_ones = &code_i[14:10];
        fraction   = {code_i[9:0], 1'b0};
        bias       = TOP_BIT - 9'd15;
      end
      azulejo_pkg::E4M3: begin
        field      = {4'd0, code_i[6:3]};
        field_ones = &code_i[6:3];
        fraction   = {code_i[2:0], 8'd0};
        bias       = TOP_BIT - 9'd7;
      end
      azulejo_pkg::E4M3FN: begin  // the only NaN is all ones, with no infinity
        field        = {4'd0, code_i[6:3]};
        field_ones   = `AZULEJO_FAULT(DecodeE4m3fnAsIeee, &code_i[6:3], &code_i[6:0]);
        fraction     = {code_i[2:0], 8'd0};
        bias         = TOP_BIT - 9'd7;
        has_infinity = `AZULEJO_FAULT(DecodeE4m3fnAsIeee, 1'b1, 1'b0);
      end
      azulejo_pkg::E5M2: begin
        field      = {3'd0, code_i[6:2]};
        field_ones = &code_i[6:2];
        fraction   = {code_i[1:0], 9'd0};
        bias       = TOP_BIT - 9'd15;
      end
      azulejo_pkg::E3M4: begin
        field      = {5'd0, code_i[6:4]};
        field_ones = &code_i[6:4];
        fraction   = {code_i[3:0], 7'd0};
        bias       = TOP_BIT - 9'd3;
      end
      azulejo_pkg::E8M0: begin  // powers of two, without sign, zero and subnormals
        sign           = 1'b0;
        field          = code_i[7:0];
        field_ones     = &code_i[7:0];
        has_infinity   = 1'b0;
        has_hidden_bit = 1'b0;
      end
      azulejo_pkg::E2M1: begin
        sign         = code_i[3];
        field        = {6'd0, code_i[2:1]};
        fraction     = {code_i[0], 10'd0};
        bias         = TOP_BIT - 9'd1;
        has_infinity = 1'b0;
        has_nan      = 1'b0;
      end
      azulejo_pkg::Int8: begin
        is_integer = 1'b1;
        sign       = `AZULEJO_FAULT(DecodeInt8AsUnsigned, 1'b0, code_i[7]);
      end
      azulejo_pkg::Uint8: begin
        is_integer = 1'b1;
        sign       = 1'b0;
      end
      default: has_nan = 1'b0;  // no format of the array
    endcase
    magnitude = sign ? -code_i[7:0] : code_i[7:0];
  end

  // Significand and exponent, not yet normalized
  logic        subnormal, is_zero, is_nan, is_infinite;
  logic [7:0]  effective_field;
  logic [11:0] significand;
  logic [8:0]  exponent;

  always_comb begin
    subnormal       = !is_integer && has_hidden_bit && (field == 8'd0);
    effective_field = field + {7'd0, subnormal};
    significand     = {!subnormal, fraction};
    exponent        = bias + {1'd0, effective_field};
    is_zero         = subnormal && (fraction == 11'd0) && (fraction_low == 12'd0);
    is_infinite     = has_nan && field_ones && has_infinity && (fraction == 11'd0) && (fraction_low == 12'd0);
    is_nan          = has_nan && field_ones && !is_infinite;
    if (is_integer) begin
      significand = {magnitude, 4'd0};
      exponent    = TOP_BIT + 9'd7;
      is_zero     = magnitude == 8'd0;
    end
    if (FlushDenormals && subnormal) is_zero = 1'b1;
    if (part_i == azulejo_pkg::Low) begin
      significand = fraction_low;
      exponent    = exponent - 9'd12;
    end
`ifdef AZULEJO_FAULTS
    unique case (fault_i)
      azulejo_fault_pkg::DecodeSubnormalAsNormal: if (subnormal && !is_zero) significand[11] = 1'b1;
      azulejo_fault_pkg::DecodeExponentOffByOne:  exponent = exponent + 9'd1;
      azulejo_fault_pkg::DecodeSubnormalExponent: exponent = exponent - {8'd0, subnormal};
      azulejo_fault_pkg::DecodeInfinityAsFinite:  is_infinite = 1'b0;
      azulejo_fault_pkg::DecodeNanAsInfinity:     {is_infinite, is_nan} = {is_infinite | is_nan, 1'b0};
      azulejo_fault_pkg::DecodeHighHalfRounded: begin
        if ((part_i == azulejo_pkg::High) && (significand != '1)) significand = significand + {11'd0, fraction_low[11]};
      end
      default: ;
    endcase
`endif
  end

  // Normalization
  logic [11:0] x;
  logic [3:0]  zeros;

  always_comb begin
    x     = significand;
    zeros = 4'd0;
    if (x[11:4] == 8'd0)  begin zeros[3] = 1'b1; x = x << 8; end
    if (x[11:8] == 4'd0)  begin zeros[2] = 1'b1; x = x << 4; end
    if (x[11:10] == 2'd0) begin zeros[1] = 1'b1; x = x << 2; end
    if (!x[11])           begin zeros[0] = 1'b1; x = x << 1; end
  end

  logic [8:0] normal_exponent;  // of every format from 96 to 372
  assign normal_exponent = exponent - {5'd0, zeros};

  always_comb begin
    operand_o.sign        = `AZULEJO_FAULT(DecodeSignDropped, 1'b0,
                            `AZULEJO_FAULT(DecodeLowHalfUnsigned, sign && (part_i != azulejo_pkg::Low),
                            `AZULEJO_FAULT(DecodeNegativeZero, sign && !is_zero, sign)));
    operand_o.exponent    = normal_exponent;
    operand_o.significand = x;
    if (part_i == azulejo_pkg::Low) begin
      operand_o.kind = (is_nan || is_infinite) ?
                       `AZULEJO_FAULT(DecodeSpecialInLowHalf, azulejo_pkg::Infinity, azulejo_pkg::Absent) :
                       azulejo_pkg::LowHalf;
    end else if (is_nan) begin
      operand_o.kind = azulejo_pkg::NotANumber;
    end else if (is_infinite) begin
      operand_o.kind = azulejo_pkg::Infinity;
    end else if (is_zero) begin
      operand_o.kind = azulejo_pkg::Zero;
    end else begin
      operand_o.kind = azulejo_pkg::Finite;
    end
    if (is_zero || is_nan || is_infinite || (x == 12'd0)) begin
      operand_o.exponent    = 9'd0;
      operand_o.significand = 12'd0;
    end
  end

`ifndef SYNTHESIS
  // A significand that is not zero is normalized, and only finite operands have one.
  always_comb begin
    if (operand_o.significand != 12'd0) begin
      NormalizedA: assert (operand_o.significand[11]);
      FiniteA: assert ((operand_o.kind == azulejo_pkg::Finite) || (operand_o.kind == azulejo_pkg::LowHalf));
    end
    // Only FP32 has halves.
    PartA: assert ((format_i == azulejo_pkg::Fp32) || (part_i == azulejo_pkg::Whole));
  end
`endif

endmodule
