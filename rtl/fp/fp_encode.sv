// SPDX-License-Identifier: Apache-2.0
// One FP32 value to the code of any format, rounded once, to nearest even or stochastically; combinational.
//
// A floating-point format's codes count its units (a unit: the value of the last bit) from zero up. So the value's exponent,
// counted from the format's smallest, and its fraction side by side, shifted right until the last bit that fits is a unit,
// are the code; rounding adds one, and a carry into the next binade, or from the subnormals to the normals, is right by
// itself. Of an integer the whole units are the magnitude.
//
// Twin: encode() of tlm/numerics/format.h, whose comment says what overflow, NaN and the formats without them give.
`include "azulejo_fault.svh"
module fp_encode #(
  parameter bit FlushDenormals = 1'b0  // a subnormal value and a subnormal result become signed zeros
) (
  input  azulejo_pkg::format_e format_i,
  input  logic                 stochastic_i,  // low: nearest even, as always into integers
  input  logic                 saturate_i,    // overflow gives the largest finite value; integers always do
  input  logic [31:0]          value_i,       // FP32
  input  logic [31:0]          random_i,      // rounds up where below the fraction of a unit, in 2^-32
  output logic [31:0]          code_o         // in the low bits
  `AZULEJO_FAULT_PORT
);

  localparam logic [8:0]  EXPONENT_BIAS = 9'd159;  // of all exponents here: FP32's smallest subnormal then has 10
  localparam int unsigned TF32_UNUSED   = 13;      // bits of the container below TF32's own

  // Format
  azulejo_pkg::format_e      format;
  azulejo_pkg::format_spec_t spec;
  logic [5:0]                storage_bits;
  logic                      has_sign;
  logic [4:0]                mantissa_bits;  // stored fraction bits
  logic                      has_infinity, has_nan, is_integer, is_scale, is_tf32;
  logic [31:0]               canonical_nan, max_finite;
  logic [8:0]                min_exponent;   // of the smallest normal value
  logic [31:0]               top_bit;        // of the code

  always_comb begin
    format = format_i;
    if (`AZULEJO_FAULT(EncodeE4m3fnAsIeee, format_i == azulejo_pkg::E4M3FN, 1'b0)) format = azulejo_pkg::E4M3;
    spec          = azulejo_pkg::format_spec(format);
    storage_bits  = spec.storage_bits;
    has_sign      = spec.sign_bits;
    mantissa_bits = spec.mantissa_bits;
    has_infinity  = spec.has_infinity;
    has_nan       = spec.nan_codes != azulejo_pkg::NanNone;
    is_integer    = spec.integer_bits != 6'd0;
    canonical_nan = spec.canonical_nan;
    max_finite    = spec.max_finite;
    is_scale      = !has_sign && !is_integer;  // powers of two only
    is_tf32       = format_i == azulejo_pkg::Tf32;
    min_exponent  = EXPONENT_BIAS - {1'b0, spec.bias} + {8'd0, !is_scale};
    top_bit       = 32'd1 << (storage_bits - 6'd1);
  end

  logic unused_spec;  // the exponent's width follows from the others
  assign unused_spec = ^spec.exponent_bits;

  // Value
  logic        negative, subnormal, is_zero, is_infinite, is_nan;
  logic [23:0] x;         // significand, normalized
  logic [4:0]  zeros;     // leading zeros, of a subnormal
  logic [8:0]  exponent;  // of the significand's top bit

  always_comb begin
    negative    = value_i[31];
    subnormal   = value_i[30:23] == 8'd0;
    is_zero     = (value_i[30:0] == 31'd0) || (FlushDenormals && subnormal);
    is_infinite = value_i[30:0] == azulejo_pkg::FP32_INFINITY[30:0];
    is_nan      = value_i[30:0] > azulejo_pkg::FP32_INFINITY[30:0];

    x     = {!subnormal, value_i[22:0]};
    zeros = 5'd0;
    if (x[23:8] == 16'd0) begin zeros[4] = 1'b1; x = x << 16; end
    if (x[23:16] == 8'd0) begin zeros[3] = 1'b1; x = x << 8; end
    if (x[23:20] == 4'd0) begin zeros[2] = 1'b1; x = x << 4; end
    if (x[23:22] == 2'd0) begin zeros[1] = 1'b1; x = x << 2; end
    if (!x[23])           begin zeros[0] = 1'b1; x = x << 1; end
    exponent = {1'b0, value_i[30:23]} + {8'd0, subnormal} + (EXPONENT_BIAS - 9'd127) - {4'd0, zeros};
  end

  // Units: whole ones and the fraction of one, in 2^-32. A tie has no bits below the window, so nearest even needs none.
  logic        below;       // the normal values
  logic [8:0]  distance;
  logic [7:0]  binade;      // code's exponent field while all fraction bits of FP32 follow it
  logic [31:0] whole, fraction;

  always_comb begin
    below  = exponent < min_exponent;
    binade = below ? 8'd1 : 8'(exponent - min_exponent) + 8'd1;
    if (is_integer) begin
      distance          = EXPONENT_BIAS + 9'd31 - exponent;
      {whole, fraction} = {x, 40'd0} >> distance;
    end else begin
      distance          = 9'd23 - {4'd0, mantissa_bits} + (below ? min_exponent - exponent : 9'd0) +
                          `AZULEJO_FAULT(EncodeSubnormalUnit, {8'd0, below}, 9'd0);
      {whole, fraction} = {1'b0, binade, x[22:0], 32'd0} >> distance;
    end
    if (is_zero) {whole, fraction} = 64'd0;
  end

  // Rounding
  logic        up_nearest, up_stochastic, up;
  logic [32:0] rounded;

  always_comb begin
    // A scale's significand is 1, so odd.
    up_nearest    = fraction[31] &&
                    ((fraction[30:0] != 31'd0) || `AZULEJO_FAULT(EncodeTieAway, 1'b1, whole[0] || is_scale)) &&
                    `AZULEJO_FAULT(EncodeIntegerTruncates, !is_integer, 1'b1);
    up_stochastic = `AZULEJO_FAULT(EncodeThresholdInclusive, random_i <= fraction,
                    `AZULEJO_FAULT(EncodeRandomShifted, {1'b0, random_i[31:1]}, random_i) < fraction);
    up            = (stochastic_i && `AZULEJO_FAULT(EncodeIntegerStochastic, 1'b1, !is_integer)) ? up_stochastic :
                                                                                                 up_nearest;
    up            = up && `AZULEJO_FAULT(EncodeNeverUp, 1'b0, 1'b1);
    rounded       = `AZULEJO_FAULT(EncodeCarryLost, {1'b0, whole | {31'd0, up}}, {1'b0, whole} + {32'd0, up});
  end

  // Integer code
  logic        beyond;
  logic [31:0] limit, integer_magnitude, integer_code;

  always_comb begin
    limit = max_finite;
    if (negative) limit = has_sign ? max_finite + 32'd1 : 32'd0;
    beyond            = (exponent > EXPONENT_BIAS + 9'd31) || (rounded > {1'b0, limit});
    integer_magnitude = (beyond && `AZULEJO_FAULT(EncodeIntegerWraps, 1'b0, 1'b1)) ? limit : rounded[31:0];
    integer_code      = is_nan ? 32'd0 : (negative ? -integer_magnitude : integer_magnitude) & (top_bit | (top_bit - 32'd1));
  end

  // Floating-point code
  logic        overflow;
  logic [31:0] sign, magnitude, infinity, float_code;

  always_comb begin
    sign      = (has_sign && negative) ? top_bit : 32'd0;
    magnitude = rounded[31:0];
    infinity  = max_finite + 32'd1;
    if (is_scale && (rounded != 33'd0)) magnitude = rounded[31:0] - 32'd1;  // code 0 is a power of two
    if (is_tf32) begin
      magnitude = rounded[31:0] << TF32_UNUSED;
      infinity  = azulejo_pkg::FP32_INFINITY;
    end
    overflow = is_infinite || (magnitude > `AZULEJO_FAULT(EncodeOverflowLate, infinity, max_finite));

    if (is_nan) begin
      float_code = (has_nan && !`AZULEJO_FAULT(EncodeNanSaturated, saturate_i, 1'b0)) ? canonical_nan : max_finite;
    end else if (is_scale && negative && !is_zero && `AZULEJO_FAULT(EncodeScaleOfNegative, 1'b0, 1'b1)) begin
      float_code = canonical_nan;
    end else if (overflow) begin
      if ((saturate_i && `AZULEJO_FAULT(EncodeSaturateIgnored, 1'b0, 1'b1) &&
           !`AZULEJO_FAULT(EncodeInfinityKept, is_infinite && has_infinity, 1'b0)) ||
          (!has_infinity && !has_nan)) begin
        float_code = sign | max_finite;
      end else begin
        float_code = has_infinity ? sign | infinity : canonical_nan;
      end
    end else if (`AZULEJO_FAULT(EncodeSubnormalFlushed, 1'b1, FlushDenormals) &&
                 ((rounded >> mantissa_bits) == 33'd0)) begin
      float_code = sign;
    end else begin
      float_code = `AZULEJO_FAULT(EncodeZeroUnsigned, (magnitude == 32'd0) ? 32'd0 : sign, sign) | magnitude;
    end
  end

  assign code_o = is_integer ? integer_code : float_code;

`ifndef SYNTHESIS
  always_comb begin
    // Only zero has no top bit.
    NormalizedA: assert (x[23] || (value_i[30:0] == 31'd0));
    // No bit above the format's.
    FitsA: assert ((code_o & ~(top_bit | (top_bit - 32'd1))) == 32'd0);
    // FP32 loses nothing.
    ExactA: assert ((format_i != azulejo_pkg::Fp32) || (fraction == 32'd0) ||
                    `AZULEJO_FAULT(EncodeSubnormalUnit, 1'b1, 1'b0));
  end
`endif

endmodule
