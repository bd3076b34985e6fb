// SPDX-License-Identifier: Apache-2.0
// What a module reports to while it runs. Handed down the hierarchy once, before the simulation starts.
#pragma once

#include <cstdint>
#include <string>

#include "tlm/common/time.h"
#include "tlm/common/trace_sink.h"
#include "tlm/common/wave_sink.h"

namespace azulejo {

// A fault of the modelled program.
struct Fault {
  std::string engine;             // hierarchical name
  std::uint64_t instruction = 0;  // index in the engine's program
  Femtoseconds time = 0;
  std::string text;      // the instruction, disassembled
  std::string response;  // TLM response status, "TLM_ADDRESS_ERROR_RESPONSE"
  std::string message;   // which rule it broke, with the values
};

class FaultSink {
 public:
  virtual ~FaultSink() = default;
  virtual void fault(const Fault&) {}
  static FaultSink& none();
};

struct Instruments {
  TraceSink* trace = &TraceSink::none();
  WaveSink* wave = &WaveSink::none();
  FaultSink* faults = &FaultSink::none();
};

}  // namespace azulejo
