// SPDX-License-Identifier: Apache-2.0
// Operands of a PE: the twin of rtl/fp/fp_decode.sv, through the conversions of tlm/numerics.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tlm/cosim/pe.h"
#include "tlm/numerics/float_bits.h"
#include "tlm/numerics/matmul.h"

namespace azulejo {
namespace {

constexpr unsigned kSignificandBits = 12;
constexpr int kBias = 256;

constexpr unsigned kKindShift = 22;
constexpr unsigned kSignShift = 21;
constexpr unsigned kExponentShift = 12;
constexpr std::uint32_t kExponentMask = 0x1FF;
constexpr std::uint32_t kSignificandMask = 0xFFF;

// Gives `operand` the exponent and significand of an exact value.
void set_value(Operand& operand, double value) {
  if (value == 0) return;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
  operand.significand = static_cast<std::uint32_t>(std::ldexp(fraction, kSignificandBits));
  operand.exponent = static_cast<std::uint32_t>(exponent - static_cast<int>(kSignificandBits) + kBias);
}

bool sign_of(Format format, std::uint32_t code) {
  const FormatSpec& row = spec(format);
  return row.sign_bits != 0 && (code >> (row.storage_bits - 1) & 1) != 0;
}

}  // namespace

Operand unpack_operand(std::uint32_t bits) {
  Operand operand;
  operand.kind = static_cast<OperandKind>(bits >> kKindShift & 7);
  operand.sign = (bits >> kSignShift & 1) != 0;
  operand.exponent = bits >> kExponentShift & kExponentMask;
  operand.significand = bits & kSignificandMask;
  return operand;
}

std::uint32_t pack_operand(const Operand& operand) {
  return static_cast<std::uint32_t>(operand.kind) << kKindShift | (operand.sign ? 1U << kSignShift : 0U) |
         operand.exponent << kExponentShift | operand.significand;
}

double operand_value(const Operand& operand) {
  double value = 0;
  switch (operand.kind) {
    case OperandKind::Finite:
    case OperandKind::LowHalf:
      value = std::ldexp(static_cast<double>(operand.significand), static_cast<int>(operand.exponent) - kBias);
      break;
    case OperandKind::Infinity:
      value = HUGE_VAL;
      break;
    case OperandKind::NotANumber:
      return std::nan("");
    default:
      break;
  }
  return operand.sign ? -value : value;
}

std::string show_operand(std::uint32_t bits) {
  const Operand operand = unpack_operand(bits);
  if (operand.kind == OperandKind::Absent) return fmt::format("{:07x} (absent)", bits);
  return fmt::format("{:07x} ({}{:.9g})", bits, operand.kind == OperandKind::LowHalf ? "low half, " : "",
                     operand_value(operand));
}

Operand decode_operand(Format format, OperandPart part, std::uint32_t code, bool flush_denormals) {
  const float value = decode(format, code, flush_denormals);
  Operand operand;
  operand.sign = sign_of(format, code);
  const bool special = !std::isfinite(value);
  if (part == OperandPart::Low) {
    operand.kind = special ? OperandKind::Absent : OperandKind::LowHalf;
    if (!special) set_value(operand, static_cast<double>(split_fp32(value).low));
    return operand;
  }
  if (special) {
    operand.kind = std::isnan(value) ? OperandKind::NotANumber : OperandKind::Infinity;
  } else if (value == 0) {
    operand.kind = OperandKind::Zero;
  } else {
    operand.kind = OperandKind::Finite;
    set_value(operand, static_cast<double>(part == OperandPart::High ? split_fp32(value).high : value));
  }
  return operand;
}

const std::vector<Format>& array_formats() {
  static const std::vector<Format> formats = [] {
    constexpr unsigned kWidestInteger = 8;  // whose magnitude fits the significand
    std::vector<Format> list;
    std::copy_if(all_formats().begin(), all_formats().end(), std::back_inserter(list),
                 [](Format format) { return spec(format).integer_bits <= kWidestInteger; });
    return list;
  }();
  return formats;
}

}  // namespace azulejo
