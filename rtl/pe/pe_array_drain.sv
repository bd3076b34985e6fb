// SPDX-License-Identifier: Apache-2.0
// The south edge of the PE array: aligns the column sums, of which lane i comes i cycles after lane 0, and adds PSUM's old
// value to each, with one rounding, if `accumulate_i`. No latency beyond the alignment.
`include "azulejo_fault.svh"
module pe_array_drain #(
  parameter int unsigned Lanes          = 4,
  parameter bit          FlushDenormals = 1'b0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        enable_i,

  input  logic        psum_valid_i [Lanes],
  input  logic [31:0] psum_i [Lanes],

  // PSUM: where valid_o, value_o is what to write; addend_i is the old value of the same words.
  input  logic        accumulate_i,
  input  logic [31:0] addend_i [Lanes],
  output logic        valid_o,
  output logic [31:0] value_o [Lanes]
  `AZULEJO_FAULT_PORT
);

  logic enable;
  assign enable = enable_i || `AZULEJO_FAULT(DrainIgnoresStall, 1'b1, 1'b0);

  logic lane_valid [Lanes];
  logic first_lane_early;

  for (genvar i = 0; i < Lanes; i++) begin : gen_lanes
    localparam int unsigned Depth = Lanes - 1 - i;

    logic [31:0] aligned, sum;

    if (Depth == 0) begin : gen_direct
      assign lane_valid[i] = psum_valid_i[i];
      assign aligned       = psum_i[i];
    end else begin : gen_delay
      logic [Depth-1:0] valid_q;
      logic [31:0]      psum_q [Depth];

      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) begin
          valid_q <= '0;
        end else if (enable) begin
          valid_q[0] <= psum_valid_i[i];
          for (int unsigned d = 1; d < Depth; d++) valid_q[d] <= valid_q[d-1];
        end
      end

      always_ff @(posedge clk_i) begin
        if (enable) begin
          psum_q[0] <= psum_i[i];
          for (int unsigned d = 1; d < Depth; d++) psum_q[d] <= psum_q[d-1];
        end
      end

      // The fault takes the first lane out one register early.
      localparam int unsigned Early = (i == 0 && Depth > 1) ? Depth - 2 : Depth - 1;
      assign lane_valid[i] = valid_q[Depth-1];
      assign aligned       = `AZULEJO_FAULT(DrainSkewShort, psum_q[Early], psum_q[Depth-1]);
    end

    if (i == 0) begin : gen_first
      assign first_lane_early = psum_valid_i[0];
    end

    fp_add #(
      .FlushDenormals (FlushDenormals)
    ) u_add (
      .a_i   (aligned),
      .b_i   (`AZULEJO_FAULT(DrainAddendOfFirstLane, addend_i[0], addend_i[i])),
      .sum_o (sum)
      `AZULEJO_FAULT_CONNECT(fault_i)
    );

    assign value_o[i] = (accumulate_i && `AZULEJO_FAULT(DrainNeverAccumulates, 1'b0, 1'b1)) ? sum : aligned;
  end

  assign valid_o = `AZULEJO_FAULT(DrainValidEarly, first_lane_early, lane_valid[0]);

`ifndef SYNTHESIS
  // All lanes of a row arrive together.
  always_ff @(posedge clk_i) begin
    if (rst_ni && enable_i) begin
      for (int unsigned i = 1; i < Lanes; i++) begin
`ifdef AZULEJO_FAULTS
        AlignedA: assert ((lane_valid[i] == lane_valid[0]) || (fault_i != azulejo_fault_pkg::NoFault));
`else
        AlignedA: assert (lane_valid[i] == lane_valid[0]);
`endif
      end
    end
  end
`endif

endmodule
