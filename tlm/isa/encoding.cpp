// SPDX-License-Identifier: Apache-2.0
// Binary form of an instruction: layout and checks.
//
// 256 bytes, little-endian; this project's own. Bytes not listed, and everything an opcode does not use, are zero.
//
//   byte      size  field
//   0         1     opcode
//   1         1     operand_count
//   2         2     flags
//   4         1     wait.condition
//   5         1     wait.reason
//   6         1     wait.semaphore
//   8         4     wait.value
//   12        1     update.op
//   13        1     update.timing
//   14        1     update.semaphore
//   16        4     update.value
//   20        3     alu_op[0..2]
//   23        1     function
//   24        4*4   immediate[0..3]
//   40        5*28  operand[0..4], each; all zero if the space is None
//     +0      1       space
//     +1      1       format
//     +2      1       offset_register, 255 is none
//     +3      1       dims
//     +4      1       start_partition
//     +5      1       partitions
//     +8      4       offset_bytes
//     +12     4*4     free[0..3]: step (2, signed), size (2); zero beyond dims
//   180       76    by opcode:
//
//   opcodes nop .. compare_branch               DMA opcodes dma_copy .. sendrecv
//   180       1     reg                         180       1     dma_queue
//   181       1     condition                   181       1     dma_dst_format
//   182       1     source.is_register          182       1     dma_src_format
//   183       1     source.reg                  184       32    dma_dst
//   184       4     source.immediate              +0      8       address
//   188       1     source2.is_register           +8      8       outer.stride_bytes (signed)
//   189       1     source2.reg                   +16     8       inner.stride_bytes (signed)
//   192       4     source2.immediate             +24     4       outer.count
//   196       4     target                        +28     4       inner.count
//   200       8     address                     216       32    dma_src
//                                               248       4     dma_bytes
#include "tlm/isa/encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "tlm/isa/bytes.h"
#include "tlm/isa/opcode_table.h"

namespace azulejo {

namespace {

constexpr std::size_t kImmediateOffset = 24;
constexpr std::size_t kOperandOffset = 40;
constexpr std::size_t kOperandBytes = 28;
constexpr std::size_t kTailOffset = 180;
constexpr std::size_t kDmaDstOffset = 184;
constexpr std::size_t kDmaSrcOffset = 216;

constexpr unsigned kMaxByte = 255;
constexpr unsigned kFormats = static_cast<unsigned>(Format::Uint32) + 1;

enum class Tail { None, Sequencer, Dma };

Tail tail_of(Opcode opcode) {
  if (opcode <= Opcode::CompareBranch) return Tail::Sequencer;
  if (opcode >= Opcode::DmaCopy && opcode <= Opcode::Sendrecv) return Tail::Dma;
  return Tail::None;
}

// Collects what is wrong with one instruction.
class Validator {
 public:
  explicit Validator(const Instruction& instruction) : instruction_(instruction) {}

  std::vector<std::string> run() {
    if (instruction_.opcode >= Opcode::Count_) {
      fail("opcode {} is not one of the {} opcodes", static_cast<unsigned>(instruction_.opcode),
           static_cast<unsigned>(Opcode::Count_));
      return std::move(problems_);
    }
    check_semaphores();
    check_operands();
    check_immediates();
    check_parameters();
    return std::move(problems_);
  }

 private:
  template <typename... Args>
  void fail(fmt::format_string<Args...> text, Args&&... args) {
    problems_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  std::string_view name() const { return opcode_info(instruction_.opcode).name; }

  template <typename Enum>
  void check_enum(std::string_view field, Enum value, Enum last) {
    if (value > last) {
      fail("{} is {}; it must be 0 to {}", field, static_cast<unsigned>(value), static_cast<unsigned>(last));
    }
  }

  void check_semaphores() {
    const SemaphoreWait& wait = instruction_.wait;
    check_enum("wait.condition", wait.condition, WaitCondition::LessEqual);
    check_enum("wait.reason", wait.reason, WaitReason::DmaOrder);
    if (wait.condition == WaitCondition::None) {
      if (!(wait == SemaphoreWait{})) fail("wait has a reason, semaphore or value but no condition");
      if (instruction_.opcode == Opcode::SemaphoreWait) fail("semaphore_wait needs a wait condition");
    }
    const SemaphoreUpdate& update = instruction_.update;
    check_enum("update.op", update.op, UpdateOp::WriteImmediate);
    check_enum("update.timing", update.timing, UpdateTiming::Read);
    if (update.op == UpdateOp::None) {
      if (!(update == SemaphoreUpdate{})) fail("update has a timing, semaphore or value but no operation");
      if (instruction_.opcode == Opcode::SemaphoreIncrement) fail("semaphore_increment needs an update operation");
    }
    const bool by_one = update.op == UpdateOp::Increment || update.op == UpdateOp::Decrement;
    if (by_one && update.value != 0) {
      fail("an increment or decrement is by 1 and takes no value, found {}; use the add or subtract operation",
           update.value);
    }
  }

  void check_operands() {
    const OpcodeInfo& info = opcode_info(instruction_.opcode);
    std::size_t used = 0;
    for (std::size_t i = 0; i < kMaxOperands; ++i) {
      const TensorAccess& access = instruction_.operand[i];
      if (access == TensorAccess{}) {
        if (i < info.operands.size() && !is_optional_name(info.operands[i])) {
          fail("{} needs the operand {}", info.name, info.operands[i]);
        }
        continue;
      }
      used = i + 1;
      if (i >= info.operands.size()) {
        fail("{} takes {} operands, but operand {} is set", info.name, info.operands.size(), i);
      } else {
        check_access(plain_name(info.operands[i]), access);
      }
    }
    if (instruction_.operand_count != used && used <= info.operands.size()) {
      fail("operand_count is {}, but the last operand that is set is number {}", instruction_.operand_count, used);
    }
  }

  void check_access(std::string_view operand, const TensorAccess& access) {
    if (access.space != MemorySpace::Sbuf && access.space != MemorySpace::Psum) {
      fail("{}: the memory space must be SBUF (1) or PSUM (2), found {}", operand, static_cast<unsigned>(access.space));
    }
    if (static_cast<unsigned>(access.format) >= kFormats) {
      fail("{}: format {} is not one of the {} formats", operand, static_cast<unsigned>(access.format), kFormats);
    }
    if (access.offset_register != TensorAccess::kNoRegister && access.offset_register >= kRegisters) {
      fail("{}: offset register {} does not exist; registers are 0 to {}", operand, access.offset_register,
           kRegisters - 1);
    }
    if (access.start_partition > kMaxByte) {
      fail("{}: start partition {} cannot be encoded; it must be 0 to {}", operand, access.start_partition, kMaxByte);
    }
    if (access.partitions < 1 || access.partitions > kMaxByte) {
      fail("{}: {} partitions cannot be encoded; it must be 1 to {}", operand, access.partitions, kMaxByte);
    }
    if (access.dims < 1 || access.dims > kMaxFreeDims) {
      fail("{}: {} free dimensions; it must be 1 to {}", operand, access.dims, kMaxFreeDims);
      return;
    }
    constexpr std::uint64_t limit = std::numeric_limits<std::int32_t>::max();
    std::uint64_t elements = 1;
    for (std::size_t d = 0; d < kMaxFreeDims; ++d) {
      const FreeDim& dim = access.free[d];
      if (d >= access.dims) {
        if (dim.step != 1 || dim.size != 1)
          fail("{}: free dimension {} is set but only {} are in use", operand, d, access.dims);
      } else if (dim.size == 0) {
        fail("{}: free dimension {} has size 0; it must be 1 to 65535", operand, d);
      } else {
        elements = std::min(elements * dim.size, limit + 1);
      }
    }
    if (elements > limit) fail("{}: more than {} elements per partition", operand, limit);
  }

  void check_immediates() {
    const OpcodeInfo& info = opcode_info(instruction_.opcode);
    for (std::size_t i = 0; i < instruction_.immediate.size(); ++i) {
      if (instruction_.immediate[i] == 0) continue;
      if (i >= info.immediates.size()) {
        fail("{} takes {} immediates, but immediate {} is set", info.name, info.immediates.size(), i);
        continue;
      }
      const std::string_view immediate = plain_name(info.immediates[i]);
      for (std::size_t o = 0; o < info.operands.size(); ++o) {
        if (plain_name(info.operands[o]) == immediate && !(instruction_.operand[o] == TensorAccess{})) {
          fail("{}: {} is given both as a tile and as a constant", info.name, immediate);
        }
      }
    }
  }

  void check_parameters() {
    std::uint16_t flags = 0;
    std::array<bool, 3> alu_ops{};
    bool function = false, reg = false, source = false, source2 = false, compare = false, target = false,
         address = false;
    bool dma = false;
    for (const Parameter& parameter : opcode_parameters(instruction_.opcode)) {
      switch (parameter.field) {
        case ParameterField::AluOp:
          alu_ops[parameter.which] = true;
          break;
        case ParameterField::Function:
          function = true;
          break;
        case ParameterField::Flag:
          flags = static_cast<std::uint16_t>(flags | parameter.which);
          break;
        case ParameterField::Register:
          reg = true;
          break;
        case ParameterField::Source:
          source = true;
          break;
        case ParameterField::Source2:
          source2 = true;
          break;
        case ParameterField::Compare:
          compare = true;
          break;
        case ParameterField::Target:
          target = true;
          break;
        case ParameterField::Address:
          address = true;
          break;
        case ParameterField::DmaDst:
        case ParameterField::DmaSrc:
        case ParameterField::DmaBytes:
        case ParameterField::DmaQueue:
          dma = true;
          break;
      }
    }
    const unsigned other_flags = instruction_.flags & ~static_cast<unsigned>(flags);
    if (other_flags != 0) fail("{} does not take the flags {:#x}", name(), other_flags);
    for (std::size_t i = 0; i < alu_ops.size(); ++i) {
      if (instruction_.alu_op[i] >= AluOp::Count_) {
        fail("alu_op[{}] is {}, which is no operator; the last is {}", i, static_cast<unsigned>(instruction_.alu_op[i]),
             static_cast<unsigned>(AluOp::Count_) - 1);
      } else if (!alu_ops[i] && instruction_.alu_op[i] != AluOp::Bypass) {
        unused(fmt::format("alu_op[{}]", i), false);
      }
    }
    unused("function", function || instruction_.function == 0);

    const bool always = instruction_.condition == BranchCondition::Always;
    check_enum("condition", instruction_.condition, BranchCondition::GreaterEqual);
    const bool compared = compare && !always;
    unused("reg", reg || compared || instruction_.reg == 0);
    unused("source", source || compared || instruction_.source == ScalarSource{});
    unused("source2", source2 || instruction_.source2 == ScalarSource{});
    unused("condition", compare || always);
    unused("target", target || instruction_.target == 0);
    unused("address", address || instruction_.address == 0);
    if (instruction_.reg >= kRegisters)
      fail("register {} does not exist; registers are 0 to {}", instruction_.reg, kRegisters - 1);
    check_source("source", instruction_.source);
    check_source("source2", instruction_.source2);

    if (dma) {
      check_dma();
    } else {
      const Instruction plain;
      unused("a DMA field", instruction_.dma_dst == plain.dma_dst && instruction_.dma_src == plain.dma_src &&
                                instruction_.dma_bytes == plain.dma_bytes &&
                                instruction_.dma_queue == plain.dma_queue &&
                                instruction_.dma_dst_format == plain.dma_dst_format &&
                                instruction_.dma_src_format == plain.dma_src_format);
    }
  }

  void unused(std::string_view field, bool fine) {
    if (!fine) fail("{} does not use {}, but it is set", name(), field);
  }

  void check_source(std::string_view field, const ScalarSource& source) {
    if (source.is_register && source.immediate != 0) fail("{} is a register and has an immediate", field);
    if (!source.is_register && source.reg != 0) fail("{} is an immediate and names a register", field);
    if (source.reg >= kRegisters)
      fail("{}: register {} does not exist; registers are 0 to {}", field, source.reg, kRegisters - 1);
  }

  void check_dma() {
    for (const auto& [side, access] : {std::pair<std::string_view, const DmaAccess&>{"dst", instruction_.dma_dst},
                                       std::pair<std::string_view, const DmaAccess&>{"src", instruction_.dma_src}}) {
      if (access.outer.count == 0 || access.inner.count == 0) fail("{}: a row count is 0; it must be at least 1", side);
    }
    if (instruction_.dma_bytes == 0) fail("{} moves 0 bytes a row; it must be at least 1", name());
    if (instruction_.dma_queue >= kDmaQueues) {
      fail("DMA queue {} does not exist; queues are 0 to {}", instruction_.dma_queue, kDmaQueues - 1);
    }
    for (const Format format : {instruction_.dma_dst_format, instruction_.dma_src_format}) {
      if (static_cast<unsigned>(format) >= kFormats) {
        fail("DMA format {} is not one of the {} formats", static_cast<unsigned>(format), kFormats);
      }
    }
  }

  const Instruction& instruction_;
  std::vector<std::string> problems_;
};

void encode_access(const TensorAccess& access, std::uint8_t* bytes) {
  if (access.space == MemorySpace::None) return;
  bytes[0] = static_cast<std::uint8_t>(access.space);
  bytes[1] = static_cast<std::uint8_t>(access.format);
  bytes[2] = access.offset_register;
  bytes[3] = access.dims;
  bytes[4] = static_cast<std::uint8_t>(access.start_partition);
  bytes[5] = static_cast<std::uint8_t>(access.partitions);
  store_le(bytes + 8, access.offset_bytes);
  for (std::size_t d = 0; d < access.dims; ++d) {
    store_le(bytes + 12 + 4 * d, access.free[d].step);
    store_le(bytes + 14 + 4 * d, access.free[d].size);
  }
}

TensorAccess decode_access(const std::uint8_t* bytes) {
  TensorAccess access;
  if (bytes[0] == 0) return access;
  access.space = static_cast<MemorySpace>(bytes[0]);
  access.format = static_cast<Format>(bytes[1]);
  access.offset_register = bytes[2];
  access.dims = bytes[3];
  access.start_partition = bytes[4];
  access.partitions = bytes[5];
  access.offset_bytes = load_le<std::uint32_t>(bytes + 8);
  for (std::size_t d = 0; d < std::min<std::size_t>(access.dims, kMaxFreeDims); ++d) {
    access.free[d].step = load_le<std::int16_t>(bytes + 12 + 4 * d);
    access.free[d].size = load_le<std::uint16_t>(bytes + 14 + 4 * d);
  }
  return access;
}

void encode_dma_access(const DmaAccess& access, std::uint8_t* bytes) {
  store_le(bytes, access.address);
  store_le(bytes + 8, access.outer.stride_bytes);
  store_le(bytes + 16, access.inner.stride_bytes);
  store_le(bytes + 24, access.outer.count);
  store_le(bytes + 28, access.inner.count);
}

DmaAccess decode_dma_access(const std::uint8_t* bytes) {
  DmaAccess access;
  access.address = load_le<std::uint64_t>(bytes);
  access.outer.stride_bytes = load_le<std::int64_t>(bytes + 8);
  access.inner.stride_bytes = load_le<std::int64_t>(bytes + 16);
  access.outer.count = load_le<std::uint32_t>(bytes + 24);
  access.inner.count = load_le<std::uint32_t>(bytes + 28);
  return access;
}

}  // namespace

std::vector<std::string> validate_instruction(const Instruction& instruction) { return Validator(instruction).run(); }

EncodedInstruction encode_instruction(const Instruction& instruction) {
  EncodedInstruction bytes{};
  bytes[0] = static_cast<std::uint8_t>(instruction.opcode);
  bytes[1] = instruction.operand_count;
  store_le(&bytes[2], instruction.flags);
  bytes[4] = static_cast<std::uint8_t>(instruction.wait.condition);
  bytes[5] = static_cast<std::uint8_t>(instruction.wait.reason);
  bytes[6] = instruction.wait.semaphore;
  store_le(&bytes[8], instruction.wait.value);
  bytes[12] = static_cast<std::uint8_t>(instruction.update.op);
  bytes[13] = static_cast<std::uint8_t>(instruction.update.timing);
  bytes[14] = instruction.update.semaphore;
  store_le(&bytes[16], instruction.update.value);
  for (std::size_t i = 0; i < 3; ++i) bytes[20 + i] = static_cast<std::uint8_t>(instruction.alu_op[i]);
  bytes[23] = instruction.function;
  for (std::size_t i = 0; i < 4; ++i) store_le(&bytes[kImmediateOffset + 4 * i], instruction.immediate[i]);
  for (std::size_t i = 0; i < kMaxOperands; ++i) {
    encode_access(instruction.operand[i], &bytes[kOperandOffset + kOperandBytes * i]);
  }
  switch (tail_of(instruction.opcode)) {
    case Tail::None:
      break;
    case Tail::Sequencer:
      bytes[kTailOffset] = instruction.reg;
      bytes[181] = static_cast<std::uint8_t>(instruction.condition);
      bytes[182] = instruction.source.is_register ? 1 : 0;
      bytes[183] = instruction.source.reg;
      store_le(&bytes[184], instruction.source.immediate);
      bytes[188] = instruction.source2.is_register ? 1 : 0;
      bytes[189] = instruction.source2.reg;
      store_le(&bytes[192], instruction.source2.immediate);
      store_le(&bytes[196], instruction.target);
      store_le(&bytes[200], instruction.address);
      break;
    case Tail::Dma:
      bytes[kTailOffset] = instruction.dma_queue;
      bytes[181] = static_cast<std::uint8_t>(instruction.dma_dst_format);
      bytes[182] = static_cast<std::uint8_t>(instruction.dma_src_format);
      encode_dma_access(instruction.dma_dst, &bytes[kDmaDstOffset]);
      encode_dma_access(instruction.dma_src, &bytes[kDmaSrcOffset]);
      store_le(&bytes[248], instruction.dma_bytes);
      break;
  }
  return bytes;
}

DecodeResult decode_instruction(const EncodedInstruction& bytes) {
  Instruction instruction;
  instruction.opcode = static_cast<Opcode>(bytes[0]);
  instruction.operand_count = bytes[1];
  instruction.flags = load_le<std::uint16_t>(&bytes[2]);
  instruction.wait.condition = static_cast<WaitCondition>(bytes[4]);
  instruction.wait.reason = static_cast<WaitReason>(bytes[5]);
  instruction.wait.semaphore = bytes[6];
  instruction.wait.value = load_le<std::uint32_t>(&bytes[8]);
  instruction.update.op = static_cast<UpdateOp>(bytes[12]);
  instruction.update.timing = static_cast<UpdateTiming>(bytes[13]);
  instruction.update.semaphore = bytes[14];
  instruction.update.value = load_le<std::uint32_t>(&bytes[16]);
  for (std::size_t i = 0; i < 3; ++i) instruction.alu_op[i] = static_cast<AluOp>(bytes[20 + i]);
  instruction.function = bytes[23];
  for (std::size_t i = 0; i < 4; ++i)
    instruction.immediate[i] = load_le<std::uint32_t>(&bytes[kImmediateOffset + 4 * i]);
  for (std::size_t i = 0; i < kMaxOperands; ++i) {
    instruction.operand[i] = decode_access(&bytes[kOperandOffset + kOperandBytes * i]);
  }
  switch (tail_of(instruction.opcode)) {
    case Tail::None:
      break;
    case Tail::Sequencer:
      instruction.reg = bytes[kTailOffset];
      instruction.condition = static_cast<BranchCondition>(bytes[181]);
      instruction.source.is_register = bytes[182] != 0;
      instruction.source.reg = bytes[183];
      instruction.source.immediate = load_le<std::uint32_t>(&bytes[184]);
      instruction.source2.is_register = bytes[188] != 0;
      instruction.source2.reg = bytes[189];
      instruction.source2.immediate = load_le<std::uint32_t>(&bytes[192]);
      instruction.target = load_le<std::uint32_t>(&bytes[196]);
      instruction.address = load_le<std::uint64_t>(&bytes[200]);
      break;
    case Tail::Dma:
      instruction.dma_queue = bytes[kTailOffset];
      instruction.dma_dst_format = static_cast<Format>(bytes[181]);
      instruction.dma_src_format = static_cast<Format>(bytes[182]);
      instruction.dma_dst = decode_dma_access(&bytes[kDmaDstOffset]);
      instruction.dma_src = decode_dma_access(&bytes[kDmaSrcOffset]);
      instruction.dma_bytes = load_le<std::uint32_t>(&bytes[248]);
      break;
  }

  DecodeResult result;
  const std::vector<std::string> problems = validate_instruction(instruction);
  if (!problems.empty()) {
    result.error = problems.front();
    return result;
  }
  // What the struct does not hold must be zero: reserved bytes, unused dimensions and operands, booleans above 1.
  const EncodedInstruction again = encode_instruction(instruction);
  const auto difference = std::mismatch(bytes.begin(), bytes.end(), again.begin());
  if (difference.first != bytes.end()) {
    result.error =
        fmt::format("byte {} is {:#04x}; it is reserved for {} and must be {:#04x}", difference.first - bytes.begin(),
                    *difference.first, opcode_info(instruction.opcode).name, *difference.second);
    return result;
  }
  result.instruction = instruction;
  return result;
}

}  // namespace azulejo
