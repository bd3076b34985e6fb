// SPDX-License-Identifier: Apache-2.0
// Random words of one lane: xorwow, a xorshift generator of five words plus a Weyl counter.
// Source: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003, section 3.1.
//
// Twin: RandomLane of tlm/numerics/random.h with RandomSource::Xorwow.
`include "azulejo_fault.svh"
module xorwow_source (
  input  logic         clk_i,
  input  logic         rst_ni,    // asynchronous; as a load of zeros

  input  logic         load_i,    // wins over a draw in the same cycle
  input  logic [191:0] state_i,   // words 0 to 4, if all zero replaced; the counter in word 5
  output logic [191:0] state_o,

  input  logic         draw_i,    // word_o is taken
  output logic [31:0]  word_o     // the next word
  `AZULEJO_FAULT_PORT
);

  localparam logic [31:0] INCREMENT = 32'd362437;  // of the counter

  // Marsaglia's initial values, words 4 down to 0: for a zero state, which would stay.
  localparam logic [159:0] FALLBACK = {32'd5783321, 32'd88675123, 32'd521288629, 32'd362436069, 32'd123456789};

  logic [159:0] words_q, words_next;  // word 0 lowest
  logic [31:0]  counter_q, counter_next;
  logic [31:0]  mixed, last, newest;

  always_comb begin
    mixed        = words_q[31:0] ^ (words_q[31:0] >> `AZULEJO_FAULT(XorwowShiftWrong, 3, 2));
    last         = words_q[159:128];
    newest       = last ^ (last << 4) ^ mixed ^ (mixed << 1);
    words_next   = {newest, words_q[159:32]};
    if (`AZULEJO_FAULT(XorwowWordsNotMoved, 1'b1, 1'b0)) words_next = {newest, words_q[127:0]};
    counter_next = counter_q + `AZULEJO_FAULT(XorwowIncrementWrong, 32'd362436, INCREMENT);
    word_o       = newest + `AZULEJO_FAULT(XorwowCounterNotAdded, 32'd0, counter_next);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      words_q   <= FALLBACK;
      counter_q <= 32'd0;
    end else if (load_i) begin
      words_q   <= ((state_i[159:0] == 160'd0) && `AZULEJO_FAULT(XorwowZeroKept, 1'b0, 1'b1)) ? FALLBACK : state_i[159:0];
      counter_q <= state_i[191:160];
    end else if (draw_i) begin
      words_q   <= words_next;
      counter_q <= counter_next;
    end
  end

  assign state_o = {counter_q, words_q};

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
      NotZeroA: assert (!started_q || !fault_free || (words_q != 160'd0));
    end
  end
`endif

endmodule
