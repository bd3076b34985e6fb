// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/pe_stimulus.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "tlm/numerics/float_bits.h"
#include "tlm/numerics/random.h"

namespace azulejo {
namespace {

constexpr std::uint32_t kBlockCycles = 4096;
// Codes of a type that are kept: all 19 bits of TF32.
constexpr unsigned kMostCodeBits = 19;

unsigned container_shift(const FormatSpec& row) {
  if (row.integer_bits != 0) return 0;
  return static_cast<unsigned>(row.storage_bits - row.sign_bits - row.exponent_bits - row.mantissa_bits);
}

std::uint32_t sign_of(double value) { return std::signbit(value) ? kFp32SignMask : 0; }

// floor(log2 |value|). REQUIRES: a normal double.
int exponent_of(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<int>(bits >> 52 & 0x7FF) - 1023;
}

// Exponent of the last bit that is set. REQUIRES: a normal double.
int last_bit_of(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint64_t significand = (bits & 0xF'FFFF'FFFF'FFFF) | std::uint64_t{1} << 52;
  return exponent_of(value) - 52 + __builtin_ctzll(significand);
}

// FP32 of a 24-bit significand whose last bit is worth 2^last_bit, or what is nearest to that exponent.
std::uint32_t compose(std::uint32_t sign, std::uint32_t significand, int last_bit) {
  const int field = std::clamp(last_bit + 150, 1, 254);
  const std::uint32_t hidden = significand & kFp32MinNormal;
  return sign | (hidden != 0 ? static_cast<std::uint32_t>(field) << 23 : 0) | (significand & (kFp32MinNormal - 1));
}

std::uint32_t random_significand(StimulusRandom& random) {
  std::uint32_t fraction = random.next32() & (kFp32MinNormal - 1);
  if (random.one_in(4)) fraction &= random.next32() & random.next32();
  if (random.one_in(4)) fraction |= random.next32() >> 9;
  if (random.one_in(16)) fraction = kFp32MinNormal - 1;
  return kFp32MinNormal | fraction;
}

// An addend whose last bit is `above` bits above the product's last one.
std::uint32_t random_near(double product, int least_above, int most_above, StimulusRandom& random) {
  const int above =
      least_above + static_cast<int>(random.below(static_cast<std::uint32_t>(most_above - least_above + 1)));
  return compose(random.next32() & kFp32SignMask, random_significand(random), exponent_of(product) - 23 + above);
}

std::uint32_t tie_addend(double product, StimulusRandom& random) {
  // The product's last bit is half a unit of the addend, or (if that has no such exponent) the other way round.
  const int last = last_bit_of(product) + 1;
  const std::uint32_t sign = random.next32() & kFp32SignMask;
  if (last >= -149 && last <= 104) return compose(sign, random_significand(random), last);
  const int half = exponent_of(product) - 24;
  return half >= -149 ? compose(sign, kFp32MinNormal, std::max(half - 23, -149))
                      : compose(sign, random_significand(random), -149);
}

std::uint32_t carry_addend(double product, StimulusRandom& random) {
  const int exponent = exponent_of(product);
  if (random.one_in(2)) {
    // A power of two less a product far below it.
    const int power = std::clamp(exponent + 26 + static_cast<int>(random.below(20)), -126, 127);
    return compose(sign_of(-product), kFp32MinNormal, power - 23);
  }
  // All ones and a product of half a unit or more.
  return compose(sign_of(product), 2 * kFp32MinNormal - 1, exponent + 1);
}

std::uint32_t cancelling_addend(double product) { return float_to_bits(static_cast<float>(-product)); }

}  // namespace

std::uint64_t StimulusRandom::next() { return splitmix64(state_); }

// Operands

ElementPool::ElementPool(const OperandType& type, bool flush_denormals)
    : type_(type), flush_denormals_(flush_denormals) {
  const FormatSpec& row = spec(type.format);
  const unsigned shift = container_shift(row);
  const unsigned bits = row.storage_bits - shift;
  if (bits <= kMostCodeBits) {
    all_.reserve(std::size_t{1} << bits);
    for (std::uint32_t i = 0; i < std::uint32_t{1} << bits; ++i) {
      all_.push_back(element(i << shift));
      codes_[static_cast<std::size_t>(all_.back().operand_class)].push_back(i << shift);
    }
  }
  const std::uint32_t sign = row.sign_bits != 0 ? 1U << (row.storage_bits - 1) : 0;
  const auto add = [&](OperandClass operand_class, std::uint32_t code) {
    if (azulejo::operand_class(type.format, code) == operand_class) {
      extremes_[static_cast<std::size_t>(operand_class)].push_back(code);
    }
  };
  const std::uint32_t last = 1U << shift;
  const std::uint32_t min_normal = last << row.mantissa_bits;
  const bool is_integer = row.integer_bits != 0;
  for (const std::uint32_t s : {0U, sign}) {
    add(OperandClass::Zero, s);
    for (const std::uint32_t code : {last, 2 * last, min_normal / 2, min_normal - last}) {
      add(OperandClass::Subnormal, s | code);
      add(OperandClass::Normal, s | code);
    }
    for (const std::uint32_t code : {0U, min_normal, min_normal + last, row.max_finite, row.max_finite - last}) {
      add(OperandClass::Normal, s | code);
    }
    // The code above the largest finite value is the infinity, or a NaN.
    add(OperandClass::Infinity, s | (row.max_finite + last));
    if (!is_integer) add(OperandClass::NotANumber, s | row.canonical_nan);
    if (!is_integer) add(OperandClass::NotANumber, s | (row.max_finite + 2 * last));
    add(OperandClass::Normal, s | encode(type.format, 1.0F));
    if (s == 0 && sign == 0) break;
  }
  for (const std::vector<std::uint32_t>& codes : extremes_) {
    for (const std::uint32_t code : codes) corners_.push_back(element(code));
  }
  StimulusRandom random(static_cast<std::uint64_t>(type.format));
  for (int i = 0; i < 4; ++i) corners_.push_back(of_class(OperandClass::Normal, random));
  corners_.emplace_back();
  // Each once.
  const auto before = [](const Element& a, const Element& b) { return a.operand < b.operand; };
  const auto same = [](const Element& a, const Element& b) { return a.operand == b.operand; };
  std::sort(corners_.begin(), corners_.end(), before);
  corners_.erase(std::unique(corners_.begin(), corners_.end(), same), corners_.end());
}

Element ElementPool::element(std::uint32_t code) const {
  const Operand operand = decode_operand(type_.format, type_.part, code, flush_denormals_);
  Element result;
  result.operand = pack_operand(operand);
  result.operand_class = operand_class(type_.format, code);
  result.special =
      operand.kind != OperandKind::Zero && operand.kind != OperandKind::Finite && operand.kind != OperandKind::LowHalf;
  if (!result.special) result.value = operand_value(operand);
  return result;
}

bool ElementPool::has(OperandClass operand_class) const {
  return operand_class == OperandClass::Absent || !extremes_[static_cast<std::size_t>(operand_class)].empty();
}

Element ElementPool::of_class(OperandClass operand_class, StimulusRandom& random) const {
  if (operand_class == OperandClass::Absent) return {};
  const std::vector<std::uint32_t>& extremes = extremes_[static_cast<std::size_t>(operand_class)];
  const auto pick = [&](const std::vector<std::uint32_t>& codes) {
    return element(codes[random.below(static_cast<std::uint32_t>(codes.size()))]);
  };
  if (random.one_in(4)) return pick(extremes);
  const std::vector<std::uint32_t>& codes = codes_[static_cast<std::size_t>(operand_class)];
  if (!codes.empty()) return pick(codes);
  // FP32
  std::uint32_t code = random.next32();
  if (random.one_in(4)) code &= 0xFFFFF000 | 0x800U >> random.below(12);  // one bit of the low half
  switch (operand_class) {
    case OperandClass::Subnormal:
      return element(code & (kFp32SignMask | (kFp32MinNormal - 1)));
    case OperandClass::Normal:
      return element((code & (kFp32SignMask | (kFp32MinNormal - 1))) | (1 + random.below(254)) << 23);
    case OperandClass::NotANumber:
      return element(code | kFp32Infinity | 1);
    default:
      return pick(extremes);
  }
}

Element ElementPool::any(StimulusRandom& random) const {
  if (all_.empty()) return element(random.next32());
  return all_[random.below(static_cast<std::uint32_t>(all_.size()))];
}

// Addends

const std::vector<std::uint32_t>& corner_addends() {
  static const std::vector<std::uint32_t> addends = {0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x00000001,
                                                     0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
                                                     0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001};
  return addends;
}

std::uint32_t addend_for(RoundingOutcome rounding, double product, StimulusRandom& random) {
  const std::uint32_t sign = random.next32() & kFp32SignMask;
  if (rounding == RoundingOutcome::Special) return sign | kFp32Infinity | (random.one_in(2) ? 0 : random.next32() >> 9);
  if (product == 0) {
    const std::uint32_t fraction = (random.next32() >> 9) | 1;
    if (rounding == RoundingOutcome::Subnormal) return sign | fraction;
    return random.one_in(4) ? sign
                            : compose(sign, kFp32MinNormal | fraction, static_cast<int>(random.below(254)) - 149);
  }
  switch (rounding) {
    case RoundingOutcome::RoundedDown:
    case RoundingOutcome::RoundedUp:
      return random_near(product, -4, 30, random);
    case RoundingOutcome::TieToEvenDown:
    case RoundingOutcome::TieToEvenUp:
      return tie_addend(product, random);
    case RoundingOutcome::Carry:
      return carry_addend(product, random);
    case RoundingOutcome::Overflow:
      return sign_of(product) | (random.one_in(2) ? kFp32MaxFinite : random_significand(random) | 0x7F000000);
    case RoundingOutcome::Subnormal: {
      // Nothing, or less than the product by a few of the smallest subnormals, or a subnormal.
      if (random.one_in(3)) return sign;
      if (random.one_in(2)) return sign | (random.next32() >> (9 + random.below(22)));
      return cancelling_addend(product) + 1 + random.below(4);
    }
    case RoundingOutcome::ExactCancellation:
      return cancelling_addend(product);
    default: {
      // Nothing, or a value whose last bit is no higher than the product's.
      if (random.one_in(4)) return sign;
      return compose(sign, random_significand(random), last_bit_of(product) - static_cast<int>(random.below(12)));
    }
  }
}

// MACs

std::optional<Mac> find_mac(const ElementPool& act, const ElementPool& weight, const CoverageBin& bin,
                            StimulusRandom& random) {
  constexpr int kTries = 4000;
  for (int i = 0; i < kTries; ++i) {
    Mac mac;
    mac.act = act.of_class(bin.act, random);
    mac.weight = weight.of_class(bin.weight, random);
    const bool special = mac.act.special || mac.weight.special;
    const double product = mac.act.value * mac.weight.value;
    mac.addend = special ? random.next32() : addend_for(bin.rounding, product, random);
    const float addend = bits_to_float(mac.addend);
    const RoundingOutcome happened =
        special || !std::isfinite(addend) ? RoundingOutcome::Special : rounding_outcome(product, addend);
    if (happened == bin.rounding) return mac;
  }
  return std::nullopt;
}

Mac random_mac(const ElementPool& act, const ElementPool& weight, StimulusRandom& random) {
  Mac mac;
  const std::uint32_t kind = random.below(16);
  if (kind < 3) {
    mac.act = random.one_in(5) ? act.corners()[random.below(static_cast<std::uint32_t>(act.corners().size()))]
                               : act.any(random);
    mac.weight = random.one_in(5) ? weight.corners()[random.below(static_cast<std::uint32_t>(weight.corners().size()))]
                                  : weight.any(random);
    mac.addend = corner_addends()[random.below(static_cast<std::uint32_t>(corner_addends().size()))];
    return mac;
  }
  mac.act = act.any(random);
  mac.weight = weight.any(random);
  const double product = mac.act.value * mac.weight.value;
  if (kind < 7 || mac.act.special || mac.weight.special || product == 0) {
    mac.addend = random.next32();
  } else if (kind < 11) {
    mac.addend = random_near(product, -26, 26, random);
  } else if (kind < 12) {
    mac.addend = tie_addend(product, random);
  } else if (kind < 14) {
    mac.addend = cancelling_addend(product) + random.below(5) - 2;
  } else {
    mac.addend = addend_for(static_cast<RoundingOutcome>(random.below(kRoundingOutcomes)), product, random);
  }
  return mac;
}

// Cycles

PeStream::PeStream(std::uint32_t row_width, std::uint32_t latency_cycles, bool stalls, std::uint64_t seed,
                   std::function<void(const std::vector<rtl::PeInputs>&)> run)
    : row_width_(row_width), latency_cycles_(latency_cycles), stalls_(stalls), random_(seed), run_(std::move(run)) {
  block_.reserve(kBlockCycles + 64);
}

std::uint16_t PeStream::other_row() {
  const std::uint32_t most = (1U << row_width_) - 1;
  return static_cast<std::uint16_t>(random_.one_in(4) ? most : 1 + random_.below(most));
}

rtl::PeInputs& PeStream::append() {
  rtl::PeInputs& in = block_.emplace_back();
  // What is not valid means nothing.
  in.act.operand = last_operand_;
  in.weight.operand = last_operand_;
  in.weight.tag = static_cast<std::uint16_t>(random_.below(2));
  in.psum = random_.next32();
  return in;
}

void PeStream::append_bubble() { append(); }

void PeStream::append_hold() {
  rtl::PeInputs& in = append();
  in.enable = 0;
  in.act.valid = random_.one_in(2) ? 0 : 1;
  in.act.tag = static_cast<std::uint16_t>(in.act.valid & random_.below(2));
  in.weight.valid = static_cast<std::uint16_t>(random_.below(2));
}

StallCase PeStream::push(const Mac& mac) {
  if (!stalls_) return push(mac, StallCase::None);
  const std::uint32_t kind = random_.below(8);
  return push(mac, kind == 0 ? StallCase::Bubble : kind == 1 ? StallCase::Held : StallCase::None);
}

StallCase PeStream::push(const Mac& mac, StallCase stall) {
  if (block_.size() >= kBlockCycles) flush();
  if (stall == StallCase::Bubble || block_.empty()) {
    for (std::uint32_t left = random_.one_in(4) ? 2 : 1; left > 0; --left) append_bubble();
  }
  // The last cycle that moves can still take a weight; cycles without one carry what must not matter here.
  rtl::PeInputs& before = block_.back();
  const bool swap = active_ != mac.weight.operand || random_.one_in(8);
  if (swap) {
    before.weight = {mac.weight.operand, 0, 1};
  } else if (random_.one_in(2)) {
    before.weight.valid = 1;
    if (before.weight.tag != 0) before.weight.tag = other_row();
  }
  if (stall == StallCase::Held) {
    for (std::uint32_t left = 1 + random_.below(3); left > 0; --left) append_hold();
  }
  const bool after_bubble = stall != StallCase::Held && block_.back().act.valid == 0;
  rtl::PeInputs& in = append();
  in.act = {mac.act.operand, static_cast<std::uint16_t>(swap), 1};
  in.psum = mac.addend;
  active_ = mac.weight.operand;
  last_operand_ = mac.act.operand;
  return after_bubble ? StallCase::Bubble : stall;
}

void PeStream::flush() {
  if (block_.empty()) return;
  for (std::uint32_t t = 0; t < latency_cycles_; ++t) append_bubble();
  run_(block_);
  block_.clear();
  active_.reset();
}

void PeStream::push_random_cycles(std::uint32_t cycles, const ElementPool& act, const ElementPool& weight) {
  flush();
  Mac first;
  first.act = act.any(random_);
  first.weight = weight.any(random_);
  push(first, StallCase::Bubble);
  for (std::uint32_t t = 0; t < cycles; ++t) {
    const Mac mac = random_mac(act, weight, random_);
    rtl::PeInputs& in = append();
    in.enable = stalls_ && random_.one_in(5) ? 0 : 1;
    in.act.operand = mac.act.operand;
    in.act.valid = random_.one_in(4) ? 0 : 1;
    in.act.tag = static_cast<std::uint16_t>(in.act.valid != 0 && random_.one_in(3) ? 1 : 0);
    in.weight.operand = mac.weight.operand;
    in.weight.valid = random_.one_in(3) ? 0 : 1;
    in.weight.tag = random_.one_in(2) ? other_row() : std::uint16_t{0};
    in.psum = mac.addend;
  }
  // Ends in flight: the next block's reset has something to drop.
  run_(block_);
  block_.clear();
  active_.reset();
}

std::vector<std::vector<rtl::PeInputs>> directed_sequences(std::uint32_t row_width, bool stalls) {
  std::vector<std::vector<rtl::PeInputs>> sequences;
  constexpr std::uint32_t kOne = 0x3F800000;
  const auto operand = [](float value) {
    return pack_operand(decode_operand(Format::Bf16, OperandPart::Whole, float_to_bits(value) >> 16, false));
  };
  const auto weight = [&](float value, std::uint32_t row) {
    rtl::PeInputs in;
    in.weight = {operand(value), static_cast<std::uint16_t>(row), 1};
    return in;
  };
  const auto act = [&](float value, bool swap) {
    rtl::PeInputs in;
    in.act = {operand(value), static_cast<std::uint16_t>(swap), 1};
    in.psum = kOne;
    return in;
  };
  const auto both = [](rtl::PeInputs a, const rtl::PeInputs& w) {
    a.weight = w.weight;
    return a;
  };
  const rtl::PeInputs idle;
  const std::uint32_t rows = 1U << row_width;

  // A weight for every row passes, in one stream and with gaps; only row 0 stays.
  for (const bool gaps : {false, true}) {
    std::vector<rtl::PeInputs> sequence = {weight(3, 0), act(2, true)};
    for (std::uint32_t row = rows; row-- > 0;) {
      sequence.push_back(weight(static_cast<float>(row % 100 + 1), row));
      if (gaps && row % 3 == 0) sequence.push_back(act(static_cast<float>(row), false));
    }
    for (const bool swap : {false, true, false}) sequence.push_back(act(5, swap));
    sequences.push_back(sequence);
  }
  // A weight in the cycle of a swap is the next one's; the last of several in the shadow counts; a swap without a new
  // weight keeps the value; a new weight in the shadow changes nothing.
  std::vector<rtl::PeInputs> swaps = {weight(3, 0),
                                      both(act(2, true), weight(5, 0)),
                                      act(7, false),
                                      act(11, true),
                                      both(act(13, true), weight(17, 0)),
                                      act(19, false),
                                      weight(23, 0),
                                      weight(29, 0),
                                      act(31, true),
                                      weight(37, 0),
                                      act(41, false),
                                      act(43, false),
                                      both(act(47, false), weight(53, 0)),
                                      act(59, true),
                                      weight(61, 1),
                                      act(67, true),
                                      idle,
                                      act(71, true),
                                      idle,
                                      idle};
  sequences.push_back(swaps);
  // The same with the PE held before each of its cycles in turn, and in all; what the ports show meanwhile must not
  // matter.
  for (std::size_t held = 0; stalls && held <= swaps.size(); ++held) {
    std::vector<rtl::PeInputs> sequence;
    for (std::size_t t = 0; t < swaps.size(); ++t) {
      if (t == held || held == swaps.size()) {
        rtl::PeInputs hold = both(act(97, true), weight(89, static_cast<std::uint32_t>(t % 2)));
        hold.enable = 0;
        sequence.insert(sequence.end(), 1 + t % 3, hold);
      }
      sequence.push_back(swaps[t]);
    }
    sequences.push_back(sequence);
  }
  // Every kind beside every kind with every corner addend, halves of FP32 and the zero half of a finite value included.
  std::vector<std::uint32_t> kinds = {0, operand(1.5F), operand(-2)};
  for (const std::uint32_t code : {0x00000000U, 0x80000000U, 0x00000FFFU, 0x80000001U, 0x3F800000U, 0xC0490FDBU,
                                   0x7F800000U, 0xFF800000U, 0x7FC00000U, 0xFF800001U}) {
    for (const OperandPart part : {OperandPart::High, OperandPart::Low}) {
      kinds.push_back(pack_operand(decode_operand(Format::Fp32, part, code, false)));
    }
  }
  std::vector<rtl::PeInputs> sequence;
  for (const std::uint32_t w : kinds) {
    bool swap = true;
    sequence.push_back(weight(1, 0));
    sequence.back().weight.operand = w;
    for (const std::uint32_t a : kinds) {
      for (const std::uint32_t addend : corner_addends()) {
        sequence.push_back(act(1, swap));
        sequence.back().act.operand = a;
        sequence.back().psum = addend;
        swap = false;
      }
    }
  }
  sequence.insert(sequence.end(), 8, idle);
  sequences.push_back(sequence);
  return sequences;
}

}  // namespace azulejo
