// SPDX-License-Identifier: Apache-2.0
// Stimulus of a PE: operands by class, addends that bring about a rounding case, and the cycles that carry them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tlm/cosim/functional_coverage.h"
#include "tlm/cosim/rtl_abi.h"

namespace azulejo {

class StimulusRandom {
 public:
  explicit StimulusRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::uint32_t next32() { return static_cast<std::uint32_t>(next() >> 32); }
  // REQUIRES: limit > 0.
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>((next() >> 32) * limit >> 32); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

// An operand with what the stimulus has to know of it.
struct Element {
  std::uint32_t operand = 0;  // azulejo_pkg::operand_t
  OperandClass operand_class = OperandClass::Absent;
  bool special = true;  // infinite, NaN or absent
  double value = 0;     // if not special
};

// All operands of a type.
class ElementPool {
 public:
  ElementPool(const OperandType& type, bool flush_denormals);

  // The operands of all codes, if there are few enough to keep; else empty, as for the halves of FP32.
  const std::vector<Element>& all() const { return all_; }
  bool has(OperandClass operand_class) const;
  // REQUIRES: has(operand_class).
  Element of_class(OperandClass operand_class, StimulusRandom& random) const;
  // Of a random code.
  Element any(StimulusRandom& random) const;
  // Zeros, the smallest and the largest of each class, 1, infinities, NaNs, some in between, and an absent one.
  const std::vector<Element>& corners() const { return corners_; }

 private:
  Element element(std::uint32_t code) const;

  OperandType type_;
  bool flush_denormals_;
  std::vector<Element> all_;
  std::array<std::vector<std::uint32_t>, kOperandClasses> codes_;     // by class, of a type that has all()
  std::array<std::vector<std::uint32_t>, kOperandClasses> extremes_;  // by class
  std::vector<Element> corners_;
};

// Addends that deserve to be tried with every pair of operands: zeros, 1, subnormals, the largest, infinities, NaNs.
const std::vector<std::uint32_t>& corner_addends();
// An addend that may make the sum with `product` fall into the case, by construction if that is possible.
std::uint32_t addend_for(RoundingOutcome rounding, double product, StimulusRandom& random);

struct Mac {
  Element act;
  Element weight;
  std::uint32_t addend = 0;
};
// Operands and addend of the bin, if they are found.
std::optional<Mac> find_mac(const ElementPool& act, const ElementPool& weight, const CoverageBin& bin,
                            StimulusRandom& random);
// One of a mix of distributions: uniform codes, near exponents, ties, cancellation, mostly special.
Mac random_mac(const ElementPool& act, const ElementPool& weight, StimulusRandom& random);

// Turns MACs into cycles of one PE, in blocks that start from reset. A weight enters no later than in the cycle before
// its activation; cycles in which the weight port is free carry weights for other rows, and decoys into the shadow.
class PeStream {
 public:
  // `run` gets each block.
  PeStream(std::uint32_t row_width, std::uint32_t latency_cycles, bool stalls, std::uint64_t seed,
           std::function<void(const std::vector<rtl::PeInputs>&)> run);

  // One MAC; the stall that it meets, which is `stall` except at the start of a block.
  StallCase push(const Mac& mac, StallCase stall);
  // The same with a random stall.
  StallCase push(const Mac& mac);
  // Runs what is left. A block of its own follows.
  void flush();

  // A block of `cycles` in which everything is random, after the loading of a weight.
  void push_random_cycles(std::uint32_t cycles, const ElementPool& act, const ElementPool& weight);

 private:
  rtl::PeInputs& append();
  void append_bubble();
  void append_hold();
  std::uint16_t other_row();

  const std::uint32_t row_width_;
  const std::uint32_t latency_cycles_;
  const bool stalls_;
  StimulusRandom random_;
  std::function<void(const std::vector<rtl::PeInputs>&)> run_;
  std::vector<rtl::PeInputs> block_;
  std::optional<std::uint32_t> active_;  // weight
  std::uint32_t last_operand_ = 0;       // for what is not valid
};

// Sequences of the PE's registers rather than its arithmetic, each from reset: swaps with and without a new weight,
// weights that arrive while activations flow, rows of the chain, stalls in every place, operands of every kind beside
// each other.
std::vector<std::vector<rtl::PeInputs>> directed_sequences(std::uint32_t row_width, bool stalls);

}  // namespace azulejo
