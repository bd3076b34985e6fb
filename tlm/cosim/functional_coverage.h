// SPDX-License-Identifier: Apache-2.0
// Functional coverage of the PE: class of the activation x class of the weight x rounding case x stall, for each pair
// of operand types. What happened is computed here from the exact sum, not read from the RTL.
//
// A bin that no operands can hit is excluded, by the ranges of the classes: possible().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tlm/cosim/pe.h"
#include "tlm/numerics/format.h"

namespace azulejo {

// Of a code in its own format; Absent: a lane without an element.
enum class OperandClass : std::uint8_t { Absent, Zero, Subnormal, Normal, Infinity, NotANumber };
inline constexpr std::size_t kOperandClasses = 6;
OperandClass operand_class(Format format, std::uint32_t code);

// The first that applies, from the bottom up except that Exact is what is left.
enum class RoundingOutcome : std::uint8_t {
  Exact,
  RoundedDown,  // in magnitude
  RoundedUp,
  TieToEvenDown,
  TieToEvenUp,
  Carry,              // the rounding carries into the exponent
  Overflow,           // finite operands, infinite sum
  Subnormal,          // the rounded sum is, or vanishes below them
  ExactCancellation,  // product and addend are not zero, their sum is
  Special,            // an operand or the addend is absent, infinite or a NaN
};
inline constexpr std::size_t kRoundingOutcomes = 10;

// Of product + addend, both finite. REQUIRES: a product of two operands, exact.
RoundingOutcome rounding_outcome(double product, float addend);

enum class StallCase : std::uint8_t {
  None,    // the activation enters the cycle after another
  Bubble,  // no valid activation in the cycle before
  Held,    // the PE was held in the cycle before
};
inline constexpr std::size_t kStallCases = 3;

// How an operand enters the array.
struct OperandType {
  Format format = Format::Bf16;
  OperandPart part = OperandPart::Whole;
};
// "bf16", "fp32.high", "fp32.low"
std::string name_of(const OperandType& type);

// Types of the activations and weights of a group of MACs.
struct OperandTypes {
  OperandType act;
  OperandType weight;
};
// "bf16", or "bf16 x e4m3" where they differ
std::string name_of(const OperandTypes& types);

struct CoverageBin {
  OperandClass act = OperandClass::Absent;
  OperandClass weight = OperandClass::Absent;
  RoundingOutcome rounding = RoundingOutcome::Exact;
  StallCase stall = StallCase::None;
};

class FunctionalCoverage {
 public:
  // Without `stalls` only StallCase::None has bins.
  FunctionalCoverage(const std::vector<OperandTypes>& groups, bool flush_denormals, bool stalls);

  void sample(std::size_t group, const CoverageBin& bin);
  bool possible(std::size_t group, const CoverageBin& bin) const { return groups_[group].possible[index(bin)]; }
  bool hit(std::size_t group, const CoverageBin& bin) const { return groups_[group].hit[index(bin)]; }

  std::size_t bins() const;
  std::size_t hits() const;
  // Samples of bins held to be impossible: mistakes of the rules.
  std::uint64_t impossible_samples() const { return impossible_samples_; }

  // Bins hit in percent, a line per group (per type of the activation if there are many), a column per rounding case
  // and stall.
  std::string table() const;
  // "bf16: subnormal x normal, tie to even up, held"; bins that are all missing together are one hole.
  std::vector<std::string> holes() const;

 private:
  static constexpr std::size_t kBins = kOperandClasses * kOperandClasses * kRoundingOutcomes * kStallCases;
  struct Group {
    OperandTypes types;
    std::array<bool, kBins> possible{};
    std::array<bool, kBins> hit{};
  };
  static std::size_t index(const CoverageBin& bin);

  std::vector<Group> groups_;
  const bool stalls_;
  std::uint64_t impossible_samples_ = 0;
};

}  // namespace azulejo
