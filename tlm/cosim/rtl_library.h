// SPDX-License-Identifier: Apache-2.0
// A shared library of Verilated units (rtl_abi.h): found, or Verilated and compiled into a cache, loaded and checked.
//
// Libraries of the shipped RTL are made with the build; those of other parameters, and of a PE of one's own, when they
// are first asked for, with the packages that `verilator` and `g++` come from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tlm/cosim/rtl_abi.h"

namespace azulejo {

// What a library is made of. Two equal ones are the same library.
struct RtlParameters {
  std::uint32_t pipeline_stages = 1;
  bool flush_denormals = false;
  bool faults = false;        // with the seeded faults and assertions
  bool coverage = false;      // with line and toggle coverage and assertions, without waveforms
  std::string pe_directory;   // SystemVerilog of a PE of one's own; empty: rtl/pe/pe.sv
  std::string pe_top = "pe";  // its module
};

class RtlLibrary {
 public:
  // The library, which stays loaded until the process ends. `progress` gets one line when something has to be compiled.
  // Throws ConfigError: a directory without SystemVerilog, ports or parameters that differ from pe.sv's (each named),
  // what Verilator or the compiler said, a parameter that the loaded library does not have.
  static const RtlLibrary& load(const RtlParameters& parameters,
                                const std::function<void(const std::string&)>& progress = {});

  const RtlParameters& parameters() const { return parameters_; }
  const rtl::LibraryAbi& abi() const { return *abi_; }
  // Cycles from a PE's psum_i to its psum_o, measured on the PE: the RTL owns its latency.
  std::uint32_t pe_latency_cycles() const { return pe_latency_cycles_; }

 private:
  RtlParameters parameters_;
  const rtl::LibraryAbi* abi_ = nullptr;
  std::uint32_t pe_latency_cycles_ = 0;
};

// The context of the Verilated units that compute; what a waveform shows has its own (WaveFile::context()).
VerilatedContext& plain_context();

// Line and toggle coverage of the units of libraries with coverage that ran in plain_context(), as Verilator's own data
// file.
void write_rtl_coverage(const std::string& path);

}  // namespace azulejo
