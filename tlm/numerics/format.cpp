// SPDX-License-Identifier: Apache-2.0
// The table's public face and the scalar conversions: integer arithmetic only, written for clarity. The row
// conversions of convert_rows.cpp are separate code that gives the same bits.
#include "tlm/numerics/format.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tlm/numerics/float_bits.h"
#include "tlm/numerics/format_table.h"

namespace azulejo {
namespace {

constexpr std::uint32_t low_mask(unsigned bits) { return static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1); }

constexpr bool is_integer(const FormatSpec& spec) { return spec.integer_bits != 0; }

// A format of powers of two only: no sign, no fraction, no zero, no subnormals (E8M0).
constexpr bool is_scale(const FormatSpec& spec) { return spec.sign_bits == 0 && !is_integer(spec); }

// Bits of the container below the format's own (13 for TF32, else 0).
constexpr unsigned container_shift(const FormatSpec& spec) {
  return static_cast<unsigned>(spec.storage_bits - spec.sign_bits - spec.exponent_bits - spec.mantissa_bits);
}

constexpr int min_exponent(const FormatSpec& spec) { return is_scale(spec) ? -spec.bias : 1 - spec.bias; }

// A magnitude m * 2^exponent split at a unit: the whole units in it and what is left over, as a fraction
// `rest` / 2^`rest_bits` of one unit. REQUIRES: significand < 2^24.
struct Units {
  std::uint64_t whole;
  std::uint64_t rest;
  int rest_bits;
};

Units in_units(std::uint32_t significand, int exponent, int unit_exponent) {
  const int shift = unit_exponent - exponent;
  if (shift <= 0) return {std::uint64_t{significand} << -shift, 0, 0};
  if (shift >= 24) return {0, significand, shift};
  return {significand >> shift, significand & low_mask(static_cast<unsigned>(shift)), shift};
}

bool rounds_up_to_even(const Units& units) {
  if (units.rest_bits == 0 || units.rest_bits > 24) return false;
  const std::uint64_t half = std::uint64_t{1} << (units.rest_bits - 1);
  return units.rest > half || (units.rest == half && (units.whole & 1) != 0);
}

// R < T with T = floor(fraction * 2^32).
bool rounds_up_stochastically(const Units& units, std::uint32_t random_word) {
  if (units.rest_bits <= 32) return random_word < units.rest << (32 - units.rest_bits);
  return units.rest_bits < 64 && random_word < units.rest >> (units.rest_bits - 32);
}

std::uint32_t encode_integer(const FormatSpec& spec, float value) {
  const std::uint32_t bits = float_to_bits(value);
  const std::uint32_t magnitude = bits & kFp32MagnitudeMask;
  if (magnitude > kFp32Infinity) return 0;
  const bool negative = (bits & kFp32SignMask) != 0;
  const std::uint64_t limit =
      negative ? (spec.sign_bits == 0 ? 0 : std::uint64_t{spec.max_finite} + 1) : spec.max_finite;

  std::uint64_t rounded = limit;
  if (magnitude < float_to_bits(0x1p33F)) {
    const int field = static_cast<int>(magnitude >> 23);
    const std::uint32_t significand = field == 0 ? magnitude : (magnitude & low_mask(23)) | kFp32MinNormal;
    const Units units = in_units(significand, std::max(field, 1) - 150, 0);
    rounded = std::min(limit, units.whole + (rounds_up_to_even(units) ? 1U : 0U));
  }
  return static_cast<std::uint32_t>(negative ? 0 - rounded : rounded) & low_mask(spec.storage_bits);
}

}  // namespace

const FormatSpec& spec(Format format) { return table_row(format); }

FormatSpec configurable_fp8(std::uint8_t exponent_bits, std::uint8_t mantissa_bits, std::int16_t bias) {
  const std::uint32_t infinity = low_mask(exponent_bits) << mantissa_bits;
  FormatSpec result{};
  result.name = "fp8";
  result.storage_bits = 8;
  result.sign_bits = 1;
  result.exponent_bits = exponent_bits;
  result.mantissa_bits = mantissa_bits;
  result.bias = bias;
  result.has_infinity = true;
  result.nan_codes = NanCodes::Ieee;
  result.canonical_nan = infinity | 1U << (mantissa_bits - 1);
  result.max_finite = infinity - 1;
  return result;
}

const std::vector<Format>& all_formats() {
  static const std::vector<Format> formats = [] {
    std::vector<Format> list;
    for (std::size_t i = 0; i < kFormatTable.size(); ++i) list.push_back(static_cast<Format>(i));
    return list;
  }();
  return formats;
}

std::optional<Format> parse_format(std::string_view word) {
  if (word == "float32") return Format::Fp32;
  if (word == "bfloat16") return Format::Bf16;
  if (word == "float16") return Format::Fp16;
  for (const Format format : all_formats()) {
    if (spec(format).name == word) return format;
  }
  return std::nullopt;
}

std::size_t storage_bytes(Format format, std::size_t count) {
  const std::size_t bits = spec(format).storage_bits;
  return bits < 8 ? (count * bits + 7) / 8 : count * (bits / 8);
}

float decode(const FormatSpec& spec, std::uint32_t code, bool flush_denormals) {
  if (is_integer(spec)) {
    const std::uint32_t value = code & low_mask(spec.storage_bits);
    if (spec.sign_bits == 0) return static_cast<float>(value);
    const std::int64_t wrap = value > spec.max_finite ? std::int64_t{1} << spec.storage_bits : 0;
    return static_cast<float>(static_cast<std::int64_t>(value) - wrap);
  }

  const unsigned mantissa_bits = spec.mantissa_bits;
  const std::uint32_t own = (code & low_mask(spec.storage_bits)) >> container_shift(spec);
  const std::uint32_t magnitude = own & low_mask(spec.exponent_bits + mantissa_bits);
  const std::uint32_t field = magnitude >> mantissa_bits;
  const std::uint32_t fraction = magnitude & low_mask(mantissa_bits);
  const bool negative = spec.sign_bits != 0 && own != magnitude;

  const bool top_field = field == low_mask(spec.exponent_bits);
  if (top_field && spec.nan_codes == NanCodes::Ieee && fraction != 0) return bits_to_float(kFp32CanonicalNan);
  if (top_field && spec.nan_codes == NanCodes::AllOnes && fraction == low_mask(mantissa_bits)) {
    return bits_to_float(kFp32CanonicalNan);
  }
  if (top_field && spec.has_infinity) return bits_to_float(kFp32Infinity | (negative ? kFp32SignMask : 0));

  double value = 0;
  if (field != 0 || is_scale(spec)) {
    const int exponent = static_cast<int>(field) - spec.bias - static_cast<int>(mantissa_bits);
    value = std::ldexp(static_cast<double>(fraction | 1U << mantissa_bits), exponent);
  } else if (!flush_denormals) {
    value = std::ldexp(static_cast<double>(fraction), min_exponent(spec) - static_cast<int>(mantissa_bits));
  }
  return static_cast<float>(negative ? -value : value);
}

float decode(Format format, std::uint32_t code, bool flush_denormals) {
  return decode(spec(format), code, flush_denormals);
}

std::uint32_t encode(const FormatSpec& spec, float value, const ConversionMode& mode, std::uint32_t random_word) {
  if (is_integer(spec)) return encode_integer(spec, value);

  const unsigned shift = container_shift(spec);
  const std::uint32_t bits = float_to_bits(value);
  std::uint32_t magnitude = bits & kFp32MagnitudeMask;
  const bool negative = (bits & kFp32SignMask) != 0;
  const bool has_nan = spec.nan_codes != NanCodes::None;
  if (magnitude > kFp32Infinity) return has_nan ? spec.canonical_nan : spec.max_finite;
  if (mode.flush_denormals && magnitude < kFp32MinNormal) magnitude = 0;
  if (is_scale(spec) && negative && magnitude != 0) return spec.canonical_nan;

  const std::uint32_t sign = negative ? 1U << (spec.storage_bits - 1) : 0;
  const std::uint32_t max_finite = spec.max_finite >> shift;
  std::uint64_t rounded = 0;  // the code's magnitude, exponent unbounded
  if (magnitude == kFp32Infinity) {
    rounded = std::uint64_t{max_finite} + 1;
  } else if (magnitude != 0) {
    const int field = static_cast<int>(magnitude >> 23);
    const std::uint32_t significand = field == 0 ? magnitude : (magnitude & low_mask(23)) | kFp32MinNormal;
    const int exponent = std::max(field, 1) - 150;
    const int binade = exponent + 31 - __builtin_clz(significand);  // floor(log2 |value|)
    const int top = std::max(binade, min_exponent(spec));
    const Units units = in_units(significand, exponent, top - spec.mantissa_bits);
    const bool up =
        mode.rounding == Rounding::Stochastic ? rounds_up_stochastically(units, random_word) : rounds_up_to_even(units);
    // Codes count units: `whole` from the bottom of the binade up, 2^mantissa_bits codes a binade. A carry into the
    // next binade and one from the subnormals to the normals come out right by themselves.
    rounded =
        (static_cast<std::uint64_t>(top - min_exponent(spec)) << spec.mantissa_bits) + units.whole + (up ? 1U : 0U);
  }

  if (is_scale(spec)) {
    rounded = std::max(rounded, std::uint64_t{1}) - 1;  // code 0 is the smallest power of two: there is no zero
    if (magnitude == kFp32Infinity || rounded > max_finite) return mode.saturate ? spec.max_finite : spec.canonical_nan;
    return static_cast<std::uint32_t>(rounded);
  }
  if (rounded > max_finite) {
    if (mode.saturate || !(spec.has_infinity || has_nan)) return spec.max_finite | sign;
    return spec.has_infinity ? sign | (max_finite + 1) << shift : spec.canonical_nan;
  }
  if (mode.flush_denormals && rounded < std::uint64_t{1} << spec.mantissa_bits) rounded = 0;
  return sign | static_cast<std::uint32_t>(rounded) << shift;
}

std::uint32_t encode(Format format, float value, const ConversionMode& mode, std::uint32_t random_word) {
  return encode(spec(format), value, mode, random_word);
}

bool takes_random_word(Format format, const ConversionMode& mode) {
  return mode.rounding == Rounding::Stochastic && format != Format::Fp32 && !is_integer(spec(format));
}

}  // namespace azulejo
