// SPDX-License-Identifier: Apache-2.0
// Processing element (PE) of a weight-stationary systolic array: activations move east, partial sums south, weights south.
//
// Every valid activation makes psum_o = psum_i + activation * weight, rounded once, PipelineStages cycles later; the
// activation itself appears in the east after one cycle. The weight is double-buffered: the chain fills a shadow, and an
// activation with `swap` makes it the active weight, beginning with that activation's own product. A weight travels until
// its row count is 0. `enable_i` low freezes everything (ready-free stall: the array's edge turns it into handshakes).
`include "azulejo_fault.svh"
module pe #(
  parameter int unsigned PipelineStages = 1,     // cycles from psum_i to psum_o: 1 multiply-add-round, 2 multiply |
                                                 // add-round, 3 multiply | add | round
  parameter bit          FlushDenormals = 1'b0,  // a rounded sum with exponent field 0 becomes a signed zero
  parameter int unsigned RowWidth       = 7      // bits of the row count
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,  // asynchronous; drops what is valid
  input  logic                  enable_i,

  // From the west, to the east
  input  logic                  act_valid_i,
  input  logic                  act_swap_i,  // the first activation that meets the weight in the shadow
  input  azulejo_pkg::operand_t act_i,
  output logic                  act_valid_o,
  output logic                  act_swap_o,
  output azulejo_pkg::operand_t act_o,

  // From the north, to the south: FP32, valid with act_valid_i
  input  logic [31:0]           psum_i,
  output logic                  psum_valid_o,
  output logic [31:0]           psum_o,

  // Weight-load chain, from the north to the south
  input  logic                  weight_valid_i,
  input  logic [RowWidth-1:0]   weight_row_i,  // PEs still to pass; 0: this one takes it
  input  azulejo_pkg::operand_t weight_i,
  output logic                  weight_valid_o,
  output logic [RowWidth-1:0]   weight_row_o,
  output azulejo_pkg::operand_t weight_o
  `AZULEJO_FAULT_PORT
);

  logic enable;
  assign enable = enable_i || `AZULEJO_FAULT(PeIgnoresStall, 1'b1, 1'b0);

  // Activation register
  logic                  act_valid_q, act_swap_q;
  azulejo_pkg::operand_t act_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      act_valid_q <= 1'b0;
      act_swap_q  <= 1'b0;
    end else if (enable) begin
      act_valid_q <= `AZULEJO_FAULT(PeLostValid, act_valid_i && !act_swap_i, act_valid_i) ||
                     `AZULEJO_FAULT(PeValidStuck, act_valid_q, 1'b0);
      act_swap_q  <= act_valid_i && act_swap_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (enable && act_valid_i && !`AZULEJO_FAULT(PeStaleActivation, act_swap_i, 1'b0)) begin
      act_q <= act_i;
    end
  end

  assign act_valid_o = act_valid_q;
  assign act_swap_o  = act_swap_q;
  assign act_o       = act_q;

  // Weights: chain, shadow and active
  logic                  weight_valid_q, take_weight, swap;
  logic [RowWidth-1:0]   weight_row_q;
  azulejo_pkg::operand_t weight_q, shadow_q, active_q, weight;

  assign take_weight = weight_valid_i &&
                       (weight_row_i == `AZULEJO_FAULT(PeWeightRowOffByOne, {{(RowWidth - 1) {1'b0}}, 1'b1}, '0));
  assign swap        = act_valid_i && act_swap_i && `AZULEJO_FAULT(PeStaleWeight, 1'b0, 1'b1);
  assign weight      = `AZULEJO_FAULT(PeNoDoubleBuffer, shadow_q, (swap ? shadow_q : active_q));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      weight_valid_q <= 1'b0;
    end else if (enable) begin
      weight_valid_q <= weight_valid_i && (weight_row_i != '0);
    end
  end

  always_ff @(posedge clk_i) begin
    if (enable && weight_valid_i) begin
      weight_q     <= `AZULEJO_FAULT(PeWeightChainBroken, weight_q, weight_i);
      weight_row_q <= weight_row_i - 1'b1;
    end
    if (enable && take_weight) shadow_q <= weight_i;
    if (enable && swap) active_q <= shadow_q;
  end

  assign weight_valid_o = weight_valid_q;
  assign weight_row_o   = weight_row_q;
  assign weight_o       = weight_q;

  // Multiply-add, in one, two or three clocks
  logic        psum_valid_q;
  logic [31:0] psum_q;

  if (PipelineStages == 1) begin : gen_one_stage
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        psum_valid_q <= 1'b0;
      end else if (enable) begin
        psum_valid_q <= act_valid_i;
      end
    end

    always_ff @(posedge clk_i) begin
      if (enable && act_valid_i) begin
        psum_q <= azulejo_fp_pkg::fp_round(
            azulejo_fp_pkg::fp_align_add(
                azulejo_fp_pkg::fp_multiply(act_i, weight `AZULEJO_FAULT_PASS(fault_i)),
                psum_i `AZULEJO_FAULT_PASS(fault_i)),
            FlushDenormals `AZULEJO_FAULT_PASS(fault_i));
      end
    end
  end else begin : gen_stages
    azulejo_pkg::product_t product_q;
    logic                  product_valid_q;
    logic [31:0]           addend_q;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        product_valid_q <= 1'b0;
      end else if (enable) begin
        product_valid_q <= act_valid_i;
      end
    end

    always_ff @(posedge clk_i) begin
      if (enable && act_valid_i) begin
        product_q <= azulejo_fp_pkg::fp_multiply(act_i, weight `AZULEJO_FAULT_PASS(fault_i));
        addend_q  <= psum_i;
      end
    end

    if (PipelineStages == 2) begin : gen_two
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) begin
          psum_valid_q <= 1'b0;
        end else if (enable) begin
          psum_valid_q <= product_valid_q;
        end
      end

      always_ff @(posedge clk_i) begin
        if (enable && product_valid_q) begin
          psum_q <= azulejo_fp_pkg::fp_round(
              azulejo_fp_pkg::fp_align_add(product_q, addend_q `AZULEJO_FAULT_PASS(fault_i)),
              FlushDenormals `AZULEJO_FAULT_PASS(fault_i));
        end
      end
    end else begin : gen_three
      azulejo_pkg::sum_t sum_q;
      logic              sum_valid_q;

      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) begin
          sum_valid_q  <= 1'b0;
          psum_valid_q <= 1'b0;
        end else if (enable) begin
          sum_valid_q  <= product_valid_q;
          psum_valid_q <= sum_valid_q;
        end
      end

      always_ff @(posedge clk_i) begin
        if (enable && product_valid_q) begin
          sum_q <= azulejo_fp_pkg::fp_align_add(product_q, addend_q `AZULEJO_FAULT_PASS(fault_i));
        end
        if (enable && sum_valid_q) begin
          psum_q <= azulejo_fp_pkg::fp_round(sum_q, FlushDenormals `AZULEJO_FAULT_PASS(fault_i));
        end
      end
    end
  end

  assign psum_valid_o = psum_valid_q;
  assign psum_o       = psum_q;

`ifndef SYNTHESIS
  // A stall holds every output.
  logic        stalled_q;
  logic [31:0] held_psum_q;
  logic        held_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      stalled_q <= 1'b0;
    end else begin
      stalled_q    <= !enable_i;
      held_psum_q  <= psum_o;
      held_valid_q <= act_valid_o;
      StallHoldsA: assert (!stalled_q || `AZULEJO_FAULT(PeIgnoresStall, 1'b1, 1'b0) ||
                           ((psum_o == held_psum_q) && (act_valid_o == held_valid_q)));
      // A swap comes with an activation.
      SwapIsValidA: assert (!act_swap_i || act_valid_i);
    end
  end
`endif

endmodule
