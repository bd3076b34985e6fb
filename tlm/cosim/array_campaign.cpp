// SPDX-License-Identifier: Apache-2.0
// The campaign of the PE array: pe_array.sv with its handshakes under random stalls, cycle by cycle, and the array
// composed of tiles in lockstep with PeArrayModel.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "tlm/common/error.h"
#include "tlm/cosim/campaign.h"
#include "tlm/cosim/campaign_wave.h"
#include "tlm/cosim/host_tile.h"
#include "tlm/cosim/pe.h"
#include "tlm/cosim/pe_array_rtl.h"
#include "tlm/cosim/pe_stimulus.h"
#include "tlm/isa/instruction.h"
#include "tlm/numerics/float_bits.h"
#include "tlm/numerics/matmul.h"
#include "tlm/tensor_engine/matmul_timing.h"
#include "tlm/tensor_engine/pe_array_model.h"
#include "tlm/wave/verilator_hooks.h"

namespace azulejo {
namespace {

constexpr std::uint32_t kMaxMoving = 4096;  // columns of one moving tile
constexpr std::uint32_t kMaxMatmuls = 1'000'000;

// Operands

enum class Distribution : std::uint8_t {
  Normal,
  AnyCode,     // each code alike: infinities and NaNs too
  Small,       // subnormals and zeros; small integers
  Vanishing,   // zeros of both signs among values whose products are subnormal or round to zero
  Corner,      // infinities, zeros and the largest values among normal ones, so that they meet each other in a sum
  Cancelling,  // of any magnitude, each odd row with the value of the row before, negated in moving tiles
};

float normal_value(StimulusRandom& random) {
  const std::uint64_t word = random.next();
  double sum = -2;
  for (unsigned i = 0; i < 4; ++i) sum += static_cast<double>(word >> (16 * i) & 0xFFFF) / 0x1'0000;
  return static_cast<float>(sum * std::sqrt(3.0));
}

std::uint32_t random_code(Format format, Distribution distribution, StimulusRandom& random) {
  const FormatSpec& row = spec(format);
  const auto bits = static_cast<std::uint32_t>((std::uint64_t{1} << row.storage_bits) - 1);
  if (distribution == Distribution::AnyCode) return random.next32() & bits;
  if (distribution == Distribution::Small) {
    const unsigned fraction_bits = row.integer_bits != 0 ? 2U : row.storage_bits - row.sign_bits - row.exponent_bits;
    const std::uint32_t fraction = random.one_in(8) ? 0 : random.next32() & ((1U << fraction_bits) - 1);
    const bool negative = row.sign_bits != 0 && row.integer_bits == 0 && random.one_in(2);
    return fraction | (negative ? 1U << (row.storage_bits - 1) : 0U);
  }
  constexpr float kIntegerScale = 40;
  constexpr std::uint32_t kBinades = 49;  // around 1: no overflow in a column sum of a format with FP32's exponent
  constexpr int kVanishing = -72;         // products of such values are around FP32's smallest, 2^-149
  float value = normal_value(random);
  if (row.integer_bits != 0) value *= kIntegerScale;
  ConversionMode mode;
  mode.saturate = true;
  if (distribution == Distribution::Cancelling) {
    value = std::ldexp(value, static_cast<int>(random.below(kBinades)) - static_cast<int>(kBinades / 2));
  } else if (distribution == Distribution::Vanishing) {
    value = random.one_in(3) ? std::copysign(0.0F, value)
                             : std::ldexp(value, kVanishing - static_cast<int>(random.below(8)));
  } else if (distribution == Distribution::Corner) {
    const std::uint32_t draw = random.below(8);
    mode.saturate = draw != 0;
    if (draw < 2) value = std::copysign(std::numeric_limits<float>::infinity(), value);
    if (draw == 2) value = std::copysign(0.0F, value);
  }
  if (row.sign_bits == 0) value = std::fabs(value);
  return encode(format, value, mode);
}

std::uint32_t negated(Format format, std::uint32_t code) {
  const FormatSpec& row = spec(format);
  if (row.integer_bits != 0) return encode(format, -decode(format, code));
  return row.sign_bits != 0 ? code ^ 1U << (row.storage_bits - 1) : code;
}

// A tile [k][columns], each column of a distribution of its own, so that a few NaNs do not reach every sum.
std::vector<std::uint32_t> random_tile(Format format, std::uint32_t k, std::uint32_t columns, bool moving,
                                       bool one_zero, StimulusRandom& random) {
  std::vector<std::uint32_t> codes(std::size_t{k} * columns);
  for (std::uint32_t j = 0; j < columns; ++j) {
    const std::uint32_t draw = random.below(16);
    const Distribution distribution = draw == 0   ? Distribution::AnyCode
                                      : draw == 1 ? Distribution::Small
                                      : draw == 2 ? Distribution::Vanishing
                                      : draw == 3 ? Distribution::Corner
                                      : draw < 7  ? Distribution::Cancelling
                                                  : Distribution::Normal;
    for (std::uint32_t p = 0; p < k; ++p) {
      std::uint32_t& code = codes[std::size_t{p} * columns + j];
      if (one_zero) {
        code = random.one_in(2) ? encode(format, 1.0F) : 0;
      } else if (distribution == Distribution::Cancelling && p % 2 == 1) {
        const std::uint32_t before = codes[std::size_t{p - 1} * columns + j];
        code = moving ? negated(format, before) : before;
      } else {
        code = random_code(format, distribution, random);
      }
    }
  }
  return codes;
}

std::uint32_t random_psum(StimulusRandom& random) {
  const std::uint32_t draw = random.below(32);
  const Distribution distribution = draw == 0   ? Distribution::AnyCode
                                    : draw == 1 ? Distribution::Small
                                    : draw == 2 ? Distribution::Corner
                                    : draw < 8  ? Distribution::Cancelling
                                                : Distribution::Normal;
  return random_code(Format::Fp32, distribution, random);
}

// What matmuls are drawn from.
struct CaseLimits {
  std::uint32_t rows = 0, cols = 0, n = 0;
  const std::vector<Format>& formats;
};

// A matmul of that stationary format. `full`: of all rows, columns and moving columns; `kept`: with that one's
// stationary tile.
ArrayCase random_case(const CaseLimits& limits, Format format, bool full, const ArrayCase* kept,
                      StimulusRandom& random) {
  ArrayCase operation;
  operation.rows = limits.rows;
  operation.cols = limits.cols;
  const auto size = [&](std::uint32_t most) { return full || random.one_in(3) ? most : 1 + random.below(most); };
  operation.k = size(limits.rows);
  operation.m = size(limits.cols);
  operation.n = size(limits.n);
  operation.stationary_format = operation.moving_format = format;
  if (format != Format::Fp32 && random.one_in(3)) {
    const Format other = limits.formats[random.below(static_cast<std::uint32_t>(limits.formats.size()))];
    if (other != Format::Fp32) operation.moving_format = other;
  }
  operation.accumulate = !full && random.one_in(2);
  operation.stationary_one_zero = format == Format::Fp32 && !full && random.one_in(4);
  operation.moving_one_zero = format == Format::Fp32 && !full && random.one_in(4);
  if (kept != nullptr) {
    operation.k = kept->k;
    operation.m = kept->m;
    operation.stationary_one_zero = kept->stationary_one_zero;
    operation.stationary = kept->stationary;
  } else {
    operation.stationary = random_tile(format, operation.k, operation.m, false, operation.stationary_one_zero, random);
  }
  operation.moving =
      random_tile(operation.moving_format, operation.k, operation.n, true, operation.moving_one_zero, random);
  if (operation.accumulate) {
    operation.psum.resize(std::size_t{operation.m} * operation.n);
    for (std::uint32_t& value : operation.psum) value = random_psum(random);
  }
  return operation;
}

// Whether to keep the stationary tile of `last`, which is of `format`, for the next matmul.
bool keeps_stationary(const std::optional<ArrayCase>& last, Format format, StimulusRandom& random) {
  return last && last->stationary_format == format && random.one_in(3);
}

// The chain of fused multiply-adds, on operands: shares nothing with the model of whole tiles.
float multiply_add(const Operand& act, const Operand& weight, float sum, bool flush_denormals) {
  const auto is_special = [](const Operand& operand) {
    return operand.kind == OperandKind::Infinity || operand.kind == OperandKind::NotANumber;
  };
  if (act.kind == OperandKind::Absent || weight.kind == OperandKind::Absent) return sum;
  const bool special = is_special(act) || is_special(weight);
  if (special && (act.kind == OperandKind::LowHalf || weight.kind == OperandKind::LowHalf)) return sum;
  float value;
  if (!special) {
    value = std::fma(static_cast<float>(operand_value(act)), static_cast<float>(operand_value(weight)), sum);
  } else if (act.kind == OperandKind::NotANumber || weight.kind == OperandKind::NotANumber ||
             act.kind == OperandKind::Zero || weight.kind == OperandKind::Zero) {
    value = std::numeric_limits<float>::quiet_NaN();
  } else {
    const float infinity = std::numeric_limits<float>::infinity();
    value = sum + (act.sign != weight.sign ? -infinity : infinity);
  }
  return canonicalize_nan(flush_denormals ? flush_subnormal(value) : value);
}

// pe_array.sv with its handshakes

// Probabilities in 1/256 that a valid weight or activation waits, and that a sum is not taken.
struct StallRates {
  std::uint32_t weight = 0, act = 0, psum = 0;
};
constexpr std::array<StallRates, 9> kStallRates = {{{0, 0, 0},
                                                    {128, 0, 0},
                                                    {0, 128, 0},
                                                    {0, 0, 128},
                                                    {64, 64, 64},
                                                    {200, 16, 16},
                                                    {16, 200, 16},
                                                    {16, 16, 220},
                                                    {128, 128, 128}}};
constexpr std::uint32_t kHandshakeColumns = 18'000;  // in all
constexpr std::uint32_t kHandshakeMaxMoving = 24;    // of one matmul

class HandshakeBench {
 public:
  HandshakeBench(const RtlLibrary& library, const FaultPlace& fault, const CosimCase& origin, std::uint64_t seed,
                 LockstepLog& log, CampaignWave* campaign_wave)
      : abi_(library.abi().array),
        flush_(abi_.flush_denormals != 0),
        stages_(abi_.pipeline_stages),
        latency_(stages_ * abi_.rows + abi_.cols),
        origin_(origin),
        random_(seed),
        log_(log),
        campaign_wave_(campaign_wave),
        unit_(abi_.unit.create(&plain_context(), "pe_array"), abi_.unit.destroy) {
    if (campaign_wave != nullptr) wave_ = &campaign_wave->unit<HandshakeWave>("pe_array", library);
    pins_.weight_format = pins_.act_format = static_cast<std::uint8_t>(Format::Bf16);
    if (fault.fault == nullptr) return;
    if (fault.row >= 0) {
      if (fault.row >= static_cast<int>(abi_.rows) || fault.col >= static_cast<int>(abi_.cols)) return;
      fault_.row = static_cast<std::uint8_t>(fault.row);
      fault_.col = static_cast<std::uint8_t>(fault.col);
    }
    fault_.fault = fault.fault->id;
    abi_.unit.select_fault(unit_.get(), fault_);
  }

  // Matmuls of random formats until `columns` columns have gone through, from reset. False at a difference.
  bool run(const StallRates& rates, std::uint32_t columns, const std::vector<Format>& formats) {
    make_passes(columns, formats);
    abi_.unit.reset(unit_.get());
    if (wave_ != nullptr) wave_->reset(fault_);
    rates_ = rates;
    failures_ = rtl_failures();
    now_ = 0;
    due_.clear();
    weight_pass_ = act_pass_ = psum_pass_ = 0;
    weight_beat_ = act_column_ = psum_column_ = 0;
    loads_ = swaps_ = 0;
    last_swap_ = 0;
    weight_offered_ = act_offered_ = false;
    started_.assign(operations_.size(), kNotStarted);
    skip_to_load();
    // Nothing may come after the last sum.
    bool good = true;
    for (std::uint32_t tail = 0; good && tail <= latency_; tail += psum_pass_ == passes_.size() ? 1 : 0) good = cycle();
    if (wave_ != nullptr) wave_->flush();
    if (good) matmuls_ += operations_.size();
    return good;
  }

  std::uint64_t cycles() const { return cycles_; }
  std::uint64_t columns() const { return columns_; }
  std::uint64_t matmuls() const { return matmuls_; }

 private:
  static constexpr std::uint64_t kNotStarted = ~std::uint64_t{0};

  struct Pass {
    std::size_t operation = 0;
    OperandPart stationary = OperandPart::Whole;
    OperandPart moving = OperandPart::Whole;
    bool loads = false;
    bool accumulate = false;
    std::vector<std::uint32_t> addends, sums;  // [n][cols]
    std::vector<std::uint16_t> row_order;      // of the weights, if it loads
  };

  void make_passes(std::uint32_t columns, const std::vector<Format>& formats) {
    operations_.clear();
    passes_.clear();
    const CaseLimits limits{abi_.rows, abi_.cols, kHandshakeMaxMoving, formats};
    std::optional<ArrayCase> last;
    for (std::uint32_t made = 0; made < columns;) {
      const Format format = formats[random_.below(static_cast<std::uint32_t>(formats.size()))];
      const bool kept = keeps_stationary(last, format, random_);
      last = random_case(limits, format, false, kept ? &*last : nullptr, random_);
      operations_.push_back(*last);
      made += add_passes(operations_.size() - 1, kept);
    }
  }

  // The passes of one matmul (NUMERICS, "FP32 in four passes"); the columns that stream in them.
  std::uint32_t add_passes(std::size_t index, bool kept) {
    const ArrayCase& operation = operations_[index];
    std::vector<OperandPart> stationary = {OperandPart::Whole};
    std::vector<OperandPart> moving = {OperandPart::Whole};
    if (operation.stationary_format == Format::Fp32) {
      stationary = {OperandPart::Low, OperandPart::High};
      moving = stationary;
      if (operation.stationary_one_zero) stationary.erase(stationary.begin());
      if (operation.moving_one_zero) moving.erase(moving.begin());
      kept = kept && stationary.front() == passes_.back().stationary;
    }
    std::vector<std::uint32_t> psum(std::size_t{operation.n} * abi_.cols);
    for (std::uint32_t j = 0; j < operation.n; ++j) {
      for (std::uint32_t c = 0; c < abi_.cols; ++c) {
        psum[std::size_t{j} * abi_.cols + c] = operation.accumulate && c < operation.m
                                                   ? operation.psum[std::size_t{c} * operation.n + j]
                                                   : random_psum(random_);
      }
    }
    bool accumulate = operation.accumulate;
    std::uint32_t columns = 0;
    for (const OperandPart weights : stationary) {
      bool loads = !kept || weights != stationary.front();
      for (const OperandPart acts : moving) {
        Pass pass;
        pass.operation = index;
        pass.stationary = weights;
        pass.moving = acts;
        pass.loads = loads;
        pass.accumulate = accumulate;
        pass.addends = psum;
        pass.sums = psum = sums_of(pass);
        for (std::uint16_t r = 0; loads && r < abi_.rows; ++r) pass.row_order.push_back(r);
        for (std::size_t r = pass.row_order.size(); r > 1; --r) {
          std::swap(pass.row_order[r - 1], pass.row_order[random_.below(static_cast<std::uint32_t>(r))]);
        }
        passes_.push_back(std::move(pass));
        loads = false;
        accumulate = true;
        columns += operation.n;
      }
    }
    return columns;
  }

  Operand operand(const ArrayCase& operation, bool moving, OperandPart part, std::uint32_t row,
                  std::uint32_t column) const {
    const std::uint32_t columns = moving ? operation.n : operation.m;
    if (row >= operation.k || column >= columns) return {};
    const std::vector<std::uint32_t>& codes = moving ? operation.moving : operation.stationary;
    return decode_operand(moving ? operation.moving_format : operation.stationary_format, part,
                          codes[std::size_t{row} * columns + column], flush_);
  }

  std::vector<std::uint32_t> sums_of(const Pass& pass) const {
    const ArrayCase& operation = operations_[pass.operation];
    std::vector<std::uint32_t> sums(pass.addends.size());
    for (std::uint32_t j = 0; j < operation.n; ++j) {
      for (std::uint32_t c = 0; c < abi_.cols; ++c) {
        float sum = 0;
        for (std::uint32_t r = 0; r < abi_.rows; ++r) {
          sum = multiply_add(operand(operation, true, pass.moving, r, j),
                             operand(operation, false, pass.stationary, r, c), sum, flush_);
        }
        const std::size_t at = std::size_t{j} * abi_.cols + c;
        if (pass.accumulate) sum = add_fp32(sum, bits_to_float(pass.addends[at]), flush_);
        sums[at] = float_to_bits(sum);
      }
    }
    return sums;
  }

  void skip_to_load() {
    while (weight_pass_ < passes_.size() && !passes_[weight_pass_].loads) ++weight_pass_;
  }

  bool waits(std::uint32_t rate) { return random_.below(256) < rate; }

  // Offers beats, and holds the offer until it is taken. Time counts the cycles in which the array advances.
  void offer() {
    if (!act_offered_ && act_pass_ < passes_.size()) {
      const bool swap = passes_[act_pass_].loads && act_column_ == 0;
      act_offered_ = (!swap || loads_ > swaps_) && !waits(rates_.act);
    }
    if (!weight_offered_ && weight_pass_ < passes_.size()) {
      // The weight of row r must not overtake the activations of the last swap, which enter row r (stages - 1) * r
      // cycles after a weight that came with them.
      const std::uint64_t behind = std::uint64_t{stages_ - 1} * passes_[weight_pass_].row_order[weight_beat_];
      const bool swap_enters = act_offered_ && passes_[act_pass_].loads && act_column_ == 0;
      const bool free = loads_ == 0 || (swaps_ == loads_ && now_ >= last_swap_ + behind) ||
                        (swaps_ + 1 == loads_ && swap_enters && behind == 0);
      weight_offered_ = free && !waits(rates_.weight);
    }
  }

  // What is on the pins without an offer is random.
  void set_pins() {
    pins_.weight_valid = weight_offered_;
    pins_.act_valid = act_offered_;
    pins_.act_swap = 0;
    for (std::uint32_t c = 0; c < abi_.cols; ++c) weight_codes_[c] = random_.next32();
    for (std::uint32_t r = 0; r < abi_.rows; ++r) act_codes_[r] = random_.next32();
    if (weight_offered_) {
      const Pass& pass = passes_[weight_pass_];
      const ArrayCase& operation = operations_[pass.operation];
      pins_.weight_row = pass.row_order[weight_beat_];
      pins_.weight_format = static_cast<std::uint8_t>(operation.stationary_format);
      pins_.weight_part = static_cast<std::uint8_t>(pass.stationary);
      for (std::uint32_t c = 0; c < abi_.cols; ++c) {
        weight_present_[c] = pins_.weight_row < operation.k && c < operation.m;
        if (weight_present_[c] == 0) continue;
        weight_codes_[c] = operation.stationary[std::size_t{pins_.weight_row} * operation.m + c];
      }
    }
    if (act_offered_) {
      const Pass& pass = passes_[act_pass_];
      const ArrayCase& operation = operations_[pass.operation];
      pins_.act_swap = pass.loads && act_column_ == 0;
      pins_.act_format = static_cast<std::uint8_t>(operation.moving_format);
      pins_.act_part = static_cast<std::uint8_t>(pass.moving);
      for (std::uint32_t r = 0; r < abi_.rows; ++r) {
        act_present_[r] = r < operation.k;
        if (act_present_[r] != 0) act_codes_[r] = operation.moving[std::size_t{r} * operation.n + act_column_];
      }
    }
    const bool last = psum_pass_ == passes_.size();
    pins_.accumulate = !last && passes_[psum_pass_].accumulate;
    pins_.addends = last ? nullptr : passes_[psum_pass_].addends.data() + std::size_t{psum_column_} * abi_.cols;
    pins_.weight_present = weight_present_.data();
    pins_.weight_codes = weight_codes_.data();
    pins_.act_present = act_present_.data();
    pins_.act_codes = act_codes_.data();
    pins_.psum = psum_.data();
  }

  // The outputs with other valid or ready inputs, in the same cycle.
  rtl::PeArrayPins probe(bool other_valid, bool other_ready) {
    rtl::PeArrayPins pins = pins_;
    if (other_valid) {
      pins.weight_valid = weight_offered_ ? 0 : 1;
      pins.act_valid = act_offered_ ? 0 : 1;
    }
    if (other_ready) pins.psum_ready = pins_.psum_ready == 0;
    abi_.settle(unit_.get(), pins);
    return pins;
  }

  bool cycle() {
    offer();
    pins_.psum_ready = !waits(rates_.psum);
    set_pins();
    const rtl::PeArrayPins other_valid = probe(true, false);
    const rtl::PeArrayPins other_ready = probe(false, true);
    abi_.settle(unit_.get(), pins_);

    const bool due = !due_.empty() && due_.front() == now_;
    const bool advances = !due || pins_.psum_ready != 0;
    const bool good = same("psum_valid", due, pins_.psum_valid) && (!due || compare_sums()) &&
                      same("act_ready", advances, pins_.act_ready) &&
                      same("weight_ready", advances, pins_.weight_ready) &&
                      same("act_ready with the valid inputs inverted", advances, other_valid.act_ready) &&
                      same("weight_ready with the valid inputs inverted", advances, other_valid.weight_ready) &&
                      same("psum_valid with psum_ready inverted", due, other_ready.psum_valid);
    if (wave_ != nullptr) show(due, advances, good);
    if (!good) return false;

    abi_.clock(unit_.get());
    if (advances) advance(due);
    ++cycles_;
    const std::uint64_t failures = rtl_failures() - failures_;
    return same("failed assertions", 0, static_cast<std::uint32_t>(failures));
  }

  void show(bool due, bool advances, bool good) {
    HandshakeWave::Expected expected;
    expected.psum_valid = due;
    expected.ready = advances;
    const std::size_t pass = std::min(psum_pass_, passes_.size() - 1);
    if (due) expected.sums = passes_[pass].sums.data() + std::size_t{psum_column_} * abi_.cols;
    expected.operation = &operations_[passes_[pass].operation];
    expected.matmul = matmuls_ + passes_[pass].operation;
    HandshakeWave::Differing differing;
    if (!good) {
      const Difference& first = log_.differences().back();
      differing = {first.what, first.model, first.rtl, first.lane};
    }
    wave_->cycle(pins_, expected, differing);
  }

  bool compare_sums() {
    const std::uint32_t* sums = passes_[psum_pass_].sums.data() + std::size_t{psum_column_} * abi_.cols;
    std::uint32_t count = 0;
    std::uint32_t first = 0;
    for (std::uint32_t c = abi_.cols; c-- > 0;) {
      if (sums[c] == psum_[c]) continue;
      ++count;
      first = c;
    }
    if (count == 0) return true;
    Difference difference = describe_here("psum", sums[first], psum_[first]);
    difference.is_fp32 = true;
    difference.place += fmt::format(", lane {}", first);
    difference.lane = first;
    difference.operands = list_operands(first);
    log_.differed(count, std::move(difference));
    return false;
  }

  bool same(const char* what, std::uint32_t model, std::uint32_t rtl) {
    if (model == rtl) return true;
    log_.differed(1, describe_here(what, model, rtl));
    return false;
  }

  void advance(bool sum_leaves) {
    if (weight_offered_) {
      start(passes_[weight_pass_].operation);
      weight_offered_ = false;
      if (++weight_beat_ == abi_.rows) {
        weight_beat_ = 0;
        ++loads_;
        ++weight_pass_;
        skip_to_load();
      }
    }
    if (act_offered_) {
      const Pass& pass = passes_[act_pass_];
      start(pass.operation);
      act_offered_ = false;
      if (pass.loads && act_column_ == 0) {
        ++swaps_;
        last_swap_ = now_;
      }
      due_.push_back(now_ + latency_);
      if (++act_column_ == operations_[pass.operation].n) {
        act_column_ = 0;
        ++act_pass_;
      }
    }
    if (sum_leaves) {
      due_.pop_front();
      ++columns_;
      log_.compared(abi_.cols);
      if (++psum_column_ == operations_[passes_[psum_pass_].operation].n) {
        psum_column_ = 0;
        ++psum_pass_;
      }
    }
    ++now_;
  }

  void start(std::size_t operation) { started_[operation] = std::min(started_[operation], cycles_); }

  Difference describe_here(const char* what, std::uint32_t model, std::uint32_t rtl) const {
    // After the last sum: of the last matmul.
    const std::size_t pass = std::min(psum_pass_, passes_.size() - 1);
    const std::size_t index = passes_[pass].operation;
    Difference difference;
    difference.unit = "pe_array";
    difference.operation = matmuls_ + index;
    difference.cycle = started_[index] == kNotStarted ? 0 : cycles_ - started_[index];
    difference.place = psum_pass_ == passes_.size() ? "after the last column" : fmt::format("column {}", psum_column_);
    if (operations_[index].stationary_format == Format::Fp32) {
      difference.place +=
          fmt::format(" of pass {}{}", part_letter(passes_[pass].stationary), part_letter(passes_[pass].moving));
    }
    difference.what = what;
    if (wave_ != nullptr) difference.engine_cycle = wave_->next_cycle();
    difference.model = model;
    difference.rtl = rtl;
    difference.is_fp32 = false;
    difference.reproducer = origin_;
    difference.reproducer.operation = operations_[index];
    difference.reproducer.note =
        fmt::format("pe_array.sv, matmul {}; stalls in 1/256: weights {}, activations {}, sums {}",
                    difference.operation, rates_.weight, rates_.act, rates_.psum);
    return difference;
  }

  static char part_letter(OperandPart part) { return part == OperandPart::Low ? 'L' : 'H'; }

  std::string list_operands(std::uint32_t lane) const {
    const Pass& pass = passes_[psum_pass_];
    const ArrayCase& operation = operations_[pass.operation];
    std::vector<std::string> pairs;
    for (std::uint32_t r = 0; r < abi_.rows; ++r) {
      pairs.push_back(fmt::format("{} * {}",
                                  show_operand(pack_operand(operand(operation, true, pass.moving, r, psum_column_))),
                                  show_operand(pack_operand(operand(operation, false, pass.stationary, r, lane)))));
    }
    std::string text = fmt::format("{} and {}: {}", spec(operation.moving_format).name,
                                   spec(operation.stationary_format).name, fmt::join(pairs, ", "));
    if (pass.accumulate) {
      const std::uint32_t old = pass.addends[std::size_t{psum_column_} * abi_.cols + lane];
      text += fmt::format(", on psum {:08x} ({:g})", old, bits_to_float(old));
    }
    return text;
  }

  const rtl::PeArrayAbi& abi_;
  const bool flush_;
  const std::uint32_t stages_;
  const std::uint32_t latency_;
  const CosimCase& origin_;
  StimulusRandom random_;
  LockstepLog& log_;
  CampaignWave* const campaign_wave_;  // may be null
  HandshakeWave* wave_ = nullptr;
  rtl::FaultSelect fault_;
  std::unique_ptr<void, void (*)(void*)> unit_;

  std::vector<ArrayCase> operations_;
  std::vector<Pass> passes_;
  std::vector<std::uint64_t> started_;  // cycle in which an operation's first beat was taken
  StallRates rates_;
  std::uint64_t failures_ = 0;  // of assertions, before the run

  std::uint64_t now_ = 0;          // cycles in which the array advanced
  std::deque<std::uint64_t> due_;  // when the sums under way are to leave
  // The next beat of each handshake, and whether it is offered.
  std::size_t weight_pass_ = 0, act_pass_ = 0, psum_pass_ = 0;
  std::uint32_t weight_beat_ = 0, act_column_ = 0, psum_column_ = 0;
  bool weight_offered_ = false, act_offered_ = false;
  std::uint64_t loads_ = 0, swaps_ = 0;  // complete ones
  std::uint64_t last_swap_ = 0;

  rtl::PeArrayPins pins_;
  std::vector<std::uint8_t> weight_present_ = std::vector<std::uint8_t>(abi_.cols);
  std::vector<std::uint8_t> act_present_ = std::vector<std::uint8_t>(abi_.rows);
  std::vector<std::uint32_t> weight_codes_ = std::vector<std::uint32_t>(abi_.cols);
  std::vector<std::uint32_t> act_codes_ = std::vector<std::uint32_t>(abi_.rows);
  std::vector<std::uint32_t> psum_ = std::vector<std::uint32_t>(abi_.cols);

  std::uint64_t cycles_ = 0, columns_ = 0, matmuls_ = 0;
};

// The campaign

// Modules that no array has.
bool is_in_rounding_unit(std::string_view module) {
  return module == "fp_encode" || module == "lfsr_source" || module == "xorwow_source" ||
         module == "stochastic_rounding_unit";
}

void check(const ArrayCampaign& campaign, const CampaignOptions& options) {
  std::vector<std::string> problems;
  check_range(problems, "--rows", campaign.rows, 1, kPartitions);
  check_range(problems, "--cols", campaign.cols, 1, kPartitions);
  check_range(problems, "--n", campaign.n, 1, kMaxMoving);
  check_range(problems, "--matmuls", campaign.matmuls, 1, kMaxMatmuls);
  std::vector<std::string_view> allowed;
  for (const Format format : array_formats()) allowed.push_back(spec(format).name);
  for (const Format format : campaign.formats) {
    if (std::find(array_formats().begin(), array_formats().end(), format) != array_formats().end()) continue;
    problems.push_back(fmt::format("--format: {} does not fit an operand of the array; it takes {}", spec(format).name,
                                   fmt::join(allowed, ", ")));
  }
  if (campaign.formats.empty()) {
    problems.push_back(fmt::format("--format: none given; the array takes {}", fmt::join(allowed, ", ")));
  }
  if (options.fault.fault != nullptr && is_in_rounding_unit(options.fault.fault->module)) {
    problems.push_back(
        fmt::format("fault {}: it is in {}, which the array does not have; 'azulejo cosim rounding' runs it",
                    options.fault.fault->name, options.fault.fault->module));
  }
  if (!options.fault.instance.empty()) {
    problems.push_back(fmt::format("fault {}: {} is no instance of this campaign; name a PE at most, as in {}@pe_0_0",
                                   options.fault.fault->name, options.fault.instance, options.fault.fault->name));
  }
  if (!problems.empty()) throw ConfigError(problems);
}

RtlParameters parameters_of(const CampaignOptions& options) {
  RtlParameters parameters = options.rtl;
  if (options.fault.fault != nullptr) parameters.faults = true;
  if (!options.coverage_file.empty()) parameters.coverage = true;
  return parameters;
}

class ArrayCampaignRun {
 public:
  ArrayCampaignRun(const ArrayCampaign& campaign, const CampaignOptions& options)
      : campaign_(campaign), options_(options), library_(RtlLibrary::load(parameters_of(options), options.message)) {
    config_.name = "array";
    config_.rows = campaign.rows;
    config_.cols = campaign.cols;
    config_.fault = options.fault;
    std::vector<std::string> problems =
        validate(config_, library_, options.rtl.pipeline_stages, options.rtl.flush_denormals);
    for (std::string& problem : problems) problem.insert(0, "cosim array: ");
    if (!problems.empty()) throw ConfigError(problems);
    origin_.pipeline_stages = options.rtl.pipeline_stages;
    origin_.flush_denormals = options.rtl.flush_denormals;
    origin_.fault = options.fault_text;
    origin_.pe_directory = options.rtl.pe_directory;
    origin_.pe_top = options.rtl.pe_top;
    bench_ = std::make_unique<HandshakeBench>(library_, options.fault, origin_, options.seed, log_, options.wave);
    if (options.wave != nullptr) wave_ = &options.wave->unit<MatmulWave>("array", config_, library_, "");
  }

  CampaignResult run() {
    if (options_.wave != nullptr) options_.wave->begin();
    if (run_handshakes()) run_composed();
    if (!options_.coverage_file.empty()) write_rtl_coverage(options_.coverage_file);
    result_.cases = log_.compared();
    result_.mismatches = log_.mismatches();
    result_.differences = log_.differences();
    if (options_.wave != nullptr) {
      for (Difference& difference : result_.differences) {
        difference.time = options_.wave->clock().edge(difference.engine_cycle);
      }
    }
    return std::move(result_);
  }

 private:
  void figure(const char* name, std::string value) { result_.figures.emplace_back(name, std::move(value)); }

  void report_progress(double fraction) const {
    if (options_.progress) options_.progress(fraction);
  }

  bool run_handshakes() {
    const auto start = std::chrono::steady_clock::now();
    HandshakeBench& bench = *bench_;
    bool good = true;
    for (std::size_t i = 0; good && i < kStallRates.size(); ++i) {
      good = bench.run(kStallRates[i], kHandshakeColumns / kStallRates.size(), campaign_.formats);
    }
    result_.seconds += seconds_since(start);
    result_.cycles += bench.cycles();
    const rtl::PeArrayAbi& abi = library_.abi().array;
    figure("handshakes",
           fmt::format("{} matmuls, {} columns in {} cycles of pe_array.sv, {} x {} PEs, {} stall patterns",
                       bench.matmuls(), bench.columns(), bench.cycles(), abi.rows, abi.cols, kStallRates.size()));
    return good;
  }

  void run_composed() {
    const auto building = std::chrono::steady_clock::now();
    auto made = std::make_unique<PeArrayRtl>(config_, library_, plain_context());
    result_.seconds += seconds_since(building);
    PeArrayRtl& rtl = *made;
    if (wave_ != nullptr) wave_->attach(rtl, config_.fault);
    PeArrayModelConfig model;
    model.rows = campaign_.rows;
    model.cols = campaign_.cols;
    model.pe_stages = options_.rtl.pipeline_stages;
    model.flush_denormals = options_.rtl.flush_denormals;
    array_ = make_pe_array_lockstep(std::make_unique<PeArrayModel>(model), std::move(made), config_, origin_, log_);
    TensorEngineConfig engine;
    engine.rows = campaign_.rows;
    engine.cols = campaign_.cols;
    engine.pe_stages = options_.rtl.pipeline_stages;
    const auto drain = static_cast<std::uint32_t>(matmul_cycles(engine, campaign_.n, 1).drain);

    StimulusRandom random(options_.seed + 1);
    std::uint64_t matmuls = 0;
    double seconds = 0;
    const double total = static_cast<double>(campaign_.formats.size()) * campaign_.matmuls;
    for (const Format format : campaign_.formats) {
      std::optional<ArrayCase> last;
      std::optional<HostTile> stationary;
      for (std::uint32_t i = 0; i < campaign_.matmuls; ++i) {
        const bool kept = keeps_stationary(last, format, random);
        const CaseLimits limits{campaign_.rows, campaign_.cols, campaign_.n, campaign_.formats};
        ArrayCase operation = random_case(limits, format, i == 0, kept ? &*last : nullptr, random);
        if (matmuls == 0 && rtl.latency_cycles() != drain) {
          differ("latency in cycles", drain, rtl.latency_cycles(), operation, matmuls);
        }
        if (campaign_.stalls) stall(rtl, random);
        if (!kept) stationary.emplace(format, operation.k, operation.m, operation.stationary);
        const HostTile moving(operation.moving_format, operation.k, operation.n, operation.moving);
        std::vector<float> psum(std::size_t{operation.m} * operation.n);
        for (std::size_t e = 0; e < psum.size(); ++e) {
          psum[e] = bits_to_float(operation.accumulate ? operation.psum[e] : random_psum(random));
        }
        const std::uint64_t failures = rtl_failures();
        if (wave_ != nullptr) wave_->begin(matmuls, operation, log_);
        const auto start = std::chrono::steady_clock::now();
        if (!kept) array_->load(stationary->tile(), 0);
        array_->multiply(moving.tile(),
                         {operation.accumulate, operation.stationary_one_zero, operation.moving_one_zero}, psum.data(),
                         operation.n);
        seconds += seconds_since(start);
        if (const std::uint64_t failed = rtl_failures() - failures; failed != 0) {
          differ("failed assertions", 0, static_cast<std::uint32_t>(failed), operation, matmuls);
        }
        if (wave_ != nullptr) wave_->end(log_);
        ++matmuls;
        report_progress(static_cast<double>(matmuls) / total);
        if (log_.mismatches() != 0) break;
        last = std::move(operation);
      }
      if (log_.mismatches() != 0) break;
    }
    result_.seconds += seconds;
    result_.cycles += rtl.stats().cycles;
    figure("matmuls", fmt::format("{} on {} x {} PEs", matmuls, campaign_.rows, campaign_.cols));
    figure("elements compared", std::to_string(log_.compared()));
    figure("RTL cycles", std::to_string(rtl.stats().cycles));
    figure("PE-cycles", std::to_string(rtl.stats().pe_cycles));
    figure("PE-cycles/s", fmt::format("{:.1f} M, model and comparison included",
                                      static_cast<double>(rtl.stats().pe_cycles) / seconds / 1e6));
    figure("tile evaluations",
           fmt::format("{}, {} idle ones skipped", rtl.stats().tile_cycles, rtl.stats().idle_cycles));
    figure("latency", fmt::format("{} cycles in the RTL, {} in the TLM", rtl.latency_cycles(), drain));
  }

  // Another mix of bubbles and holds for every matmul, none at times.
  static void stall(PeArrayRtl& rtl, StimulusRandom& random) {
    constexpr std::array<std::uint32_t, 5> kRates = {0, 8, 32, 96, 160};
    const std::uint32_t bubble = kRates[random.below(kRates.size())];
    const std::uint32_t hold = kRates[random.below(kRates.size())];
    rtl.stall(bubble, hold, random.next());
  }

  // A difference that is not of a sum.
  void differ(const char* what, std::uint32_t model, std::uint32_t rtl, const ArrayCase& operation,
              std::uint64_t index) {
    Difference difference;
    difference.unit = config_.name;
    difference.operation = index;
    difference.what = what;
    difference.model = model;
    difference.rtl = rtl;
    difference.is_fp32 = false;
    difference.reproducer = origin_;
    difference.reproducer.operation = operation;
    difference.reproducer.note = fmt::format("{}, matmul {}", config_.name, index);
    log_.differed(1, std::move(difference));
  }

  static double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  const ArrayCampaign& campaign_;
  const CampaignOptions& options_;
  const RtlLibrary& library_;
  PeArrayRtlConfig config_;
  CosimCase origin_;
  LockstepLog log_;
  MatmulWave* wave_ = nullptr;
  CampaignResult result_;
  // They stay to the end, since the RTL's coverage counts in them.
  std::unique_ptr<HandshakeBench> bench_;
  std::unique_ptr<PeArray> array_;
};

}  // namespace

CampaignResult run_array_campaign(const ArrayCampaign& campaign, const CampaignOptions& options) {
  check(campaign, options);
  return ArrayCampaignRun(campaign, options).run();
}

}  // namespace azulejo
