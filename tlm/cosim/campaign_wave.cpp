// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/campaign_wave.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>

#include "tlm/common/check.h"
#include "tlm/cosim/pe.h"
#include "tlm/cosim/verilated_unit.h"
#include "tlm/numerics/float_bits.h"
#include "tlm/tensor_engine/config.h"
#include "tlm/wave/verilator_hooks.h"

namespace azulejo {
namespace {

constexpr unsigned kOperandCharacters = 16;  // "low -1.17549e-38", an FP32 value
constexpr unsigned kNameCharacters = 32;
constexpr unsigned kGroupCharacters = 48;
constexpr unsigned kValueCharacters = 28;  // "ff7fffff (-3.40282347e+38)"

// What an operand of the array is, for a person.
std::string operand_text(std::uint32_t bits) {
  const Operand operand = unpack_operand(bits);
  const char* const sign = operand.sign ? "-" : "";
  switch (operand.kind) {
    case OperandKind::Absent:
      return "absent";
    case OperandKind::Zero:
      return fmt::format("{}0", sign);
    case OperandKind::Infinity:
      return fmt::format("{}inf", sign);
    case OperandKind::NotANumber:
      return "nan";
    case OperandKind::LowHalf:
      return fmt::format("low {:.6g}", operand_value(operand));
    case OperandKind::Finite:
      break;
  }
  return fmt::format("{:.6g}", operand_value(operand));
}

rtl::FaultSelect everywhere(const FaultPlace& place) {
  rtl::FaultSelect select;
  if (place.fault != nullptr) select.fault = place.fault->id;
  return select;
}

// A replica that is given blocks of cycles which may begin with a reset. Its clock stands high between blocks, so that
// it takes each cycle's inputs once, as the unit did.
template <class Cycle>
class BlockReplica : public ReplicaClock {
 public:
  struct Block {
    bool from_reset = false;
    rtl::FaultSelect fault;
    std::uint64_t number = 0;
    std::string label;
    std::vector<Cycle> cycles;
    std::uint64_t length() const { return cycles.size() + (from_reset ? 1 : 0); }
  };

  bool has_unit() const { return unit_ != nullptr; }

  // The block runs now.
  void run(CampaignWave& campaign, Block block) {
    const std::uint64_t first = campaign.cycle();
    const std::uint64_t length = block.length();
    const CampaignWave::Part part = campaign.part(length);
    if (part == CampaignWave::Part::Before) skip(block);
    if (part == CampaignWave::Part::Shown) {
      ask(first, length);
      blocks_.push_back({first, std::move(block)});
    }
    campaign.ran(length);
  }

 protected:
  // REQUIRES: the campaign has a file. `path` empty: no replica, only what its model shows.
  BlockReplica(CampaignWave& campaign, const rtl::UnitAbi& abi, const std::string& path)
      : ReplicaClock(*campaign.file(), campaign.clock().hz()), abi_(abi) {
    if (!wave().selects_unit(path, true)) return;
    unit_ = std::make_unique<VerilatedUnit>(abi, wave().context(), path);
    unit_->trace(wave().writer());
  }

  void* unit() const { return unit_->get(); }

 private:
  virtual void drive(const Cycle& cycle) = 0;         // the unit's inputs; evaluates or not
  virtual void begin(const Block& block) = 0;         // signals of the block
  virtual void show_inputs(const Cycle& cycle) = 0;   // signals at the beginning of the cycle
  virtual void take(const Cycle& cycle) = 0;          // the model's outputs after its end
  virtual void show_outputs(const Cycle* cycle) = 0;  // signals of what was taken; null: nothing came
  virtual void reset_model() = 0;

  struct Placed {
    std::uint64_t first;
    Block block;
    std::uint64_t end() const { return first + block.length(); }
  };

  void clock(bool high) {
    if (unit_) unit_->evaluate(high);
  }
  void give(const Cycle& cycle) {
    if (!unit_) return;
    drive(cycle);
    clock(level_);
  }
  void select(const rtl::FaultSelect& fault) {
    if (unit_ && abi_.select_fault != nullptr) unit_->select_fault(fault);
  }

  // At once.
  void skip(const Block& block) {
    const RtlMute mute;
    clock(level_ = false);
    select(block.fault);
    begin(block);
    if (block.from_reset) {
      give({});
      if (unit_) unit_->reset();
      reset_model();
    }
    for (const Cycle& cycle : block.cycles) {
      clock(level_ = false);
      give(cycle);
      clock(level_ = true);
      take(cycle);
    }
    if (block.cycles.empty()) return;
    show_inputs(block.cycles.back());
    show_outputs(&block.cycles.back());
  }

  void rise(std::uint64_t cycle) override {
    level_ = true;
    clock(true);
    if (running_ != nullptr) {
      take(*running_);
      show_outputs(running_);
      running_ = nullptr;
    }
    if (!blocks_.empty() && cycle >= blocks_.front().end()) blocks_.pop_front();
    stands_ = blocks_.empty() || cycle < blocks_.front().first;
    if (stands_) return;
    const Placed& placed = blocks_.front();
    std::uint64_t index = cycle - placed.first;
    if (index == 0) {
      select(placed.block.fault);
      begin(placed.block);
    }
    resets_ = placed.block.from_reset && index == 0;
    if (resets_) return give({});
    if (placed.block.from_reset) --index;
    running_ = &placed.block.cycles[index];
    give(*running_);
    show_inputs(*running_);
  }

  void fall() override {
    if (stands_) return;
    level_ = false;
    clock(false);
    if (!resets_) return;
    if (unit_) unit_->reset();
    reset_model();
    show_outputs(nullptr);
  }

  const rtl::UnitAbi& abi_;
  std::unique_ptr<VerilatedUnit> unit_;
  std::deque<Placed> blocks_;
  const Cycle* running_ = nullptr;  // of blocks_.front()
  bool level_ = false;              // of the clock
  bool stands_ = false;
  bool resets_ = false;
};

// Where nothing of it is recorded there is no replica, and time passes all the same.
template <class Replica>
struct ReplicaOf {
  template <class... Arguments>
  explicit ReplicaOf(CampaignWave& of, Arguments&&... arguments) : campaign(of) {
    if (of.file() == nullptr) return;
    const std::size_t declared = of.file()->declared().size();
    replica = std::make_unique<Replica>(of, std::forward<Arguments>(arguments)...);
    if (!replica->has_unit() && of.file()->declared().size() == declared) replica.reset();
  }

  void run(typename Replica::Block block) {
    block.number = blocks++;
    if (replica) return replica->run(campaign, std::move(block));
    campaign.ran(block.length());
  }

  CampaignWave& campaign;
  std::unique_ptr<Replica> replica;
  std::uint64_t blocks = 0;  // so far
};

}  // namespace

// --- The wave

CampaignWave::CampaignWave(bool several)
    : clock_(TensorEngineConfig{}.clock), several_(several), failures_(rtl_failures()) {}

CampaignWave::CampaignWave(WaveOptions options, bool several) : CampaignWave(several) {
  from_ = options.from;
  to_ = options.to;
  options.now = [this] { return clock_.edge(cycle_); };
  file_ = std::make_unique<WaveFile>(std::move(options));
}

CampaignWave::~CampaignWave() {
  if (!file_ || !file_->summary().started) return;
  try {
    file_->close();                  // while the replicas are there
  } catch (const std::exception&) {  // whoever wants to know calls close()
  }
}

std::string CampaignWave::scope(std::string_view campaign, std::string_view name) const {
  return several_ ? fmt::format("cosim_{}.{}", campaign, name) : std::string(name);
}

void CampaignWave::begin() {
  if (begun_) return;
  begun_ = true;
  if (!file_) return;
  file_->begin();
  if (declared) declared(*file_);
}

CampaignWave::Part CampaignWave::part(std::uint64_t cycles) const {
  if (!file_ || clock_.edge(cycle_) > to_ || file_->summary().limit_reached) return Part::After;
  return clock_.edge(cycle_ + cycles + 1) < from_ ? Part::Before : Part::Shown;
}

void CampaignWave::ran(std::uint64_t cycles) {
  const std::uint64_t failures_before = failures_;
  failures_ = rtl_failures();
  if (failures_ != failures_before) differs("assertions", 0, cycle_);
  cycle_ += cycles;
  if (file_) file_->flush();
  if (enough && enough()) throw Enough();
}

void CampaignWave::differs(const std::string& unit, std::uint32_t in_lane, std::uint64_t cycle) {
  if (!mismatch_) mismatch_ = Mismatch{clock_.edge(cycle), unit, in_lane};
}

ArrayWave* CampaignWave::keep(std::unique_ptr<ArrayWave> array) {
  arrays_.push_back(std::move(array));
  return arrays_.back().get();
}

std::uint64_t CampaignWave::replica_differences() const {
  std::uint64_t sum = 0;
  for (const auto& array : arrays_) sum += array->differences();
  return sum;
}

void CampaignWave::close() {
  if (file_) file_->close();
}

// --- One PE

namespace {

struct PeCycle {
  rtl::PeInputs in;
  rtl::PeOutputs model;
  rtl::PeOutputs rtl;
};

class PeReplica : public BlockReplica<PeCycle> {
 public:
  PeReplica(CampaignWave& campaign, const rtl::PeAbi& abi, const std::string& suffix)
      : BlockReplica(campaign, abi.unit, campaign.scope("pe", "pe" + suffix)), abi_(abi) {
    const auto scope = [&](const char* name) { return campaign.scope("pe", name + suffix); };
    const std::string model = scope("model");
    psum_valid_ = {wave(), model, "psum_valid_o", 1};
    psum_ = {wave(), model, "psum_o", 32};
    act_valid_ = {wave(), model, "act_valid_o", 1};
    act_swap_ = {wave(), model, "act_swap_o", 1};
    act_ = {wave(), model, "act_o", 25};
    weight_valid_ = {wave(), model, "weight_valid_o", 1};
    weight_row_ = {wave(), model, "weight_row_o", abi.row_width};
    weight_ = {wave(), model, "weight_o", 25};
    mismatches_ = {wave(), scope("compare"), "mismatches", 32};
    what_ = {wave(), scope("compare"), "what", kNameCharacters};
    block_ = {wave(), scope("stimulus"), "block", 32};
    reset_ = {wave(), scope("stimulus"), "reset", 1};
    group_ = {wave(), scope("stimulus"), "group", kGroupCharacters};
    act_text_ = {wave(), scope("stimulus"), "act", kOperandCharacters};
    weight_text_ = {wave(), scope("stimulus"), "weight", kOperandCharacters};
    psum_text_ = {wave(), scope("stimulus"), "psum", kOperandCharacters};
  }

 private:
  void drive(const PeCycle& cycle) override { abi_.drive(unit(), cycle.in); }

  void begin(const Block& block) override {
    block_ = block.number;
    group_ = block.label;
    reset_ = 1;
  }

  void show_inputs(const PeCycle& cycle) override {
    reset_ = 0;
    act_text_ = cycle.in.act.valid != 0 ? operand_text(cycle.in.act.operand) : "";
    weight_text_ = cycle.in.weight.valid != 0 ? operand_text(cycle.in.weight.operand) : "";
    psum_text_ = cycle.in.act.valid != 0 ? fmt::format("{:.9g}", bits_to_float(cycle.in.psum)) : "";
  }

  // A register that takes nothing holds its value.
  void take(const PeCycle& cycle) override {
    const auto hold = [](auto& shown, const auto& out) {
      if (out.valid != 0) {
        shown = out;
      } else {
        shown.valid = 0;
      }
    };
    hold(shown_.psum, cycle.model.psum);
    hold(shown_.act, cycle.model.act);
    hold(shown_.weight, cycle.model.weight);
  }

  void show_outputs(const PeCycle* cycle) override {
    psum_valid_ = shown_.psum.valid;
    psum_ = shown_.psum.value;
    act_valid_ = shown_.act.valid;
    act_swap_ = shown_.act.valid != 0 ? shown_.act.tag : 0;
    act_ = shown_.act.operand;
    weight_valid_ = shown_.weight.valid;
    weight_row_ = shown_.weight.tag;
    weight_ = shown_.weight.operand;
    const auto mismatch = cycle != nullptr ? compare_outputs(0, cycle->model, cycle->rtl) : std::optional<PeMismatch>();
    if (mismatch) mismatches_ = ++mismatch_count_;
    what_ = mismatch ? mismatch->what : std::string_view();
  }

  void reset_model() override { shown_.psum.valid = shown_.act.valid = shown_.weight.valid = 0; }

  const rtl::PeAbi& abi_;
  rtl::PeOutputs shown_;
  std::uint64_t mismatch_count_ = 0;
  WaveSignal psum_valid_, psum_, act_valid_, act_swap_, act_, weight_valid_, weight_row_, weight_;
  WaveSignal mismatches_, block_, reset_;
  WaveText what_, group_, act_text_, weight_text_, psum_text_;
};

}  // namespace

struct PeWave::Impl : ReplicaOf<PeReplica> {
  using ReplicaOf::ReplicaOf;
};

PeWave::PeWave(CampaignWave& campaign, const RtlLibrary& library, const std::string& suffix)
    : impl_(std::make_unique<Impl>(campaign, library.abi().pe, suffix)) {}

PeWave::~PeWave() = default;

void PeWave::run(const std::vector<rtl::PeInputs>& inputs, const std::vector<rtl::PeOutputs>& model,
                 const std::vector<rtl::PeOutputs>& rtl, const std::optional<PeMismatch>& mismatch,
                 std::string_view group, const FaultPlace& fault) {
  // A reset, the inputs, the registers.
  if (mismatch) impl_->campaign.differs("pe", 0, impl_->campaign.cycle() + mismatch->cycle + 2);
  PeReplica::Block block;
  block.from_reset = true;
  block.fault = everywhere(fault);
  block.label = group;
  for (std::size_t t = 0; t < inputs.size(); ++t) block.cycles.push_back({inputs[t], model[t], rtl[t]});
  impl_->run(std::move(block));
}

// --- One lane of a rounding unit

namespace {

class LaneReplica : public BlockReplica<RoundingCycle> {
 public:
  LaneReplica(CampaignWave& campaign, const RtlLibrary& library, RandomSource source, const std::string& suffix)
      : LaneReplica(
            campaign, source == RandomSource::Xorwow ? library.abi().rounding_xorwow : library.abi().rounding_lfsr,
            source == RandomSource::Xorwow ? 6 : 1, (source == RandomSource::Xorwow ? "xorwow" : "lfsr") + suffix) {
    RandomLane lane(source, 0, 0, 0);
    lane.set_state({});
    reset_state_ = lane.state();
  }

 private:
  LaneReplica(CampaignWave& campaign, const rtl::RoundingUnitAbi& abi, std::size_t words, const std::string& name)
      : BlockReplica(campaign, abi.unit, campaign.scope("rounding", "rounding_unit." + name)), abi_(abi) {
    const auto scope = [&](const char* kind) { return campaign.scope("rounding", fmt::format("{}.{}", kind, name)); };
    const std::string model = scope("model");
    ready_ = {wave(), model, "ready_o", 1};
    valid_ = {wave(), model, "valid_o", 1};
    code_ = {wave(), model, "code_o", 32};
    word_ = {wave(), model, "random_word", 32};
    for (std::size_t i = 0; i < words; ++i) state_.emplace_back(wave(), model, fmt::format("state[{}]", i), 32);
    mismatches_ = {wave(), scope("compare"), "mismatches", 32};
    what_ = {wave(), scope("compare"), "what", kNameCharacters};
    reset_ = {wave(), scope("stimulus"), "reset", 1};
    conversion_ = {wave(), scope("stimulus"), "conversion", 32};
    format_ = {wave(), scope("stimulus"), "format", 8};
    rounding_ = {wave(), scope("stimulus"), "rounding", 12};
    value_ = {wave(), scope("stimulus"), "value", kValueCharacters};
  }

  void drive(const RoundingCycle& cycle) override { abi_.drive(unit(), cycle.in); }
  void begin(const Block& block) override { reset_ = block.from_reset ? 1 : 0; }

  void show_inputs(const RoundingCycle& cycle) override {
    reset_ = 0;
    ready_ = cycle.model.ready;
    conversion_ = cycle.conversion;
    if (cycle.in.valid == 0) {
      for (WaveText* text : {&format_, &rounding_, &value_}) *text = "";
    } else {
      format_ = spec(static_cast<Format>(cycle.in.format)).name;
      rounding_ = cycle.in.stochastic != 0 ? "stochastic" : "nearest";
      value_ = fmt::format("{:08x} ({:.9g})", cycle.in.value, bits_to_float(cycle.in.value));
    }
    if (cycle.what == "ready") differs(cycle);
  }

  void take(const RoundingCycle& cycle) override {
    const std::uint32_t code = cycle.model.valid != 0 && cycle.has_code ? cycle.model.code : shown_.code;
    shown_ = cycle.model;
    shown_.code = code;
  }

  void show_outputs(const RoundingCycle* cycle) override {
    valid_ = shown_.valid;
    code_ = shown_.code;
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i] = shown_.state[i];
    what_ = "";
    if (cycle == nullptr) return;
    word_ = cycle->word;
    if (!cycle->what.empty() && cycle->what != "ready") differs(*cycle);
  }

  void differs(const RoundingCycle& cycle) {
    mismatches_ = ++mismatch_count_;
    what_ = cycle.what;
  }

  void reset_model() override {
    shown_.valid = 0;
    std::copy(reset_state_.begin(), reset_state_.end(), std::begin(shown_.state));
  }

  const rtl::RoundingUnitAbi& abi_;
  std::array<std::uint32_t, 6> reset_state_{};
  rtl::RoundingOutputs shown_;
  std::uint64_t mismatch_count_ = 0;
  WaveSignal ready_, valid_, code_, word_, mismatches_, reset_, conversion_;
  std::vector<WaveSignal> state_;
  WaveText what_, format_, rounding_, value_;
};

}  // namespace

std::string rounding_unit_name(RandomSource source) {
  return source == RandomSource::Xorwow ? "rounding_unit.xorwow" : "rounding_unit.lfsr";
}

struct RoundingWave::Impl : ReplicaOf<LaneReplica> {
  using ReplicaOf::ReplicaOf;
  std::string name;
};

RoundingWave::RoundingWave(CampaignWave& campaign, const RtlLibrary& library, RandomSource source,
                           const std::string& suffix)
    : impl_(std::make_unique<Impl>(campaign, library, source, suffix)) {
  impl_->name = rounding_unit_name(source);
}

RoundingWave::~RoundingWave() = default;

void RoundingWave::run(std::vector<RoundingCycle> cycles, bool from_reset, const FaultPlace& fault) {
  const auto first = std::find_if(cycles.begin(), cycles.end(), [](const auto& cycle) { return !cycle.what.empty(); });
  if (first != cycles.end()) {
    const auto index = static_cast<std::uint64_t>(first - cycles.begin());
    impl_->campaign.differs(impl_->name, 0,
                            impl_->campaign.cycle() + index + (from_reset ? 1 : 0) + (first->what == "ready" ? 0 : 1));
  }
  LaneReplica::Block block;
  block.from_reset = from_reset;
  block.fault = everywhere(fault);
  block.cycles = std::move(cycles);
  impl_->run(std::move(block));
}

// --- The array

ArraySignals::ArraySignals(CampaignWave& campaign, const std::string& suffix) {
  WaveSink& sink = campaign.sink();
  const std::string stimulus = campaign.scope("array", "stimulus" + suffix);
  const std::string compare = campaign.scope("array", "compare" + suffix);
  phase = {sink, stimulus, "phase", 10};
  matmul = {sink, stimulus, "matmul", 32};
  format = {sink, stimulus, "format", 18};
  shape = {sink, stimulus, "shape", 16};
  mismatches = {sink, compare, "mismatches", 32};
  expected = {sink, compare, "expected", 32};
  found = {sink, compare, "found", 32};
  what = {sink, compare, "what", kGroupCharacters};
}

void ArraySignals::show(std::string_view name, std::uint64_t index, const ArrayCase& operation) {
  phase = name;
  matmul = index;
  format = fmt::format("{} x {}", spec(operation.stationary_format).name, spec(operation.moving_format).name);
  shape = fmt::format("{} x {} x {}", operation.k, operation.m, operation.n);
}

namespace {

struct HandshakeCycle {
  rtl::PeArrayPins pins;  // with the arrays in `codes` and `present`
  std::vector<std::uint32_t> codes;
  std::vector<std::uint8_t> present;
  bool psum_valid = false;
  bool ready = false;
  std::vector<std::uint32_t> sums;  // if they are valid
  std::uint64_t matmul = 0;
  const ArrayCase* operation = nullptr;
  std::string what;
  std::uint32_t model = 0, rtl = 0;
};

class HandshakeReplica : public BlockReplica<HandshakeCycle> {
 public:
  HandshakeReplica(CampaignWave& campaign, const rtl::PeArrayAbi& abi)
      : BlockReplica(campaign, abi.unit, campaign.scope("array", "pe_array")),
        abi_(abi),
        signals_(campaign.unit<ArraySignals>("array signals", "")) {
    const std::string model = campaign.scope("array", "model");
    weight_ready_ = {wave(), model, "weight_ready_o", 1};
    act_ready_ = {wave(), model, "act_ready_o", 1};
    psum_valid_ = {wave(), model, "psum_valid_o", 1};
    for (std::uint32_t c = 0; c < abi.cols; ++c) psum_.emplace_back(wave(), model, fmt::format("psum_o[{}]", c), 32);
  }

 private:
  void drive(const HandshakeCycle& cycle) override {
    rtl::PeArrayPins pins = cycle.pins;
    if (!cycle.codes.empty()) {
      pins.weight_codes = cycle.codes.data();
      pins.act_codes = pins.weight_codes + abi_.cols;
      pins.addends = pins.addends != nullptr ? pins.act_codes + abi_.rows : nullptr;
      pins.weight_present = cycle.present.data();
      pins.act_present = pins.weight_present + abi_.cols;
    }
    pins.psum = nullptr;
    abi_.settle(unit(), pins);
  }

  void begin(const Block&) override {}

  void show_inputs(const HandshakeCycle& cycle) override {
    if (cycle.operation != nullptr && cycle.operation != shown_)
      signals_.show("handshakes", cycle.matmul, *cycle.operation);
    shown_ = cycle.operation;
    weight_ready_ = cycle.ready ? 1 : 0;
    act_ready_ = cycle.ready ? 1 : 0;
    psum_valid_ = cycle.psum_valid ? 1 : 0;
    for (std::size_t c = 0; c < cycle.sums.size(); ++c) psum_[c] = cycle.sums[c];
    signals_.what = cycle.what;
    if (cycle.what.empty()) return;
    signals_.mismatches = ++mismatch_count_;
    signals_.expected = cycle.model;
    signals_.found = cycle.rtl;
  }

  void take(const HandshakeCycle&) override {}
  void show_outputs(const HandshakeCycle*) override {}
  void reset_model() override {}

  const rtl::PeArrayAbi& abi_;
  ArraySignals& signals_;
  const ArrayCase* shown_ = nullptr;
  std::uint64_t mismatch_count_ = 0;
  WaveSignal weight_ready_, act_ready_, psum_valid_;
  std::vector<WaveSignal> psum_;
};

}  // namespace

struct HandshakeWave::Impl : ReplicaOf<HandshakeReplica> {
  Impl(CampaignWave& of, const rtl::PeArrayAbi& table) : ReplicaOf(of, table), abi(table) {}

  static constexpr std::size_t kBlock = 1024;  // cycles

  const rtl::PeArrayAbi& abi;
  HandshakeReplica::Block block;
};

HandshakeWave::HandshakeWave(CampaignWave& campaign, const RtlLibrary& library)
    : impl_(std::make_unique<Impl>(campaign, library.abi().array)) {}

HandshakeWave::~HandshakeWave() = default;

void HandshakeWave::reset(const rtl::FaultSelect& fault) {
  flush();
  impl_->block.from_reset = true;
  impl_->block.fault = fault;
}

std::uint64_t HandshakeWave::next_cycle() const { return impl_->campaign.cycle() + impl_->block.length(); }

void HandshakeWave::cycle(const rtl::PeArrayPins& pins, const Expected& expected, const Differing& differing) {
  Impl& impl = *impl_;
  if (!differing.what.empty()) impl.campaign.differs("pe_array", differing.lane, next_cycle());
  const std::uint32_t rows = impl.abi.rows;
  const std::uint32_t cols = impl.abi.cols;
  HandshakeCycle& cycle = impl.block.cycles.emplace_back();
  if (impl.replica) {
    cycle.pins = pins;
    cycle.codes.assign(pins.weight_codes, pins.weight_codes + cols);
    cycle.codes.insert(cycle.codes.end(), pins.act_codes, pins.act_codes + rows);
    if (pins.addends != nullptr) cycle.codes.insert(cycle.codes.end(), pins.addends, pins.addends + cols);
    cycle.present.assign(pins.weight_present, pins.weight_present + cols);
    cycle.present.insert(cycle.present.end(), pins.act_present, pins.act_present + rows);
    cycle.psum_valid = expected.psum_valid;
    cycle.ready = expected.ready;
    if (expected.psum_valid) cycle.sums.assign(expected.sums, expected.sums + cols);
    cycle.matmul = expected.matmul;
    cycle.operation = expected.operation;
    cycle.what = differing.what;
    cycle.model = differing.model;
    cycle.rtl = differing.rtl;
  }
  if (impl.block.cycles.size() == Impl::kBlock) flush();
}

void HandshakeWave::flush() {
  HandshakeReplica::Block block = std::exchange(impl_->block, {});
  impl_->block.fault = block.fault;
  if (block.length() != 0) impl_->run(std::move(block));
}

MatmulWave::MatmulWave(CampaignWave& campaign, const PeArrayRtlConfig& config, const RtlLibrary& library,
                       const std::string& suffix)
    : campaign_(campaign),
      signals_(campaign.unit<ArraySignals>("array signals" + suffix, suffix)),
      tile_(library.abi().tile) {
  if (campaign.file() == nullptr) return;
  ArrayWaveConfig wave;
  wave.name = campaign.scope("array", "array" + suffix);
  wave.tile_rows = config.rows / tile_.rows;
  wave.tile_cols = config.cols / tile_.cols;
  wave.clock_hz = campaign.clock().hz();
  if (campaign.lane) {  // where sums go in, and where they leave
    const std::uint32_t col = *campaign.lane / tile_.cols;
    wave.also = {fmt::format("tile_0_{}", col), fmt::format("tile_{}_{}", wave.tile_rows - 1, col),
                 fmt::format("drain_{}", col)};
  }
  if (config.fault.row >= 0) {
    wave.also.push_back(faulty_tile(config.fault));
    wave.also.push_back(fmt::format("drain_{}", static_cast<std::uint32_t>(config.fault.col) / tile_.cols));
  }
  array_ = campaign.keep(std::make_unique<ArrayWave>(*campaign.file(), wave, library.abi()));
}

std::string MatmulWave::faulty_tile(const FaultPlace& place) const {
  return fmt::format("tile_{}_{}", static_cast<std::uint32_t>(place.row) / tile_.rows,
                     static_cast<std::uint32_t>(place.col) / tile_.cols);
}

void MatmulWave::attach(PeArrayRtl& rtl, const FaultPlace& fault) {
  rtl_ = &rtl;
  if (array_ == nullptr || tile_.unit.select_fault == nullptr) return;
  array_->select_fault("", {});
  rtl::FaultSelect select = everywhere(fault);
  if (fault.row < 0) return array_->select_fault("", select);
  select.row = static_cast<std::uint8_t>(static_cast<std::uint32_t>(fault.row) % tile_.rows);
  select.col = static_cast<std::uint8_t>(static_cast<std::uint32_t>(fault.col) % tile_.cols);
  array_->select_fault(faulty_tile(fault), select);
}

void MatmulWave::begin(std::uint64_t matmul, const ArrayCase& operation, const LockstepLog& log) {
  cycles_ = rtl_->stats().cycles;
  differences_ = log.differences().size();
  const bool over = campaign_.part(1) == CampaignWave::Part::After;
  rtl_->record(over ? nullptr : array_, campaign_.cycle());
  if (over) return;
  signals_.show("matmuls", matmul, operation);
}

void MatmulWave::end(const LockstepLog& log) {
  if (log.differences().size() > differences_) {
    const Difference& first = log.differences()[differences_];
    const std::uint64_t cycle = std::max(first.engine_cycle, campaign_.cycle());
    campaign_.differs("array", first.lane, cycle);
    if (campaign_.part(1) != CampaignWave::Part::After) {
      const Femtoseconds time = campaign_.clock().edge(cycle);
      signals_.mismatches.at(time, log.mismatches());
      signals_.expected.at(time, first.model);
      signals_.found.at(time, first.rtl);
      signals_.what.at(time, fmt::format("{} {}", first.what, first.place));
    }
  }
  campaign_.ran(rtl_->stats().cycles - cycles_);
}

}  // namespace azulejo
