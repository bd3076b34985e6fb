// SPDX-License-Identifier: Apache-2.0
// Random words of one lane: a 32-bit Galois LFSR, 32 steps a word, so that no two words share bits.
//
// Twin: RandomLane of tlm/numerics/random.h with RandomSource::Lfsr, which keeps its state in word 0 of six.
`include "azulejo_fault.svh"
module lfsr_source (
  input  logic         clk_i,
  input  logic         rst_ni,    // asynchronous; as a load of zero

  input  logic         load_i,    // wins over a draw in the same cycle
  input  logic [191:0] state_i,   // words 1 to 5 are ignored; a zero word 0 becomes 1
  output logic [191:0] state_o,   // words 1 to 5 are 0

  input  logic         draw_i,    // word_o is taken
  output logic [31:0]  word_o     // the next word
  `AZULEJO_FAULT_PORT
);

  localparam logic [31:0] TAPS     = 32'h8020_0003;  // x^32 + x^22 + x^2 + x + 1, shifted right
  localparam logic [31:0] FALLBACK = 32'd1;          // for a zero state, which would stay

  logic [31:0] state_q, word;

  always_comb begin
    word = state_q;
    for (int unsigned i = 0; i < 32; i++) begin
      if ((i != 31) || `AZULEJO_FAULT(LfsrStepShort, 1'b0, 1'b1)) begin
        word = {1'b0, word[31:1]} ^ (word[0] ? `AZULEJO_FAULT(LfsrTapWrong, 32'h8020_0007, TAPS) : 32'd0);
      end
    end
  end

  assign word_o = word;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= FALLBACK;
    end else if (load_i) begin
      state_q <= ((state_i[31:0] == 32'd0) && `AZULEJO_FAULT(LfsrZeroKept, 1'b0, 1'b1)) ? FALLBACK : state_i[31:0];
    end else if (draw_i && `AZULEJO_FAULT(LfsrEvenHeld, word[0], 1'b1)) begin
      state_q <= word;
    end
  end

  assign state_o = {160'd0, state_q};

  logic unused_state;
  assign unused_state = ^state_i[191:32];

`ifndef SYNTHESIS
  logic fault_free;
`ifdef AZULEJO_FAULTS
  assign fault_free = fault_i == azulejo_fault_pkg::NoFault;
`else
  assign fault_free = 1'b1;
`endif

  // After reset the zero state is never reached.
  logic started_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      started_q <= 1'b0;
    end else begin
      started_q <= 1'b1;
      NotZeroA: assert (!started_q || !fault_free || (state_q != 32'd0));
    end
  end
`endif

endmodule
