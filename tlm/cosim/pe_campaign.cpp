// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tlm/common/check.h"
#include "tlm/common/error.h"
#include "tlm/cosim/campaign.h"
#include "tlm/cosim/campaign_wave.h"
#include "tlm/cosim/functional_coverage.h"
#include "tlm/cosim/pe.h"
#include "tlm/cosim/pe_stimulus.h"
#include "tlm/isa/text.h"
#include "tlm/numerics/float_bits.h"
#include "tlm/wave/verilator_hooks.h"

namespace azulejo {
namespace {

using Inputs = std::vector<rtl::PeInputs>;

// Pairs of codes are exhausted up to this many codes a type; with more, every code meets the other type's corners.
constexpr std::size_t kMostPairedCodes = 256;
constexpr std::size_t kMostSweptCodes = 65536;
// After so many random MACs a block in which everything is random.
constexpr std::uint64_t kMacsPerRandomBlock = 8192;
constexpr std::uint32_t kRandomBlockCycles = 1024;

// Ends a campaign from wherever it is.
struct FirstDifference {};

std::vector<OperandType> types_of(Format format) {
  if (format != Format::Fp32) return {{format, OperandPart::Whole}};
  return {{format, OperandPart::High}, {format, OperandPart::Low}};
}

std::vector<OperandTypes> groups_of(const PeCampaign& campaign) {
  std::vector<OperandTypes> groups;
  for (const Format act : campaign.formats) {
    for (const OperandType& a : types_of(act)) {
      for (const Format weight : campaign.formats) {
        if (!campaign.mixed && act != weight) continue;
        for (const OperandType& w : types_of(weight)) groups.push_back({a, w});
      }
    }
  }
  return groups;
}

void check_formats(const std::vector<Format>& formats) {
  std::vector<std::string_view> allowed;
  for (const Format format : array_formats()) allowed.push_back(spec(format).name);
  std::vector<std::string> problems;
  for (const Format format : formats) {
    if (std::find(array_formats().begin(), array_formats().end(), format) == array_formats().end()) {
      problems.push_back(
          fmt::format("format {}: not one of the array; it takes {}", spec(format).name, join_words(allowed)));
    }
  }
  if (formats.empty()) problems.push_back(fmt::format("format: none given; use {}", join_words(allowed)));
  if (!problems.empty()) throw ConfigError(problems);
}

// The shortest sequence found that still shows a mismatch of the same output, by leaving out cycles and then inputs.
class Reducer {
 public:
  Reducer(PeLockstep& pes, std::string_view what) : pes_(pes), what_(what) {}

  // REQUIRES: inputs that show it.
  Inputs reduce(Inputs inputs) {
    best_ = std::move(inputs);
    cut_beginning();
    bool smaller = true;
    for (int round = 0; smaller && round < kRounds; ++round) {
      smaller = remove_cycles();
      smaller = simplify_inputs() || smaller;
    }
    return best_;
  }

 private:
  static constexpr int kRounds = 4;

  // Keeps `candidate`, up to its mismatch, if it shows it.
  bool accept(const Inputs& candidate) {
    if (!weights_are_loaded(candidate)) return false;
    const std::optional<PeMismatch> mismatch = pes_.run(candidate);
    if (!mismatch || mismatch->what != what_) return false;
    best_.assign(candidate.begin(), candidate.begin() + mismatch->cycle + 1);
    return true;
  }

  // The difference is at the end, so most often the last few cycles are enough.
  void cut_beginning() {
    const Inputs whole = best_;
    for (std::size_t length = 1; length < whole.size(); length *= 2) {
      if (accept(Inputs(whole.end() - static_cast<std::ptrdiff_t>(length), whole.end()))) return;
    }
  }

  // `best_` less some cycles; `swap`: the next activation gets the swap that may have gone with them.
  Inputs without(std::size_t first, std::size_t cycles, bool swap) const {
    Inputs result = best_;
    const auto begin = result.begin() + static_cast<std::ptrdiff_t>(first);
    auto rest = result.erase(begin, begin + static_cast<std::ptrdiff_t>(cycles));
    if (swap) {
      rest = std::find_if(rest, result.end(), [](const rtl::PeInputs& in) { return in.act.valid != 0; });
      if (rest != result.end()) rest->act.tag = 1;
    }
    return result;
  }

  bool remove_cycles() {
    bool removed = false;
    for (std::size_t chunk = std::max<std::size_t>(best_.size() / 2, 1); chunk > 0; chunk /= 2) {
      for (std::size_t first = 0; first + chunk <= best_.size();) {
        if (accept(without(first, chunk, false)) || accept(without(first, chunk, true))) {
          removed = true;
        } else {
          first += chunk;
        }
      }
    }
    return removed;
  }

  template <class Change>
  bool try_on_each(Change change) {
    bool changed = false;
    for (std::size_t t = 0; t < best_.size(); ++t) {
      Inputs candidate = best_;
      if (change(candidate[t]) && accept(candidate)) changed = true;
    }
    return changed;
  }

  bool simplify_inputs() {
    const auto clear = [](auto& field) {
      const bool was_set = field != 0;
      field = 0;
      return was_set;
    };
    const auto clear_beat = [](rtl::OperandBeat& beat) {
      const bool was_set = beat.valid != 0 || beat.tag != 0 || beat.operand != 0;
      beat = {};
      return was_set;
    };
    bool changed = try_on_each([&](rtl::PeInputs& in) { return clear_beat(in.weight); });
    changed = try_on_each([&](rtl::PeInputs& in) { return clear_beat(in.act); }) || changed;
    changed = try_on_each([&](rtl::PeInputs& in) { return clear(in.psum); }) || changed;
    changed = try_on_each([&](rtl::PeInputs& in) { return clear(in.act.tag); }) || changed;
    changed = try_on_each([](rtl::PeInputs& in) { return std::exchange(in.enable, 1) == 0; }) || changed;
    return changed;
  }

  PeLockstep& pes_;
  const std::string_view what_;
  Inputs best_;
};

class PeCampaignRun {
 public:
  PeCampaignRun(const PeCampaign& campaign, const CampaignOptions& options)
      : campaign_(campaign),
        options_(options),
        library_(RtlLibrary::load(parameters_of(options), options.message)),
        latency_cycles_(latency_of(library_)),
        groups_(groups_of(campaign)),
        coverage_(groups_, flush_denormals(), campaign.stalls),
        random_(options.seed),
        stream_(library_.abi().pe.row_width, latency_cycles_, campaign.stalls, random_.next(),
                [this](const Inputs& block) { run_block(block); }),
        pes_(make_pes()) {
    if (options.wave != nullptr) wave_ = &options.wave->unit<PeWave>("pe", library_, "");
  }

  CampaignResult run() {
    if (options_.wave != nullptr) options_.wave->begin();
    const std::uint64_t failures_before = rtl_failures();
    try {
      run_all();
    } catch (const FirstDifference&) {
    }
    assertion_failures_ = rtl_failures() - failures_before;
    if (!options_.coverage_file.empty()) write_rtl_coverage(options_.coverage_file);
    finish();
    return std::move(result_);
  }

 private:
  static RtlParameters parameters_of(const CampaignOptions& options) {
    RtlParameters parameters = options.rtl;
    if (options.fault.fault != nullptr) parameters.faults = true;
    if (!options.coverage_file.empty()) parameters.coverage = true;
    return parameters;
  }

  // Of the model: what the shipped RTL promises; a PE of one's own may have another.
  static std::uint32_t latency_of(const RtlLibrary& library) {
    const bool shipped = library.parameters().pe_directory.empty();
    return shipped ? library.abi().pe.pipeline_stages : std::max(1U, library.pe_latency_cycles());
  }

  bool flush_denormals() const { return library_.abi().pe.flush_denormals != 0; }

  // Model and RTL anew. They stay to the end, since the RTL's coverage is counted in them.
  PeLockstep& make_pes() {
    rtl::FaultSelect fault;
    if (options_.fault.fault != nullptr) fault.fault = options_.fault.fault->id;
    all_pes_.push_back(std::make_unique<PeLockstep>(make_pe_model(latency_cycles_, flush_denormals()),
                                                    make_pe_rtl(library_, plain_context(), "pe", fault)));
    return *all_pes_.back();
  }

  const ElementPool& pool(const OperandType& type) {
    for (const auto& [known, pool] : pools_) {
      if (known.format == type.format && known.part == type.part) return *pool;
    }
    pools_.emplace_back(type, std::make_unique<ElementPool>(type, flush_denormals()));
    return *pools_.back().second;
  }

  void run_all() {
    for (const Inputs& sequence : directed_sequences(library_.abi().pe.row_width, campaign_.stalls)) {
      run_block(sequence);
    }
    block_group_ = 0;
    for (std::size_t group = 0; group < groups_.size(); ++group) run_directed(group);
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      if (campaign_.exhaustive && is_exhaustible(group)) {
        run_exhaustive(group);
      } else {
        run_random(group);
      }
      groups_done_ = group + 1;
    }
    stream_.flush();
  }

  // Stimulus

  void sample(std::size_t group, const Mac& mac, StallCase stall) {
    group_ = group;
    const float addend = bits_to_float(mac.addend);
    const bool special = mac.act.special || mac.weight.special || !std::isfinite(addend);
    const RoundingOutcome rounding =
        special ? RoundingOutcome::Special : rounding_outcome(mac.act.value * mac.weight.value, addend);
    coverage_.sample(group, {mac.act.operand_class, mac.weight.operand_class, rounding, stall});
  }

  // MACs for every bin.
  void run_directed(std::size_t group) {
    const ElementPool& act = pool(groups_[group].act);
    const ElementPool& weight = pool(groups_[group].weight);
    for (std::size_t i = 0; i < kOperandClasses * kOperandClasses * kRoundingOutcomes; ++i) {
      CoverageBin bin;
      bin.act = static_cast<OperandClass>(i / (kOperandClasses * kRoundingOutcomes));
      bin.weight = static_cast<OperandClass>(i / kRoundingOutcomes % kOperandClasses);
      bin.rounding = static_cast<RoundingOutcome>(i % kRoundingOutcomes);
      for (const StallCase stall : {StallCase::None, StallCase::Bubble, StallCase::Held}) {
        bin.stall = stall;
        if (!coverage_.possible(group, bin)) continue;
        const std::optional<Mac> mac = find_mac(act, weight, bin, random_);
        if (!mac) continue;
        // Twice where the first begins a block, which no activation goes before.
        while (!coverage_.hit(group, bin)) sample(group, *mac, stream_.push(*mac, stall));
      }
    }
  }

  bool is_exhaustible(std::size_t group) {
    return !pool(groups_[group].act).all().empty() && !pool(groups_[group].weight).all().empty();
  }

  void run_exhaustive(std::size_t group) {
    const ElementPool& act = pool(groups_[group].act);
    const ElementPool& weight = pool(groups_[group].weight);
    const std::size_t codes = std::max(act.all().size(), weight.all().size());
    if (codes <= kMostPairedCodes) {
      cross(group, act.all(), weight.all(), addends_);
      return;
    }
    // As many addends of the list in turn as keep it to seconds.
    const std::size_t addends = codes <= kMostSweptCodes ? 3 : 1;
    cross(group, act.all(), weight.corners(), addends);
    cross(group, act.corners(), weight.all(), addends);
  }

  // Every pair, each with the next `addends` of the list: the corners, and some made for the product.
  void cross(std::size_t group, const std::vector<Element>& acts, const std::vector<Element>& weights,
             std::size_t addends) {
    std::size_t next = 0;
    for (std::size_t w = 0; w < weights.size(); ++w) {
      for (const Element& act : acts) {
        for (std::size_t i = 0; i < addends; ++i) {
          const Mac mac{act, weights[w], addend_of(next, act, weights[w])};
          sample(group, mac, stream_.push(mac));
          next = next + 1 == addends_ ? 0 : next + 1;
        }
      }
      report_progress(static_cast<double>(w + 1) / static_cast<double>(weights.size()));
    }
  }

  std::uint32_t addend_of(std::size_t i, const Element& act, const Element& weight) {
    if (i < corner_addends().size()) return corner_addends()[i];
    constexpr std::array<RoundingOutcome, kMadeAddends> kMade = {
        RoundingOutcome::ExactCancellation, RoundingOutcome::Subnormal, RoundingOutcome::TieToEvenUp,
        RoundingOutcome::TieToEvenDown, RoundingOutcome::Carry};
    return addend_for(kMade[i - corner_addends().size()], act.value * weight.value, random_);
  }

  void run_random(std::size_t group) {
    const ElementPool& act = pool(groups_[group].act);
    const ElementPool& weight = pool(groups_[group].weight);
    const std::uint64_t macs = (campaign_.macs + groups_.size() - 1) / groups_.size();
    for (std::uint64_t i = 0; i < macs; ++i) {
      const Mac mac = random_mac(act, weight, random_);
      sample(group, mac, stream_.push(mac));
      if (i % kMacsPerRandomBlock == 0) {
        stream_.push_random_cycles(kRandomBlockCycles, act, weight);
        report_progress(static_cast<double>(i) / static_cast<double>(macs));
      }
    }
  }

  void report_progress(double of_group) {
    if (options_.progress) {
      options_.progress((static_cast<double>(groups_done_) + of_group) / static_cast<double>(groups_.size()));
    }
  }

  // Comparison

  void run_block(const Inputs& block) {
    const std::optional<PeMismatch> mismatch = pes_.run(block);
    if (wave_ != nullptr) {
      wave_->run(block, pes_.model_outputs(), pes_.rtl_outputs(), mismatch, group_text(), options_.fault);
    }
    if (block_group_) block_group_ = group_;
    result_.cycles += mismatch ? mismatch->cycle + 1 : block.size();
    if (!mismatch) return;
    ++result_.mismatches;
    report(block, *mismatch);
    throw FirstDifference();
  }

  // Of the MACs in the block.
  std::string group_text() const {
    if (!block_group_) return "directed";
    const auto text = [&](std::size_t group) {
      return fmt::format("{} x {}", name_of(groups_[group].act), name_of(groups_[group].weight));
    };
    return *block_group_ == group_ ? text(group_) : fmt::format("{} to {}", text(*block_group_), text(group_));
  }

  void report(const Inputs& block, const PeMismatch& first) {
    const Inputs whole(block.begin(), block.begin() + first.cycle + 1);
    PeCase reproducer{Reducer(make_pes(), first.what).reduce(whole)};
    // What a PE that nothing ran on shows.
    std::optional<PeMismatch> shown = make_pes().run(reproducer.inputs);
    if (!shown) {
      reproducer.inputs = whole;
      shown = make_pes().run(whole);
    }
    const PeMismatch& mismatch = shown ? *shown : first;

    Difference difference;
    difference.unit = "pe";
    difference.operation = result_.cycles - 1;
    difference.cycle = mismatch.cycle;
    difference.what = mismatch.what;
    difference.model = mismatch.model;
    difference.rtl = mismatch.rtl;
    difference.is_fp32 = mismatch.is_fp32;
    difference.operands = describe_operands(reproducer.inputs, mismatch, latency_cycles_);
    if (options_.wave != nullptr) difference.time = options_.wave->first_mismatch()->time;
    difference.reproducer.operation = std::move(reproducer);
    difference.reproducer.pipeline_stages = library_.parameters().pipeline_stages;
    difference.reproducer.flush_denormals = library_.parameters().flush_denormals;
    difference.reproducer.fault = options_.fault_text;
    difference.reproducer.pe_directory = library_.parameters().pe_directory;
    difference.reproducer.pe_top = library_.parameters().pe_top;
    difference.reproducer.note =
        fmt::format("cosim pe, seed {}, PE cycle {}: {}{}", options_.seed, difference.operation, difference.what,
                    shown ? "" : "; not seen again from reset");
    result_.differences.push_back(std::move(difference));
  }

  void finish() {
    const double rtl_seconds = pes_.rtl_seconds();
    result_.cases = pes_.sums();
    result_.seconds = rtl_seconds + pes_.model_seconds();
    const auto rate = [&](double seconds) {
      return fmt::format("{:.1f} M/s", seconds > 0 ? static_cast<double>(result_.cycles) / seconds / 1e6 : 0);
    };
    result_.figures = {{"PE cycles, RTL", rate(rtl_seconds)}, {"PE cycles, model", rate(pes_.model_seconds())}};
    if (result_.mismatches != 0) return;
    if (assertion_failures_ != 0) {
      result_.figures.emplace_back("failed assertions of the RTL", std::to_string(assertion_failures_));
      result_.mismatches = assertion_failures_;
    }
    AZULEJO_CHECK(coverage_.impossible_samples() == 0, "a functional coverage bin was excluded and is possible");
    const std::size_t bins = coverage_.bins();
    const std::size_t hits = coverage_.hits();
    result_.figures.emplace_back(
        "functional coverage",
        fmt::format("{:.1f} % of {} bins", 100.0 * static_cast<double>(hits) / static_cast<double>(bins), bins));
    result_.table = coverage_.table();
    result_.holes = coverage_.holes();
  }

  static constexpr std::size_t kMadeAddends = 5;
  const std::size_t addends_ = corner_addends().size() + kMadeAddends;

  const PeCampaign& campaign_;
  const CampaignOptions& options_;
  const RtlLibrary& library_;
  const std::uint32_t latency_cycles_;
  const std::vector<OperandTypes> groups_;
  FunctionalCoverage coverage_;
  StimulusRandom random_;
  PeStream stream_;
  std::vector<std::unique_ptr<PeLockstep>> all_pes_;
  PeLockstep& pes_;
  std::vector<std::pair<OperandType, std::unique_ptr<ElementPool>>> pools_;
  std::size_t groups_done_ = 0;
  std::size_t group_ = 0;                   // of the newest MAC
  std::optional<std::size_t> block_group_;  // of the block's first one; none: of no group
  PeWave* wave_ = nullptr;
  std::uint64_t assertion_failures_ = 0;
  CampaignResult result_;
};

}  // namespace

CampaignResult run_pe_campaign(const PeCampaign& campaign, const CampaignOptions& options) {
  check_formats(campaign.formats);
  return PeCampaignRun(campaign, options).run();
}

}  // namespace azulejo
