// SPDX-License-Identifier: Apache-2.0
// Do the DPI-C functions and the RTL units give the same bits? Every code of the narrow formats, random and corner operands
// for the rest, with denormals kept and flushed. The last line is PASS or FAIL.
//
// Plusargs: +n=COUNT elements a unit (100000), +codes=COUNT codes a format (all), +seed=SEED (1), +fault=NUMBER of
// azulejo_fault_pkg in a build with faults, +wave=FILE.vcd in a build with --trace.
`include "azulejo_fault.svh"
module dpi_test;

  import azulejo_pkg::*;
  import azulejo_dpi_pkg::*;

  // Units, index 0 with denormals kept, 1 flushed

  logic clk = 0, rst_n = 1;

`ifdef AZULEJO_FAULTS
  azulejo_fault_pkg::fault_e fault = azulejo_fault_pkg::NoFault;
`endif

  // A decoder, a PE that takes weights and activations from it, and an adder
  format_e     code_format = Fp32;
  part_e       part = High;
  logic [31:0] code = 0, acc = 0;
  operand_t    operand [2];
  logic        act_valid = 0, weight_valid = 0;
  logic [31:0] psum [2];
  logic [31:0] addend_a = 0, addend_b = 0;
  logic [31:0] sum [2];

  // A conversion alone, and rounding units: the LFSR's with denormals kept, xorwow's with them flushed
  format_e      format = Bf16;
  logic         stochastic = 0, saturate = 0;
  logic [31:0]  value = 0, random_word = 0;
  logic [31:0]  encoded [2];
  logic         valid = 0, load = 0;
  logic [191:0] state_in [2];
  logic [191:0] state_out [2];
  logic [31:0]  unit_code [2];

  // Rounding units of several lanes
  localparam int unsigned LANES = 4;
  logic [LANES-1:0]     lanes_load = 0, lanes_in = 0;
  logic [LANES*192-1:0] lanes_state_in [2];
  logic [LANES*192-1:0] lanes_state_out [2];
  logic                 beat_valid = 0, beat_taken = 0;
  logic                 beat_ready [2];
  logic                 beat_valid_out [2];
  logic [LANES*32-1:0]  lanes_value = 0;
  logic [LANES-1:0]     lanes_out [2];
  logic [LANES*32-1:0]  lanes_code [2];

  for (genvar f = 0; f < 2; f++) begin : gen_flush
    fp_decode #(.FlushDenormals(f == 1)) u_decode (
      .format_i(code_format), .part_i(part), .code_i(code), .operand_o(operand[f]) `AZULEJO_FAULT_CONNECT(fault));
    pe #(.FlushDenormals(f == 1)) u_pe (
      .clk_i(clk), .rst_ni(rst_n), .enable_i(1'b1),
      .act_valid_i(act_valid), .act_swap_i(act_valid), .act_i(operand[f]), .act_valid_o(), .act_swap_o(), .act_o(),
      .psum_i(acc), .psum_valid_o(), .psum_o(psum[f]),
      .weight_valid_i(weight_valid), .weight_row_i('0), .weight_i(operand[f]), .weight_valid_o(), .weight_row_o(),
      .weight_o() `AZULEJO_FAULT_CONNECT(fault));
    fp_add #(.FlushDenormals(f == 1)) u_add (
      .a_i(addend_a), .b_i(addend_b), .sum_o(sum[f]) `AZULEJO_FAULT_CONNECT(fault));

    fp_encode #(.FlushDenormals(f == 1)) u_encode (
      .format_i(format), .stochastic_i(stochastic), .saturate_i(saturate), .value_i(value), .random_i(random_word),
      .code_o(encoded[f]) `AZULEJO_FAULT_CONNECT(fault));
    stochastic_rounding_unit #(.Lanes(1), .Xorwow(f == 1), .FlushDenormals(f == 1)) u_rounding (
      .clk_i(clk), .rst_ni(rst_n), .load_i(load), .state_i(state_in[f]), .state_o(state_out[f]),
      .valid_i(valid), .ready_o(), .format_i(format), .stochastic_i(stochastic), .saturate_i(saturate), .lane_i(1'b1),
      .value_i(value), .valid_o(), .ready_i(1'b1), .lane_o(), .code_o(unit_code[f]) `AZULEJO_FAULT_CONNECT(fault));
    stochastic_rounding_unit #(.Lanes(LANES), .Xorwow(f == 1), .FlushDenormals(f == 1)) u_rounding_lanes (
      .clk_i(clk), .rst_ni(rst_n), .load_i(lanes_load), .state_i(lanes_state_in[f]), .state_o(lanes_state_out[f]),
      .valid_i(beat_valid), .ready_o(beat_ready[f]), .format_i(format), .stochastic_i(stochastic), .saturate_i(saturate),
      .lane_i(lanes_in), .value_i(lanes_value), .valid_o(beat_valid_out[f]), .ready_i(beat_taken), .lane_o(lanes_out[f]),
      .code_o(lanes_code[f]) `AZULEJO_FAULT_CONNECT(fault));
  end

  // Comparison

  typedef enum int {
    Decode    = 0,
    Fma       = 1,
    Add       = 2,
    Encode    = 3,
    Rounding  = 4,
    State     = 5,
    Handshake = 6,
    LaneCode  = 7,
    LaneState = 8,
    Argument  = 9
  } check_e;

  int unsigned compared [10];
  int unsigned mismatches = 0;

  // `x` to `z` are what the line of a mismatch shows of the inputs.
  function automatic void compare(input check_e check, input int flush, input int unsigned x, input int unsigned y,
                                  input int unsigned z, input int unsigned rtl, input int unsigned dpi);
    compared[check]++;
    if (rtl != dpi) begin
      mismatches++;
      if (mismatches <= 10) begin
        $display("%s flush %0d inputs %08x %08x %08x: RTL %08x, DPI %08x", check.name(), flush, x, y, z, rtl, dpi);
      end
    end
  endfunction

  // The FP32 value of an operand that is not absent; FFFFFFFF if FP32 does not have it.
  function automatic int unsigned operand_value(input operand_t operand);
    /*verilator no_inline_task*/
    int          field;
    logic [23:0] significand, moved;
    field       = int'(operand.exponent) - 118;  // OPERAND_BIAS - 11 - 127
    significand = {operand.significand, 12'd0};
    if (operand.kind == NotANumber) return FP32_NAN;
    if (operand.kind == Infinity) return {operand.sign, FP32_INFINITY[30:0]};
    if (significand == 0) return {operand.sign, 31'd0};
    if (field > 0) return {operand.sign, field[7:0], significand[22:0]};
    moved = significand >> (1 - field);
    return (moved << (1 - field)) == significand ? {operand.sign, 8'd0, moved[22:0]} : 32'hFFFF_FFFF;
  endfunction

  // Stimuli: random words come from the library as well, so a seed means the same in every simulator.

  chandle source;

  // An FP32 value: any, at an end of the range, near `other` in magnitude, or one or a few last bits from it.
  function automatic int unsigned random_value(input chandle random, input int unsigned other);
    /*verilator no_inline_task*/
    int unsigned x, kind;
    x    = azulejo_random_next(random);
    kind = azulejo_random_next(random);
    unique case (kind[2:0])
      3'd0, 3'd1: return x;
      3'd2:       return {x[31], kind[3] ? 8'd254 + {7'd0, kind[4]} : {6'd0, kind[5:4]}, x[22:0]};
      3'd3:       return {x[31], kind[3] ? 8'hFF : 8'd0, kind[4] ? 23'd0 : x[22:0] >> kind[9:5]};
      3'd4, 3'd5: return {x[31], other[30:23] + 8'(kind[12:8]) - 8'd16, x[22:0]};
      3'd6:       return {~other[31], other[30:0]};
      default:    return {x[31], other[30:0] + 31'(kind[10:8]) - 31'd4};
    endcase
  endfunction

  function automatic int unsigned storage_bits(input format_e of);
    format_spec_t spec;
    spec = format_spec(of);
    return 32'(spec.storage_bits);
  endfunction

  function automatic int unsigned random_code(input chandle random, input format_e to);
    /*verilator no_inline_task*/
    int unsigned x;
    x = azulejo_random_next(random);
    if (azulejo_random_next(random) % 2 == 0) return x & ((32'd2 << (storage_bits(to) - 1)) - 1);
    return azulejo_encode(to, random_value(random, x), 0, 0, 0, 0);
  endfunction

  // A value of the format, most often moved by some bits below its last one.
  function automatic int unsigned random_value_near_code(input chandle random, input format_e to);
    /*verilator no_inline_task*/
    int unsigned x, moved;
    x     = azulejo_random_next(random);
    moved = azulejo_random_next(random);
    return azulejo_decode(to, random_code(random, to), 0) ^ (x[0] ? 32'd1 << x[5:1] % 23 : (moved >> 9) >> x[10:6]);
  endfunction

  function automatic int unsigned value_to_convert();
    /*verilator no_inline_task*/
    int unsigned x;
    x = azulejo_random_next(source);
    return x[1:0] == 0 ? random_value(source, x) : random_value_near_code(source, format);
  endfunction

  function automatic int unsigned random_threshold(input chandle random);
    /*verilator no_inline_task*/
    int unsigned x;
    x = azulejo_random_next(random);
    unique case (x[2:0])
      3'd0:    return 0;
      3'd1:    return 32'hFFFF_FFFF;
      3'd2:    return 32'h7FFF_FFFF >> x[7:3];
      3'd3:    return 32'h8000_0000 >> x[7:3];
      default: return azulejo_random_next(random);
    endcase
  endfunction

  // Checks

  task automatic tick();
    #1 clk = 1;
    #1 clk = 0;
  endtask

  task automatic check_decode(input format_e from, input int unsigned from_code);
    int unsigned decoded [2];
    code_format = from;
    code        = from_code;
    part        = from == Fp32 ? High : Whole;
    #1;
    for (int f = 0; f < 2; f++) decoded[f] = operand_value(operand[f]);
    if (from == Fp32) begin
      part = Low;
      #1;
      // The halves add up exactly.
      for (int f = 0; f < 2; f++) begin
        if (operand[f].kind != Absent) decoded[f] = azulejo_add(decoded[f], operand_value(operand[f]), 0);
      end
    end
    for (int f = 0; f < 2; f++) compare(Decode, f, from, code, 0, decoded[f], azulejo_decode(from, code, 8'(f)));
  endtask

  // A weight into the PE, then an activation that swaps it in.
  task automatic check_fma();
    int unsigned a [2];
    int unsigned b [2];
    part = Whole;  // without FP32, which enters in halves
    for (int step = 0; step < 2; step++) begin
      code_format = format_e'(4'd1 + 4'(azulejo_random_next(source) % 11));
      code        = random_code(source, code_format);
      for (int f = 0; f < 2; f++) begin
        b[f] = a[f];
        a[f] = azulejo_decode(code_format, code, 8'(f));
      end
      acc          = random_value(source, azulejo_fma(a[0], b[0], 0, 0));
      weight_valid = step == 0;
      act_valid    = step == 1;
      tick();
    end
    act_valid = 0;
    for (int f = 0; f < 2; f++) compare(Fma, f, a[f], b[f], acc, psum[f], azulejo_fma(a[f], b[f], acc, 8'(f)));
  endtask

  task automatic check_add();
    addend_a = random_value(source, 0);
    addend_b = random_value(source, addend_a);
    #1;
    for (int f = 0; f < 2; f++) begin
      compare(Add, f, addend_a, addend_b, 0, sum[f], azulejo_add(addend_a, addend_b, 8'(f)));
    end
  endtask

  task automatic set_conversion();
    int unsigned x;
    x          = azulejo_random_next(source);
    format     = format_e'(x[3:0]);
    stochastic = x[4];
    saturate   = x[5];
    value      = value_to_convert();
  endtask

  task automatic check_encode();
    set_conversion();
    random_word = random_threshold(source);
    #1;
    for (int f = 0; f < 2; f++) begin
      compare(Encode, f, {23'd0, stochastic, 3'd0, saturate, format}, value, random_word, encoded[f],
              azulejo_encode(format, value, 8'(stochastic), 8'(saturate), 8'(f), random_word));
    end
  endtask

  chandle lane [2];

  task automatic check_rounding();
    set_conversion();
    valid = 1;
    tick();
    valid = 0;
    for (int f = 0; f < 2; f++) begin
      compare(Rounding, f, {23'd0, stochastic, 3'd0, saturate, format}, value, 0, unit_code[f],
              azulejo_rounding_step(lane[f], format, value, 8'(stochastic), 8'(saturate), 8'(f)));
      for (int w = 0; w < 6; w++) compare(State, f, w, 0, 0, state_out[f][32*w+:32], azulejo_random_state(lane[f], w));
    end
  endtask

  // What the units of several lanes should have: the lanes' random states, and the beat that waits at the output.
  chandle           lanes [2][LANES];
  int unsigned      waiting_code [2][LANES];
  logic [LANES-1:0] waiting_lanes = 0;
  logic             waiting       = 0;

  // A load of one lane; a beat of the same cycle takes its word before it.
  task automatic load_lane(input int i);
    lanes_load = LANES'(1) << i;
    for (int f = 0; f < 2; f++) begin
      for (int w = 0; w < 6 * LANES; w++) lanes_state_in[f][32*w+:32] = azulejo_random_next(source);
    end
  endtask

  // A cycle: perhaps a beat, a consumer that takes the one that waits, a load of a lane.
  task automatic check_lanes();
    int unsigned         x, settings;
    logic                ready;
    logic [LANES*32-1:0] values;
    x = azulejo_random_next(source);
    if (!beat_valid && (x[1:0] != 0)) begin
      set_conversion();
      for (int i = 0; i < LANES; i++) values[32*i+:32] = value_to_convert();
      lanes_value = values;  // at once: Verilator 5.006 loses some logic behind a vector that is only written in parts
      lanes_in    = x[2+:LANES];
      beat_valid  = 1;
    end
    beat_taken = x[17:16] != 0;
    lanes_load = 0;
    if (x[20:18] == 0) load_lane(32'(x[22:21]));
    settings = {23'd0, stochastic, 3'd0, saturate, format};
    ready    = !waiting || beat_taken;
    #1;
    for (int f = 0; f < 2; f++) compare(Handshake, f, 0, 32'(waiting), 32'(beat_taken), 32'(beat_ready[f]), 32'(ready));
    tick();

    if (ready) begin
      waiting       = beat_valid;
      waiting_lanes = lanes_in;
    end
    for (int f = 0; f < 2; f++) begin
      compare(Handshake, f, 1, 32'(waiting), 32'(beat_taken), 32'({beat_valid_out[f], waiting ? lanes_out[f] : '0}),
              32'({waiting, waiting ? waiting_lanes : '0}));
      for (int i = 0; i < LANES; i++) begin
        if (ready && beat_valid && lanes_in[i]) begin
          waiting_code[f][i] = azulejo_rounding_step(lanes[f][i], format, lanes_value[32*i+:32], 8'(stochastic), 8'(saturate),
                                                     8'(f));
        end
        if (lanes_load[i]) begin
          azulejo_random_set_state(lanes[f][i], lanes_state_in[f][192*i+:32], lanes_state_in[f][192*i+32+:32],
                                   lanes_state_in[f][192*i+64+:32], lanes_state_in[f][192*i+96+:32],
                                   lanes_state_in[f][192*i+128+:32], lanes_state_in[f][192*i+160+:32]);
        end
        if (waiting && waiting_lanes[i]) begin
          compare(LaneCode, f, settings, lanes_value[32*i+:32], i, lanes_code[f][32*i+:32], waiting_code[f][i]);
        end
        for (int w = 0; w < 6; w++) begin
          compare(LaneState, f, w, 0, i, lanes_state_out[f][192*i+32*w+:32], azulejo_random_state(lanes[f][i], w));
        end
      end
    end
    if (ready) beat_valid = 0;
  endtask

  // What the functions promise for arguments that are not allowed
  task automatic check_arguments();
    chandle      none;
    int unsigned expected [10];
    int unsigned got [10];
    none     = azulejo_random_new(2, 1, 0, 0);
    expected = '{0, FP32_NAN, 32'hFFFF_FFFF, 32'hFFFF_FFFF, 0, 0, 0, 32'hFFFF_FFFF, 32'h0000_3F80, 32'hFFFF_FFFF};
    got[0]   = 32'(none != null);
    got[1]   = azulejo_decode(FORMATS, 0, 0);
    got[2]   = azulejo_encode(FORMATS, 0, 0, 0, 0, 0);
    got[3]   = azulejo_encode(32'hFFFF_FFFF, 0, 1, 1, 1, 0);
    got[4]   = azulejo_random_next(none);
    got[5]   = azulejo_random_state(none, 0);
    got[6]   = azulejo_random_state(source, 6);
    got[7]   = azulejo_rounding_step(none, Bf16, 0, 1, 0, 0);
    got[8]   = azulejo_rounding_step(none, Bf16, 32'h3F80_0000, 0, 0, 0);
    got[9]   = azulejo_rounding_step(source, FORMATS, 0, 1, 0, 0);
    azulejo_random_set_state(none, 1, 2, 3, 4, 5, 6);
    azulejo_random_free(none);
    for (int i = 0; i < 10; i++) compare(Argument, 0, i, 0, 0, expected[i], got[i]);
  endtask

  initial begin
    int unsigned count, codes, seed;
    string       wave;
    check_e      check;
    count = 100000;
    codes = 32'hFFFF_FFFF;
    seed  = 1;
    if ($value$plusargs("wave=%s", wave)) begin
      $dumpfile(wave);
      $dumpvars(0, dpi_test);
    end
    void'($value$plusargs("n=%d", count));
    void'($value$plusargs("codes=%d", codes));
    void'($value$plusargs("seed=%d", seed));
`ifdef AZULEJO_FAULTS
    begin
      int unsigned number;
      number = 0;
      void'($value$plusargs("fault=%d", number));
      fault = azulejo_fault_pkg::fault_e'(number[7:0]);
      $display("fault %s", fault.name());
    end
`endif
    source = azulejo_random_new(Xorwow, 64'(seed), 0, 0);

    #1 rst_n = 0;
    #1 rst_n = 1;
    for (int i = Fp32; i <= Uint8; i++) begin
      logic wide;
      wide = storage_bits(format_e'(i[3:0])) > 16;
      for (int unsigned n = 0; n < (wide ? count : 32'd1 << storage_bits(format_e'(i[3:0]))) && n < codes; n++) begin
        check_decode(format_e'(i[3:0]), wide ? random_value(source, 0) : n);
      end
    end
    repeat (count) check_fma();
    repeat (count) check_add();
    repeat (count) check_encode();

    // From seeded states, then from zero, which units and library replace.
    for (int f = 0; f < 2; f++) lane[f] = azulejo_random_new(f == 0 ? Lfsr : Xorwow, 64'(seed), 1, f);
    for (int start = 0; start < 2; start++) begin
      for (int f = 0; f < 2; f++) begin
        if (start == 1) azulejo_random_set_state(lane[f], 0, 0, 0, 0, 0, 0);
        for (int w = 0; w < 6; w++) state_in[f][32*w+:32] = start == 1 ? 0 : azulejo_random_state(lane[f], w);
      end
      load = 1;
      tick();
      load = 0;
      repeat (count / 2) check_rounding();
    end
    for (int f = 0; f < 2; f++) azulejo_random_free(lane[f]);

    // Lanes from states of their own, loaded one by one.
    for (int i = 0; i < LANES; i++) begin
      for (int f = 0; f < 2; f++) begin
        lanes[f][i] = azulejo_random_new(f == 0 ? Lfsr : Xorwow, 64'(seed) + 64'(i), 2, i);
        for (int w = 0; w < 6; w++) lanes_state_in[f][192*i+32*w+:32] = azulejo_random_state(lanes[f][i], w);
      end
    end
    for (int i = 0; i < LANES; i++) begin
      lanes_load = LANES'(1) << i;
      tick();
    end
    repeat (count / 8) check_lanes();
    for (int i = 0; i < 2 * LANES; i++) azulejo_random_free(lanes[i/LANES][i%LANES]);

    check_arguments();
    azulejo_random_free(source);

    check = check.first();
    repeat (check.num()) begin
      $display("%-9s %8d compared", check.name(), compared[check]);
      if (compared[check] == 0) mismatches++;
      check = check.next();
    end
    $display("%s seed %0d, %0d mismatches", mismatches == 0 ? "PASS" : "FAIL", seed, mismatches);
    $finish;
  end

endmodule
