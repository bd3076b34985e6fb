// SPDX-License-Identifier: Apache-2.0
// FP32 values at an engine's output to codes of any format: a beat of Lanes values in, a beat of codes out a cycle later, one
// beat a cycle. Lane i has a random source of its own, as partition i of an engine has.
//
// Valid-and-ready handshakes; a beat moves when both are high. A lane draws one word exactly when a beat is accepted in which
// it has an element to be rounded stochastically into a floating-point format narrower than FP32, whatever the element's
// value; so the words do not depend on the data, nor on the time at which it comes.
`include "azulejo_fault.svh"
module stochastic_rounding_unit #(
  parameter int unsigned Lanes          = 1,
  parameter bit          Xorwow         = 1'b0,  // else the LFSR
  parameter bit          FlushDenormals = 1'b0
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,        // asynchronous; drops what is valid

  // Random state, lane 0 lowest; of a lane the words of RandomLane::state(), word 0 lowest
  input  logic [Lanes-1:0]     load_i,        // a beat of the same cycle still takes its word from the old state
  input  logic [Lanes*192-1:0] state_i,
  output logic [Lanes*192-1:0] state_o,

  input  logic                 valid_i,
  output logic                 ready_o,
  input  azulejo_pkg::format_e format_i,
  input  logic                 stochastic_i,
  input  logic                 saturate_i,
  input  logic [Lanes-1:0]     lane_i,        // lanes that have an element
  input  logic [Lanes*32-1:0]  value_i,

  output logic                 valid_o,
  input  logic                 ready_i,
  output logic [Lanes-1:0]     lane_o,
  output logic [Lanes*32-1:0]  code_o         // meaningless in a lane without element
  `AZULEJO_FAULT_PORT
);

  logic             accept, takes_word;
  logic             valid_q;
  logic [Lanes-1:0] lane_q, draw;

  assign ready_o = !valid_q || ready_i || `AZULEJO_FAULT(UnitDropsBeat, 1'b1, 1'b0);
  assign accept  = valid_i && ready_o;

  // The integers come last in format_e.
  assign takes_word = (stochastic_i || `AZULEJO_FAULT(UnitDrawsInNearestEven, 1'b1, 1'b0)) &&
                      (((format_i != azulejo_pkg::Fp32) && (format_i < azulejo_pkg::Int8)) ||
                       `AZULEJO_FAULT(UnitDrawsForExactFormat, 1'b1, 1'b0));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
    end else if (ready_o) begin
      valid_q <= valid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (accept) lane_q <= lane_i;
  end

  for (genvar i = 0; i < Lanes; i++) begin : gen_lanes
    logic [31:0] value, word, code, code_q;
    logic        load;

    assign value   = value_i[32*i+:32];
    assign load    = load_i[i] && `AZULEJO_FAULT(UnitLoadIgnored, 1'b0, 1'b1);
    assign draw[i] = (accept || `AZULEJO_FAULT(UnitDrawsWhileStalled, valid_i, 1'b0)) && takes_word &&
                     (lane_i[i] || `AZULEJO_FAULT(UnitDrawsForAbsentLane, 1'b1, 1'b0)) &&
                     !`AZULEJO_FAULT(UnitDrawSkipsZero, value[30:0] == 31'd0,
                      `AZULEJO_FAULT(UnitDrawSkipsSpecial, value[30:23] == 8'hFF, 1'b0));

    if (Xorwow) begin : gen_xorwow
      xorwow_source u_source (
        .clk_i,
        .rst_ni,
        .load_i  (load),
        .state_i (state_i[192*i+:192]),
        .state_o (state_o[192*i+:192]),
        .draw_i  (draw[i]),
        .word_o  (word)
        `AZULEJO_FAULT_CONNECT(fault_i)
      );
    end else begin : gen_lfsr
      lfsr_source u_source (
        .clk_i,
        .rst_ni,
        .load_i  (load),
        .state_i (state_i[192*i+:192]),
        .state_o (state_o[192*i+:192]),
        .draw_i  (draw[i]),
        .word_o  (word)
        `AZULEJO_FAULT_CONNECT(fault_i)
      );
    end

    fp_encode #(
      .FlushDenormals (FlushDenormals)
    ) u_encode (
      .format_i,
      .stochastic_i,
      .saturate_i,
      .value_i  (value),
      .random_i (`AZULEJO_FAULT(UnitOldWord, state_o[192*i+:32],
                 `AZULEJO_FAULT(UnitWordOfFirstLane, gen_lanes[0].word, word))),
      .code_o   (code)
      `AZULEJO_FAULT_CONNECT(fault_i)
    );

    always_ff @(posedge clk_i) begin
      if (accept && lane_i[i]) code_q <= code;
    end

    assign code_o[32*i+:32] = code_q;
  end

  assign valid_o = valid_q;
  assign lane_o  = lane_q;

`ifndef SYNTHESIS
  logic fault_free;
`ifdef AZULEJO_FAULTS
  assign fault_free = fault_i == azulejo_fault_pkg::NoFault;
`else
  assign fault_free = 1'b1;
`endif

  // What the last cycle left.
  logic                        started_q, waiting_q;
  logic [Lanes-1:0]            held_lane_q, changing_q;
  logic [Lanes*32-1:0]      held_code_q;
  logic [Lanes*192-1:0] held_state_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      started_q <= 1'b0;
      waiting_q <= 1'b0;
    end else begin
      started_q    <= 1'b1;
      waiting_q    <= valid_o && !ready_i;
      changing_q   <= load_i | draw;
      held_lane_q  <= lane_o;
      held_code_q  <= code_o;
      held_state_q <= state_o;
      // Codes that nobody took stay.
      StableA: assert (!waiting_q || !fault_free ||
                       (valid_o && (lane_o == held_lane_q) && (code_o == held_code_q)));
      // A word is drawn only for an element that is accepted.
      DrawA: assert ((draw == '0) || !fault_free || (accept && stochastic_i && ((draw & ~lane_i) == '0)));
      // A state changes only by a load or a draw.
      for (int unsigned i = 0; i < Lanes; i++) begin
        StateA: assert (!started_q || changing_q[i] || !fault_free || (state_o[192*i+:192] == held_state_q[192*i+:192]));
      end
    end
  end
`endif

endmodule
