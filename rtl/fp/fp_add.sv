// SPDX-License-Identifier: Apache-2.0
// FP32 sum with one rounding to nearest even and canonical NaNs: PSUM's accumulation; combinational.
`include "azulejo_fault.svh"
module fp_add #(
  parameter bit FlushDenormals = 1'b0  // subnormal operands and a subnormal sum become signed zeros
) (
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [31:0] sum_o
  `AZULEJO_FAULT_PORT
);

  localparam logic [9:0] FP32_BIAS = 10'd362;  // 2 * OPERAND_BIAS - 150

  logic [31:0]           a, b;
  azulejo_pkg::product_t product;

  assign a = (FlushDenormals && (a_i[30:23] == 8'd0)) ? {a_i[31], 31'd0} : a_i;
  assign b = (FlushDenormals && (b_i[30:23] == 8'd0)) ? {b_i[31], 31'd0} : b_i;

  // `a` takes the product's place.
  always_comb begin
    product.sign        = a[31];
    product.exponent    = {2'd0, a[30:23]} + {9'd0, a[30:23] == 8'd0} + FP32_BIAS;
    product.significand = {a[30:23] != 8'd0, a[22:0]};
    if (a[30:23] != 8'hFF) begin
      product.kind = azulejo_pkg::Finite;
    end else if (a[22:0] == 23'd0) begin
      product.kind = azulejo_pkg::Infinity;
    end else begin
      product.kind = azulejo_pkg::NotANumber;
    end
  end

  assign sum_o = azulejo_fp_pkg::fp_round(azulejo_fp_pkg::fp_align_add(product, b `AZULEJO_FAULT_PASS(fault_i)),
                                          FlushDenormals `AZULEJO_FAULT_PASS(fault_i));

`ifndef SYNTHESIS
  // A NaN leaves as the one canonical NaN.
  always_comb begin
    CanonicalA: assert ((sum_o[30:0] <= azulejo_pkg::FP32_INFINITY[30:0]) || (sum_o == azulejo_pkg::FP32_NAN) ||
                        `AZULEJO_FAULT(AddNanPayloadKept, 1'b1, 1'b0));
  end
`endif

endmodule
