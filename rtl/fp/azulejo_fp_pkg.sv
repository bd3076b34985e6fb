// SPDX-License-Identifier: Apache-2.0
// The PE's arithmetic: multiply, align-add, round. Functions, and not modules, so that the clocked process that registers a
// result calls them: a simulator then computes each sum once per clock, and none where no operand is valid (twice as fast).
// Structs are taken apart and put together as vectors, since Yosys 0.23 knows no members in functions.
`include "azulejo_fault.svh"
package azulejo_fp_pkg;

  // The exact product of two operands: a 12 x 12 bit significand multiplier.
  function automatic azulejo_pkg::product_t fp_multiply(
    input azulejo_pkg::operand_t a_i,
    input azulejo_pkg::operand_t b_i
    `AZULEJO_FAULT_PORT
  );
    logic [2:0]  a_kind, b_kind, kind;
    logic        a_sign, b_sign, sign;
    logic [8:0]  a_exponent, b_exponent;
    logic [11:0] a_significand, b_significand;
    logic [9:0]  exponent;
    logic [23:0] significand;
    logic        has_zero, has_infinity, has_nan, has_low_half, is_absent;

    {a_kind, a_sign, a_exponent, a_significand} = a_i;
    {b_kind, b_sign, b_exponent, b_significand} = b_i;
    has_zero     = (a_kind == azulejo_pkg::Zero) || (b_kind == azulejo_pkg::Zero);
    has_infinity = (a_kind == azulejo_pkg::Infinity) || (b_kind == azulejo_pkg::Infinity);
    has_nan      = (a_kind == azulejo_pkg::NotANumber) || (b_kind == azulejo_pkg::NotANumber);
    has_low_half = (a_kind == azulejo_pkg::LowHalf) || (b_kind == azulejo_pkg::LowHalf);
    is_absent    = (a_kind == azulejo_pkg::Absent) || (b_kind == azulejo_pkg::Absent) ||
                   `AZULEJO_FAULT(MultiplySpecialPairKept, 1'b0, has_low_half && (has_infinity || has_nan));

    sign        = `AZULEJO_FAULT(MultiplySignOr, a_sign | b_sign, a_sign ^ b_sign);
    exponent    = {1'b0, a_exponent} + {1'b0, b_exponent} +
                  `AZULEJO_FAULT(MultiplyExponentOffByOne, 10'd1, 10'd0);
    significand = {12'd0, a_significand} *
                  {12'd0, `AZULEJO_FAULT(MultiplySameOperand, a_significand, b_significand)};
    if (`AZULEJO_FAULT(MultiplyLastBitDropped, 1'b1, 1'b0)) significand[0] = 1'b0;
    if (is_absent) begin
      kind = azulejo_pkg::Absent;
    end else if ((has_nan && `AZULEJO_FAULT(MultiplyNanDropped, 1'b0, 1'b1)) ||
                 (has_infinity && has_zero && `AZULEJO_FAULT(MultiplyInfinityTimesZero, 1'b0, 1'b1))) begin
      kind = azulejo_pkg::NotANumber;
    end else if (has_infinity) begin
      kind = azulejo_pkg::Infinity;
    end else begin
      kind = azulejo_pkg::Finite;
    end
    fp_multiply = {kind, sign, exponent, significand};

`ifndef SYNTHESIS
    // The product of two normalized significands has its top bit in one of two places.
    NormalizedA: assert (!(a_significand[11] && b_significand[11]) || (significand[23:22] != 2'd0) ||
                         `AZULEJO_FAULT(MultiplySameOperand, 1'b1, 1'b0));
`endif
  endfunction

  // Product and FP32 addend aligned and added, without rounding: the one of smaller exponent moves right in a window of 64
  // bits, and what leaves the window sticks in bit 0.
  //
  // 64 bits suffice: the one that stays is normalized, or is a subnormal addend, below whose last bit nothing but the sticky
  // bit counts; so at least 24 bits and a guard bit of the sum are exact.
  function automatic azulejo_pkg::sum_t fp_align_add(
    input azulejo_pkg::product_t product_i,
    input logic [31:0]           addend_i
    `AZULEJO_FAULT_PORT
  );
    logic [2:0]  product_kind;
    logic        product_sign;
    logic [9:0]  product_exponent;
    logic [23:0] product_significand;
    logic        special, sign;
    logic [31:0] value;
    logic [9:0]  exponent;
    logic [63:0] magnitude;
    logic        addend_sign, addend_subnormal, addend_is_infinite, addend_is_nan;
    logic [7:0]  addend_field;
    logic [23:0] addend_significand;
    logic [9:0]  addend_exponent, distance;
    logic        product_is_larger, lost, subtract, negative;
    logic [63:0] kept, moving, moved, total;

    {product_kind, product_sign, product_exponent, product_significand} = product_i;
    addend_sign        = addend_i[31];
    addend_field       = addend_i[30:23];
    addend_subnormal   = addend_field == 8'd0;
    addend_significand = {`AZULEJO_FAULT(AddSubnormalHiddenBit, 1'b1, !addend_subnormal), addend_i[22:0]};
    // In the product's bias, at the significand's last bit: 362 = 2 * OPERAND_BIAS - 150.
    addend_exponent    = {2'd0, addend_field} +
                         {9'd0, `AZULEJO_FAULT(AddSubnormalExponent, 1'b0, addend_subnormal)} + 10'd362;

    // Alignment. A zero product has no exponent of meaning and always moves.
    product_is_larger = (product_exponent > addend_exponent) && (product_significand != 24'd0);
    if (product_is_larger) begin
      distance = product_exponent - addend_exponent;
      kept     = {4'd0, product_significand, 36'd0};
      moving   = {4'd0, addend_significand, 36'd0};
    end else begin
      distance = addend_exponent - product_exponent;
      kept     = {4'd0, addend_significand, 36'd0};
      moving   = {4'd0, product_significand, 36'd0};
    end
    distance = `AZULEJO_FAULT(AddAlignWraps, {4'd0, distance[5:0]},
               `AZULEJO_FAULT(AddAlignOffByOne, distance + 10'd1, distance));
    moved    = moving >> distance;
    lost     = `AZULEJO_FAULT(AddStickyDropped, 1'b0, (moved << distance) != moving);

    // Addition. The window leaves room for a carry, so bit 63 is the sign of a difference.
    subtract = `AZULEJO_FAULT(AddNeverSubtracts, 1'b0, product_sign ^ addend_sign);
    total    = subtract ? kept - {moved[63:1], moved[0] | lost} : kept + {moved[63:1], moved[0] | lost};
    negative = total[63];
    exponent  = product_is_larger ? product_exponent : addend_exponent;
    magnitude = negative ? -total : total;
    if (total == 64'd0) begin
      // Equal magnitudes of unlike signs give +0, two zeros of one sign that sign.
      sign = `AZULEJO_FAULT(AddCancellationSign, addend_sign | product_sign,
                                         addend_sign & product_sign);
    end else begin
      sign = (product_is_larger ? product_sign : addend_sign) ^
                          `AZULEJO_FAULT(AddSignOfLarger, 1'b0, negative);
    end

    // Infinities, NaNs and absent products
    addend_is_infinite   = addend_i[30:0] == azulejo_pkg::FP32_INFINITY[30:0];
    addend_is_nan        = addend_i[30:0] > azulejo_pkg::FP32_INFINITY[30:0];
    special = (addend_field == 8'hFF) || (product_kind != azulejo_pkg::Finite);
    if (product_kind == azulejo_pkg::Absent) begin
      value   = addend_i;
      special = `AZULEJO_FAULT(AddAbsentAsZero, addend_i[30:0] != 31'd0, 1'b1);
      if (`AZULEJO_FAULT(AddAbsentAsZero, 1'b1, 1'b0)) sign = 1'b0;
    end else if (addend_is_nan && `AZULEJO_FAULT(AddNanPayloadKept, 1'b1, 1'b0)) begin
      value = addend_i;
    end else if (addend_is_nan || (product_kind == azulejo_pkg::NotANumber) ||
                 (addend_is_infinite && (product_kind == azulejo_pkg::Infinity) && (product_sign ^ addend_sign) &&
                  `AZULEJO_FAULT(AddInfinityMinusInfinity, 1'b0, 1'b1))) begin
      value = azulejo_pkg::FP32_NAN;
    end else begin
      value = {addend_is_infinite ? addend_sign : product_sign, azulejo_pkg::FP32_INFINITY[30:0]};
    end
    fp_align_add = {special, value, sign, exponent, magnitude};

`ifndef SYNTHESIS
    // The window leaves room for a carry, and a magnitude has no sign bit.
    RoomForCarryA: assert ((kept[63:60] == 4'd0) && (moved[63:60] == 4'd0) && !magnitude[63]);
`endif
  endfunction

  // A sum normalized and rounded once, to nearest even, to FP32. With `flush_denormals_i` a result with exponent field 0
  // becomes a signed zero.
  function automatic logic [31:0] fp_round(
    input azulejo_pkg::sum_t sum_i,
    input logic              flush_denormals_i
    `AZULEJO_FAULT_PORT
  );
    logic        special, sign;
    logic [31:0] value;
    logic [9:0]  sum_exponent;
    logic [63:0] magnitude;
    logic [63:0] x, normal;
    logic [5:0]  zeros;
    logic [9:0]  limit, shift, exponent;
    logic        sticky, up;
    logic [33:0] rounded;

    {special, value, sign, sum_exponent, magnitude} = sum_i;

    // Leading zeros
    x     = magnitude;
    zeros = 6'd0;
    if (x[63:32] == 32'd0) begin zeros[5] = 1'b1; x = x << 32; end
    if (x[63:48] == 16'd0) begin zeros[4] = 1'b1; x = x << 16; end
    if (x[63:56] == 8'd0)  begin zeros[3] = 1'b1; x = x << 8; end
    if (x[63:60] == 4'd0)  begin zeros[2] = 1'b1; x = x << 4; end
    if (x[63:62] == 2'd0)  begin zeros[1] = 1'b1; x = x << 2; end
    zeros[0] = `AZULEJO_FAULT(RoundNormalizeShort, 1'b0, !x[63]);

    // The shift that puts 2^-149 at bit 40 is exponent - 359; a longer one would round a subnormal too finely.
    limit    = sum_exponent - 10'd359;
    shift    = ({4'd0, zeros} < limit) ? {4'd0, zeros} : limit;
    exponent = limit - shift + `AZULEJO_FAULT(RoundExponentOffByOne, 10'd1, 10'd0);
    normal   = magnitude << shift;
    sticky   = `AZULEJO_FAULT(RoundStickyIgnored, 1'b0, normal[38:0] != 39'd0);
    up       = normal[39] && (sticky || `AZULEJO_FAULT(RoundTieAway, 1'b1, normal[40])) &&
               `AZULEJO_FAULT(RoundTruncates, 1'b0, 1'b1);
    // The hidden bit and the carry of the rounding both count in the exponent field.
    rounded  = {1'b0, exponent, 23'd0} + {10'd0, normal[63:40]} +
               {33'd0, up && !`AZULEJO_FAULT(RoundCarryLost, &normal[62:40], 1'b0)};
    if (special) begin
      fp_round = value;
    end else if (magnitude == 64'd0) begin
      fp_round = {sign && `AZULEJO_FAULT(RoundZeroUnsigned, 1'b0, 1'b1), 31'd0};
    end else if (rounded >= {3'd0, azulejo_pkg::FP32_INFINITY[30:0]}) begin
      fp_round = {sign, azulejo_pkg::FP32_INFINITY[30:0] - {30'd0, `AZULEJO_FAULT(RoundOverflowToMax, 1'b1, 1'b0)}};
    end else if ((flush_denormals_i || `AZULEJO_FAULT(RoundSubnormalFlushed, 1'b1, 1'b0)) && (rounded < 34'h80_0000)) begin
      fp_round = {sign, 31'd0};
    end else begin
      fp_round = {sign, rounded[30:0]};
    end

`ifndef SYNTHESIS
    // Normalized, or as far left as a subnormal may be.
    NormalA: assert (special || (magnitude == 64'd0) || normal[63] || (shift == limit) ||
                     `AZULEJO_FAULT(RoundNormalizeShort, 1'b1, 1'b0));
`endif
  endfunction

endpackage
