// SPDX-License-Identifier: Apache-2.0
// Co-verification campaigns: model against RTL, until the cases run out or, unless told otherwise, the first
// difference.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tlm/cosim/case.h"
#include "tlm/cosim/fault_table.h"
#include "tlm/cosim/lockstep.h"
#include "tlm/cosim/rtl_library.h"

namespace azulejo {

class CampaignWave;

// Common to all campaigns.
struct CampaignOptions {
  RtlParameters rtl;  // faults and coverage are implied by `fault` and coverage_file
  FaultPlace fault;
  std::string fault_text;  // as typed
  std::uint64_t seed = 0;
  std::string coverage_file;                        // Verilator's line and toggle coverage; empty: none
  std::function<void(double fraction)> progress;    // may be empty
  std::function<void(const std::string&)> message;  // one-line messages; may be empty
  CampaignWave* wave = nullptr;  // of this campaign, in which nothing has run; null: none. Not with coverage
};

struct CampaignResult {
  std::uint64_t cases = 0;   // compared: MACs, elements, conversions
  std::uint64_t cycles = 0;  // RTL cycles
  std::uint64_t mismatches = 0;
  double seconds = 0;                                        // of host time in the RTL and the model
  std::vector<std::pair<std::string, std::string>> figures;  // what else to print: name, value with unit
  std::string table;                                         // functional coverage, ready to print; empty: none
  std::vector<std::string> holes;
  std::vector<Difference> differences;
  bool passed() const { return cases > 0 && mismatches == 0; }
};

struct PeCampaign {
  std::vector<Format> formats;  // of activations and weights; pairs of each with itself, or `mixed`: all pairs
  bool mixed = false;
  bool exhaustive = false;  // every pair of codes (8-bit formats) or every code against corners (16-bit formats),
                            // for several accumulators
  std::uint64_t macs = 1'000'000;  // random ones, if not exhaustive
  bool stalls = true;
};
CampaignResult run_pe_campaign(const PeCampaign& campaign, const CampaignOptions& options);

struct RoundingCampaign {
  std::vector<Format> formats;  // targets
  bool exhaustive = false;      // every FP32 value whose low 16 bits are one of a few patterns, and every code's value
                                // and the values next to the midpoints between codes
  std::uint64_t values = 1'000'000;
  bool stalls = true;
};
CampaignResult run_rounding_campaign(const RoundingCampaign& campaign, const CampaignOptions& options);

struct ArrayCampaign {
  std::uint32_t rows = 128, cols = 128, n = 512;
  std::vector<Format> formats;
  std::uint32_t matmuls = 1;  // of each format
  bool stalls = false;
};
CampaignResult run_array_campaign(const ArrayCampaign& campaign, const CampaignOptions& options);

// Runs every case of a file through model and RTL.
CampaignResult run_replay(const std::vector<CosimCase>& cases, const CampaignOptions& options);

struct MutantOutcome {
  const RtlFault* fault = nullptr;
  bool detected = false;
  std::string by;            // "pe", "array", "rounding"
  std::uint64_t cycles = 0;  // RTL cycles to detection
  std::uint64_t cases = 0;
};
// Every fault of the table (or those named) against the campaigns that its module belongs to.
struct MutantsCampaign {
  std::vector<std::string> names;  // empty: all
};
// The first outcome has no fault: all three campaigns on the good RTL, where `detected` is a false alarm.
std::vector<MutantOutcome> run_mutants(const MutantsCampaign& campaign, const CampaignOptions& options);

}  // namespace azulejo
