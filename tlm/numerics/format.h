// SPDX-License-Identifier: Apache-2.0
// Number formats of the tensor, vector and DMA data paths, and the conversions
// between them and FP32.
//
// Pure functions; no SystemC. Bit-level contract: the "Numerics" section of
// ARCHITECTURE.md. The twin of this table in RTL is rtl/pkg.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace azulejo {

class RandomLane;

enum class Format : std::uint8_t {
  Fp32,
  Tf32,  // FP32 container, low 13 bits ignored: a NaN with payload only there is an Inf; written as 0
  Bf16,
  Fp16,
  E4M3,    // IEEE-like, Trn1 and Trn2
  E4M3FN,  // OCP, Trn3
  E5M2,
  E3M4,  // IEEE-like: assumed
  E8M0,  // block scale: powers of two, no sign, no zero, no subnormals
  E2M1,  // MXFP4 element
  Int8,
  Uint8,
  Int16,
  Uint16,
  Int32,
  Uint32,
};

enum class NanCodes : std::uint8_t {
  None,     // no code is a NaN
  Ieee,     // exponent all ones, fraction not zero
  AllOnes,  // exponent and fraction all ones only
};

// One row of the format table. A floating-point format has exponent_bits > 0
// (or is E8M0); an integer has exponent_bits == 0 and integer_bits > 0.
struct FormatSpec {
  std::string_view name;      // "bf16", as typed on the command line
  std::uint8_t storage_bits;  // bits of one element in memory (E2M1: 4, packed two a byte, low nibble first)
  std::uint8_t sign_bits;
  std::uint8_t exponent_bits;
  std::uint8_t mantissa_bits;  // stored fraction bits
  std::int16_t bias;
  bool has_infinity;
  NanCodes nan_codes;
  std::uint32_t canonical_nan;  // 0 when the format has no NaN
  std::uint32_t max_finite;     // code of the largest finite value
  std::uint8_t integer_bits;    // 0 for floating point
};

// The table's row of `format`.
const FormatSpec& spec(Format format);

// A configurable FP8: 1 sign bit, `exponent_bits` + `mantissa_bits` == 7, IEEE-like
// (Inf, NaN codes) with a settable bias. REQUIRES: 1 <= exponent_bits <= 6. A bias that puts values beyond FP32's
// range makes decode() round them as FP32 does.
FormatSpec configurable_fp8(std::uint8_t exponent_bits, std::uint8_t mantissa_bits, std::int16_t bias);

// All formats of the table, in enum order.
const std::vector<Format>& all_formats();

// "bf16" -> Format::Bf16; nothing if the word is unknown. Aliases: float32, bfloat16, float16.
std::optional<Format> parse_format(std::string_view word);

// Bytes that `count` elements take in memory, rounded up to whole bytes.
std::size_t storage_bytes(Format format, std::size_t count);

enum class Rounding : std::uint8_t { NearestEven, Stochastic };

struct ConversionMode {
  Rounding rounding = Rounding::NearestEven;
  bool saturate = false;         // overflow gives +-max finite instead of Inf (or NaN)
  bool flush_denormals = false;  // subnormal input and result become a signed zero
};

// Exact value of `code`; NaN codes give 7FC00000. With `flush_denormals` an operand that is
// subnormal in its own format becomes a signed zero. Int32 and Uint32 round to nearest even.
float decode(const FormatSpec& spec, std::uint32_t code, bool flush_denormals = false);
float decode(Format format, std::uint32_t code, bool flush_denormals = false);

// `value` rounded into the format; a result beyond max_finite, rounded as if the exponent had no limit, overflows.
// Inf, NaN and results that the format lacks:
//   E4M3FN  overflow gives the NaN 7F, of either sign.
//   E2M1    overflow always saturates; NaN gives +6.
//   E8M0    rounds like the others (its significand 1 is odd, so a tie goes up); overflow and negative values give the
//           NaN FF; zero and whatever lies below the smallest scale give code 00.
//   Integers round to nearest even and saturate whatever `mode` says; NaN gives 0.
// The code of a TF32 value is its FP32 container. `random_word` is used only by Rounding::Stochastic
// into a floating-point format narrower than FP32.
std::uint32_t encode(const FormatSpec& spec, float value, const ConversionMode& mode = {},
                     std::uint32_t random_word = 0);
std::uint32_t encode(Format format, float value, const ConversionMode& mode = {}, std::uint32_t random_word = 0);

// True if an element converted into `format` under `mode` takes one word from its lane.
bool takes_random_word(Format format, const ConversionMode& mode);

// `count` packed elements at `source` to FP32 at `destination`; same bits as decode(), by host SIMD
// where the host has it.
void decode_row(Format format, const void* source, float* destination, std::size_t count, bool flush_denormals = false);

// `count` FP32 values to packed elements; same bits as encode(). The high half of the last byte of an odd number of
// E2M1 elements is written as 0. `lane` supplies one word an element in element order when takes_random_word(); else it
// may be null.
void encode_row(Format format, const float* source, void* destination, std::size_t count,
                const ConversionMode& mode = {}, RandomLane* lane = nullptr);

}  // namespace azulejo
