// SPDX-License-Identifier: Apache-2.0
// An edge of the PE array: decodes one beat of Lanes elements into operands and delays lane i by LaneSkew * i cycles more
// than lane 0, which takes one cycle. West edge: activations, LaneSkew = PipelineStages, the tag is `swap`. North edge:
// weights, LaneSkew = 1, the tag is the row count.
`include "azulejo_fault.svh"
module pe_array_edge #(
  parameter int unsigned Lanes          = 4,
  parameter int unsigned LaneSkew       = 1,
  parameter int unsigned TagWidth       = 1,
  parameter bit          FlushDenormals = 1'b0
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  enable_i,

  input  logic                  valid_i,
  input  logic [TagWidth-1:0]   tag_i,
  input  azulejo_pkg::format_e  format_i,
  input  azulejo_pkg::part_e    part_i,
  input  logic                  present_i [Lanes],  // low: the lane has no element, its operand is Absent
  input  logic [31:0]           code_i [Lanes],

  output logic                  valid_o [Lanes],
  output logic [TagWidth-1:0]   tag_o [Lanes],
  output azulejo_pkg::operand_t operand_o [Lanes]
  `AZULEJO_FAULT_PORT
);

  logic enable;
  assign enable = enable_i || `AZULEJO_FAULT(EdgeIgnoresStall, 1'b1, 1'b0);

  for (genvar i = 0; i < Lanes; i++) begin : gen_lanes
    localparam int unsigned Depth  = LaneSkew * i + 1;
    localparam int unsigned Source = (i < 2 && Lanes >= 2) ? 1 - i : i;  // of the fault that exchanges two lanes

    azulejo_pkg::operand_t decoded, operand;
    logic [Depth-1:0]      valid_q;
    logic [TagWidth-1:0]   tag_q [Depth];
    azulejo_pkg::operand_t operand_q [Depth];

    fp_decode #(
      .FlushDenormals (FlushDenormals)
    ) u_decode (
      .format_i  (`AZULEJO_FAULT(EdgeFormatFixed, azulejo_pkg::Bf16, format_i)),
      .part_i    (`AZULEJO_FAULT(EdgeFormatFixed, azulejo_pkg::Whole, part_i)),
      .code_i    (`AZULEJO_FAULT(EdgeLanesExchanged, code_i[Source], code_i[i])),
      .operand_o (decoded)
      `AZULEJO_FAULT_CONNECT(fault_i)
    );

    always_comb begin
      operand = decoded;
      if (!present_i[i]) operand = '{kind: azulejo_pkg::Absent, sign: 1'b0, exponent: 9'd0, significand: 12'd0};
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        valid_q <= '0;
      end else if (enable) begin
        valid_q[0] <= valid_i;
        for (int unsigned d = 1; d < Depth; d++) valid_q[d] <= valid_q[d-1];
      end
    end

    always_ff @(posedge clk_i) begin
      if (enable) begin
        tag_q[0]     <= `AZULEJO_FAULT(EdgeSwapLost, '0, tag_i);
        operand_q[0] <= operand;
        for (int unsigned d = 1; d < Depth; d++) begin
          tag_q[d]     <= tag_q[d-1];
          operand_q[d] <= operand_q[d-1];
        end
      end
    end

    // The fault takes the last lane out one register early.
    localparam int unsigned Early = (i == Lanes - 1 && Depth > 1) ? Depth - 2 : Depth - 1;

    assign valid_o[i]   = `AZULEJO_FAULT(EdgeSkewShort, valid_q[Early], valid_q[Depth-1]);
    assign tag_o[i]     = `AZULEJO_FAULT(EdgeSkewShort, tag_q[Early], tag_q[Depth-1]);
    assign operand_o[i] = `AZULEJO_FAULT(EdgeSkewShort, operand_q[Early], operand_q[Depth-1]);
  end

`ifndef SYNTHESIS
  // A stall holds what the edge shows, and a lane without an element never shows one.
  logic                  stalled_q, held_valid_q;
  azulejo_pkg::operand_t held_operand_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      stalled_q <= 1'b0;
    end else begin
      stalled_q      <= !enable_i;
      held_valid_q   <= valid_o[0];
      held_operand_q <= operand_o[0];
      StallHoldsA: assert (!stalled_q || `AZULEJO_FAULT(EdgeIgnoresStall, 1'b1, 1'b0) ||
                           ((valid_o[0] == held_valid_q) && (operand_o[0] == held_operand_q)));
    end
  end

  for (genvar i = 0; i < Lanes; i++) begin : gen_assertions
    always_comb begin
      AbsentA: assert (present_i[i] || (gen_lanes[i].operand.kind == azulejo_pkg::Absent));
    end
  end
`endif

endmodule
