// SPDX-License-Identifier: Apache-2.0
// The cases of a reproducer file, each in a model and an RTL of its own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "tlm/common/check.h"
#include "tlm/common/error.h"
#include "tlm/cosim/campaign.h"
#include "tlm/cosim/campaign_wave.h"
#include "tlm/cosim/host_tile.h"
#include "tlm/cosim/pe.h"
#include "tlm/cosim/pe_array_rtl.h"
#include "tlm/cosim/rounding_unit_rtl.h"
#include "tlm/numerics/float_bits.h"
#include "tlm/tensor_engine/pe_array_model.h"
#include "tlm/wave/verilator_hooks.h"

namespace azulejo {
namespace {

class Replay {
 public:
  explicit Replay(const CampaignOptions& options) : options_(options) {}

  CampaignResult run(const std::vector<CosimCase>& cases) {
    const auto start = std::chrono::steady_clock::now();
    result_.table = fmt::format("{:<6}  {:<10}  {:<22}  {}\n", "case", "unit", "outcome", "note");
    std::vector<Setup> setups;
    for (std::size_t i = 0; i < cases.size(); ++i) setups.push_back(set_up(i, cases[i]));
    WaveText note;
    WaveSignal number;
    if (options_.wave != nullptr) {
      number = {options_.wave->sink(), "replay", "case", 16};
      note = {options_.wave->sink(), "replay", "note", 96};
      options_.wave->begin();
    }
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (options_.wave != nullptr) {
        number = i;
        note = cases[i].note;
      }
      run_case(i, cases[i], setups[i]);
      if (options_.progress) options_.progress(static_cast<double>(i + 1) / static_cast<double>(cases.size()));
    }
    if (!options_.coverage_file.empty()) write_rtl_coverage(options_.coverage_file);
    result_.cases = cases.size();
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  static constexpr std::array<const char*, 4> kUnits = {"", "pe", "array", "rounding"};  // of the variant

  // The parameters of a case, with those of the options that are given in their place.
  struct Setup {
    RtlParameters rtl;
    FaultPlace fault;
    CosimCase origin;
    const RtlLibrary* library = nullptr;
    PeArrayRtlConfig array;  // of a case of it
    PeWave* pe_wave = nullptr;
    MatmulWave* array_wave = nullptr;
    RoundingWave* rounding_wave = nullptr;
  };

  Setup setup_of(const CosimCase& one) const {
    Setup setup;
    setup.origin = one;
    if (!options_.fault_text.empty()) {
      setup.fault = options_.fault;
      setup.origin.fault = options_.fault.fault == nullptr ? "" : options_.fault_text;
    } else if (!one.fault.empty()) {
      setup.fault = parse_fault(one.fault);
    }
    if (!options_.rtl.pe_directory.empty()) {
      setup.origin.pe_directory = options_.rtl.pe_directory;
      setup.origin.pe_top = options_.rtl.pe_top;
    }
    setup.rtl.pipeline_stages = one.pipeline_stages;
    setup.rtl.flush_denormals = one.flush_denormals;
    setup.rtl.faults = setup.fault.fault != nullptr;
    setup.rtl.coverage = !options_.coverage_file.empty();
    setup.rtl.pe_directory = setup.origin.pe_directory;
    setup.rtl.pe_top = setup.origin.pe_top;
    return setup;
  }

  // Everything that can be wrong about a case, and its units in the wave, which cases of the same library share.
  Setup set_up(std::size_t index, const CosimCase& one) {
    AZULEJO_CHECK(one.operation.index() != 0, "a case without an operation is replayed");
    Setup setup = setup_of(one);
    if (setup.fault.fault != nullptr && !runs_module(kUnits[one.operation.index()], setup.fault.fault->module)) {
      throw ConfigError(fmt::format("case {}: fault {} is in {}, which a case of {} does not run", index,
                                    setup.fault.fault->name, setup.fault.fault->module, kUnits[one.operation.index()]));
    }
    try {
      setup.library = &RtlLibrary::load(setup.rtl, options_.message);
      if (const auto* array = std::get_if<ArrayCase>(&one.operation)) {
        setup.array.name = "array";
        setup.array.rows = array->rows;
        setup.array.cols = array->cols;
        setup.array.fault = setup.fault;
        const std::vector<std::string> problems =
            validate(setup.array, *setup.library, setup.rtl.pipeline_stages, setup.rtl.flush_denormals);
        if (!problems.empty()) throw ConfigError(problems);
      }
    } catch (const ConfigError& error) {
      std::vector<std::string> problems;
      for (const std::string& problem : error.problems())
        problems.push_back(fmt::format("cases[{}]: {}", index, problem));
      throw ConfigError(problems);
    }
    if (options_.wave != nullptr) add_to_wave(one, setup);
    return setup;
  }

  void add_to_wave(const CosimCase& one, Setup& setup) {
    CampaignWave& wave = *options_.wave;
    const RtlLibrary& library = *setup.library;
    // The first unit of a kind has its plain name.
    const auto suffix = [&](const std::string& kind) {
      const auto key = std::make_tuple(kind, &library, setup.array.rows, setup.array.cols);
      auto found = std::find(in_wave_.begin(), in_wave_.end(), key);
      if (found == in_wave_.end()) found = in_wave_.insert(found, key);
      const auto before = std::count_if(in_wave_.begin(), found, [&](const auto& k) { return std::get<0>(k) == kind; });
      return before == 0 ? std::string() : fmt::format("_{}", before + 1);
    };
    if (std::holds_alternative<PeCase>(one.operation)) {
      const std::string s = suffix("pe");
      setup.pe_wave = &wave.unit<PeWave>("pe" + s, library, s);
    } else if (const auto* rounding = std::get_if<RoundingCase>(&one.operation)) {
      const std::string name = rounding_unit_name(rounding->source);
      const std::string s = suffix(name);
      setup.rounding_wave = &wave.unit<RoundingWave>(name + s, library, rounding->source, s);
    } else {
      const std::string s = suffix("array");
      setup.array_wave = &wave.unit<MatmulWave>("array" + s, setup.array, library, s);
    }
  }

  void run_case(std::size_t index, const CosimCase& one, const Setup& setup) {
    LockstepLog log;
    const std::uint64_t failures = rtl_failures();
    const RtlLibrary& library = *setup.library;
    if (const auto* pe = std::get_if<PeCase>(&one.operation)) run_pe(*pe, setup, library, log);
    if (const auto* array = std::get_if<ArrayCase>(&one.operation)) run_array(index, *array, setup, library, log);
    if (const auto* rounding = std::get_if<RoundingCase>(&one.operation)) {
      result_.cycles += replay_rounding(*rounding, setup.origin, setup.fault, library, plain_context(), log,
                                        keeps_units() ? &kept_ : nullptr, setup.rounding_wave);
    }
    if (const std::uint64_t failed = rtl_failures() - failures; failed != 0 && log.mismatches() == 0) {
      Difference difference;
      difference.unit = kUnits[one.operation.index()];
      difference.what = "failed assertions";
      difference.rtl = static_cast<std::uint32_t>(failed);
      difference.is_fp32 = false;
      difference.reproducer = setup.origin;
      log.differed(1, std::move(difference));
    }
    const std::string outcome = log.mismatches() == 0 ? "no mismatch" : fmt::format("mismatches: {}", log.mismatches());
    result_.table +=
        fmt::format("{:<6}  {:<10}  {:<22}  {}\n", index, kUnits[one.operation.index()], outcome, one.note);
    result_.mismatches += log.mismatches();
    for (const Difference& difference : log.differences()) {
      if (result_.differences.size() < LockstepLog::kMaxKept) result_.differences.push_back(difference);
    }
  }

  void run_pe(const PeCase& operation, const Setup& setup, const RtlLibrary& library, LockstepLog& log) {
    const bool shipped = setup.rtl.pe_directory.empty();
    const std::uint32_t latency = shipped ? setup.rtl.pipeline_stages : std::max(1U, library.pe_latency_cycles());
    rtl::FaultSelect fault;
    if (setup.fault.fault != nullptr) fault.fault = setup.fault.fault->id;
    auto pes = std::make_unique<PeLockstep>(make_pe_model(latency, setup.rtl.flush_denormals),
                                            make_pe_rtl(library, plain_context(), "pe", fault));
    const std::optional<PeMismatch> mismatch = pes->run(operation.inputs);
    if (setup.pe_wave != nullptr) {
      setup.pe_wave->run(operation.inputs, pes->model_outputs(), pes->rtl_outputs(), mismatch, "replay", setup.fault);
    }
    result_.cycles += operation.inputs.size();
    log.compared(operation.inputs.size());
    if (mismatch) {
      Difference difference;
      difference.unit = "pe";
      difference.cycle = mismatch->cycle;
      difference.what = mismatch->what;
      difference.model = mismatch->model;
      difference.rtl = mismatch->rtl;
      difference.is_fp32 = mismatch->is_fp32;
      difference.operands = describe_operands(operation.inputs, *mismatch, latency);
      difference.reproducer = setup.origin;
      log.differed(1, std::move(difference));
    }
    keep(std::move(pes));
  }

  // Without stalls, then with them, until it differs: a case does not say which stalls it met.
  void run_array(std::size_t index, const ArrayCase& operation, const Setup& setup, const RtlLibrary& library,
                 LockstepLog& log) {
    constexpr std::uint32_t kStallOf256 = 64;
    const PeArrayRtlConfig& config = setup.array;
    const HostTile stationary(operation.stationary_format, operation.k, operation.m, operation.stationary);
    const HostTile moving(operation.moving_format, operation.k, operation.n, operation.moving);
    const MatmulMode mode{operation.accumulate, operation.stationary_one_zero, operation.moving_one_zero};
    for (const bool stalls : {false, true}) {
      if (log.mismatches() != 0) break;
      auto rtl = std::make_unique<PeArrayRtl>(config, library, plain_context());
      if (stalls) rtl->stall(kStallOf256, kStallOf256, options_.seed);
      PeArrayRtl& array = *rtl;
      if (setup.array_wave != nullptr) setup.array_wave->attach(array, setup.fault);
      PeArrayModelConfig model;
      model.rows = operation.rows;
      model.cols = operation.cols;
      model.pe_stages = setup.rtl.pipeline_stages;
      model.flush_denormals = setup.rtl.flush_denormals;
      std::shared_ptr<PeArray> lockstep =
          make_pe_array_lockstep(std::make_unique<PeArrayModel>(model), std::move(rtl), config, setup.origin, log);
      std::vector<float> psum(std::size_t{operation.m} * operation.n);
      for (std::size_t i = 0; i < operation.psum.size(); ++i) psum[i] = bits_to_float(operation.psum[i]);
      if (setup.array_wave != nullptr) setup.array_wave->begin(index, operation, log);
      lockstep->load(stationary.tile(), 0);
      lockstep->multiply(moving.tile(), mode, psum.data(), operation.n);
      if (setup.array_wave != nullptr) setup.array_wave->end(log);
      result_.cycles += array.stats().cycles;
      keep(std::move(lockstep));
    }
  }

  // Verilator's coverage is counted in the units themselves.
  bool keeps_units() const { return !options_.coverage_file.empty(); }
  void keep(std::shared_ptr<void> units) {
    if (keeps_units()) kept_.push_back(std::move(units));
  }

  const CampaignOptions& options_;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<std::tuple<std::string, const RtlLibrary*, std::uint32_t, std::uint32_t>> in_wave_;  // kinds of units
  CampaignResult result_;
};

}  // namespace

CampaignResult run_replay(const std::vector<CosimCase>& cases, const CampaignOptions& options) {
  return Replay(options).run(cases);
}

}  // namespace azulejo
