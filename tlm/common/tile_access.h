// SPDX-License-Identifier: Apache-2.0
// An engine's access to SBUF or PSUM: which tiles, how, and for how long it holds the memory's port.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tlm>

#include "tlm/common/attribution.h"
#include "tlm/common/time.h"
#include "tlm/isa/instruction.h"

namespace azulejo {

enum class TileRole : std::uint8_t {
  Read,
  Write,
  MatmulWrite,       // tensor engine, overwrites
  MatmulAccumulate,  // tensor engine, adds to what an earlier matmul wrote
};

// Carried by a payload on an engine's sbuf_initiator or psum_initiator (TLM_READ_COMMAND, no data: engines move data by
// DMI). The memory checks every tile and reserves its port. Answers: TLM_OK_RESPONSE with the wait for the port as
// delay; TLM_ADDRESS_ERROR_RESPONSE (outside the memory), TLM_BURST_ERROR_RESPONSE (partition rule, bank), or
// TLM_COMMAND_ERROR_RESPONSE (accumulate onto what no matmul wrote), with `message` saying what is wrong.
struct TileAccess : tlm::tlm_extension<TileAccess> {
  struct Tile {
    const TensorAccess* access = nullptr;
    std::uint32_t offset_bytes = 0;  // of the first element, register included
    TileRole role = TileRole::Read;
  };

  EngineId engine = EngineId::Tensor;
  std::array<Tile, kMaxOperands> tiles{};
  std::uint32_t count = 0;
  Cause cause = Cause::Issue;  // what a wait for the port is charged to
  Femtoseconds occupancy = 0;  // how long the port is held
  std::string message;

  void add(const TensorAccess& access, std::uint32_t offset_bytes, TileRole role) {
    tiles[count++] = {&access, offset_bytes, role};
  }

  tlm::tlm_extension_base* clone() const override { return new TileAccess(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const TileAccess&>(other); }
};

}  // namespace azulejo
