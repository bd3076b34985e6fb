// SPDX-License-Identifier: Apache-2.0
// A mesh of Rows x Cols PEs without edge: tiles side by side make an array of any size.
//
// The caller skews: row r gets its activation PipelineStages * r cycles after row 0, and column c its partial sum c cycles
// after column 0, as the neighbours deliver them. The PE's module can be replaced by a macro, for a design of one's own.
`include "azulejo_fault.svh"
`ifndef AZULEJO_PE
  `define AZULEJO_PE pe
`endif
module pe_tile #(
  parameter int unsigned Rows           = 4,
  parameter int unsigned Cols           = 4,
  parameter int unsigned PipelineStages = 1,
  parameter bit          FlushDenormals = 1'b0,
  parameter int unsigned RowWidth       = 7
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  enable_i,

  input  logic                  act_valid_i [Rows],
  input  logic                  act_swap_i [Rows],
  input  azulejo_pkg::operand_t act_i [Rows],
  output logic                  act_valid_o [Rows],
  output logic                  act_swap_o [Rows],
  output azulejo_pkg::operand_t act_o [Rows],

  input  logic [31:0]           psum_i [Cols],
  output logic                  psum_valid_o [Cols],
  output logic [31:0]           psum_o [Cols],

  input  logic                  weight_valid_i [Cols],
  input  logic [RowWidth-1:0]   weight_row_i [Cols],
  input  azulejo_pkg::operand_t weight_i [Cols],
  output logic                  weight_valid_o [Cols],
  output logic [RowWidth-1:0]   weight_row_o [Cols],
  output azulejo_pkg::operand_t weight_o [Cols]
`ifdef AZULEJO_FAULTS
  // The fault is in one PE of the tile, or in all when a coordinate is 255.
  , input azulejo_fault_pkg::fault_e fault_i
  , input logic [7:0]                fault_row_i
  , input logic [7:0]                fault_col_i
`endif
);

  // Each cell's nets: what its PE gives to its eastern and southern neighbours, and what it gets from the west and the north.
  // Nets of their own, not arrays of nets, since those make the simulation a third slower.
  for (genvar r = 0; r < Rows; r++) begin : gen_rows
    for (genvar c = 0; c < Cols; c++) begin : gen_cols
      logic                  west_act_valid, west_act_swap, act_valid, act_swap;
      azulejo_pkg::operand_t west_act, act;
      logic                  psum_valid;
      logic [31:0]           north_psum, psum;
      logic                  north_weight_valid, weight_valid;
      logic [RowWidth-1:0]   north_weight_row, weight_row;
      azulejo_pkg::operand_t north_weight, weight;

      if (c == 0) begin : gen_west
        assign west_act_valid = act_valid_i[r];
        assign west_act_swap  = act_swap_i[r];
        assign west_act       = act_i[r];
      end else begin : gen_west
        assign west_act_valid = gen_rows[r].gen_cols[c-1].act_valid;
        assign west_act_swap  = gen_rows[r].gen_cols[c-1].act_swap;
        assign west_act       = gen_rows[r].gen_cols[c-1].act;
      end

      if (r == 0) begin : gen_north
        assign north_psum         = psum_i[c];
        assign north_weight_valid = weight_valid_i[c];
        assign north_weight_row   = weight_row_i[c];
        assign north_weight       = weight_i[c];
      end else begin : gen_north
        assign north_psum         = gen_rows[r-1].gen_cols[c].psum;
        assign north_weight_valid = gen_rows[r-1].gen_cols[c].weight_valid;
        assign north_weight_row   = gen_rows[r-1].gen_cols[c].weight_row;
        assign north_weight       = gen_rows[r-1].gen_cols[c].weight;
      end

`ifdef AZULEJO_FAULTS
      azulejo_fault_pkg::fault_e fault;
      assign fault = ((fault_row_i == 8'hFF) || (fault_row_i == 8'(r))) &&
                     ((fault_col_i == 8'hFF) || (fault_col_i == 8'(c))) ? fault_i : azulejo_fault_pkg::NoFault;
`endif

      `AZULEJO_PE #(
        .PipelineStages (PipelineStages),
        .FlushDenormals (FlushDenormals),
        .RowWidth       (RowWidth)
      ) u_pe (
        .clk_i,
        .rst_ni,
        .enable_i,
        .act_valid_i    (west_act_valid),
        .act_swap_i     (west_act_swap),
        .act_i          (west_act),
        .act_valid_o    (act_valid),
        .act_swap_o     (act_swap),
        .act_o          (act),
        .psum_i         (north_psum),
        .psum_valid_o   (psum_valid),
        .psum_o         (psum),
        .weight_valid_i (north_weight_valid),
        .weight_row_i   (north_weight_row),
        .weight_i       (north_weight),
        .weight_valid_o (weight_valid),
        .weight_row_o   (weight_row),
        .weight_o       (weight)
        `AZULEJO_FAULT_CONNECT(fault)
      );

      if (c == Cols - 1) begin : gen_east
        assign act_valid_o[r] = act_valid;
        assign act_swap_o[r]  = act_swap;
        assign act_o[r]       = act;
      end

      if (r == Rows - 1) begin : gen_south
        assign psum_valid_o[c]   = psum_valid;
        assign psum_o[c]         = psum;
        assign weight_valid_o[c] = weight_valid;
        assign weight_row_o[c]   = weight_row;
        assign weight_o[c]       = weight;
      end else begin : gen_inner
        logic unused_psum_valid;  // within the tile it goes with the activation
        assign unused_psum_valid = psum_valid;
      end
    end
  end

endmodule
