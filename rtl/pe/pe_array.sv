// SPDX-License-Identifier: Apache-2.0
// A whole array of Rows x Cols PEs: psum[c] = sum over rows r of activation[r] * weight[r][c] for every beat of
// activations, added to PSUM's old value on request.
//
// Three valid-and-ready handshakes; a beat moves when both are high, and ready never waits for valid. A sum leaves
// PipelineStages * Rows + Cols cycles after its activations came in. Weights: Rows beats, of row counts 0 .. Rows - 1 in
// any order; they may come while activations do: row r no earlier than (PipelineStages - 1) * r cycles after the beat of the
// last `swap`, and the next `swap` after the last of them (in ascending rows without gaps: Rows cycles after the first).
`include "azulejo_fault.svh"
module pe_array #(
  parameter int unsigned Rows           = 4,
  parameter int unsigned Cols           = 4,
  parameter int unsigned PipelineStages = 1,
  parameter bit          FlushDenormals = 1'b0,
  parameter int unsigned RowWidth       = 7
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  // Weights of one row
  input  logic                 weight_valid_i,
  output logic                 weight_ready_o,
  input  logic [RowWidth-1:0]  weight_row_i,
  input  azulejo_pkg::format_e weight_format_i,
  input  azulejo_pkg::part_e   weight_part_i,
  input  logic                 weight_present_i [Cols],
  input  logic [31:0]          weight_code_i [Cols],

  // One column of the moving tile
  input  logic                 act_valid_i,
  output logic                 act_ready_o,
  input  logic                 act_swap_i,  // the loaded weights hold from here on
  input  azulejo_pkg::format_e act_format_i,
  input  azulejo_pkg::part_e   act_part_i,
  input  logic                 act_present_i [Rows],
  input  logic [31:0]          act_code_i [Rows],

  // Its sums, FP32
  output logic                 psum_valid_o,
  input  logic                 psum_ready_i,
  input  logic                 accumulate_i,
  input  logic [31:0]          addend_i [Cols],  // PSUM's old values of the row that psum_valid_o announces
  output logic [31:0]          psum_o [Cols]
`ifdef AZULEJO_FAULTS
  , input azulejo_fault_pkg::fault_e fault_i
  , input logic [7:0]                fault_row_i  // of the PE; 255: of every PE
  , input logic [7:0]                fault_col_i
`endif
);

  logic enable;
  assign enable         = !psum_valid_o || psum_ready_i;
  assign act_ready_o    = enable;
  assign weight_ready_o = enable;

  logic                  act_valid [Rows];
  logic                  act_swap [Rows];
  azulejo_pkg::operand_t act [Rows];

  pe_array_edge #(
    .Lanes          (Rows),
    .LaneSkew       (PipelineStages),
    .TagWidth       (1),
    .FlushDenormals (FlushDenormals)
  ) u_west (
    .clk_i,
    .rst_ni,
    .enable_i  (enable),
    .valid_i   (act_valid_i),
    .tag_i     (act_swap_i),
    .format_i  (act_format_i),
    .part_i    (act_part_i),
    .present_i (act_present_i),
    .code_i    (act_code_i),
    .valid_o   (act_valid),
    .tag_o     (act_swap),
    .operand_o (act)
    `AZULEJO_FAULT_CONNECT(fault_i)
  );

  logic                  weight_valid [Cols];
  logic [RowWidth-1:0]   weight_row [Cols];
  azulejo_pkg::operand_t weight [Cols];

  pe_array_edge #(
    .Lanes          (Cols),
    .LaneSkew       (1),
    .TagWidth       (RowWidth),
    .FlushDenormals (FlushDenormals)
  ) u_north (
    .clk_i,
    .rst_ni,
    .enable_i  (enable),
    .valid_i   (weight_valid_i),
    .tag_i     (weight_row_i),
    .format_i  (weight_format_i),
    .part_i    (weight_part_i),
    .present_i (weight_present_i),
    .code_i    (weight_code_i),
    .valid_o   (weight_valid),
    .tag_o     (weight_row),
    .operand_o (weight)
    `AZULEJO_FAULT_CONNECT(fault_i)
  );

  logic [31:0] psum_zero [Cols];
  logic        psum_valid [Cols];
  logic [31:0] psum [Cols];

  for (genvar c = 0; c < Cols; c++) begin : gen_north_psum
    assign psum_zero[c] = 32'd0;  // a column sum starts at +0
  end

  /* verilator lint_off PINCONNECTEMPTY */  // nothing lies east and south of the array
  pe_tile #(
    .Rows           (Rows),
    .Cols           (Cols),
    .PipelineStages (PipelineStages),
    .FlushDenormals (FlushDenormals),
    .RowWidth       (RowWidth)
  ) u_tile (
    .clk_i,
    .rst_ni,
    .enable_i       (enable),
    .act_valid_i    (act_valid),
    .act_swap_i     (act_swap),
    .act_i          (act),
    .act_valid_o    (),
    .act_swap_o     (),
    .act_o          (),
    .psum_i         (psum_zero),
    .psum_valid_o   (psum_valid),
    .psum_o         (psum),
    .weight_valid_i (weight_valid),
    .weight_row_i   (weight_row),
    .weight_i       (weight),
    .weight_valid_o (),
    .weight_row_o   (),
    .weight_o       ()
`ifdef AZULEJO_FAULTS
    , .fault_i, .fault_row_i, .fault_col_i
`endif
  );
  /* verilator lint_on PINCONNECTEMPTY */

  pe_array_drain #(
    .Lanes          (Cols),
    .FlushDenormals (FlushDenormals)
  ) u_drain (
    .clk_i,
    .rst_ni,
    .enable_i     (enable),
    .psum_valid_i (psum_valid),
    .psum_i       (psum),
    .accumulate_i,
    .addend_i,
    .valid_o      (psum_valid_o),
    .value_o      (psum_o)
    `AZULEJO_FAULT_CONNECT(fault_i)
  );

`ifndef SYNTHESIS
  // A sum that nobody took stays.
  logic        waiting_q;
  logic [31:0] waiting_psum_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waiting_q <= 1'b0;
    end else begin
      waiting_q      <= psum_valid_o && !psum_ready_i && !accumulate_i;
      waiting_psum_q <= psum_o[0];
`ifdef AZULEJO_FAULTS
      StableA: assert (!waiting_q || accumulate_i || (psum_valid_o && (psum_o[0] == waiting_psum_q)) ||
                       (fault_i != azulejo_fault_pkg::NoFault));
`else
      StableA: assert (!waiting_q || accumulate_i || (psum_valid_o && (psum_o[0] == waiting_psum_q)));
`endif
    end
  end
`endif

endmodule
