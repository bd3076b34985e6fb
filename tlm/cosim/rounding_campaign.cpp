// SPDX-License-Identifier: Apache-2.0
// Campaigns on the rounding unit: one lane of the RTL with each random source, cycle by cycle against its contract,
// with the conversions of tlm/numerics. Compared in every cycle: both handshakes, the code while it is valid, and all
// words of the random state.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "tlm/cosim/campaign.h"
#include "tlm/cosim/campaign_wave.h"
#include "tlm/cosim/rounding_unit_rtl.h"
#include "tlm/numerics/float_bits.h"
#include "tlm/wave/verilator_hooks.h"

namespace azulejo {
namespace {

using State = std::array<std::uint32_t, 6>;

// One conversion asked for.
struct Beat {
  std::uint32_t value = 0;  // FP32
  Format format = Format::Bf16;
  bool stochastic = false;
  bool saturate = false;
  bool present = true;         // the lane has an element
  std::optional<State> state;  // loaded before it
};

bool is_integer(const FormatSpec& spec) { return spec.integer_bits != 0; }
bool is_scale(const FormatSpec& spec) { return spec.sign_bits == 0 && !is_integer(spec); }

// A magnitude in units of a format: whole ones and the fraction of one, both exact.
struct Units {
  double whole = 0;
  double fraction = 0;
  bool subnormal = false;  // below the normal values; of an integer, below 1
};

// REQUIRES: a finite value.
Units in_units(const FormatSpec& spec, double magnitude) {
  int unit = 0;
  Units units;
  if (!is_integer(spec)) {
    const int lowest = is_scale(spec) ? -spec.bias : 1 - spec.bias;
    const int binade = magnitude == 0 ? lowest : std::ilogb(magnitude);
    units.subnormal = binade < lowest;
    unit = std::max(binade, lowest) - spec.mantissa_bits;
  }
  const double in_unit = std::ldexp(magnitude, -unit);
  units.whole = std::floor(in_unit);
  units.fraction = in_unit - units.whole;
  if (is_integer(spec)) units.subnormal = units.whole == 0;
  return units;
}

// Words below this round up. REQUIRES: as in_units().
std::uint32_t threshold(const Units& units) { return static_cast<std::uint32_t>(std::ldexp(units.fraction, 32)); }

bool is_finite(std::uint32_t value) { return (value & kFp32Infinity) != kFp32Infinity; }

double magnitude_of(std::uint32_t value) { return static_cast<double>(bits_to_float(value & kFp32MagnitudeMask)); }

// --- Random states
// -----------------------------------------------------------------------------------------------------

// Test inputs, unrelated to the sources under test.
class Stimulus {
 public:
  explicit Stimulus(std::uint64_t seed) : state_(seed) {}
  std::uint32_t word() { return static_cast<std::uint32_t>(splitmix64(state_) >> 32); }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(std::uint64_t{word()} * limit >> 32); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  State state() {
    State words;
    for (std::uint32_t& one : words) one = word();
    return words;
  }

 private:
  std::uint64_t state_;
};

// A state after which the source's next word is `word`. The LFSR never gives 0: 1 instead.
State state_before(RandomSource source, std::uint32_t word, State random) {
  if (source == RandomSource::Lfsr) {
    constexpr std::uint32_t kTaps = 0x80200003;
    std::uint32_t state = std::max(word, 1U);
    for (int step = 0; step < 32; ++step) {  // the taps' top bit tells whether they were added
      const bool added = state >> 31 != 0;
      state = (state ^ (added ? kTaps : 0U)) << 1 | (added ? 1U : 0U);
    }
    return {state, 0, 0, 0, 0, 0};
  }
  random[0] |= 1;  // not all zero
  RandomLane lane(source, 0, 0, 0);
  lane.set_state(random);
  random[5] += word - lane.next();  // the word is the counter plus what does not depend on it
  return random;
}

// --- The unit's contract, cycle by cycle
// -------------------------------------------------------------------------------

struct Expected {
  bool ready = false;
  bool valid = false;
  bool has_code = false;
  std::uint32_t code = 0;
  State state{};
  std::uint32_t word = 0;  // drawn for the code
};

class CycleModel {
 public:
  CycleModel(RandomSource source, bool flush_denormals) : lane_(source, 0, 0, 0), flush_denormals_(flush_denormals) {
    reset();
  }

  void reset() {
    lane_.set_state({});
    shown_ = {};
  }
  const State& state() const { return lane_.state(); }
  bool ready(bool downstream) const { return !shown_.valid || downstream; }

  Expected step(const rtl::RoundingInputs& in) {
    shown_.ready = ready(in.ready != 0);
    if (shown_.ready) shown_.valid = in.valid != 0;
    if (in.valid != 0 && shown_.ready) {
      shown_.has_code = in.lane != 0;
      if (shown_.has_code) {
        const auto format = static_cast<Format>(in.format);
        const ConversionMode mode{in.stochastic != 0 ? Rounding::Stochastic : Rounding::NearestEven, in.saturate != 0,
                                  flush_denormals_};
        shown_.word = takes_random_word(format, mode) ? lane_.next() : 0;
        shown_.code = encode(format, bits_to_float(in.value), mode, shown_.word);
      }
    }
    if (in.load != 0) load(in.state);
    shown_.state = lane_.state();
    return shown_;
  }

  // As of the last cycle, with the load that it turns out to have.
  State load(const std::uint32_t (&state)[6]) {
    State words{};
    const std::size_t count = lane_.source() == RandomSource::Lfsr ? 1 : words.size();  // the others are ignored
    std::copy(state, state + count, words.begin());
    lane_.set_state(words);
    return lane_.state();
  }

 private:
  RandomLane lane_;
  const bool flush_denormals_;
  Expected shown_;
};

struct Disagreement {
  std::string what;
  std::uint32_t model = 0;
  std::uint32_t rtl = 0;
};

std::optional<Disagreement> compare(const Expected& expected, const rtl::RoundingOutputs& out) {
  if (expected.ready != (out.ready != 0)) return Disagreement{"ready", expected.ready, out.ready};
  if (expected.valid != (out.valid != 0)) return Disagreement{"valid", expected.valid, out.valid};
  if (expected.valid && expected.has_code && expected.code != out.code) {
    return Disagreement{"code", expected.code, out.code};
  }
  for (std::size_t i = 0; i < expected.state.size(); ++i) {
    if (expected.state[i] == out.state[i]) continue;
    return Disagreement{fmt::format("word {} of the random state", i), expected.state[i], out.state[i]};
  }
  return std::nullopt;
}

RoundingCycle to_wave(const rtl::RoundingInputs& in, const Expected& expected, const rtl::RoundingOutputs& out,
                      std::uint64_t conversion) {
  RoundingCycle cycle;
  cycle.in = in;
  cycle.model.ready = expected.ready;
  cycle.model.valid = expected.valid;
  cycle.model.code = expected.code;
  std::copy(expected.state.begin(), expected.state.end(), std::begin(cycle.model.state));
  cycle.has_code = expected.has_code;
  cycle.word = expected.word;
  cycle.conversion = conversion;
  if (const std::optional<Disagreement> found = compare(expected, out)) cycle.what = found->what;
  return cycle;
}

// One Verilated lane.
class Lane {
 public:
  Lane(const rtl::RoundingUnitAbi& abi, VerilatedContext& context, const char* name, const FaultPlace& fault)
      : abi_(abi), unit_(abi.unit.create(&context, name)) {
    if (fault.fault != nullptr) {
      abi_.unit.select_fault(unit_, {fault.fault->id, rtl::kEverywhere, rtl::kEverywhere});
    }
  }
  ~Lane() { abi_.unit.destroy(unit_); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void reset() { abi_.unit.reset(unit_); }
  void run(const std::vector<rtl::RoundingInputs>& inputs, std::vector<rtl::RoundingOutputs>& outputs) {
    outputs.resize(inputs.size());
    abi_.run(unit_, static_cast<std::uint32_t>(inputs.size()), inputs.data(), outputs.data());
  }

 private:
  const rtl::RoundingUnitAbi& abi_;
  void* const unit_;
};

const rtl::RoundingUnitAbi& abi_of(const RtlLibrary& library, RandomSource source) {
  return source == RandomSource::Xorwow ? library.abi().rounding_xorwow : library.abi().rounding_lfsr;
}

std::string name_of(RandomSource source) { return source == RandomSource::Xorwow ? "xorwow" : "lfsr"; }

// What was converted, for a person.
std::string describe_inputs(const rtl::RoundingInputs& in, std::uint32_t word) {
  const auto format = static_cast<Format>(in.format);
  std::string text = fmt::format("{:08x} ({:.9g}) to {}", in.value, bits_to_float(in.value), spec(format).name);
  if (in.stochastic != 0) text += fmt::format(" stochastically with {:08x}", word);
  if (in.saturate != 0) text += ", saturating";
  return text;
}

// The first disagreement over cycles from reset, and the inputs up to there. `cycles` gets all of them, if there is
// one.
struct FirstDifference {
  std::size_t cycle;
  Disagreement disagreement;
  std::string operands;
  bool is_fp32;
};
std::optional<FirstDifference> first_difference(Lane& lane, RandomSource source, bool flush_denormals,
                                                const std::vector<rtl::RoundingInputs>& inputs,
                                                std::vector<RoundingCycle>* cycles = nullptr) {
  lane.reset();
  std::vector<rtl::RoundingOutputs> outputs;
  lane.run(inputs, outputs);
  if (cycles != nullptr) {
    CycleModel model(source, flush_denormals);
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      cycles->push_back(to_wave(inputs[t], model.step(inputs[t]), outputs[t], t));
    }
  }
  CycleModel model(source, flush_denormals);
  rtl::RoundingInputs converted;  // whose code is shown
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    if (inputs[t].valid != 0 && model.ready(inputs[t].ready != 0)) converted = inputs[t];
    const Expected expected = model.step(inputs[t]);
    const std::optional<Disagreement> found = compare(expected, outputs[t]);
    if (!found) continue;
    FirstDifference first{t, *found, describe_inputs(converted, expected.word), false};
    if (found->what == "code") {
      const auto format = static_cast<Format>(converted.format);
      first.is_fp32 = format == Format::Fp32;
      first.operands +=
          fmt::format("; as values {:.9g} and {:.9g}", decode(format, found->model), decode(format, found->rtl));
    }
    return first;
  }
  return std::nullopt;
}

Difference to_difference(const FirstDifference& found, RandomSource source, std::uint64_t operation) {
  Difference difference;
  difference.unit = "rounding_unit." + name_of(source);
  difference.operation = operation;
  difference.cycle = found.cycle;
  difference.what = found.disagreement.what;
  difference.model = found.disagreement.model;
  difference.rtl = found.disagreement.rtl;
  difference.is_fp32 = found.is_fp32;
  difference.operands = found.operands;
  return difference;
}

// --- Functional coverage
// -----------------------------------------------------------------------------------------------

// Of the FP32 value.
enum class ValueClass : std::uint8_t { Zero, Subnormal, Normal, Infinity, NotANumber };
constexpr std::size_t kClasses = 5;
constexpr std::array<std::string_view, kClasses> kClassNames = {"zero", "subnormal", "normal", "infinity", "NaN"};

// What the rounding did. The last eight exist twice: for values in the normal range of the target, and below it.
enum class Outcome : std::uint8_t {
  Special,           // zero, infinity, NaN
  SpecialSaturated,  // the same under `saturate`; zero excepted
  Negative,          // into a scale, which has no sign
  Flushed,
  Overflow,
  OverflowSaturated,
  Exact,
  Down,
  Up,
  TieDown,
  TieUp,
  RandomDown,
  RandomUp,
  Carry,  // up into the next binade, in either mode
};
constexpr std::size_t kOutcomes = 14;
constexpr std::array<std::string_view, kOutcomes> kOutcomeNames = {"special",        "special under saturate",
                                                                   "negative",       "flushed",
                                                                   "overflow",       "overflow under saturate",
                                                                   "exact",          "nearest, down",
                                                                   "nearest, up",    "tie, down",
                                                                   "tie, up",        "stochastic, down",
                                                                   "stochastic, up", "carry"};

enum class Stall : std::uint8_t { None, Gap, Held };
constexpr std::size_t kStalls = 3;
constexpr std::array<std::string_view, kStalls> kStallNames = {"without a stall", "after a gap", "held up"};

struct Bin {
  ValueClass value = ValueClass::Zero;
  Outcome outcome = Outcome::Special;
  bool below = false;  // the target's normal values
};

Bin classify(Format format, const Beat& beat, std::uint32_t word, bool flush_denormals) {
  const FormatSpec& row = spec(format);
  const std::uint32_t magnitude = beat.value & kFp32MagnitudeMask;
  const Outcome special = beat.saturate ? Outcome::SpecialSaturated : Outcome::Special;
  if (magnitude == 0) return {ValueClass::Zero, Outcome::Special, false};
  if (magnitude > kFp32Infinity) return {ValueClass::NotANumber, special, false};
  const bool negative = beat.value != magnitude;
  if (magnitude == kFp32Infinity) {
    return {ValueClass::Infinity, is_scale(row) && negative ? Outcome::Negative : special, false};
  }
  const ValueClass value = magnitude < kFp32MinNormal ? ValueClass::Subnormal : ValueClass::Normal;
  if (flush_denormals && value == ValueClass::Subnormal && !is_integer(row)) return {value, Outcome::Flushed, false};
  if (is_scale(row) && negative) return {value, Outcome::Negative, false};

  const double exact = magnitude_of(beat.value);
  const Units units = in_units(row, exact);
  const bool random = beat.stochastic && !is_integer(row);
  const bool tie = units.fraction == 0.5;
  const bool up = random ? word < threshold(units) : units.fraction > 0.5 || (tie && std::fmod(units.whole, 2) != 0);
  const double rounded = units.whole + (up ? 1 : 0);
  const double limit = is_integer(row) ? (negative ? (row.sign_bits == 0 ? 0 : row.max_finite + 1.0) : row.max_finite)
                                       : in_units(row, static_cast<double>(decode(format, row.max_finite))).whole;
  const bool top = is_integer(row) || exact >= static_cast<double>(decode(format, row.max_finite));
  if (top && rounded > limit) return {value, beat.saturate ? Outcome::OverflowSaturated : Outcome::Overflow, false};

  Outcome outcome = Outcome::Exact;
  const double next_binade = std::ldexp(1, units.subnormal ? row.mantissa_bits : row.mantissa_bits + 1);
  if (up && !is_integer(row) && rounded == next_binade) {
    outcome = Outcome::Carry;
  } else if (units.fraction != 0) {
    if (random) {
      outcome = up ? Outcome::RandomUp : Outcome::RandomDown;
    } else if (tie) {
      outcome = up ? Outcome::TieUp : Outcome::TieDown;
    } else {
      outcome = up ? Outcome::Up : Outcome::Down;
    }
  }
  return {value, outcome, units.subnormal};
}

// True if some value can come into the bin.
bool possible(Format format, const Bin& bin, bool flush_denormals) {
  const FormatSpec& row = spec(format);
  const bool scale = is_scale(row);
  const bool integer = is_integer(row);
  const bool wide = !integer && row.exponent_bits == 8 && !scale;  // FP32's range
  const Outcome outcome = bin.outcome;
  const bool below = bin.below;
  if (outcome < Outcome::Exact && below) return false;
  switch (bin.value) {
    case ValueClass::Zero:
      return outcome == Outcome::Special;
    case ValueClass::Infinity:
      if (scale && outcome == Outcome::Negative) return true;
      [[fallthrough]];
    case ValueClass::NotANumber:
      return outcome == Outcome::Special || outcome == Outcome::SpecialSaturated;
    case ValueClass::Subnormal:
      if (flush_denormals && !integer) return outcome == Outcome::Flushed;
      break;
    case ValueClass::Normal:
      break;
  }
  if (outcome == Outcome::Negative) return scale;
  if (outcome < Outcome::Overflow) return false;
  const bool subnormal = bin.value == ValueClass::Subnormal;
  if (outcome < Outcome::Exact) return !subnormal && format != Format::Fp32;
  if (format == Format::Fp32) return outcome == Outcome::Exact && below == subnormal;
  if (integer) {
    if (subnormal) return below && outcome == Outcome::Down;
    if (below) return outcome == Outcome::Down || outcome == Outcome::Up || outcome == Outcome::TieDown;
    return outcome <= Outcome::TieUp;
  }
  if (scale) {  // one code a binade: every step up is a carry, and ties go up but below the smallest
    if (below) {
      return subnormal && (outcome == Outcome::Down || outcome == Outcome::TieDown || outcome == Outcome::RandomDown ||
                           outcome == Outcome::Carry);
    }
    return outcome == Outcome::Exact || outcome == Outcome::Down || outcome == Outcome::RandomDown ||
           outcome == Outcome::Carry;
  }
  if (wide && below != subnormal) return false;
  // A narrow format's smallest unit is far above FP32's subnormals.
  if (!wide && subnormal) return below && (outcome == Outcome::Down || outcome == Outcome::RandomDown);
  return outcome != Outcome::TieUp || row.mantissa_bits >= 2;
}

class Coverage {
 public:
  Coverage(const std::vector<Format>& formats, bool stalls, bool flush_denormals)
      : formats_(formats), stalls_(stalls ? kStalls : 1), flush_denormals_(flush_denormals) {}

  void sample(const Beat& beat, std::uint32_t word, Stall stall) {
    const Bin bin = classify(beat.format, beat, word, flush_denormals_);
    std::uint64_t& hits = hits_[index(beat.format, bin, static_cast<std::size_t>(stall))];
    ++hits;
  }

  // A line a format: bins hit of those possible, by outcome.
  std::string table() const {
    struct Column {
      std::string_view name;
      std::vector<Outcome> outcomes;
    };
    const std::vector<Column> columns = {
        {"special", {Outcome::Special, Outcome::SpecialSaturated, Outcome::Negative, Outcome::Flushed}},
        {"exact", {Outcome::Exact}},
        {"nearest", {Outcome::Down, Outcome::Up}},
        {"tie", {Outcome::TieDown, Outcome::TieUp}},
        {"random", {Outcome::RandomDown, Outcome::RandomUp}},
        {"carry", {Outcome::Carry}},
        {"overflow", {Outcome::Overflow, Outcome::OverflowSaturated}}};
    std::string text = fmt::format("{:8}", "format");
    for (const Column& column : columns) text += fmt::format("{:>10}", column.name);
    for (const Format format : formats_) {
      text += fmt::format("\n{:8}", spec(format).name);
      for (const Column& column : columns) {
        std::size_t hit = 0;
        std::size_t all = 0;
        for_each(format, [&](const Bin& bin, std::size_t, bool is_hit) {
          if (std::find(column.outcomes.begin(), column.outcomes.end(), bin.outcome) == column.outcomes.end()) return;
          ++all;
          hit += is_hit ? 1 : 0;
        });
        text += fmt::format("{:>10}", all == 0 ? "-" : fmt::format("{}/{}", hit, all));
      }
    }
    return text;
  }

  // The possible bins without a hit.
  std::vector<std::string> holes() const {
    std::vector<std::string> list;
    for (const Format format : formats_) {
      for_each(format, [&](const Bin& bin, std::size_t stall, bool hit) {
        if (hit) return;
        list.push_back(fmt::format("{}: {}, {}{}, {}", spec(format).name,
                                   kClassNames[static_cast<std::size_t>(bin.value)],
                                   kOutcomeNames[static_cast<std::size_t>(bin.outcome)],
                                   bin.below ? " below the normal values" : "", kStallNames[stall]));
      });
    }
    return list;
  }

  std::size_t bins() const {
    std::size_t count = 0;
    for (const Format format : formats_) for_each(format, [&](const Bin&, std::size_t, bool) { ++count; });
    return count;
  }

 private:
  static constexpr std::size_t kFormats = 16;

  static std::size_t index(Format format, const Bin& bin, std::size_t stall) {
    const std::size_t outcome = static_cast<std::size_t>(bin.outcome) * 2 + (bin.below ? 1 : 0);
    return ((static_cast<std::size_t>(format) * kClasses + static_cast<std::size_t>(bin.value)) * kOutcomes * 2 +
            outcome) *
               kStalls +
           stall;
  }

  template <class Visit>
  void for_each(Format format, Visit visit) const {
    for (std::size_t value = 0; value < kClasses; ++value) {
      for (std::size_t outcome = 0; outcome < kOutcomes * 2; ++outcome) {
        const Bin bin{static_cast<ValueClass>(value), static_cast<Outcome>(outcome / 2), outcome % 2 != 0};
        if (!possible(format, bin, flush_denormals_)) continue;
        for (std::size_t stall = 0; stall < stalls_; ++stall) {
          visit(bin, stall, hits_[index(format, bin, stall)] != 0);
        }
      }
    }
  }

  const std::vector<Format> formats_;
  const std::size_t stalls_;
  const bool flush_denormals_;
  std::vector<std::uint64_t> hits_ = std::vector<std::uint64_t>(kFormats * kClasses * kOutcomes * 2 * kStalls);
};

// --- Bench
// -------------------------------------------------------------------------------------------------------------

// Drives one lane with beats and random stalls, in blocks of cycles.
class Bench {
 public:
  Bench(RandomSource source, const RtlLibrary& library, const CampaignOptions& options, bool stalls, Coverage& coverage)
      : source_(source),
        abi_(abi_of(library, source)),
        flush_denormals_(library.parameters().flush_denormals),
        options_(options),
        stalls_(stalls),
        coverage_(coverage),
        stimulus_(options.seed * 2 + static_cast<std::uint64_t>(source)),
        lane_(abi_, plain_context(), ("rounding_unit " + name_of(source)).c_str(), options.fault),
        model_(source, flush_denormals_) {
    if (options.wave != nullptr) {
      wave_ = &options.wave->unit<RoundingWave>(rounding_unit_name(source), library, source, "");
    }
    inputs_.reserve(kBlock);
    expected_.reserve(kBlock);
    operations_.reserve(kBlock);
    lane_.reset();
  }

  RandomSource source() const { return source_; }
  const std::optional<Difference>& difference() const { return difference_; }
  std::uint64_t compared() const { return compared_; }
  std::uint64_t cycles() const { return cycles_; }

  void push(const Beat& beat) {
    if (difference_) return;
    Stall stall = Stall::None;
    if (inputs_.empty()) idle();  // a cycle for the load
    if (beat.state) load(*beat.state);
    if (stalls_ && stimulus_.one_in(8)) {
      stall = Stall::Gap;
      for (std::uint32_t i = 1 + stimulus_.below(3); i > 0; --i) idle();
    }
    rtl::RoundingInputs in;
    in.valid = 1;
    in.format = static_cast<std::uint8_t>(beat.format);
    in.stochastic = beat.stochastic;
    in.saturate = beat.saturate;
    in.lane = beat.present;
    in.value = beat.value;
    for (bool accepted = false; !accepted;) {
      in.ready = !stalls_ || !stimulus_.one_in(4);
      accepted = model_.ready(in.ready != 0);
      if (!accepted) stall = Stall::Held;
      add(in);
    }
    if (beat.present) coverage_.sample(beat, expected_.back().word, stall);
    if (beat.present) ++waiting_;
    ++operation_;
  }

  // Lets the last code leave, and compares what has not been.
  void finish() {
    if (difference_) return;
    idle();
    idle();
    compare_block();
  }

  // A reset in between, which drops what is valid.
  void reset() {
    finish();
    if (difference_) return;
    lane_.reset();
    from_reset_ = true;
    model_.reset();
    block_state_ = model_.state();
  }

 private:
  static constexpr std::size_t kBlock = 1024;  // cycles

  void idle() {
    rtl::RoundingInputs in;
    in.ready = !stalls_ || !stimulus_.one_in(4);
    in.value = stimulus_.word();  // nobody looks
    in.stochastic = 1;
    add(in);
  }

  void add(const rtl::RoundingInputs& in) {
    if (inputs_.size() == kBlock) compare_block();
    inputs_.push_back(in);
    expected_.push_back(model_.step(in));
    operations_.push_back(operation_);
  }

  // In the last cycle, whose own draw comes first.
  void load(const State& state) {
    rtl::RoundingInputs& in = inputs_.back();
    in.load = 1;
    std::copy(state.begin(), state.end(), std::begin(in.state));
    expected_.back().state = model_.load(in.state);
  }

  void compare_block() {
    lane_.run(inputs_, outputs_);
    if (wave_ != nullptr) show_block();
    std::size_t compared = inputs_.size();  // cycles
    for (std::size_t t = 0; t < inputs_.size() && !difference_; ++t) {
      const std::optional<Disagreement> found = compare(expected_[t], outputs_[t]);
      if (!found) continue;
      keep(t, *found);
      compared = t + 1;
    }
    cycles_ += compared;
    compared_ += waiting_;
    waiting_ = 0;
    block_state_ = model_.state();
    inputs_.clear();
    expected_.clear();
    operations_.clear();
  }

  void show_block() {
    std::vector<RoundingCycle> cycles;
    for (std::size_t t = 0; t < inputs_.size(); ++t) {
      cycles.push_back(to_wave(inputs_[t], expected_[t], outputs_[t], operations_[t]));
    }
    wave_->run(std::move(cycles), std::exchange(from_reset_, false), options_.fault);
  }

  // The difference with the shortest run of cycles, of those whose lengths are powers of two, that shows one from
  // reset.
  void keep(std::size_t t, const Disagreement& disagreement) {
    fresh_.emplace(abi_, plain_context(), ("rounding_unit reproducer " + name_of(source_)).c_str(), options_.fault);
    RoundingCase operation;
    operation.source = source_;
    operation.mode.flush_denormals = flush_denormals_;
    FirstDifference shown{0, disagreement, describe_inputs(inputs_[t], expected_[t].word), false};
    for (std::size_t length = 1;; length *= 2) {
      const std::size_t begin = t + 1 - std::min(length, t + 1);
      const State before = begin == 0 ? block_state_ : expected_[begin - 1].state;
      rtl::RoundingInputs first;
      first.load = 1;
      std::copy(before.begin(), before.end(), std::begin(first.state));
      operation.cycles.assign(1, first);
      operation.cycles.insert(operation.cycles.end(), inputs_.begin() + static_cast<std::ptrdiff_t>(begin),
                              inputs_.begin() + static_cast<std::ptrdiff_t>(t) + 1);
      const std::optional<FirstDifference> again =
          first_difference(*fresh_, source_, flush_denormals_, operation.cycles);
      if (again) {
        shown = *again;
        operation.cycles.resize(again->cycle + 1);
      }
      if (again || begin == 0) break;
    }
    Difference difference = to_difference(shown, source_, operations_[t]);
    difference.reproducer.pipeline_stages = options_.rtl.pipeline_stages;
    difference.reproducer.flush_denormals = flush_denormals_;
    difference.reproducer.fault = options_.fault_text;
    difference.reproducer.pe_directory = options_.rtl.pe_directory;
    difference.reproducer.pe_top = options_.rtl.pe_top;
    difference.reproducer.note = fmt::format("cosim rounding, seed {}, conversion {} of the {} lane", options_.seed,
                                             operations_[t], name_of(source_));
    difference.reproducer.operation = std::move(operation);
    if (options_.wave != nullptr) difference.time = options_.wave->first_mismatch()->time;
    difference_ = std::move(difference);
  }

  const RandomSource source_;
  const rtl::RoundingUnitAbi& abi_;
  const bool flush_denormals_;
  const CampaignOptions& options_;
  const bool stalls_;
  Coverage& coverage_;
  Stimulus stimulus_;
  Lane lane_;
  std::optional<Lane> fresh_;  // for the reproducer; stays, since its coverage counters must
  CycleModel model_;
  std::vector<rtl::RoundingInputs> inputs_;
  std::vector<Expected> expected_;
  std::vector<std::uint64_t> operations_;  // the beat of each cycle
  std::vector<rtl::RoundingOutputs> outputs_;
  State block_state_{};     // before the block
  bool from_reset_ = true;  // the block
  RoundingWave* wave_ = nullptr;
  std::uint64_t operation_ = 0;
  std::uint64_t waiting_ = 0;  // conversions of the block
  std::uint64_t compared_ = 0;
  std::uint64_t cycles_ = 0;
  std::optional<Difference> difference_;
};

// --- Campaign
// ----------------------------------------------------------------------------------------------------------

class Campaign {
 public:
  Campaign(const RoundingCampaign& campaign, const CampaignOptions& options, const RtlLibrary& library)
      : campaign_(campaign),
        options_(options),
        flush_denormals_(library.parameters().flush_denormals),
        coverage_(campaign.formats, campaign.stalls, flush_denormals_),
        stimulus_(options.seed) {
    for (const RandomSource source : {RandomSource::Lfsr, RandomSource::Xorwow}) {
      benches_.push_back(std::make_unique<Bench>(source, library, options, campaign.stalls, coverage_));
    }
  }

  void run() {
    const std::size_t stages = campaign_.formats.size() * (campaign_.exhaustive ? 2 : 1) + 2;
    std::size_t done = 0;
    const auto next = [&] {
      if (options_.progress) options_.progress(static_cast<double>(++done) / static_cast<double>(stages));
      return !failed();
    };
    // A few random ones of all formats first: most faults are found at once.
    const std::uint64_t early = std::min<std::uint64_t>(campaign_.values, 10'000);
    random(early);
    bool going = next();
    for (std::size_t i = 0; going && i < campaign_.formats.size(); ++i) {
      directed(campaign_.formats[i]);
      going = next();
    }
    if (going) {
      random(campaign_.values - early);
      going = next();
    }
    for (std::size_t i = 0; going && campaign_.exhaustive && i < campaign_.formats.size(); ++i) {
      exhaustive(campaign_.formats[i]);
      going = next();
    }
    for (const auto& bench : benches_) bench->finish();
  }

  CampaignResult result() const {
    CampaignResult result;
    for (const auto& bench : benches_) {
      result.cases += bench->compared();
      result.cycles += bench->cycles();
      if (!bench->difference()) continue;
      ++result.mismatches;
      result.differences.push_back(*bench->difference());
      break;  // the first
    }
    result.table = coverage_.table();
    result.holes = coverage_.holes();
    const std::size_t bins = coverage_.bins();
    result.figures = {{"target formats", std::to_string(campaign_.formats.size())},
                      {"random sources", "lfsr, xorwow; all words of their states compared in every cycle"},
                      {"functional coverage", fmt::format("{} of {} bins", bins - result.holes.size(), bins)}};
    return result;
  }

 private:
  bool failed() const {
    return std::any_of(benches_.begin(), benches_.end(),
                       [](const auto& bench) { return bench->difference().has_value(); });
  }

  bool takes_words(Format format) const { return takes_random_word(format, {Rounding::Stochastic, false, false}); }

  // The value rounded to nearest even, and stochastically with words around its threshold, `extremes` too. Where no
  // word is taken, once with each mode.
  void push_all(Bench& bench, Format format, std::uint32_t value, bool saturate, bool extremes) {
    Beat beat{value, format, false, saturate, true, std::nullopt};
    bench.push(beat);
    beat.stochastic = true;
    if (!takes_words(format)) {
      bench.push(beat);
      return;
    }
    const std::uint32_t limit = is_finite(value) ? threshold(in_units(spec(format), magnitude_of(value))) : 0;
    const std::array<std::uint32_t, 4> words = {limit - 1, limit, 0, ~0U};
    for (std::size_t i = 0; i < (extremes ? words.size() : 2); ++i) {
      beat.state = state_before(bench.source(), words[i], stimulus_.state());
      bench.push(beat);
    }
  }

  // A value of `format` and the next one: both, the midpoint and the quarters between them, and their FP32 neighbours.
  void add_between(std::vector<std::uint32_t>& values, double low, double high, bool neighbours_only) const {
    const auto add = [&](double value) {
      const std::uint32_t bits = float_to_bits(static_cast<float>(value));
      if (!neighbours_only) values.push_back(bits);
      if (bits > 0) values.push_back(bits - 1);
      values.push_back(bits);
      if (bits < kFp32Infinity) values.push_back(bits + 1);
    };
    add(low + (high - low) / 2);
    if (neighbours_only) return;
    add(low);
    add(low + (high - low) / 4);
    add(low + (high - low) * 3 / 4);
  }

  // The magnitude of the code with this magnitude, one beyond the largest finite one included.
  static double value_of(Format format, std::uint32_t magnitude) {
    const FormatSpec& row = spec(format);
    if (is_integer(row)) return static_cast<double>(magnitude);
    const unsigned shift = format == Format::Tf32 ? 13 : 0;
    if (magnitude << shift <= row.max_finite) return static_cast<double>(decode(format, magnitude << shift));
    const double largest = static_cast<double>(decode(format, row.max_finite));
    return largest + std::ldexp(1, std::ilogb(largest) - row.mantissa_bits);
  }

  // Magnitudes of a format's codes, from zero to the largest finite one.
  static std::uint32_t magnitudes(Format format) {
    return (spec(format).max_finite >> (format == Format::Tf32 ? 13 : 0)) + 1;
  }

  void directed(Format format) {
    const FormatSpec& row = spec(format);
    std::vector<std::uint32_t> values = {0,          1,          0x007FFFFF, 0x00400000, 0x00800000,    0x00800001,
                                         0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x7F7FFFFF, kFp32Infinity, 0x7F800001,
                                         0x7FC00000, 0x7FFFFFFF, 0x7FC12345};
    // The one value whose tie goes to zero, often enough to meet every stall.
    const double smallest = value_of(format, is_scale(row) ? 0 : 1);
    values.insert(values.end(), 16, float_to_bits(static_cast<float>(smallest / 2)));
    std::vector<std::uint32_t> codes;
    const std::uint32_t count = magnitudes(format);
    if (count <= 256) {
      for (std::uint32_t code = 0; code < count; ++code) codes.push_back(code);
    } else {
      const std::uint32_t min_normal = is_integer(row) ? 1U << 22 : 1U << row.mantissa_bits;
      codes = {0, 1, 2, 3, min_normal - 1, min_normal, min_normal + 1, min_normal * 2 - 1, count - 2, count - 1};
      for (int i = 0; i < 32; ++i) codes.push_back(stimulus_.below(count));
    }
    for (const std::uint32_t code : codes) {
      if (code < count) add_between(values, value_of(format, code), value_of(format, code) + step(format, code), false);
    }
    for (const auto& bench : benches_) {
      bench->reset();
      for (const std::uint32_t value : values) {
        for (const std::uint32_t sign : {0U, kFp32SignMask}) {
          for (const bool saturate : {false, true}) push_all(*bench, format, value | sign, saturate, true);
          // No load hides what this draws.
          bench->push({value | sign, format, false, false, true, std::nullopt});
        }
        // A lane without an element, and the states that would stay as they are.
        bench->push({value, format, true, false, true, State{}});
        bench->push({value, format, true, false, true, State{0, 0, 0, 0, 0, stimulus_.word()}});
        bench->push({value, format, true, false, true, stimulus_.state()});
        bench->push({value, format, true, false, false, std::nullopt});
      }
    }
  }

  // From a code's value to the next one's.
  static double step(Format format, std::uint32_t code) { return value_of(format, code + 1) - value_of(format, code); }

  void random(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count && !failed(); ++i) {
      const Format format = campaign_.formats[stimulus_.below(static_cast<std::uint32_t>(campaign_.formats.size()))];
      Bench& bench = *benches_[i % benches_.size()];
      Beat beat{random_value(format),  format,      stimulus_.one_in(2), stimulus_.one_in(2),
                !stimulus_.one_in(32), std::nullopt};
      if (beat.stochastic && is_finite(beat.value) && takes_words(format) && stimulus_.one_in(4)) {
        const std::uint32_t limit = threshold(in_units(spec(format), magnitude_of(beat.value)));
        beat.state = state_before(bench.source(), limit - stimulus_.below(2), stimulus_.state());
      } else if (stimulus_.one_in(64)) {
        beat.state = stimulus_.one_in(4) ? State{} : stimulus_.state();
      }
      bench.push(beat);
    }
  }

  // Exponents from where all is lost to beyond the largest, one value in 32 special.
  std::uint32_t random_value(Format format) {
    const FormatSpec& row = spec(format);
    const std::uint32_t sign = stimulus_.word() & kFp32SignMask;
    if (stimulus_.one_in(32)) {
      const std::array<std::uint32_t, 5> special = {0, kFp32Infinity, 0x7FC00000, 0x7F800001, 0x7F7FFFFF};
      return special[stimulus_.below(special.size())] | sign;
    }
    const int lowest = is_integer(row) ? 124 : 127 - row.bias - row.mantissa_bits - 36;
    const int highest = is_integer(row) ? 127 + row.integer_bits + 1 : 127 + row.bias + 3;
    const int exponent = std::clamp(
        lowest + static_cast<int>(stimulus_.below(static_cast<std::uint32_t>(highest - lowest + 1))), 0, 254);
    std::uint32_t fraction = stimulus_.word() & 0x007F'FFFF;
    // Few leading bits make exact values and ties, many ones make carries.
    const std::uint32_t tail = 0x007F'FFFFU >> stimulus_.below(24);
    if (stimulus_.one_in(4)) fraction &= ~tail;
    if (stimulus_.one_in(8)) fraction |= tail;
    return sign | static_cast<std::uint32_t>(exponent) << 23 | fraction;
  }

  void exhaustive(Format format) {
    // Every upper half of FP32, exponents and the leading fraction bits, with a few lower halves.
    constexpr std::array<std::uint32_t, 6> kLowHalves = {0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
    for (std::uint32_t high = 0; high < 0x10000 && !failed(); ++high) {
      for (std::size_t i = 0; i < kLowHalves.size(); ++i) {
        for (const bool saturate : {false, true}) {
          push_all(*benches_[(high + i) % 2], format, high << 16 | kLowHalves[i], saturate, false);
        }
      }
    }
    // Every code up to 19 bits wide: the midpoint to the next code and its FP32 neighbours.
    if (spec(format).storage_bits > 16 && format != Format::Tf32) return;
    std::vector<std::uint32_t> values;
    const std::uint32_t count = magnitudes(format);
    for (std::uint32_t code = 0; code < count && !failed(); ++code) {
      values.clear();
      const double low = value_of(format, code);
      values.push_back(float_to_bits(static_cast<float>(low)));
      add_between(values, low, low + step(format, code), true);
      for (const std::uint32_t value : values) {
        for (const std::uint32_t sign : {0U, kFp32SignMask}) {
          push_all(*benches_[code % 2], format, value | sign, (code / 2 + value) % 2 != 0, false);
        }
      }
    }
  }

  const RoundingCampaign& campaign_;
  const CampaignOptions& options_;
  const bool flush_denormals_;
  Coverage coverage_;
  Stimulus stimulus_;
  std::vector<std::unique_ptr<Bench>> benches_;
};

}  // namespace

CampaignResult run_rounding_campaign(const RoundingCampaign& campaign, const CampaignOptions& options) {
  RtlParameters parameters = options.rtl;
  if (options.fault.fault != nullptr) parameters.faults = true;
  if (!options.coverage_file.empty()) parameters.coverage = true;
  const RtlLibrary& library = RtlLibrary::load(parameters, options.message);
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t failures_before = rtl_failures();
  Campaign run(campaign, options, library);
  if (options.wave != nullptr) options.wave->begin();
  run.run();
  const std::uint64_t failures = rtl_failures() - failures_before;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // The counters are part of the units.
  if (!options.coverage_file.empty()) write_rtl_coverage(options.coverage_file);
  CampaignResult result = run.result();
  if (result.mismatches == 0 && failures != 0) {
    result.figures.emplace_back("failed assertions of the RTL", std::to_string(failures));
    result.mismatches = failures;
  }
  result.seconds = seconds;
  return result;
}

std::uint64_t replay_rounding(const RoundingCase& operation, const CosimCase& origin, const FaultPlace& fault,
                              const RtlLibrary& library, VerilatedContext& context, LockstepLog& log,
                              std::vector<std::shared_ptr<void>>* kept, RoundingWave* wave) {
  std::vector<rtl::RoundingInputs> inputs = operation.cycles;
  if (inputs.empty()) {
    rtl::RoundingInputs load;
    load.load = 1;
    std::copy(operation.state.begin(), operation.state.end(), std::begin(load.state));
    inputs.push_back(load);
    for (const std::uint32_t value : operation.values) {
      rtl::RoundingInputs in;
      in.valid = 1;
      in.format = static_cast<std::uint8_t>(operation.format);
      in.stochastic = operation.mode.rounding == Rounding::Stochastic;
      in.saturate = operation.mode.saturate;
      in.value = value;
      inputs.push_back(in);
    }
  }
  const auto lane = std::make_shared<Lane>(abi_of(library, operation.source), context, "rounding_unit replay", fault);
  if (kept != nullptr) kept->push_back(lane);
  std::vector<RoundingCycle> cycles;
  std::optional<FirstDifference> found = first_difference(*lane, operation.source, library.parameters().flush_denormals,
                                                          inputs, wave != nullptr ? &cycles : nullptr);
  if (wave != nullptr) wave->run(std::move(cycles), true, fault);
  log.compared(static_cast<std::uint64_t>(
      std::count_if(inputs.begin(), inputs.end(), [](const rtl::RoundingInputs& in) { return in.valid != 0; })));
  if (found) {
    Difference difference = to_difference(*found, operation.source, 0);
    difference.reproducer = origin;
    log.differed(1, std::move(difference));
  }
  return inputs.size();
}

}  // namespace azulejo
