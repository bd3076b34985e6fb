// SPDX-License-Identifier: Apache-2.0
#include "tlm/host/host.h"

#include <algorithm>

#include "tlm/common/error.h"
#include "tlm/isa/encoding.h"
#include "tlm/isa/opcode_table.h"

namespace azulejo {
namespace {

constexpr unsigned kProgramBits = 40;      // NeuronCore::instr_target: engine e's program lies at e << 40
constexpr std::uint64_t kPiece = 1 << 20;  // bytes of one debug access

}  // namespace

bool Host::debug(std::uint32_t chip, tlm::tlm_command command, std::uint64_t address, unsigned char* data,
                 std::uint64_t bytes) {
  while (bytes > 0) {
    const auto piece = static_cast<unsigned int>(std::min(bytes, kPiece));
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(data);
    payload.set_data_length(piece);
    payload.set_streaming_width(piece);
    if (memory_initiator[static_cast<int>(chip)]->transport_dbg(payload) != piece) return false;
    address += piece;
    data += piece;
    bytes -= piece;
  }
  return true;
}

bool Host::write(std::uint32_t chip, std::uint64_t address, const void* data, std::uint64_t bytes) {
  // A write does not change its source; the payload's pointer is not const.
  return debug(chip, tlm::TLM_WRITE_COMMAND, address, static_cast<unsigned char*>(const_cast<void*>(data)), bytes);
}

bool Host::read(std::uint32_t chip, std::uint64_t address, void* data, std::uint64_t bytes) {
  return debug(chip, tlm::TLM_READ_COMMAND, address, static_cast<unsigned char*>(data), bytes);
}

void Host::program_write(std::uint32_t core, std::uint64_t address, unsigned char* data, std::size_t bytes) {
  tlm::tlm_generic_payload payload;
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(address);
  payload.set_data_ptr(data);
  payload.set_data_length(static_cast<unsigned int>(bytes));
  payload.set_streaming_width(static_cast<unsigned int>(bytes));
  sc_core::sc_time delay;
  program_initiator[static_cast<int>(core)]->b_transport(payload, delay);
  if (!payload.is_response_ok()) {
    throw ConfigError("core " + std::to_string(core) + " refuses the program at address " + std::to_string(address) +
                      ": " + payload.get_response_string());
  }
}

void Host::load(std::uint32_t core, const Program& program) {
  constexpr std::size_t kBatch = 4096;  // instructions of one write
  std::vector<unsigned char> bytes;
  for (std::size_t e = 0; e < kEngines; ++e) {
    const auto& code = program.code[e];
    for (std::size_t first = 0; first < code.size(); first += kBatch) {
      const std::size_t count = std::min(kBatch, code.size() - first);
      bytes.resize(count * kInstructionBytes);
      for (std::size_t i = 0; i < count; ++i) {
        const std::vector<std::string> problems = validate_instruction(code[first + i]);
        if (!problems.empty()) {
          throw ConfigError("instruction " + std::to_string(first + i) + " of the " +
                            std::string(engine_name(static_cast<EngineId>(e))) + " engine: " + problems.front());
        }
        const EncodedInstruction encoded = encode_instruction(code[first + i]);
        std::copy(encoded.begin(), encoded.end(), bytes.begin() + static_cast<std::ptrdiff_t>(i * kInstructionBytes));
      }
      program_write(core, (std::uint64_t{e} << kProgramBits) + first * kInstructionBytes, bytes.data(), bytes.size());
    }
  }
}

void Host::start(std::uint32_t core) {
  unsigned char go[4] = {1, 0, 0, 0};
  program_write(core, std::uint64_t{kEngines} << kProgramBits, go, sizeof go);
}

}  // namespace azulejo
