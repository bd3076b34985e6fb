// SPDX-License-Identifier: Apache-2.0
// Example: the processing element (PE) of rtl/pe/pe.sv as a SystemC module with pins, in a bench of one's own.
//
// Two weights are loaded in turn, the second while activations still meet the first, and every partial sum is compared
// with std::fma in FP32. The last line is PASS or FAIL. The argument, if there is one, is a VCD file to write.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <systemc>

#include "Vpe.h"
#include "verilated_vcd_sc.h"

namespace {

std::uint32_t bits(float value) {
  std::uint32_t result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

// azulejo_pkg::operand_t of a normal BF16 value: (-1)^sign * significand * 2^(exponent - 256), the top bit of the
// 12-bit significand set. (fp_decode makes it from any format and also knows zeros, infinities and NaNs.)
sc_dt::sc_uint<25> operand(float value) {
  constexpr unsigned kFinite = 2;  // azulejo_pkg::operand_class_e
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
  sc_dt::sc_uint<25> result = 0;
  result.range(24, 22) = kFinite;
  result[21] = std::signbit(value);
  result.range(20, 12) = static_cast<unsigned>(exponent - 12 + 256);
  result.range(11, 0) = static_cast<unsigned>(std::ldexp(fraction, 12));
  return result;
}

class Bench : public sc_core::sc_module {
 public:
  // Pins
  sc_core::sc_clock clk{"clk", sc_core::sc_time(1, sc_core::SC_NS)};
  sc_core::sc_signal<bool> rst_n{"rst_n"}, enable{"enable"};
  sc_core::sc_signal<bool> act_valid{"act_valid"}, act_swap{"act_swap"}, weight_valid{"weight_valid"};
  sc_core::sc_signal<sc_dt::sc_uint<25>> act{"act"}, weight{"weight"};
  sc_core::sc_signal<sc_dt::sc_uint<7>> weight_row{"weight_row"};
  sc_core::sc_signal<sc_dt::sc_uint<32>> psum_in{"psum_in"}, psum_out{"psum_out"};
  sc_core::sc_signal<bool> psum_valid{"psum_valid"};
  // What the PE gives to its neighbours in the east and the south
  sc_core::sc_signal<bool> east_valid{"east_valid"}, east_swap{"east_swap"}, south_valid{"south_valid"};
  sc_core::sc_signal<sc_dt::sc_uint<25>> east{"east"}, south{"south"};
  sc_core::sc_signal<sc_dt::sc_uint<7>> south_row{"south_row"};

  Bench(const sc_core::sc_module_name& name, Vpe& pe) : sc_core::sc_module(name) {
    pe.clk_i(clk);
    pe.rst_ni(rst_n);
    pe.enable_i(enable);
    pe.act_valid_i(act_valid);
    pe.act_swap_i(act_swap);
    pe.act_i(act);
    pe.act_valid_o(east_valid);
    pe.act_swap_o(east_swap);
    pe.act_o(east);
    pe.psum_i(psum_in);
    pe.psum_valid_o(psum_valid);
    pe.psum_o(psum_out);
    pe.weight_valid_i(weight_valid);
    pe.weight_row_i(weight_row);
    pe.weight_i(weight);
    pe.weight_valid_o(south_valid);
    pe.weight_row_o(south_row);
    pe.weight_o(south);
    SC_HAS_PROCESS(Bench);
    SC_THREAD(run);
  }

  int compared = 0;
  int mismatches = 0;

 private:
  // Inputs change and outputs are read at the falling edge, half a cycle from the edge that matters.
  void cycle() { wait(clk.negedge_event()); }

  std::uint32_t random_word() { return static_cast<std::uint32_t>(random_()); }
  // A normal value with a significand of that many bits, of either sign, its magnitude in [1/8, 32).
  float random_value(int significand_bits) {
    const std::uint32_t top = 1U << (significand_bits - 1);
    const std::uint32_t significand = top + random_word() % top;
    const std::uint32_t choice = random_word() % 16;
    const float magnitude =
        std::ldexp(static_cast<float>(significand), static_cast<int>(choice / 2) - 2 - significand_bits);
    return choice % 2 == 0 ? magnitude : -magnitude;
  }
  float random_bf16() { return random_value(8); }
  float random_fp32() { return random_value(24); }

  void offer_weight(float value) {
    weight_valid = true;
    weight_row = 0;  // for this PE, not for one below it
    weight = operand(value);
  }

  void run() {
    enable = true;
    rst_n = false;
    cycle();
    cycle();
    rst_n = true;

    float active = random_bf16();
    offer_weight(active);
    cycle();
    weight_valid = false;

    constexpr int kWeights = 2;
    constexpr int kActivations = 8;
    for (int w = 0; w < kWeights; ++w) {
      const float next = random_bf16();
      for (int i = 0; i < kActivations; ++i) {
        const float activation = random_bf16();
        const float above = random_fp32();
        act_valid = true;
        act_swap = i == 0;  // makes the weight that waits the active one
        act = operand(activation);
        psum_in = bits(above);
        if (i == 3) offer_weight(next);
        cycle();
        weight_valid = false;
        check(activation, active, above);
      }
      active = next;
    }
    act_valid = false;
    act_swap = false;
    cycle();
    if (psum_valid.read()) ++mismatches;  // no sum without an activation
    sc_core::sc_stop();
  }

  void check(float activation, float active, float above) {
    const std::uint32_t expected = bits(std::fma(activation, active, above));
    const std::uint32_t got = psum_out.read().to_uint();
    const bool same = psum_valid.read() && got == expected;
    std::printf("%8s  %9.5g * %9.5g + %13.8g = %08x", sc_core::sc_time_stamp().to_string().c_str(),
                static_cast<double>(activation), static_cast<double>(active), static_cast<double>(above), got);
    if (same) {
      std::printf("\n");
    } else {
      std::printf("%s, expected %08x\n", psum_valid.read() ? "" : " not valid", expected);
      ++mismatches;
    }
    ++compared;
  }

  std::mt19937 random_{1};
};

}  // namespace

int sc_main(int argc, char** argv) {
  sc_core::sc_set_time_resolution(1, sc_core::SC_FS);  // as the module was Verilated
  Verilated::traceEverOn(true);
  Vpe pe("pe");  // outside the bench, since a VCD scope "bench.pe" is no identifier
  Bench bench("bench", pe);
  VerilatedVcdSc wave;
  if (argc > 1) {
    sc_core::sc_start(sc_core::SC_ZERO_TIME);  // traced before the file is open, after the pins are bound
    pe.trace(&wave, 99);
    wave.open(argv[1]);
  }
  sc_core::sc_start();
  pe.final();
  wave.close();
  const bool pass = bench.mismatches == 0 && bench.compared != 0;
  std::printf("%s %d sums, %d mismatches\n", pass ? "PASS" : "FAIL", bench.compared, bench.mismatches);
  return pass ? 0 : 1;
}
