// SPDX-License-Identifier: Apache-2.0
// Binary program file, little-endian:
//
//   byte  size  field
//   0     8     magic "AZLJPRG" and a zero byte
//   8     4     version, 1
//   12    4     number of engines, 5
//   then for tensor, vector, scalar, gpsimd, sync:
//         4     number of instructions n
//         256n  the instructions (encoding.h)
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "tlm/isa/assembler.h"
#include "tlm/isa/bytes.h"
#include "tlm/isa/encoding.h"
#include "tlm/isa/opcode_table.h"

namespace azulejo {

namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {'A', 'Z', 'L', 'J', 'P', 'R', 'G', 0};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 16;

}  // namespace

std::vector<std::uint8_t> write_program(const Program& program) {
  std::size_t size = kHeaderBytes;
  for (const auto& code : program.code) size += 4 + code.size() * kInstructionBytes;
  std::vector<std::uint8_t> bytes(size);
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  store_le(&bytes[8], kVersion);
  store_le(&bytes[12], kEngines);
  std::size_t offset = kHeaderBytes;
  for (const auto& code : program.code) {
    store_le(&bytes[offset], static_cast<std::uint32_t>(code.size()));
    offset += 4;
    for (const Instruction& instruction : code) {
      const EncodedInstruction encoded = encode_instruction(instruction);
      std::copy(encoded.begin(), encoded.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
      offset += kInstructionBytes;
    }
  }
  return bytes;
}

ProgramFileResult read_program(const std::vector<std::uint8_t>& bytes) {
  ProgramFileResult result;
  const auto fail = [&result](std::size_t offset, const std::string& what) {
    result.program = Program{};
    result.error = fmt::format("byte {}: {}", offset, what);
    return result;
  };
  if (bytes.size() < kHeaderBytes) {
    return fail(bytes.size(), fmt::format("the file ends inside its header of {} bytes", kHeaderBytes));
  }
  if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    return fail(0, "not an azulejo program: the file does not begin with AZLJPRG");
  }
  const auto version = load_le<std::uint32_t>(&bytes[8]);
  if (version != kVersion) {
    return fail(8, fmt::format("version {} of the program file; this build reads version {}", version, kVersion));
  }
  const auto engines = load_le<std::uint32_t>(&bytes[12]);
  if (engines != kEngines) return fail(12, fmt::format("{} engines; a NeuronCore has {}", engines, kEngines));

  std::size_t offset = kHeaderBytes;
  for (std::size_t e = 0; e < kEngines; ++e) {
    const std::string_view engine = engine_name(static_cast<EngineId>(e));
    if (bytes.size() - offset < 4) {
      return fail(offset, fmt::format("the file ends before the {} engine's instruction count", engine));
    }
    const auto count = load_le<std::uint32_t>(&bytes[offset]);
    const std::size_t left = bytes.size() - offset - 4;
    if (count > left / kInstructionBytes) {
      return fail(offset,
                  fmt::format("the {} engine has {} instructions, but only {} bytes follow", engine, count, left));
    }
    offset += 4;
    auto& code = result.program.code[e];
    code.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i, offset += kInstructionBytes) {
      EncodedInstruction encoded;
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), kInstructionBytes, encoded.begin());
      DecodeResult decoded = decode_instruction(encoded);
      if (!decoded.instruction) return fail(offset, fmt::format("{} instruction {}: {}", engine, i, decoded.error));
      code.push_back(*decoded.instruction);
    }
  }
  if (offset != bytes.size()) {
    return fail(offset, fmt::format("{} bytes follow the last instruction", bytes.size() - offset));
  }
  return result;
}

}  // namespace azulejo
