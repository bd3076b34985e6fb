// SPDX-License-Identifier: Apache-2.0
// FP32 values as bit patterns, and the constants of that pattern.
#pragma once

#include <cstdint>
#include <cstring>

namespace azulejo {

inline constexpr std::uint32_t kFp32SignMask = 0x80000000;
inline constexpr std::uint32_t kFp32MagnitudeMask = 0x7FFFFFFF;
inline constexpr std::uint32_t kFp32Infinity = 0x7F800000;
inline constexpr std::uint32_t kFp32MinNormal = 0x00800000;
inline constexpr std::uint32_t kFp32MaxFinite = 0x7F7FFFFF;
inline constexpr std::uint32_t kFp32CanonicalNan = 0x7FC00000;

inline std::uint32_t float_to_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float bits_to_float(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// A subnormal becomes a zero of its sign; everything else is unchanged.
inline float flush_subnormal(float value) {
  const std::uint32_t bits = float_to_bits(value);
  return (bits & kFp32Infinity) == 0 ? bits_to_float(bits & kFp32SignMask) : value;
}

// Any NaN becomes 7FC00000; everything else is unchanged.
inline float canonicalize_nan(float value) {
  return (float_to_bits(value) & kFp32MagnitudeMask) > kFp32Infinity ? bits_to_float(kFp32CanonicalNan) : value;
}

}  // namespace azulejo
