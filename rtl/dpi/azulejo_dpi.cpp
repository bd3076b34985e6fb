// SPDX-License-Identifier: Apache-2.0
// DPI types in, tlm/numerics, DPI types out. Nothing is thrown into the simulator.
#include "rtl/dpi/azulejo_dpi.h"

#include <cmath>
#include <cstdint>
#include <new>
#include <optional>

#include "tlm/numerics/float_bits.h"
#include "tlm/numerics/format.h"
#include "tlm/numerics/matmul.h"
#include "tlm/numerics/random.h"

namespace {

using azulejo::bits_to_float;
using azulejo::ConversionMode;
using azulejo::float_to_bits;
using azulejo::Format;
using azulejo::RandomLane;
using azulejo::RandomSource;

constexpr unsigned int kNoCode = 0xFFFFFFFF;
constexpr unsigned int kFormats = static_cast<unsigned int>(Format::Uint32) + 1;

std::optional<Format> to_format(unsigned int number) {
  if (number >= kFormats) return std::nullopt;
  return static_cast<Format>(number);
}

ConversionMode to_mode(unsigned char stochastic, unsigned char saturate, unsigned char flush) {
  ConversionMode mode;
  mode.rounding = stochastic != 0 ? azulejo::Rounding::Stochastic : azulejo::Rounding::NearestEven;
  mode.saturate = saturate != 0;
  mode.flush_denormals = flush != 0;
  return mode;
}

}  // namespace

extern "C" {

unsigned int azulejo_decode(unsigned int format, unsigned int code, unsigned char flush) {
  const std::optional<Format> known = to_format(format);
  return known ? float_to_bits(azulejo::decode(*known, code, flush != 0)) : azulejo::kFp32CanonicalNan;
}

unsigned int azulejo_encode(unsigned int format, unsigned int value, unsigned char stochastic, unsigned char saturate,
                            unsigned char flush, unsigned int random_word) {
  const std::optional<Format> known = to_format(format);
  if (!known) return kNoCode;
  return azulejo::encode(*known, bits_to_float(value), to_mode(stochastic, saturate, flush), random_word);
}

unsigned int azulejo_fma(unsigned int a, unsigned int b, unsigned int acc, unsigned char flush) {
  const float sum = azulejo::canonicalize_nan(std::fma(bits_to_float(a), bits_to_float(b), bits_to_float(acc)));
  return float_to_bits(flush != 0 ? azulejo::flush_subnormal(sum) : sum);
}

unsigned int azulejo_add(unsigned int a, unsigned int b, unsigned char flush) {
  return float_to_bits(azulejo::add_fp32(bits_to_float(a), bits_to_float(b), flush != 0));
}

void* azulejo_random_new(unsigned int source, unsigned long long seed, unsigned int engine, unsigned int lane) {
  if (source > static_cast<unsigned int>(RandomSource::Xorwow)) return nullptr;
  return new (std::nothrow) RandomLane(static_cast<RandomSource>(source), seed, engine, lane);
}

unsigned int azulejo_random_next(void* handle) {
  return handle == nullptr ? 0 : static_cast<RandomLane*>(handle)->next();
}

unsigned int azulejo_random_state(void* handle, unsigned int word) {
  if (handle == nullptr) return 0;
  const auto& state = static_cast<const RandomLane*>(handle)->state();
  return word < state.size() ? state[word] : 0;
}

void azulejo_random_set_state(void* handle, unsigned int word0, unsigned int word1, unsigned int word2,
                              unsigned int word3, unsigned int word4, unsigned int word5) {
  if (handle == nullptr) return;
  auto& lane = *static_cast<RandomLane*>(handle);
  if (lane.source() == RandomSource::Xorwow) {
    lane.set_state({word0, word1, word2, word3, word4, word5});
  } else {
    lane.set_state({word0, 0, 0, 0, 0, 0});
  }
}

void azulejo_random_free(void* handle) { delete static_cast<RandomLane*>(handle); }

unsigned int azulejo_rounding_step(void* handle, unsigned int format, unsigned int value, unsigned char stochastic,
                                   unsigned char saturate, unsigned char flush) {
  const std::optional<Format> known = to_format(format);
  if (!known) return kNoCode;
  const ConversionMode mode = to_mode(stochastic, saturate, flush);
  std::uint32_t word = 0;
  if (azulejo::takes_random_word(*known, mode)) {
    if (handle == nullptr) return kNoCode;
    word = static_cast<RandomLane*>(handle)->next();
  }
  return azulejo::encode(*known, bits_to_float(value), mode, word);
}

}  // extern "C"
