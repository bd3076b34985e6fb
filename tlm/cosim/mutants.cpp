// SPDX-License-Identifier: Apache-2.0
// Does every seeded fault show? Each runs in the campaigns that use its module, small ones first.
#include <array>
#include <optional>
#include <string_view>

#include "tlm/cosim/campaign.h"
#include "tlm/cosim/campaign_wave.h"
#include "tlm/cosim/pe.h"

namespace azulejo {
namespace {

enum class Campaign { Pe, Array, Rounding };

std::string_view name_of(Campaign campaign) {
  static constexpr std::array<std::string_view, 3> kNames = {"pe", "array", "rounding"};
  return kNames[static_cast<std::size_t>(campaign)];
}

// Those that evaluate the module, by rtl/: fp_multiply, fp_align_add and fp_round are in every PE, the last two also in
// the drain; fp_decode is at the array's edges, fp_encode in the rounding unit.
std::vector<Campaign> campaigns_of(std::string_view module) {
  if (module == "pe" || module == "fp_multiply" || module == "fp_align_add" || module == "fp_round") {
    return {Campaign::Pe, Campaign::Array};
  }
  if (module == "fp_decode" || module == "pe_array_edge" || module == "pe_array_drain") return {Campaign::Array};
  return {Campaign::Rounding};
}

constexpr std::uint32_t kArraySize = 8;

// Which fault the wave shows. All units are there from the beginning, with another fault selected in every campaign.
struct MutantSignals {
  MutantSignals(CampaignWave& wave, const RtlLibrary& library)
      : fault(wave.sink(), "mutants", "fault", 32),
        campaign(wave.sink(), "mutants", "campaign", 8),
        detected(wave.sink(), "mutants", "detected", 1),
        detections(wave.sink(), "mutants", "detections", 16) {
    wave.unit<PeWave>("pe", library, "");
    for (const RandomSource source : {RandomSource::Lfsr, RandomSource::Xorwow}) {
      wave.unit<RoundingWave>(rounding_unit_name(source), library, source, "");
    }
    wave.unit<HandshakeWave>("pe_array", library);
    PeArrayRtlConfig array;
    array.rows = kArraySize;
    array.cols = kArraySize;
    wave.unit<MatmulWave>("array", array, library, "");
    wave.begin();
  }

  WaveText fault, campaign;
  WaveSignal detected, detections;
  std::uint64_t count = 0;  // of detections
};

// Large enough for every fault, with any seed that was tried.
CampaignResult run(Campaign campaign, const CampaignOptions& options) {
  if (campaign == Campaign::Pe) {
    PeCampaign pe;
    pe.formats = {Format::Bf16, Format::Fp16, Format::Fp32};
    pe.macs = 100'000;
    return run_pe_campaign(pe, options);
  }
  if (campaign == Campaign::Array) {
    ArrayCampaign array;
    array.rows = kArraySize;
    array.cols = kArraySize;
    array.n = 32;
    array.formats = array_formats();
    array.matmuls = 32;
    array.stalls = true;
    return run_array_campaign(array, options);
  }
  RoundingCampaign rounding;
  rounding.formats = all_formats();
  rounding.values = 100'000;
  return run_rounding_campaign(rounding, options);
}

MutantOutcome run_all(const RtlFault* fault, const std::vector<Campaign>& campaigns, const CampaignOptions& options,
                      MutantSignals* signals) {
  MutantOutcome outcome;
  outcome.fault = fault;
  if (signals != nullptr) {
    signals->fault = fault == nullptr ? "none" : fault->name;
    signals->detected = 0;
  }
  for (const Campaign campaign : campaigns) {
    if (signals != nullptr) signals->campaign = name_of(campaign);
    const CampaignResult result = run(campaign, options);
    outcome.cycles += result.cycles;
    outcome.cases += result.cases;
    // Without a fault, a campaign that compares nothing is an alarm too: it could not have passed.
    if (fault == nullptr ? !result.passed() : result.mismatches != 0) {
      outcome.detected = true;
      outcome.by = name_of(campaign);
      if (signals != nullptr) {
        signals->detected = 1;
        signals->detections = ++signals->count;
      }
      break;
    }
  }
  return outcome;
}

}  // namespace

std::vector<MutantOutcome> run_mutants(const MutantsCampaign& campaign, const CampaignOptions& options) {
  std::vector<const RtlFault*> faults;
  for (const std::string& name : campaign.names) faults.push_back(parse_fault(name).fault);
  if (campaign.names.empty()) {
    for (const RtlFault& fault : rtl_faults()) faults.push_back(&fault);
  }

  CampaignOptions each = options;
  each.rtl.faults = true;
  each.progress = nullptr;
  each.coverage_file.clear();
  std::optional<MutantSignals> wave;
  if (options.wave != nullptr) wave.emplace(*options.wave, RtlLibrary::load(each.rtl, each.message));
  MutantSignals* const signals = wave ? &*wave : nullptr;
  std::vector<MutantOutcome> outcomes = {
      run_all(nullptr, {Campaign::Pe, Campaign::Array, Campaign::Rounding}, each, signals)};
  for (const RtlFault* fault : faults) {
    each.fault = FaultPlace{};
    each.fault.fault = fault;
    each.fault_text = fault->name;
    outcomes.push_back(run_all(fault, campaigns_of(fault->module), each, signals));
    if (options.progress) {
      options.progress(static_cast<double>(outcomes.size()) / static_cast<double>(faults.size() + 1));
    }
  }
  return outcomes;
}

}  // namespace azulejo
