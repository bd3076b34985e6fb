// SPDX-License-Identifier: Apache-2.0
// The seeded RTL faults by name. Twin: rtl/pkg/azulejo_fault_pkg.sv; a test compares the two.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/cosim/rtl_abi.h"

namespace azulejo {

struct RtlFault {
  std::uint8_t id;              // azulejo_fault_pkg::fault_e
  std::string_view name;        // as typed: "sticky_dropped" style, snake_case of the enumerator
  std::string_view enumerator;  // "AddStickyDropped"
  std::string_view module;      // "fp_align_add"
  std::string_view what;        // one sentence
  std::string_view equivalent;  // why no output can show it, if so; else empty
};

const std::vector<RtlFault>& rtl_faults();

// Whether `unit`, "pe", "array" or "rounding", contains the module.
bool runs_module(std::string_view unit, std::string_view module);

// A fault as the command line says it: NAME, or NAME@PATH with PATH an instance ("chip0.nc0.tensor_engine",
// "chip0.nc0.vector_engine"), a PE of it ("chip0.nc0.tensor_engine.pe_3_17"), or just the PE ("pe_3_17").
struct FaultPlace {
  const RtlFault* fault = nullptr;
  std::string instance;  // empty: every instance
  int row = -1;          // of one PE; -1: every PE
  int col = -1;
};

// Throws ConfigError for an unknown name (with the nearest one) or a malformed path.
FaultPlace parse_fault(const std::string& text);

}  // namespace azulejo
