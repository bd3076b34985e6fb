// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <set>
#include <string>

#include "tlm/isa/address_map.h"
#include "tlm/isa/assembler.h"
#include "tlm/isa/opcode_table.h"
#include "tlm/isa/syntax.h"

namespace azulejo {

namespace {

std::int32_t as_signed(std::uint32_t bits) { return static_cast<std::int32_t>(bits); }

// Names that stay safe for a value that is none: traces print instructions before an engine refuses them.
std::string format_text(Format format) {
  return format <= Format::Uint32 ? std::string(spec(format).name)
                                  : fmt::format("format{}", static_cast<unsigned>(format));
}
std::string alu_op_text(AluOp op) {
  return op < AluOp::Count_ ? std::string(alu_op_name(op)) : fmt::format("operator{}", static_cast<unsigned>(op));
}

std::string tile_text(const TensorAccess& access) {
  std::string text =
      fmt::format("{}[{}:{}, {}", access.space == MemorySpace::Psum ? "psum" : "sbuf", access.start_partition,
                  access.start_partition + access.partitions, access.offset_bytes);
  if (access.offset_register != TensorAccess::kNoRegister) text += fmt::format("+r{}", access.offset_register);
  text += fmt::format("] {} <", format_text(access.format));
  for (std::size_t d = 0; d < std::min<std::size_t>(access.dims, kMaxFreeDims); ++d) {
    if (d > 0) text += ", ";
    const std::int64_t step = access.free[d].step;
    text += fmt::to_string(access.free[d].size);
    if (step < 0 || static_cast<std::uint64_t>(step) != syntax::contiguous_step(access, d))
      text += fmt::format(":{}", step);
  }
  return text + ">";
}

std::string address_text(std::uint64_t address) {
  using namespace address_map;
  if (address < kNamedStacks * kHbmStride)
    return fmt::format("hbm({}, {:#x})", address / kHbmStride, address % kHbmStride);
  if (address >= kCoreBase && address < core_base(kNamedCores)) {
    const std::uint64_t core = (address - kCoreBase) / kCoreStride;
    const std::uint64_t local = (address - kCoreBase) % kCoreStride;
    if (local < kSbufOffset + kPartitions * kSbufPartitionStride) {
      return fmt::format("sbuf({}, {}, {})", core, local / kSbufPartitionStride, local % kSbufPartitionStride);
    }
    if (local >= kPsumOffset && local < kPsumOffset + kPartitions * kPsumPartitionStride) {
      const std::uint64_t in_psum = local - kPsumOffset;
      return fmt::format("psum({}, {}, {})", core, in_psum / kPsumPartitionStride, in_psum % kPsumPartitionStride);
    }
  }
  return fmt::format("{:#x}", address);
}

std::string stride_text(std::int64_t stride) {
  const auto magnitude = stride < 0 ? 0 - static_cast<std::uint64_t>(stride) : static_cast<std::uint64_t>(stride);
  return fmt::format("{}{:#x}", stride < 0 ? "-" : "", magnitude);
}

std::string memory_text(const DmaAccess& access, Format format) {
  std::string text = address_text(access.address);
  if (format != Format::Uint8) text += " " + format_text(format);
  const std::string inner = fmt::format("{}:{}", access.inner.count, stride_text(access.inner.stride_bytes));
  if (access.outer.count != 1 || access.outer.stride_bytes != 0) {
    text += fmt::format(" <{}:{}, {}>", access.outer.count, stride_text(access.outer.stride_bytes), inner);
  } else if (access.inner.count != 1 || access.inner.stride_bytes != 0) {
    text += fmt::format(" <{}>", inner);
  }
  return text;
}

std::string source_text(const ScalarSource& source) {
  return source.is_register ? fmt::format("r{}", source.reg) : fmt::format("{}", as_signed(source.immediate));
}

std::string immediate_text(std::string_view name, std::uint32_t bits) {
  if (!is_fp32_immediate(name)) return fmt::to_string(as_signed(bits));
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  if (std::isnan(value)) return fmt::format("{:#x}", bits);
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// One instruction without its label; `target` is what a branch prints.
std::string instruction_text(const Instruction& instruction, const std::string& target) {
  if (instruction.opcode >= Opcode::Count_)
    return fmt::format("(opcode {})", static_cast<unsigned>(instruction.opcode));
  const OpcodeInfo& info = opcode_info(instruction.opcode);
  std::string text(info.name);
  const char* separator = " ";
  const auto argument = [&](const std::string& argument_text) {
    text += separator;
    text += argument_text;
    separator = ", ";
  };

  for (std::size_t i = 0; i < info.operands.size(); ++i) {
    const TensorAccess& access = instruction.operand[i];
    if (access.space != MemorySpace::None)
      argument(fmt::format("{}={}", plain_name(info.operands[i]), tile_text(access)));
  }
  for (std::size_t i = 0; i < info.immediates.size(); ++i) {
    const std::string_view name = plain_name(info.immediates[i]);
    const std::uint32_t bits = instruction.immediate[i];
    if (bits != 0 || !is_optional_name(info.immediates[i]))
      argument(fmt::format("{}={}", name, immediate_text(name, bits)));
  }
  for (const Parameter& parameter : opcode_parameters(instruction.opcode)) {
    const auto value = [&](const std::string& value_text) {
      argument(fmt::format("{}={}", parameter.name, value_text));
    };
    switch (parameter.field) {
      case ParameterField::AluOp: {
        const AluOp op = instruction.alu_op[parameter.which];
        if (op != AluOp::Bypass || !parameter.optional) value(alu_op_text(op));
        break;
      }
      case ParameterField::Function:
        value(fmt::to_string(instruction.function));
        break;
      case ParameterField::Flag:
        if ((instruction.flags & parameter.which) != 0) argument(std::string(parameter.name));
        break;
      case ParameterField::Register:
        value(fmt::format("r{}", instruction.reg));
        break;
      case ParameterField::Source:
        value(source_text(instruction.source));
        break;
      case ParameterField::Source2:
        value(source_text(instruction.source2));
        break;
      case ParameterField::Compare:
        if (instruction.condition == BranchCondition::Always) {
          argument(std::string(syntax::kAlways));
        } else {
          argument(fmt::format("r{} {} {}", instruction.reg,
                               syntax::word_of(syntax::kComparisons, instruction.condition),
                               source_text(instruction.source)));
        }
        break;
      case ParameterField::Target:
        value(target);
        break;
      case ParameterField::Address:
        value(address_text(instruction.address));
        break;
      case ParameterField::DmaDst:
        value(memory_text(instruction.dma_dst, instruction.dma_dst_format));
        break;
      case ParameterField::DmaSrc:
        value(memory_text(instruction.dma_src, instruction.dma_src_format));
        break;
      case ParameterField::DmaBytes:
        value(fmt::to_string(instruction.dma_bytes));
        break;
      case ParameterField::DmaQueue:
        if (instruction.dma_queue != 0) value(fmt::to_string(instruction.dma_queue));
        break;
    }
  }

  const SemaphoreWait& wait = instruction.wait;
  if (wait.condition != WaitCondition::None) {
    text += fmt::format("  {} s{} {} {}", syntax::kWait, wait.semaphore,
                        syntax::word_of(syntax::kWaitConditions, wait.condition), wait.value);
    if (wait.reason != WaitReason::Program)
      text += fmt::format(" {}", syntax::word_of(syntax::kWaitReasons, wait.reason));
  }
  const SemaphoreUpdate& update = instruction.update;
  if (update.op != UpdateOp::None) {
    text += fmt::format("  {} s{}", syntax::word_of(syntax::kUpdates, update.op), update.semaphore);
    if (update.op != UpdateOp::Increment && update.op != UpdateOp::Decrement) text += fmt::format(" {}", update.value);
    if (update.timing == UpdateTiming::Read) text += fmt::format(" {}", syntax::kAtRead);
  }
  return text;
}

}  // namespace

std::string disassemble(const Instruction& instruction) {
  return instruction_text(instruction, fmt::format("@{}", instruction.target));
}

std::string disassemble(const Program& program) {
  std::string text;
  const auto line = std::back_inserter(text);
  for (std::size_t e = 0; e < kEngines; ++e) {
    const auto& code = program.code[e];
    if (code.empty()) continue;
    std::set<std::uint32_t> labels;
    for (const Instruction& instruction : code) {
      if (instruction.opcode == Opcode::CompareBranch && instruction.target <= code.size())
        labels.insert(instruction.target);
    }
    fmt::format_to(line, "{}.engine {}\n", text.empty() ? "" : "\n", engine_name(static_cast<EngineId>(e)));
    auto next_label = labels.begin();
    for (std::size_t i = 0; i <= code.size(); ++i) {
      if (next_label != labels.end() && *next_label == i) {
        fmt::format_to(line, "at_{}:\n", i);
        ++next_label;
      }
      if (i == code.size()) break;
      const bool labelled = labels.count(code[i].target) != 0;
      fmt::format_to(line, "  {}\n",
                     instruction_text(code[i], fmt::format("{}{}", labelled ? "at_" : "@", code[i].target)));
    }
  }
  return text;
}

}  // namespace azulejo
