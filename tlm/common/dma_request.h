// SPDX-License-Identifier: Apache-2.0
// A transfer as an engine hands it to the DMA: a self-contained value, carried as the data of a TLM write.
#pragma once

#include <cstdint>

#include "tlm/isa/instruction.h"

namespace azulejo {

struct DmaRequest {
  DmaAccess dst;
  DmaAccess src;
  std::uint32_t bytes = 0;  // a row at the source
  Format dst_format = Format::Uint8;
  Format src_format = Format::Uint8;
  std::uint8_t queue = 0;
  bool saturate = false;   // a conversion's overflow gives the largest finite value
  SemaphoreUpdate update;  // made by each of the DMA engines when its share is complete
  EngineId trigger = EngineId::Sync;
  std::uint64_t instruction = 0;  // index in the trigger's program, for reports
};

}  // namespace azulejo
