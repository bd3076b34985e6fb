// SPDX-License-Identifier: Apache-2.0
// One processing element, cycle by cycle: the contract of rtl/pe/pe.sv for its twins.
//
// Equal in every cycle after reset: act, weight and psum outputs wherever they are valid, and all valid flags.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tlm/cosim/lockstep.h"
#include "tlm/cosim/rtl_abi.h"
#include "tlm/cosim/rtl_library.h"
#include "tlm/numerics/format.h"

namespace azulejo {

class Pe {
 public:
  virtual ~Pe() = default;
  virtual void reset() = 0;
  // `cycles` cycles; outputs[i] are the registers after the edge of cycle i.
  virtual void run(std::uint32_t cycles, const rtl::PeInputs* inputs, rtl::PeOutputs* outputs) = 0;
  // From psum_i to psum_o.
  virtual std::uint32_t latency_cycles() const = 0;
};

// The model: std::fma and the rules of the contract, without a line in common with the RTL's datapath. For operands
// that decode_operand() makes. REQUIRES: pipeline_stages > 0.
std::unique_ptr<Pe> make_pe_model(std::uint32_t pipeline_stages, bool flush_denormals);

// The Verilated pe.sv.
std::unique_ptr<Pe> make_pe_rtl(const RtlLibrary& library, VerilatedContext& context, const std::string& name,
                                const rtl::FaultSelect& fault = {});

// Where two PEs differ for the first time.
struct PeMismatch {
  std::uint32_t cycle = 0;  // of the inputs given
  std::string_view
      what;  // "act_valid", "act_swap", "act", "weight_valid", "weight_row", "weight", "psum_valid", "psum"
  std::uint32_t model = 0;  // both results, as bits
  std::uint32_t rtl = 0;
  bool is_fp32 = false;  // the bits are an FP32 value
};

// The first output of a cycle that differs.
std::optional<PeMismatch> compare_outputs(std::uint32_t cycle, const rtl::PeOutputs& model, const rtl::PeOutputs& rtl);

// Model and RTL driven by the same inputs.
class PeLockstep {
 public:
  PeLockstep(std::unique_ptr<Pe> model, std::unique_ptr<Pe> rtl) : model_(std::move(model)), rtl_(std::move(rtl)) {}

  // Both from reset.
  std::optional<PeMismatch> run(const std::vector<rtl::PeInputs>& inputs);

  // Of the newest run, all cycles.
  const std::vector<rtl::PeOutputs>& model_outputs() const { return model_outputs_; }
  const std::vector<rtl::PeOutputs>& rtl_outputs() const { return rtl_outputs_; }

  std::uint64_t sums() const { return sums_; }             // that came out of the model and were compared
  double model_seconds() const { return model_seconds_; }  // of host time so far
  double rtl_seconds() const { return rtl_seconds_; }

 private:
  std::unique_ptr<Pe> model_;
  std::unique_ptr<Pe> rtl_;
  std::vector<rtl::PeOutputs> model_outputs_;
  std::vector<rtl::PeOutputs> rtl_outputs_;
  std::uint64_t sums_ = 0;
  double model_seconds_ = 0;
  double rtl_seconds_ = 0;
};

// True if every activation of a run from reset meets a weight of that run; else its sum is no contract.
bool weights_are_loaded(const std::vector<rtl::PeInputs>& inputs);

// What of `inputs` made the output that differs: activation, weight and addend in hex and value, or all inputs of the
// cycle. REQUIRES: the mismatch is one of these inputs, of PEs of that latency.
std::string describe_operands(const std::vector<rtl::PeInputs>& inputs, const PeMismatch& mismatch,
                              std::uint32_t latency_cycles);

// The value of an operand of azulejo_pkg::operand_t: kind in bits 24..22, sign 21, exponent 20..12, significand 11..0.
enum class OperandKind : std::uint8_t { Absent, Zero, Finite, Infinity, NotANumber, LowHalf };
struct Operand {
  OperandKind kind = OperandKind::Absent;
  bool sign = false;              // that of the code, whatever the kind
  std::uint32_t exponent = 0;     // biased by 256, at the significand's last bit; 0 if the significand is
  std::uint32_t significand = 0;  // 12 bits, the top one set unless all are 0
};
Operand unpack_operand(std::uint32_t bits);
std::uint32_t pack_operand(const Operand& operand);
// Its value, exact in FP32 for every operand that decode_operand() makes: 0 if absent, an infinity or a NaN.
double operand_value(const Operand& operand);
// Hex, kind and value, "0xf5c00 (1.5)".
std::string show_operand(std::uint32_t bits);

// What fp_decode makes of a code; `part`: 0 whole, 1 high half, 2 low half (FP32 only).
enum class OperandPart : std::uint8_t { Whole, High, Low };
Operand decode_operand(Format format, OperandPart part, std::uint32_t code, bool flush_denormals);

// The formats that an array takes, in enum order.
const std::vector<Format>& array_formats();

}  // namespace azulejo
