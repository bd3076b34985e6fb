// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/functional_coverage.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <string_view>

#include "tlm/numerics/float_bits.h"

namespace azulejo {
namespace {

constexpr std::array<std::string_view, kOperandClasses> kClassNames = {"absent", "zero",     "subnormal",
                                                                       "normal", "infinity", "NaN"};
constexpr std::array<std::string_view, kRoundingOutcomes> kRoundingNames = {"exact",
                                                                            "rounded down",
                                                                            "rounded up",
                                                                            "tie to even down",
                                                                            "tie to even up",
                                                                            "carry into the exponent",
                                                                            "overflow",
                                                                            "result subnormal",
                                                                            "exact cancellation",
                                                                            "special"};
constexpr std::array<std::string_view, kRoundingOutcomes> kRoundingColumns = {
    "exact", "down", "up", "tie-down", "tie-up", "carry", "overflow", "subnormal", "cancel", "special"};
constexpr std::array<std::string_view, kStallCases> kStallNames = {"no stall", "bubble before", "held"};
constexpr std::array<std::string_view, kStallCases> kStallColumns = {"no-stall", "bubble", "held"};

std::uint64_t double_bits(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// 2^exponent. REQUIRES: a normal double.
double power_of_two(int exponent) {
  const std::uint64_t bits = static_cast<std::uint64_t>(exponent + 1023) << 52;
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Magnitudes that the operands of one class can have.
struct Magnitudes {
  bool exists = false;
  bool special = false;  // infinite, NaN or absent: no sum is computed
  bool zero = false;
  double min = 0;  // of those that are not zero; 0 if all are
  double max = 0;
};

unsigned container_shift(const FormatSpec& row) {
  return static_cast<unsigned>(row.storage_bits - row.sign_bits - row.exponent_bits - row.mantissa_bits);
}

Magnitudes magnitudes_of(const OperandType& type, OperandClass operand_class, bool flush_denormals) {
  const FormatSpec& row = spec(type.format);
  const bool is_integer = row.integer_bits != 0;
  const bool is_scale = row.sign_bits == 0 && !is_integer;
  const auto value = [&](std::uint32_t code) { return static_cast<double>(decode(row, code)); };
  Magnitudes result;
  switch (operand_class) {
    case OperandClass::Absent:
      result.exists = result.special = true;
      break;
    case OperandClass::Infinity:
      result.exists = row.has_infinity;
      result.special = true;
      break;
    case OperandClass::NotANumber:
      result.exists = row.nan_codes != NanCodes::None;
      result.special = true;
      break;
    case OperandClass::Zero:
      result.exists = !is_scale;
      result.zero = true;
      break;
    case OperandClass::Subnormal:
      result.exists = !is_integer && !is_scale && row.mantissa_bits != 0;
      if (!result.exists) break;
      if (flush_denormals) {
        result.zero = true;
        break;
      }
      result.min = value(1U << container_shift(row));
      result.max = value(((1U << row.mantissa_bits) - 1) << container_shift(row));
      if (type.part == OperandPart::High) {
        result.zero = true;
        result.min = 0x1p-137;
        result.max = 0x7FFp-137;
      } else if (type.part == OperandPart::Low) {
        result.zero = true;
        result.max = 0xFFFp-149;
      }
      break;
    case OperandClass::Normal:
      result.exists = true;
      if (is_integer) {
        result.min = 1;
        result.max = row.sign_bits == 0 ? row.max_finite : row.max_finite + 1;
        break;
      }
      result.min = value(is_scale ? 0 : 1U << (row.mantissa_bits + container_shift(row)));
      result.max = value(row.max_finite);
      if (type.part == OperandPart::High) {
        result.max = 0xFFFp116;
      } else if (type.part == OperandPart::Low) {
        result.zero = true;
        result.min = 0x1p-149;
        result.max = 0xFFFp104;
      }
      break;
  }
  return result;
}

// What the sums of products of these operands with every FP32 addend can be. A sum with a zero product is the addend.
bool can_happen(const Magnitudes& act, const Magnitudes& weight, RoundingOutcome rounding) {
  if (!act.exists || !weight.exists) return false;
  if (act.special || weight.special || rounding == RoundingOutcome::Special)
    return rounding == RoundingOutcome::Special;
  if ((act.zero || weight.zero) && (rounding == RoundingOutcome::Exact || rounding == RoundingOutcome::Subnormal))
    return true;
  const double min = act.min * weight.min;
  const double max = act.max * weight.max;
  if (min == 0) return false;
  switch (rounding) {
    case RoundingOutcome::Exact:
    case RoundingOutcome::ExactCancellation:
      return max >= 0x1p-149;  // a multiple of FP32's smallest subnormal
    case RoundingOutcome::TieToEvenDown:
    case RoundingOutcome::TieToEvenUp:
      return max >= 0x1p-150;  // half of it
    case RoundingOutcome::Overflow:
      return max >= 0x1p103;  // half the distance of the largest finite values
    case RoundingOutcome::Subnormal:
      // |product| of 2^-103 or more and an FP32 addend are multiples of 2^-126: no smaller sum but 0.
      return min < 0x1p-103;
    default:
      return true;  // a product far below the addend rounds down or up, and up to a power of two
  }
}

// A count of hits in percent; blank if there is nothing to hit, 100 only if nothing is missing.
std::string percent(std::size_t hit, std::size_t possible) {
  return possible == 0 ? "-" : fmt::format("{}", 100 * hit / possible);
}

}  // namespace

OperandClass operand_class(Format format, std::uint32_t code) {
  const FormatSpec& row = spec(format);
  const float value = decode(row, code);
  if (std::isnan(value)) return OperandClass::NotANumber;
  if (std::isinf(value)) return OperandClass::Infinity;
  if (value == 0) return OperandClass::Zero;
  return decode(row, code, true) == 0 ? OperandClass::Subnormal : OperandClass::Normal;
}

RoundingOutcome rounding_outcome(double product, float addend) {
  if (product == 0) {
    const bool subnormal = addend != 0 && flush_subnormal(addend) == 0;
    return subnormal ? RoundingOutcome::Subnormal : RoundingOutcome::Exact;
  }
  // The exact sum as sum + rest, |rest| <= ulp(sum) / 2 (Knuth's TwoSum); a product's bits are far above the smallest
  // double, so nothing underflows.
  const double c = static_cast<double>(addend);
  double sum = product + c;
  const double c_part = sum - product;
  double rest = (product - (sum - c_part)) + (c - c_part);
  if (sum == 0) return RoundingOutcome::ExactCancellation;
  if (sum < 0) {
    sum = -sum;
    rest = -rest;
  }
  // Units in the last place of FP32 at the exact sum, which is below a power of two if `rest` is negative there.
  const std::uint64_t bits = double_bits(sum);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  if (rest < 0 && (bits & 0xF'FFFF'FFFF'FFFF) == 0) --exponent;
  constexpr int kMinExponent = -126;
  const bool below_normal = exponent < kMinExponent;
  const double units = sum * power_of_two(23 - (below_normal ? kMinExponent : exponent));
  auto whole = static_cast<std::int64_t>(units);  // truncated
  double fraction = units - static_cast<double>(whole);
  if (fraction == 0 && rest < 0) {
    --whole;
    fraction = 1;  // a little less
  }
  const bool exact = fraction == 0 && rest == 0;
  const bool tie = fraction == 0.5 && rest == 0;
  const bool above_half = fraction > 0.5 || (fraction == 0.5 && rest > 0);
  const bool up = above_half || (tie && (whole & 1) != 0);
  const std::int64_t rounded = whole + (up ? 1 : 0);
  constexpr std::int64_t kHidden = std::int64_t{1} << 23;
  if (exponent > 127 || (exponent == 127 && rounded == 2 * kHidden)) return RoundingOutcome::Overflow;
  if (below_normal && rounded < kHidden) return RoundingOutcome::Subnormal;
  if (up && rounded == (below_normal ? kHidden : 2 * kHidden)) return RoundingOutcome::Carry;
  if (exact) return RoundingOutcome::Exact;
  if (tie) return up ? RoundingOutcome::TieToEvenUp : RoundingOutcome::TieToEvenDown;
  return up ? RoundingOutcome::RoundedUp : RoundingOutcome::RoundedDown;
}

std::string name_of(const OperandType& type) {
  constexpr std::array<std::string_view, 3> kParts = {"", ".high", ".low"};
  return fmt::format("{}{}", spec(type.format).name, kParts[static_cast<std::size_t>(type.part)]);
}

std::string name_of(const OperandTypes& types) {
  const std::string act = name_of(types.act);
  const std::string weight = name_of(types.weight);
  return act == weight ? act : act + " x " + weight;
}

FunctionalCoverage::FunctionalCoverage(const std::vector<OperandTypes>& groups, bool flush_denormals, bool stalls)
    : stalls_(stalls) {
  for (const OperandTypes& types : groups) {
    Group& group = groups_.emplace_back();
    group.types = types;
    for (std::size_t i = 0; i < kBins; ++i) {
      const auto stall = static_cast<StallCase>(i % kStallCases);
      const auto rounding = static_cast<RoundingOutcome>(i / kStallCases % kRoundingOutcomes);
      const auto weight = static_cast<OperandClass>(i / (kStallCases * kRoundingOutcomes) % kOperandClasses);
      const auto act = static_cast<OperandClass>(i / (kStallCases * kRoundingOutcomes * kOperandClasses));
      group.possible[i] = (stalls || stall == StallCase::None) &&
                          can_happen(magnitudes_of(types.act, act, flush_denormals),
                                     magnitudes_of(types.weight, weight, flush_denormals), rounding);
    }
  }
}

std::size_t FunctionalCoverage::index(const CoverageBin& bin) {
  const std::size_t classes =
      static_cast<std::size_t>(bin.act) * kOperandClasses + static_cast<std::size_t>(bin.weight);
  return (classes * kRoundingOutcomes + static_cast<std::size_t>(bin.rounding)) * kStallCases +
         static_cast<std::size_t>(bin.stall);
}

void FunctionalCoverage::sample(std::size_t group, const CoverageBin& bin) {
  if (!stalls_ && bin.stall != StallCase::None) return;
  const std::size_t i = index(bin);
  if (groups_[group].possible[i]) {
    groups_[group].hit[i] = true;
  } else {
    ++impossible_samples_;
  }
}

std::size_t FunctionalCoverage::bins() const {
  std::size_t count = 0;
  for (const Group& group : groups_) {
    for (const bool possible : group.possible) count += possible ? 1 : 0;
  }
  return count;
}

std::size_t FunctionalCoverage::hits() const {
  std::size_t count = 0;
  for (const Group& group : groups_) {
    for (const bool hit : group.hit) count += hit ? 1 : 0;
  }
  return count;
}

std::string FunctionalCoverage::table() const {
  constexpr std::size_t kMostLines = 24;
  struct Line {
    std::string name;
    std::size_t possible = 0, hit = 0;
    std::array<std::size_t, kRoundingOutcomes> rounding_possible{}, rounding_hit{};
    std::array<std::size_t, kStallCases> stall_possible{}, stall_hit{};
  };
  std::vector<Line> lines;
  const bool by_activation = groups_.size() > kMostLines;
  std::size_t width = 0;
  for (const Group& group : groups_) {
    const std::string name = by_activation ? name_of(group.types.act) : name_of(group.types);
    if (lines.empty() || lines.back().name != name) lines.push_back({name});
    Line& line = lines.back();
    width = std::max(width, name.size());
    for (std::size_t i = 0; i < kBins; ++i) {
      const std::size_t possible = group.possible[i] ? 1 : 0;
      const std::size_t hit = group.hit[i] ? 1 : 0;
      const std::size_t stall = i % kStallCases;
      const std::size_t rounding = i / kStallCases % kRoundingOutcomes;
      line.possible += possible;
      line.hit += hit;
      line.rounding_possible[rounding] += possible;
      line.rounding_hit[rounding] += hit;
      line.stall_possible[stall] += possible;
      line.stall_hit[stall] += hit;
    }
  }
  const std::string_view title = "% of bins";
  width = std::max(width, title.size());
  std::string text = fmt::format("{:<{}}", title, width);
  auto out = std::back_inserter(text);
  for (const std::string_view column : kRoundingColumns) fmt::format_to(out, "  {}", column);
  for (const std::string_view column : kStallColumns) fmt::format_to(out, "  {}", column);
  fmt::format_to(out, "    all         bins\n");
  for (const Line& line : lines) {
    fmt::format_to(out, "{:<{}}", line.name, width);
    for (std::size_t i = 0; i < kRoundingOutcomes; ++i) {
      fmt::format_to(out, "  {:>{}}", percent(line.rounding_hit[i], line.rounding_possible[i]),
                     kRoundingColumns[i].size());
    }
    for (std::size_t i = 0; i < kStallCases; ++i) {
      fmt::format_to(out, "  {:>{}}", percent(line.stall_hit[i], line.stall_possible[i]), kStallColumns[i].size());
    }
    fmt::format_to(out, "  {:>5.1f}  {:>11}\n",
                   100.0 * static_cast<double>(line.hit) / static_cast<double>(line.possible),
                   fmt::format("{}/{}", line.hit, line.possible));
  }
  return text;
}

std::vector<std::string> FunctionalCoverage::holes() const {
  std::vector<std::string> result;
  for (const Group& group : groups_) {
    const std::string name = name_of(group.types);
    for (std::size_t rounding = 0; rounding < kRoundingOutcomes; ++rounding) {
      // Possible and hit bins of the rounding case, as [class pair][stall].
      std::size_t case_possible = 0, case_hit = 0;
      std::vector<std::string> of_case;
      for (std::size_t pair = 0; pair < kOperandClasses * kOperandClasses; ++pair) {
        const std::size_t first = (pair * kRoundingOutcomes + rounding) * kStallCases;
        const std::string bin = fmt::format("{}: {} x {}, {}", name, kClassNames[pair / kOperandClasses],
                                            kClassNames[pair % kOperandClasses], kRoundingNames[rounding]);
        std::size_t possible = 0, hit = 0;
        std::vector<std::string> of_pair;
        for (std::size_t stall = 0; stall < kStallCases; ++stall) {
          if (!group.possible[first + stall]) continue;
          ++possible;
          if (group.hit[first + stall]) {
            ++hit;
          } else {
            of_pair.push_back(fmt::format("{}, {}", bin, kStallNames[stall]));
          }
        }
        case_possible += possible;
        case_hit += hit;
        if (possible != 0 && hit == 0) of_pair = {bin};
        of_case.insert(of_case.end(), of_pair.begin(), of_pair.end());
      }
      if (case_possible != 0 && case_hit == 0) of_case = {fmt::format("{}: {}", name, kRoundingNames[rounding])};
      result.insert(result.end(), of_case.begin(), of_case.end());
    }
  }
  return result;
}

}  // namespace azulejo
