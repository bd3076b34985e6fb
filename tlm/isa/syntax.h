// SPDX-License-Identifier: Apache-2.0
// The words of the text form that are not in the instruction table, shared by the assembler and the disassembler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "tlm/isa/instruction.h"

namespace azulejo::syntax {

inline constexpr std::array<std::pair<std::string_view, WaitCondition>, 3> kWaitConditions = {{
    {">=", WaitCondition::GreaterEqual},
    {"==", WaitCondition::Equal},
    {"<=", WaitCondition::LessEqual},
}};

inline constexpr std::array<std::pair<std::string_view, WaitReason>, 4> kWaitReasons = {{
    {"data", WaitReason::Data},
    {"sbuf_space", WaitReason::SbufSpace},
    {"psum_space", WaitReason::PsumSpace},
    {"dma_order", WaitReason::DmaOrder},
}};

inline constexpr std::array<std::pair<std::string_view, UpdateOp>, 5> kUpdates = {{
    {"inc", UpdateOp::Increment},
    {"dec", UpdateOp::Decrement},
    {"add", UpdateOp::AddImmediate},
    {"sub", UpdateOp::SubImmediate},
    {"set", UpdateOp::WriteImmediate},
}};

inline constexpr std::array<std::pair<std::string_view, BranchCondition>, 6> kComparisons = {{
    {"==", BranchCondition::Equal},
    {"!=", BranchCondition::NotEqual},
    {"<", BranchCondition::Less},
    {"<=", BranchCondition::LessEqual},
    {">", BranchCondition::Greater},
    {">=", BranchCondition::GreaterEqual},
}};

inline constexpr std::string_view kWait = "wait";
inline constexpr std::string_view kAlways = "always";
inline constexpr std::string_view kAtRead = "at_read";

// The word of `value` in one of the tables; "" if it has none.
template <typename Enum, std::size_t N>
constexpr std::string_view word_of(const std::array<std::pair<std::string_view, Enum>, N>& table, Enum value) {
  for (const auto& entry : table) {
    if (entry.second == value) return entry.first;
  }
  return {};
}

// The entry of `word`, or null.
template <typename Enum, std::size_t N>
constexpr const Enum* find_word(const std::array<std::pair<std::string_view, Enum>, N>& table, std::string_view word) {
  for (const auto& entry : table) {
    if (entry.first == word) return &entry.second;
  }
  return nullptr;
}

// The step that makes dimension `d` follow its inner dimensions without gaps; what the text leaves out.
inline std::uint64_t contiguous_step(const TensorAccess& access, std::size_t d) {
  std::uint64_t step = 1;
  for (std::size_t inner = d + 1; inner < access.dims && inner < kMaxFreeDims; ++inner) step *= access.free[inner].size;
  return step;
}

}  // namespace azulejo::syntax
