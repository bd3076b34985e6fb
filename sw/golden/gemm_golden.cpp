// SPDX-License-Identifier: Apache-2.0
// Golden model of the gemm workload: the second derivation of the numerics contract, from its text alone.
//
// The outputs are computed in blocks of kRowBlock x kColumnBlock, each block over all of K, so that memory stays
// constant whatever the problem's size. Within a block one K tile of A and of B is decoded (or gathered, for a sample)
// to FP32, the column sums of four rows at a time are formed by a loop over n that the compiler vectorises, and are
// added into PSUM.
#include "sw/golden/gemm_golden.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace azulejo::golden {
namespace {

constexpr std::size_t kTileRows = 128;    // rows of the array: products per column sum
constexpr std::size_t kBand = 128;        // a sample touches every band of this many rows and of this many columns
constexpr std::size_t kSampleGrid = 320;  // rows and columns of a sample
constexpr std::size_t kSampleMin = 100'000;
constexpr std::size_t kRowBlock = 640;
constexpr std::size_t kColumnBlock = 320;
constexpr std::size_t kRowGroup = 4;  // rows whose column sums are formed together
constexpr std::size_t kVector = 16;   // column counts are padded to a multiple of this

static_assert(kRowBlock % kRowGroup == 0 && kColumnBlock % kVector == 0);

constexpr std::size_t padded(std::size_t count, std::size_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// ---- Formats

// A sign, exponent, fraction format. A code without its sign is ordered as the values are: 0 to max_finite, then what
// the format has of infinity and NaN.
struct FloatFormat {
  int fraction_bits;
  int min_exponent;  // of the smallest normal value
  int sign_shift;    // position of the sign in a code
  std::uint32_t max_finite;
  std::uint32_t overflow;  // infinity, or NaN where there is none
  std::uint32_t nan;       // canonical
  int container_shift;     // codes are stored shifted left by this
};

constexpr FloatFormat kFp32{23, -126, 31, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0};
constexpr FloatFormat kTf32{10, -126, 18, 0x3FBFF, 0x3FC00, 0x3FE00, 13};
constexpr FloatFormat kBf16{7, -126, 15, 0x7F7F, 0x7F80, 0x7FC0, 0};
constexpr FloatFormat kFp16{10, -14, 15, 0x7BFF, 0x7C00, 0x7E00, 0};
constexpr FloatFormat kE4M3{3, -6, 7, 0x77, 0x78, 0x7C, 0};
constexpr FloatFormat kE4M3FN{3, -6, 7, 0x7E, 0x7F, 0x7F, 0};
constexpr FloatFormat kE5M2{2, -14, 7, 0x7B, 0x7C, 0x7E, 0};
constexpr FloatFormat kE3M4{4, -2, 7, 0x6F, 0x70, 0x78, 0};

// REQUIRES: type is not Int8.
constexpr const FloatFormat& format_of(ElementType type) {
  switch (type) {
    case ElementType::Fp32:
      return kFp32;
    case ElementType::Tf32:
      return kTf32;
    case ElementType::Bf16:
      return kBf16;
    case ElementType::Fp16:
      return kFp16;
    case ElementType::E4M3:
      return kE4M3;
    case ElementType::E4M3FN:
      return kE4M3FN;
    case ElementType::E5M2:
      return kE5M2;
    case ElementType::E3M4:
      return kE3M4;
    case ElementType::Int8:
      break;
  }
  return kFp32;
}

constexpr std::size_t size_bytes(ElementType type) {
  switch (type) {
    case ElementType::Fp32:
    case ElementType::Tf32:
      return 4;
    case ElementType::Bf16:
    case ElementType::Fp16:
      return 2;
    default:
      return 1;
  }
}

bool is_nan(const FloatFormat& format, std::uint32_t magnitude) {
  return magnitude > format.max_finite && (magnitude != format.overflow || format.overflow == format.nan);
}

float decode_float(const FloatFormat& format, std::uint32_t container, bool flush) {
  const std::uint32_t code = container >> format.container_shift;
  const std::uint32_t sign_bit = std::uint32_t{1} << format.sign_shift;
  const std::uint32_t magnitude = code & (sign_bit - 1);
  const std::uint32_t hidden = std::uint32_t{1} << format.fraction_bits;
  const float sign = (code & sign_bit) != 0 ? -1.0f : 1.0f;
  if (is_nan(format, magnitude)) return float_of(kFp32.nan);
  if (magnitude > format.max_finite) return std::copysign(std::numeric_limits<float>::infinity(), sign);
  const std::uint32_t exponent_field = magnitude >> format.fraction_bits;
  std::uint32_t significand = magnitude & (hidden - 1);
  if (exponent_field != 0) significand |= hidden;
  if (exponent_field == 0 && flush) significand = 0;
  const int exponent = format.min_exponent - format.fraction_bits + std::max(static_cast<int>(exponent_field), 1) - 1;
  return std::copysign(static_cast<float>(std::ldexp(static_cast<double>(significand), exponent)), sign);
}

float decode(ElementType type, std::uint32_t code, bool flush) {
  if (type == ElementType::Int8) return static_cast<float>(static_cast<std::int8_t>(code));
  return decode_float(format_of(type), code, flush);
}

// Rounds to nearest, ties to even, without saturation; NaN becomes canonical.
std::uint32_t encode_float(const FloatFormat& format, float value, bool flush) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = (bits >> 31) << format.sign_shift;
  const std::uint32_t exponent_field = (bits >> 23) & 0xFF;
  const std::uint32_t fraction = bits & 0x7FFFFF;
  std::uint32_t magnitude = 0;
  if (exponent_field == 0xFF) {
    magnitude = fraction != 0 ? format.nan : format.overflow;
  } else if (exponent_field != 0 || !flush) {
    // |value| = significand * 2^(exponent - 23), and the result counts units of 2^(result_exponent - fraction_bits).
    const std::uint32_t significand = exponent_field != 0 ? fraction | 0x800000 : fraction;
    const int exponent = std::max(static_cast<int>(exponent_field), 1) - 127;
    const int result_exponent = std::max(exponent, format.min_exponent);
    const int shift = (result_exponent - format.fraction_bits) - (exponent - 23);
    std::uint32_t units = 0;
    if (shift == 0) {
      units = significand;
    } else if (shift <= 24) {  // beyond, |value| is below half a unit
      const std::uint32_t half = std::uint32_t{1} << (shift - 1);
      const std::uint32_t rest = significand & (2 * half - 1);
      units = significand >> shift;
      if (rest > half || (rest == half && (units & 1) != 0)) ++units;
    }
    // A normal result's hidden one adds the last step of the exponent field, and so does a carry.
    magnitude = (static_cast<std::uint32_t>(result_exponent - format.min_exponent) << format.fraction_bits) + units;
    if (flush && magnitude >> format.fraction_bits == 0) magnitude = 0;
    if (magnitude > format.max_finite) magnitude = format.overflow;
  }
  const std::uint32_t code = is_nan(format, magnitude) ? format.nan : sign | magnitude;
  return code << format.container_shift;
}

std::uint32_t encode(ElementType type, float value, bool flush) {
  if (type != ElementType::Int8) return encode_float(format_of(type), value, flush);
  if (std::isnan(value)) return 0;
  const float bounded = std::min(std::max(value, -128.0f), 127.0f);
  float rounded = std::floor(bounded);
  const float rest = bounded - rounded;  // exact: both are multiples of the unit of a value below 2^7
  if (rest > 0.5f || (rest == 0.5f && std::fmod(rounded, 2.0f) != 0.0f)) rounded += 1.0f;
  return static_cast<std::uint32_t>(static_cast<int>(rounded)) & 0xFF;
}

// Distance of two different codes in the order of their values, -0 just below +0.
std::uint64_t distance(ElementType type, std::uint32_t expected, std::uint32_t found) {
  std::int64_t order[2];
  bool nan[2] = {false, false};
  std::uint64_t unit = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::uint32_t container = i == 0 ? expected : found;
    if (type == ElementType::Int8) {
      order[i] = static_cast<std::int8_t>(container);
      continue;
    }
    const FloatFormat& format = format_of(type);
    const std::uint32_t sign_bit = std::uint32_t{1} << (format.sign_shift + format.container_shift);
    const std::uint32_t magnitude = container & (sign_bit - 1);
    order[i] = (container & sign_bit) != 0 ? -std::int64_t{magnitude} - 1 : std::int64_t{magnitude};
    nan[i] = is_nan(format, magnitude >> format.container_shift);
    unit = std::uint64_t{1} << format.container_shift;
  }
  if (nan[0] != nan[1]) return std::numeric_limits<std::uint32_t>::max();
  const auto steps = static_cast<std::uint64_t>(order[0] < order[1] ? order[1] - order[0] : order[0] - order[1]);
  return (steps + unit - 1) / unit;  // TF32: bits below a code's unit are still a difference
}

// ---- Operands

std::uint32_t load(const std::byte* source, std::size_t bytes) {
  if (bytes == 1) return std::to_integer<std::uint32_t>(*source);
  if (bytes == 2) {
    std::uint16_t code;
    std::memcpy(&code, source, sizeof code);
    return code;
  }
  std::uint32_t code;
  std::memcpy(&code, source, sizeof code);
  return code;
}

// Turns codes of one type into FP32 values.
class Decoder {
 public:
  Decoder(ElementType type, bool flush) : type_(type), flush_(flush) {
    // These are the upper bits of an FP32 number and need no table.
    if (type == ElementType::Fp32 || type == ElementType::Tf32 || type == ElementType::Bf16) return;
    table_.resize(std::size_t{1} << (8 * size_bytes(type)));
    for (std::size_t code = 0; code < table_.size(); ++code) {
      table_[code] = decode(type, static_cast<std::uint32_t>(code), flush);
    }
  }

  // Elements `index[0 .. count)` of `row`; `index` ascends.
  void gather(const std::byte* row, const std::size_t* index, std::size_t count, float* out) const {
    const auto wide = [flush = flush_](std::uint32_t bits) {
      return float_of(flush && (bits & 0x7F800000) == 0 ? bits & 0x80000000 : bits);
    };
    const auto look_up = [table = table_.data()](std::uint32_t code) { return table[code]; };
    switch (type_) {
      case ElementType::Fp32:
        return gather<4>(row, index, count, out, wide);
      case ElementType::Tf32:
        return gather<4>(row, index, count, out, [wide](std::uint32_t code) { return wide(code & 0xFFFFE000); });
      case ElementType::Bf16:
        return gather<2>(row, index, count, out, [wide](std::uint32_t code) { return wide(code << 16); });
      case ElementType::Fp16:
        return gather<2>(row, index, count, out, look_up);
      default:
        return gather<1>(row, index, count, out, look_up);
    }
  }

 private:
  template <std::size_t kBytes, typename Value>
  static void gather(const std::byte* row, const std::size_t* index, std::size_t count, float* out, Value value) {
    if (index[count - 1] - index[0] == count - 1) {
      const std::byte* first = row + index[0] * kBytes;
      for (std::size_t i = 0; i < count; ++i) out[i] = value(load(first + i * kBytes, kBytes));
    } else {
      for (std::size_t i = 0; i < count; ++i) out[i] = value(load(row + index[i] * kBytes, kBytes));
    }
  }

  ElementType type_;
  bool flush_;
  std::vector<float> table_;
};

bool is_special(float value) { return (bits_of(value) & 0x7F800000) == 0x7F800000; }

// One K tile of an operand, [depth][width] with `stride` floats from row to row; columns from `width` to the next
// multiple of the padding are zero. `high` and `low` are the halves of FP32 operands; `special` says that an Inf or NaN
// is among them.
struct OperandTile {
  OperandTile(std::size_t row_stride, std::size_t k, bool split)
      : stride(row_stride), whole(std::min(k, kTileRows) * row_stride) {
    if (split) {
      high.resize(whole.size());
      low.resize(whole.size());
    }
  }

  void read(const Decoder& decoder, const std::byte* first_row, std::size_t row_bytes, std::size_t depth,
            const std::size_t* index, std::size_t width, std::size_t padded_width) {
    std::uint32_t any_special = 0;
    for (std::size_t k = 0; k < depth; ++k) {
      float* row = whole.data() + k * stride;
      decoder.gather(first_row + k * row_bytes, index, width, row);
      std::fill(row + width, row + padded_width, 0.0f);
      if (high.empty()) continue;
      float* high_row = high.data() + k * stride;
      float* low_row = low.data() + k * stride;
      for (std::size_t i = 0; i < padded_width; ++i) {
        high_row[i] = float_of(bits_of(row[i]) & 0xFFFFF000);
        low_row[i] = std::copysign(row[i] - high_row[i], row[i]);
        any_special |= static_cast<std::uint32_t>(is_special(row[i]));
      }
    }
    special = any_special != 0;
  }

  std::size_t stride;
  std::vector<float> whole, high, low;
  bool special = false;
};

// ---- Column sums

// What a column sum of kRowGroup rows reads: `a` [depth][kRowGroup] and `b` [depth][columns], with strides; and, for
// the passes over a tile with an Inf or NaN, the unsplit operands beside them.
struct Pass {
  const float* a;
  const float* b;
  const float* whole_a;
  const float* whole_b;
  std::size_t a_stride, b_stride;
  std::size_t depth;
  std::size_t columns;  // a multiple of kVector
  bool last;            // pass HH, the one that multiplies pairs with an Inf or NaN
};

// The bodies are inlined into one function per instruction set.
#define AZULEJO_INLINE [[gnu::always_inline]] inline

template <bool kFlush>
AZULEJO_INLINE float flushed(float value) {
  if constexpr (!kFlush) return value;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits & 0x7F800000) == 0 ? bits & 0x80000000 : bits;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

template <bool kFlush>
AZULEJO_INLINE float multiply_add(float a, float b, float sum) {
  return flushed<kFlush>(__builtin_fmaf(a, b, sum));
}

// Four rows of the array for one output: k ascends.
template <bool kFlush>
AZULEJO_INLINE float chain(float sum, const float (&a)[4], float b0, float b1, float b2, float b3) {
  sum = multiply_add<kFlush>(a[0], b0, sum);
  sum = multiply_add<kFlush>(a[1], b1, sum);
  sum = multiply_add<kFlush>(a[2], b2, sum);
  return multiply_add<kFlush>(a[3], b3, sum);
}

// `sums` is [kRowGroup][kColumnBlock] and holds +0 at first.
template <bool kFlush>
AZULEJO_INLINE void sum_columns(const Pass& pass, float* sums) {
  float* __restrict s0 = sums;
  float* __restrict s1 = sums + kColumnBlock;
  float* __restrict s2 = sums + 2 * kColumnBlock;
  float* __restrict s3 = sums + 3 * kColumnBlock;
  const std::size_t columns = pass.columns;
  std::size_t k = 0;
  for (; k + 4 <= pass.depth; k += 4) {
    float a[kRowGroup][4];
    for (std::size_t r = 0; r < kRowGroup; ++r) {
      for (std::size_t i = 0; i < 4; ++i) a[r][i] = pass.a[(k + i) * pass.a_stride + r];
    }
    const float* __restrict b0 = pass.b + k * pass.b_stride;
    const float* __restrict b1 = b0 + pass.b_stride;
    const float* __restrict b2 = b1 + pass.b_stride;
    const float* __restrict b3 = b2 + pass.b_stride;
    for (std::size_t n = 0; n < columns; ++n) {
      s0[n] = chain<kFlush>(s0[n], a[0], b0[n], b1[n], b2[n], b3[n]);
      s1[n] = chain<kFlush>(s1[n], a[1], b0[n], b1[n], b2[n], b3[n]);
      s2[n] = chain<kFlush>(s2[n], a[2], b0[n], b1[n], b2[n], b3[n]);
      s3[n] = chain<kFlush>(s3[n], a[3], b0[n], b1[n], b2[n], b3[n]);
    }
  }
  for (; k < pass.depth; ++k) {
    const float* a = pass.a + k * pass.a_stride;
    const float* __restrict b = pass.b + k * pass.b_stride;
    for (std::size_t n = 0; n < columns; ++n) {
      s0[n] = multiply_add<kFlush>(a[0], b[n], s0[n]);
      s1[n] = multiply_add<kFlush>(a[1], b[n], s1[n]);
      s2[n] = multiply_add<kFlush>(a[2], b[n], s2[n]);
      s3[n] = multiply_add<kFlush>(a[3], b[n], s3[n]);
    }
  }
}

// The same for one of the four passes over FP32 tiles with an Inf or NaN: the last pass multiplies the unsplit operands
// of a pair that has one, the others leave the sum as it is.
template <bool kFlush>
AZULEJO_INLINE void sum_special_columns(const Pass& pass, float* sums) {
  const std::size_t columns = pass.columns;
  const bool last = pass.last;
  for (std::size_t r = 0; r < kRowGroup; ++r) {
    float* __restrict s = sums + r * kColumnBlock;
    for (std::size_t k = 0; k < pass.depth; ++k) {
      const float half_a = pass.a[k * pass.a_stride + r];
      const float whole_a = pass.whole_a[k * pass.a_stride + r];
      const bool special_a = !(std::fabs(whole_a) <= std::numeric_limits<float>::max());
      const float* __restrict half_b = pass.b + k * pass.b_stride;
      const float* __restrict whole_b = pass.whole_b + k * pass.b_stride;
      for (std::size_t n = 0; n < columns; ++n) {
        // Loads before selections: a conditional load would keep the loop from being vectorised.
        const float old_sum = s[n];
        const float half = half_b[n];
        const float whole = whole_b[n];
        const bool special = special_a | !(std::fabs(whole) <= std::numeric_limits<float>::max());
        const float a = special ? whole_a : half_a;
        const float b = special ? whole : half;
        const float sum = multiply_add<kFlush>(a, b, old_sum);
        const bool skipped = special & !last;
        s[n] = skipped ? old_sum : sum;
      }
    }
  }
}

AZULEJO_INLINE void sum_any(const Pass& pass, bool flush, bool special, float* sums) {
  if (special) {
    flush ? sum_special_columns<true>(pass, sums) : sum_special_columns<false>(pass, sums);
  } else {
    flush ? sum_columns<true>(pass, sums) : sum_columns<false>(pass, sums);
  }
}

#undef AZULEJO_INLINE

using SumFunction = void (*)(const Pass& pass, bool flush, bool special, float* sums);

void sum_portable(const Pass& pass, bool flush, bool special, float* sums) { sum_any(pass, flush, special, sums); }

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void sum_avx2(const Pass& pass, bool flush, bool special, float* sums) {
  sum_any(pass, flush, special, sums);
}

__attribute__((target("avx512f,fma"))) void sum_avx512(const Pass& pass, bool flush, bool special, float* sums) {
  sum_any(pass, flush, special, sums);
}
#endif

SumFunction best_sum_function() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma")) return sum_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return sum_avx2;
#endif
  return sum_portable;
}

// ---- Blocks of the output

float add(float a, float b, bool flush) {
  const float sum = a + b;
  return flush ? flushed<true>(sum) : sum;
}

class Checker {
 public:
  // For outputs of `row_count` rows and `column_count` columns.
  Checker(const GemmProblem& problem, const void* a, const void* b, const void* c, std::size_t row_count,
          std::size_t column_count)
      : problem_(problem),
        a_(static_cast<const std::byte*>(a)),
        b_(static_cast<const std::byte*>(b)),
        c_(static_cast<const std::byte*>(c)),
        four_passes_(problem.type == ElementType::Fp32),
        sum_function_(best_sum_function()),
        decoder_(problem.type, problem.flush_denormals),
        a_tile_(padded(std::min(row_count, kRowBlock), kRowGroup), problem.k, four_passes_),
        b_tile_(padded(std::min(column_count, kColumnBlock), kVector), problem.k, four_passes_),
        psum_(a_tile_.stride * b_tile_.stride),
        partial_(psum_.size()) {}

  // Compares the outputs at `rows` x `columns`, both ascending.
  void compare(const std::vector<std::size_t>& rows, const std::vector<std::size_t>& columns) {
    for (std::size_t m = 0; m < rows.size(); m += kRowBlock) {
      const std::size_t row_count = std::min(kRowBlock, rows.size() - m);
      for (std::size_t n = 0; n < columns.size(); n += kColumnBlock) {
        const std::size_t column_count = std::min(kColumnBlock, columns.size() - n);
        compare_block(rows.data() + m, row_count, columns.data() + n, column_count);
      }
    }
  }

  const GemmCheck& result() const { return check_; }

 private:
  void compare_block(const std::size_t* rows, std::size_t row_count, const std::size_t* columns,
                     std::size_t column_count) {
    const std::size_t tiles = (problem_.k + kTileRows - 1) / kTileRows;
    const std::size_t block_tiles = problem_.k_block_tiles != 0 ? problem_.k_block_tiles : tiles;
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      const std::size_t k = tile * kTileRows;
      const std::size_t depth = std::min(kTileRows, problem_.k - k);
      read_tile(a_tile_, a_, problem_.m, k, depth, rows, row_count, kRowGroup);
      read_tile(b_tile_, b_, problem_.n, k, depth, columns, column_count, kVector);
      add_tile_to_psum(depth, row_count, column_count, tile % block_tiles != 0);

      const bool final_block = tile / block_tiles == (tiles - 1) / block_tiles;
      const bool block_ends = (tile + 1) % block_tiles == 0 || tile + 1 == tiles;
      if (!block_ends) continue;
      if (tile >= block_tiles) add_partial_to_psum(row_count, column_count);
      if (!final_block) keep_partial(row_count, column_count);
    }
    compare_psum(rows, row_count, columns, column_count);
  }

  // Rows k to k + depth of an operand of `width` columns, of which `index` says which are read.
  void read_tile(OperandTile& tile, const std::byte* operand, std::size_t width, std::size_t k, std::size_t depth,
                 const std::size_t* index, std::size_t count, std::size_t padding) const {
    const std::size_t row_bytes = width * size_bytes(problem_.type);
    tile.read(decoder_, operand + k * row_bytes, row_bytes, depth, index, count, padded(count, padding));
  }

  void add_tile_to_psum(std::size_t depth, std::size_t row_count, std::size_t column_count, bool accumulate) {
    using Operands = std::pair<const std::vector<float>*, const std::vector<float>*>;  // of A and of B
    std::array<Operands, 4> passes{Operands{&a_tile_.whole, &b_tile_.whole}};
    std::size_t pass_count = 1;
    if (four_passes_) {
      passes = {Operands{&a_tile_.low, &b_tile_.low}, Operands{&a_tile_.low, &b_tile_.high},
                Operands{&a_tile_.high, &b_tile_.low}, Operands{&a_tile_.high, &b_tile_.high}};
      pass_count = passes.size();
    }
    const bool special = four_passes_ && (a_tile_.special || b_tile_.special);
    for (std::size_t r = 0; r < row_count; r += kRowGroup) {
      const std::size_t group = std::min(kRowGroup, row_count - r);
      for (std::size_t i = 0; i < pass_count; ++i) {
        const Pass pass{passes[i].first->data() + r,
                        passes[i].second->data(),
                        a_tile_.whole.data() + r,
                        b_tile_.whole.data(),
                        a_tile_.stride,
                        b_tile_.stride,
                        depth,
                        padded(column_count, kVector),
                        i + 1 == pass_count};
        sums_.fill(0.0f);
        sum_function_(pass, problem_.flush_denormals, special, sums_.data());
        for (std::size_t row = 0; row < group; ++row) {
          float* psum = psum_.data() + (r + row) * b_tile_.stride;
          const float* sum = sums_.data() + row * kColumnBlock;
          if (!accumulate && i == 0) {
            std::copy(sum, sum + column_count, psum);
          } else {
            for (std::size_t n = 0; n < column_count; ++n) psum[n] = add(psum[n], sum[n], problem_.flush_denormals);
          }
        }
      }
    }
  }

  void add_partial_to_psum(std::size_t row_count, std::size_t column_count) {
    for (std::size_t r = 0; r < row_count; ++r) {
      float* psum = psum_.data() + r * b_tile_.stride;
      const float* partial = partial_.data() + r * b_tile_.stride;
      for (std::size_t n = 0; n < column_count; ++n) psum[n] = add(partial[n], psum[n], problem_.flush_denormals);
    }
  }

  void keep_partial(std::size_t row_count, std::size_t column_count) {
    const bool flush = problem_.flush_denormals;
    for (std::size_t r = 0; r < row_count; ++r) {
      const float* psum = psum_.data() + r * b_tile_.stride;
      float* partial = partial_.data() + r * b_tile_.stride;
      if (problem_.partial_type == ElementType::Fp32) {
        std::copy(psum, psum + column_count, partial);
        continue;
      }
      for (std::size_t n = 0; n < column_count; ++n) {
        partial[n] = decode(problem_.partial_type, encode(problem_.partial_type, psum[n], flush), flush);
      }
    }
  }

  void compare_psum(const std::size_t* rows, std::size_t row_count, const std::size_t* columns,
                    std::size_t column_count) {
    const std::size_t bytes = size_bytes(problem_.out_type);
    for (std::size_t r = 0; r < row_count; ++r) {
      const std::byte* c_row = c_ + rows[r] * problem_.n * bytes;
      const float* psum = psum_.data() + r * b_tile_.stride;
      for (std::size_t n = 0; n < column_count; ++n) {
        const std::uint32_t expected = encode(problem_.out_type, psum[n], problem_.flush_denormals);
        const std::uint32_t found = load(c_row + columns[n] * bytes, bytes);
        if (expected != found) record(rows[r], columns[n], expected, found);
      }
    }
    check_.elements += std::uint64_t{row_count} * column_count;
  }

  void record(std::size_t row, std::size_t column, std::uint32_t expected, std::uint32_t found) {
    // Blocks are not visited in row-major order.
    if (check_.mismatches == 0 || std::pair(row, column) < std::pair(check_.row, check_.column)) {
      check_.row = row;
      check_.column = column;
      check_.expected = expected;
      check_.found = found;
    }
    ++check_.mismatches;
    check_.max_ulp = std::max(check_.max_ulp, distance(problem_.out_type, expected, found));
  }

  const GemmProblem problem_;
  const std::byte* const a_;
  const std::byte* const b_;
  const std::byte* const c_;
  const bool four_passes_;
  const SumFunction sum_function_;
  const Decoder decoder_;
  OperandTile a_tile_, b_tile_;
  std::vector<float> psum_, partial_;  // one block's, with the row stride of b_tile_
  alignas(64) std::array<float, kRowGroup * kColumnBlock> sums_{};
  GemmCheck check_;
};

// ---- The sample

// splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }

 private:
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

std::size_t band_count(std::size_t size) { return (size + kBand - 1) / kBand; }

std::vector<std::size_t> all_of(std::size_t size) {
  std::vector<std::size_t> indices(size);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

// `count` of `size` indices, ascending: spread evenly over the bands, and the last index always.
// REQUIRES: band_count(size) <= count <= size.
std::vector<std::size_t> sample_of(std::size_t size, std::size_t count, Random& random) {
  if (count == size) return all_of(size);
  const std::size_t bands = band_count(size);
  const auto size_of_band = [&](std::size_t band) { return std::min(kBand, size - band * kBand); };
  std::vector<std::size_t> quota(bands, 0);
  for (std::size_t left = count; left != 0;) {
    for (std::size_t band = 0; band < bands && left != 0; ++band) {
      if (quota[band] == size_of_band(band)) continue;
      ++quota[band];
      --left;
    }
  }
  std::vector<std::size_t> chosen;
  chosen.reserve(count);
  for (std::size_t band = 0; band < bands; ++band) {
    std::vector<std::size_t> candidates = all_of(size_of_band(band));
    std::size_t taken = 0;
    if (band + 1 == bands) std::swap(candidates[taken++], candidates.back());
    for (; taken < quota[band]; ++taken) {
      std::swap(candidates[taken], candidates[taken + random.below(candidates.size() - taken)]);
    }
    for (std::size_t i = 0; i < quota[band]; ++i) chosen.push_back(band * kBand + candidates[i]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

bool exceeds(const GemmProblem& problem, std::uint64_t limit) {
  std::uint64_t outputs = 0;
  std::uint64_t multiply_adds = 0;
  return __builtin_mul_overflow(problem.m, problem.n, &outputs) ||
         __builtin_mul_overflow(outputs, problem.k, &multiply_adds) || multiply_adds > limit;
}

}  // namespace

GemmCheck check_gemm(const GemmProblem& problem, const void* a, const void* b, const void* c, std::uint64_t seed,
                     std::uint64_t full_check_limit) {
  std::size_t row_count = problem.m;
  std::size_t column_count = problem.n;
  if (exceeds(problem, full_check_limit)) {
    const auto at_least = [](std::size_t size, std::size_t others) {
      return std::min(size, std::max({kSampleGrid, band_count(size), (kSampleMin + others - 1) / others}));
    };
    column_count = at_least(problem.n, at_least(problem.m, kSampleMin));
    row_count = at_least(problem.m, column_count);
  }
  Random random(seed);
  const std::vector<std::size_t> rows = sample_of(problem.m, row_count, random);
  const std::vector<std::size_t> columns = sample_of(problem.n, column_count, random);

  Checker checker(problem, a, b, c, rows.size(), columns.size());
  checker.compare(rows, columns);
  GemmCheck check = checker.result();
  check.sampled = row_count < problem.m || column_count < problem.n;
  return check;
}

}  // namespace azulejo::golden
