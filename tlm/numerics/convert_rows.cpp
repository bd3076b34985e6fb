// SPDX-License-Identifier: Apache-2.0
// Row conversions. Each is a branch-free function of one element on 32-bit lanes, specialised by the format table,
// which the compiler vectorises three times: for the base instruction set, AVX2 and AVX-512.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tlm/numerics/float_bits.h"
#include "tlm/numerics/format.h"
#include "tlm/numerics/format_table.h"
#include "tlm/numerics/random.h"
#include "tlm/numerics/simd.h"

#define AZULEJO_INLINE inline __attribute__((always_inline))

namespace azulejo {
namespace {

constexpr std::size_t kBlock = 64;  // elements a vectorised loop takes at a time

// Integers have 8, 16 or 32 storage bits; E2M1 codes are handled one a byte here.
template <Format kFormat>
using Code = std::conditional_t<(table_row(kFormat).storage_bits > 16), std::uint32_t,
                                std::conditional_t<(table_row(kFormat).storage_bits > 8), std::uint16_t, std::uint8_t>>;

template <Format kFormat>
constexpr bool kIsInteger = table_row(kFormat).integer_bits != 0;

// Floating point with fewer exponent bits than FP32: its subnormals are normal in FP32.
template <Format kFormat>
constexpr bool kIsNarrow = !kIsInteger<kFormat> && table_row(kFormat).exponent_bits < 8;

// By masks: a conditional expression would let the compiler branch around the arithmetic of one side, and not
// vectorise.
AZULEJO_INLINE std::uint32_t select(bool condition, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0 - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

template <Format kFormat>
struct Decoder {
  using In = Code<kFormat>;
  using Out = float;
  std::uint32_t flush;  // all ones to flush, else 0

  explicit Decoder(bool flush_denormals) : flush(flush_denormals ? ~0U : 0U) {}

  AZULEJO_INLINE float operator()(In code) const {
    constexpr const FormatSpec& kSpec = table_row(kFormat);
    if constexpr (kIsInteger<kFormat>) {
      if constexpr (kSpec.sign_bits == 0) {
        return static_cast<float>(code);
      } else {
        return static_cast<float>(static_cast<std::make_signed_t<In>>(code));
      }
    } else if constexpr (kFormat == Format::E8M0) {
      const std::uint32_t field = code;
      const std::uint32_t finite = select(field == 0, kFp32MinNormal >> 1, field << 23);
      return bits_to_float(select(field == 0xFF, kFp32CanonicalNan, finite));
    } else if constexpr (kIsNarrow<kFormat>) {
      constexpr unsigned kMantissa = kSpec.mantissa_bits;
      constexpr unsigned kMagnitudeBits = kSpec.exponent_bits + kMantissa;
      constexpr std::uint32_t kTop = ((1U << kSpec.exponent_bits) - 1) << kMantissa;  // Inf of an IEEE-like format
      constexpr float kUnit = 1.0F / static_cast<float>(1 << (kSpec.bias - 1 + static_cast<int>(kMantissa)));
      const std::uint32_t magnitude = code & ((1U << kMagnitudeBits) - 1);
      const std::uint32_t normal =
          (magnitude << (23 - kMantissa)) + (static_cast<std::uint32_t>(127 - kSpec.bias) << 23);
      const std::uint32_t subnormal = float_to_bits(static_cast<float>(static_cast<std::int32_t>(magnitude)) * kUnit);
      std::uint32_t bits = select(magnitude < (1U << kMantissa), subnormal & ~flush, normal);
      if constexpr (kSpec.has_infinity) bits = select(magnitude == kTop, kFp32Infinity, bits);
      bits |= (static_cast<std::uint32_t>(code) << (31 - kMagnitudeBits)) & kFp32SignMask;
      if constexpr (kSpec.nan_codes == NanCodes::Ieee) bits = select(magnitude > kTop, kFp32CanonicalNan, bits);
      if constexpr (kSpec.nan_codes == NanCodes::AllOnes) {
        bits = select(magnitude == (1U << kMagnitudeBits) - 1, kFp32CanonicalNan, bits);
      }
      return bits_to_float(bits);
    } else {  // the upper bits of an FP32
      constexpr unsigned kShift = kFormat == Format::Bf16 ? 16 : 0;
      constexpr std::uint32_t kIgnored = kFormat == Format::Tf32 ? (1U << 13) - 1 : 0;
      const std::uint32_t bits = (static_cast<std::uint32_t>(code) << kShift) & ~kIgnored;
      const std::uint32_t magnitude = bits & kFp32MagnitudeMask;
      const std::uint32_t flushed = select(magnitude < kFp32MinNormal, bits & ~(flush & kFp32MagnitudeMask), bits);
      return bits_to_float(select(magnitude > kFp32Infinity, kFp32CanonicalNan, flushed));
    }
  }
};

// Round to nearest even only.
template <Format kFormat>
struct Encoder {
  using In = float;
  using Out = Code<kFormat>;
  std::uint32_t input_floor;    // FP32 magnitudes below it become zero
  std::uint32_t result_floor;   // result magnitudes below it become zero
  std::uint32_t overflow;       // result magnitude beyond max_finite
  std::uint32_t overflow_sign;  // all ones if the overflow code takes the source's sign

  explicit Encoder(const ConversionMode& mode)
      : input_floor(mode.flush_denormals ? kFp32MinNormal : 0),
        result_floor(mode.flush_denormals ? 1U << table_row(kFormat).mantissa_bits : 0),
        overflow(overflow_code(mode.saturate)),
        overflow_sign(overflow == table_row(kFormat).canonical_nan ? 0U : ~0U) {}

  static std::uint32_t overflow_code(bool saturate) {
    constexpr const FormatSpec& kSpec = table_row(kFormat);
    if (saturate || (!kSpec.has_infinity && kSpec.nan_codes == NanCodes::None)) return kSpec.max_finite;
    if (!kSpec.has_infinity) return kSpec.canonical_nan;
    return kFormat == Format::Tf32 ? kFp32Infinity : kSpec.max_finite + 1;
  }

  AZULEJO_INLINE Out operator()(float value) const {
    constexpr const FormatSpec& kSpec = table_row(kFormat);
    const std::uint32_t bits = float_to_bits(value);
    const std::uint32_t source = bits & kFp32MagnitudeMask;
    if constexpr (kIsInteger<kFormat>) {
      static_assert(kSpec.integer_bits <= 16, "32-bit integers have no vector path");
      // Adding 1.5 * 2^23 to a value below 2^22 rounds it to an integer, ties to even, in the low bits of the sum.
      constexpr float kShifter = 0x1.8p23F;
      constexpr float kHigh = static_cast<float>(kSpec.max_finite);
      constexpr float kLow = kSpec.sign_bits == 0 ? 0.0F : -kHigh - 1.0F;
      float clamped = value > kLow ? value : kLow;
      clamped = clamped < kHigh ? clamped : kHigh;
      const std::uint32_t rounded = float_to_bits(clamped + kShifter) - float_to_bits(kShifter);
      return static_cast<Out>(select(source > kFp32Infinity, 0, rounded));
    } else {
      constexpr unsigned kMantissa = kSpec.mantissa_bits;
      constexpr unsigned kDropped = 23 - kMantissa;
      constexpr unsigned kContainerShift = kFormat == Format::Tf32 ? 13 : 0;
      constexpr unsigned kSignShift = 32 - kSpec.storage_bits;
      constexpr bool kHasNan = kSpec.nan_codes != NanCodes::None;
      constexpr std::uint32_t kNan = kHasNan ? kSpec.canonical_nan : kSpec.max_finite;

      const std::uint32_t magnitude = select(source < input_floor, 0, source);
      std::uint32_t code = magnitude;
      if constexpr (kDropped > 0) {
        const std::uint32_t odd = (magnitude >> kDropped) & 1;
        code = (magnitude + ((1U << (kDropped - 1)) - 1) + odd) >> kDropped;
      }
      if constexpr (kIsNarrow<kFormat>) {
        // Below the smallest normal, an addition of 2^(emin - mantissa + 23) rounds to the subnormal unit.
        constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kSpec.bias);
        constexpr std::uint32_t kMinNormal = (kRebias + 1) << 23;
        constexpr std::uint32_t kShifter = (kRebias + 1 - kMantissa + 23) << 23;
        const std::uint32_t subnormal = float_to_bits(bits_to_float(magnitude) + bits_to_float(kShifter)) - kShifter;
        code = select(magnitude < kMinNormal, subnormal, code - (kRebias << kMantissa));
      }
      code = select(code < result_floor, 0, code) << kContainerShift;
      const bool overflows = code > kSpec.max_finite;
      const bool nan = source > kFp32Infinity;
      const std::uint32_t sign = ((bits & kFp32SignMask) >> kSignShift) & select(overflows, overflow_sign, ~0U);
      return static_cast<Out>(select(nan, kNan, select(overflows, overflow, code) | sign));
    }
  }
};

// Elements may lie at any byte address.
template <class T>
AZULEJO_INLINE T load(const unsigned char* source, std::size_t index) {
  T value;
  std::memcpy(&value, source + index * sizeof(T), sizeof value);
  return value;
}

template <class T>
AZULEJO_INLINE void store(unsigned char* destination, std::size_t index, T value) {
  std::memcpy(destination + index * sizeof(T), &value, sizeof value);
}

template <class Convert>
AZULEJO_INLINE void convert_all(Convert convert, const unsigned char* __restrict source,
                                unsigned char* __restrict destination, std::size_t count) {
  using In = typename Convert::In;
  using Out = typename Convert::Out;
  std::size_t done = 0;
  for (; done + kBlock <= count; done += kBlock) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      store<Out>(destination, i, convert(load<In>(source, i)));
    }
    source += kBlock * sizeof(In);
    destination += kBlock * sizeof(Out);
  }
  for (std::size_t i = 0; i < count - done; ++i) store<Out>(destination, i, convert(load<In>(source, i)));
}

#if AZULEJO_HAS_X86_SIMD
template <class Convert>
AZULEJO_TARGET_AVX2 void convert_all_avx2(Convert convert, const unsigned char* source, unsigned char* destination,
                                          std::size_t count) {
  convert_all(convert, source, destination, count);
}

template <class Convert>
AZULEJO_TARGET_AVX512 void convert_all_avx512(Convert convert, const unsigned char* source, unsigned char* destination,
                                              std::size_t count) {
  convert_all(convert, source, destination, count);
}
#endif

template <class Convert>
void run(Convert convert, const void* source, void* destination, std::size_t count) {
  const auto* from = static_cast<const unsigned char*>(source);
  auto* to = static_cast<unsigned char*>(destination);
#if AZULEJO_HAS_X86_SIMD
  if (active_simd_path() == SimdPath::Avx512) return convert_all_avx512(convert, from, to, count);
  if (active_simd_path() == SimdPath::Avx2) return convert_all_avx2(convert, from, to, count);
#endif
  convert_all(convert, from, to, count);
}

// E2M1: two codes a byte, the low nibble first.
template <class Nibble>
void pack_nibbles(unsigned char* bytes, std::size_t count, Nibble nibble) {
  for (std::size_t i = 0; i < count; i += 2) {
    const unsigned low = nibble(i);
    const unsigned high = i + 1 < count ? nibble(i + 1) : 0;
    bytes[i / 2] = static_cast<unsigned char>(low | high << 4);
  }
}

void decode_e2m1(const unsigned char* source, float* destination, std::size_t count, bool flush_denormals) {
  const Decoder<Format::E2M1> convert(flush_denormals);
  unsigned char codes[kBlock];
  while (count > 0) {
    const std::size_t length = count < kBlock ? count : kBlock;
    for (std::size_t i = 0; i < length; ++i) {
      codes[i] = static_cast<unsigned char>((source[i / 2] >> (i % 2 * 4)) & 0xF);
    }
    run(convert, codes, destination, length);
    source += kBlock / 2;
    destination += length;
    count -= length;
  }
}

void encode_e2m1(const float* source, unsigned char* destination, std::size_t count, const ConversionMode& mode) {
  const Encoder<Format::E2M1> convert(mode);
  unsigned char codes[kBlock];
  while (count > 0) {
    const std::size_t length = count < kBlock ? count : kBlock;
    run(convert, source, codes, length);
    pack_nibbles(destination, length, [&](std::size_t i) { return unsigned{codes[i]}; });
    source += length;
    destination += kBlock / 2;
    count -= length;
  }
}

// One element at a time by encode(): stochastic rounding, whose words come one after the other, and the formats
// without a vector path.
void encode_one_by_one(Format format, const float* source, unsigned char* destination, std::size_t count,
                       const ConversionMode& mode, RandomLane* lane) {
  const FormatSpec& row = spec(format);
  const bool random = takes_random_word(format, mode);
  const auto next_code = [&](std::size_t i) { return encode(row, source[i], mode, random ? lane->next() : 0); };
  switch (row.storage_bits) {
    case 4:
      return pack_nibbles(destination, count, next_code);
    case 8:
      for (std::size_t i = 0; i < count; ++i) store(destination, i, static_cast<std::uint8_t>(next_code(i)));
      return;
    case 16:
      for (std::size_t i = 0; i < count; ++i) store(destination, i, static_cast<std::uint16_t>(next_code(i)));
      return;
    default:
      for (std::size_t i = 0; i < count; ++i) store(destination, i, next_code(i));
  }
}

}  // namespace

void decode_row(Format format, const void* source, float* destination, std::size_t count, bool flush_denormals) {
  const auto decode_with = [&](auto decoder) { run(decoder, source, destination, count); };
  switch (format) {
    case Format::Fp32:
      return decode_with(Decoder<Format::Fp32>(flush_denormals));
    case Format::Tf32:
      return decode_with(Decoder<Format::Tf32>(flush_denormals));
    case Format::Bf16:
      return decode_with(Decoder<Format::Bf16>(flush_denormals));
    case Format::Fp16:
      return decode_with(Decoder<Format::Fp16>(flush_denormals));
    case Format::E4M3:
      return decode_with(Decoder<Format::E4M3>(flush_denormals));
    case Format::E4M3FN:
      return decode_with(Decoder<Format::E4M3FN>(flush_denormals));
    case Format::E5M2:
      return decode_with(Decoder<Format::E5M2>(flush_denormals));
    case Format::E3M4:
      return decode_with(Decoder<Format::E3M4>(flush_denormals));
    case Format::E8M0:
      return decode_with(Decoder<Format::E8M0>(flush_denormals));
    case Format::E2M1:
      return decode_e2m1(static_cast<const unsigned char*>(source), destination, count, flush_denormals);
    case Format::Int8:
      return decode_with(Decoder<Format::Int8>(flush_denormals));
    case Format::Uint8:
      return decode_with(Decoder<Format::Uint8>(flush_denormals));
    case Format::Int16:
      return decode_with(Decoder<Format::Int16>(flush_denormals));
    case Format::Uint16:
      return decode_with(Decoder<Format::Uint16>(flush_denormals));
    case Format::Int32:
      return decode_with(Decoder<Format::Int32>(flush_denormals));
    case Format::Uint32:
      return decode_with(Decoder<Format::Uint32>(flush_denormals));
  }
}

void encode_row(Format format, const float* source, void* destination, std::size_t count, const ConversionMode& mode,
                RandomLane* lane) {
  auto* bytes = static_cast<unsigned char*>(destination);
  if (takes_random_word(format, mode)) return encode_one_by_one(format, source, bytes, count, mode, lane);
  const auto encode_with = [&](auto encoder) { run(encoder, source, destination, count); };
  switch (format) {
    case Format::Fp32:
      return encode_with(Encoder<Format::Fp32>(mode));
    case Format::Tf32:
      return encode_with(Encoder<Format::Tf32>(mode));
    case Format::Bf16:
      return encode_with(Encoder<Format::Bf16>(mode));
    case Format::Fp16:
      return encode_with(Encoder<Format::Fp16>(mode));
    case Format::E4M3:
      return encode_with(Encoder<Format::E4M3>(mode));
    case Format::E4M3FN:
      return encode_with(Encoder<Format::E4M3FN>(mode));
    case Format::E5M2:
      return encode_with(Encoder<Format::E5M2>(mode));
    case Format::E3M4:
      return encode_with(Encoder<Format::E3M4>(mode));
    case Format::E2M1:
      return encode_e2m1(source, bytes, count, mode);
    case Format::Int8:
      return encode_with(Encoder<Format::Int8>(mode));
    case Format::Uint8:
      return encode_with(Encoder<Format::Uint8>(mode));
    case Format::Int16:
      return encode_with(Encoder<Format::Int16>(mode));
    case Format::Uint16:
      return encode_with(Encoder<Format::Uint16>(mode));
    case Format::E8M0:
    case Format::Int32:
    case Format::Uint32:
      return encode_one_by_one(format, source, bytes, count, mode, lane);
  }
}

}  // namespace azulejo
