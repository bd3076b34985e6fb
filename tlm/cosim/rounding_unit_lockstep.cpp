// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "tlm/cosim/rounding_unit_rtl.h"
#include "tlm/numerics/float_bits.h"

namespace azulejo {
namespace {

class RoundingUnitLockstep final : public RoundingUnit {
 public:
  RoundingUnitLockstep(std::unique_ptr<RoundingUnit> model, std::unique_ptr<RoundingUnitRtl> rtl, RandomSource source,
                       std::string name, CosimCase origin, LockstepLog& log)
      : model_(std::move(model)),
        rtl_(std::move(rtl)),
        source_(source),
        name_(std::move(name)),
        origin_(std::move(origin)),
        log_(log) {}

  void begin(std::uint64_t cycle) override { rtl_->begin(cycle); }

  void convert(std::uint32_t lane, Format format, const ConversionMode& mode, const float* values, std::size_t count,
               std::uint32_t* codes) override {
    const std::array<std::uint32_t, 6> before = model_->state(lane);
    rtl_codes_.resize(count);
    model_->convert(lane, format, mode, values, count, codes);
    rtl_->convert(lane, format, mode, values, count, rtl_codes_.data());
    log_.compared(count);

    std::uint64_t differing = 0;
    std::size_t first = count;
    for (std::size_t i = count; i-- > 0;) {
      if (codes[i] == rtl_codes_[i]) continue;
      ++differing;
      first = i;
    }
    const std::array<std::uint32_t, 6> after = model_->state(lane);
    const std::array<std::uint32_t, 6> rtl_after = rtl_->state(lane);
    if (differing != 0 || after != rtl_after) {
      Difference difference;
      difference.unit = name_;
      difference.operation = operations_;
      const bool code_differs = differing != 0;
      const std::size_t last = code_differs ? first + 1 : count;  // values that show the difference
      difference.cycle = last;
      difference.lane = lane;
      difference.engine_cycle = rtl_->engine_cycle(last == 0 ? 0 : last - 1);
      difference.place = code_differs ? fmt::format("lane {}, element {}", lane, first) : fmt::format("lane {}", lane);
      if (code_differs) {
        difference.what = "code";
        difference.model = codes[first];
        difference.rtl = rtl_codes_[first];
        difference.is_fp32 = format == Format::Fp32;
        difference.operands = operands(format, mode, values[first], before, first) +
                              fmt::format("; as values {:.9g} and {:.9g}", decode(format, codes[first]),
                                          decode(format, rtl_codes_[first]));
      } else {
        std::size_t word = 0;
        while (after[word] == rtl_after[word]) ++word;
        difference.what = fmt::format("word {} of the random state after the row", word);
        difference.model = after[word];
        difference.rtl = rtl_after[word];
        difference.is_fp32 = false;
        difference.operands = fmt::format("{} values to {}", count, spec(format).name);
      }
      RoundingCase operation;
      operation.source = source_;
      operation.state = before;
      operation.format = format;
      operation.mode = mode;
      for (std::size_t i = 0; i < last; ++i) operation.values.push_back(float_to_bits(values[i]));
      difference.reproducer = origin_;
      difference.reproducer.operation = std::move(operation);
      log_.differed(code_differs ? differing : 1, std::move(difference));
      if (after != rtl_after) rtl_->set_state(lane, after);
    }
    ++operations_;
  }

  void write_row(const TileStore& store, const TensorAccess& access, std::uint32_t offset_bytes, std::uint32_t p,
                 const float* values, const ConversionMode& mode) override {
    codes_.resize(access.free_size());
    convert(access.start_partition + p, access.format, mode, values, codes_.size(), codes_.data());
    write_codes(store, access, offset_bytes, p, codes_.data());
  }

  std::array<std::uint32_t, 6> state(std::uint32_t lane) const override { return model_->state(lane); }

  void set_state(std::uint32_t lane, const std::array<std::uint32_t, 6>& state) override {
    model_->set_state(lane, state);
    rtl_->set_state(lane, state);
  }

 private:
  // What element `index` of a row was rounded with.
  std::string operands(Format format, const ConversionMode& mode, float value,
                       const std::array<std::uint32_t, 6>& before, std::size_t index) const {
    std::string text = fmt::format("{:08x} ({:.9g}) to {}", float_to_bits(value), value, spec(format).name);
    if (takes_random_word(format, mode)) {
      RandomLane lane(source_, 0, 0, 0);
      lane.set_state(before);
      for (std::size_t i = 0; i < index; ++i) lane.next();
      text += fmt::format(" stochastically with {:08x}", lane.next());
    }
    return mode.saturate ? text + ", saturating" : text;
  }

  const std::unique_ptr<RoundingUnit> model_;
  const std::unique_ptr<RoundingUnitRtl> rtl_;
  const RandomSource source_;
  const std::string name_;
  const CosimCase origin_;
  LockstepLog& log_;
  std::vector<std::uint32_t> codes_;
  std::vector<std::uint32_t> rtl_codes_;
  std::uint64_t operations_ = 0;
};

}  // namespace

std::unique_ptr<RoundingUnit> make_rounding_unit_lockstep(std::unique_ptr<RoundingUnit> model,
                                                          std::unique_ptr<RoundingUnitRtl> rtl, RandomSource source,
                                                          const std::string& name, const CosimCase& origin,
                                                          LockstepLog& log) {
  return std::make_unique<RoundingUnitLockstep>(std::move(model), std::move(rtl), source, name, origin, log);
}

}  // namespace azulejo
