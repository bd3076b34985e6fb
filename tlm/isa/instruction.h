// SPDX-License-Identifier: Apache-2.0
// Instructions of a NeuronCore: those of NKI's public ISA with its names and operands, plus the sequencer's own
// (semaphores, registers, branches), as plain structs.
//
// Pure data; no SystemC. The binary layout is in encoding.h, the text form in assembler.h, names, engines and
// documented costs in opcode_table.h. Source: NKI ISA reference (nki.isa), SDK 2.26 docstrings; layout and text form
// are this project's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tlm/numerics/format.h"

namespace azulejo {

inline constexpr std::uint32_t kPartitions = 128;
inline constexpr std::uint32_t kSemaphores = 256;  // per NeuronCore; aws-neuron-driver address_map.h
inline constexpr std::uint32_t kRegisters = 64;    // per engine, 32 bits each; NKI architecture guide, "sequencers"
inline constexpr std::uint32_t kDmaEngines = 16;   // per NeuronCore; NKI DMA guide
inline constexpr std::uint32_t kDmaQueues = 16;    // per DMA engine; NKI DMA guide
inline constexpr std::uint32_t kMaxFreeDims = 4;   // NKI access patterns: partition plus up to four free dimensions
inline constexpr std::uint32_t kMaxOperands = 5;   // nc_matmul_mx: dst, stationary, moving and two scales

enum class EngineId : std::uint8_t { Tensor, Vector, Scalar, GpSimd, Sync };
inline constexpr std::uint32_t kEngines = 5;

enum class Opcode : std::uint8_t {
  // Sequencer: every engine.
  Nop,
  Halt,
  SemaphoreWait,       // waits by its `wait` field only
  SemaphoreIncrement,  // updates by its `update` field only
  RegisterMove,        // dst = source
  RegisterAdd,         // dst = source + second source
  RegisterLoad,        // dst = 32-bit word of memory
  RegisterStore,       // 32-bit word of memory = source
  CompareBranch,       // if (register <condition> source) pc = target
  // DMA: triggered from any engine's queue.
  DmaCopy,
  DmaTranspose,
  DmaCompute,
  Sendrecv,
  CoreBarrier,
  // Tensor engine.
  LoadStationary,  // LS: stationary tile into the shadow weights
  NcMatmul,        // MM: streams the moving tile past the loaded weights
  NcMatmulMx,
  NcTranspose,  // Tensor or Vector engine
  // Scalar engine.
  Activation,
  ActivationReduce,
  Activate2,
  // Vector, Scalar and GpSimd engines.
  TensorCopy,
  TensorCopyDynamicSrc,
  TensorCopyDynamicDst,
  TensorCopyPredicated,
  TensorTensor,
  TensorTensorScan,
  TensorScalar,
  TensorScalarReduce,
  TensorScalarCumulative,
  ScalarTensorTensor,
  TensorReduce,
  TensorPartitionReduce,
  SelectReduce,
  RangeSelect,
  AffineSelect,
  Exponential,
  Reciprocal,
  Rsqrt,
  BnStats,
  BnAggr,
  Dropout,
  Memset,
  Iota,
  NcStreamShuffle,
  Max8,
  NcFindIndex8,
  NcMatchReplace8,
  LocalGather,
  NcNGather,
  Topk,
  NonzeroWithCount,
  SequenceBounds,
  Rng,
  Rand2,
  RandSetState,
  RandGetState,
  SetRngSeed,
  QuantizeMx,
  Count_,
};

enum class AluOp : std::uint8_t {
  Bypass,
  Add,
  Subtract,
  Multiply,
  Max,
  Min,
  Equal,
  NotEqual,
  GreaterEqual,
  Greater,
  LessEqual,
  Less,
  LogicalAnd,
  LogicalOr,
  LogicalXor,
  BitwiseAnd,
  BitwiseOr,
  BitwiseXor,
  BitwiseInvert,
  ShiftLeft,
  ShiftRight,
  Pow,
  AbsMax,
  AbsMin,
  Abs,
  Square,
  Relu,
  Rsqrt,
  Reciprocal,
  Count_,
};

enum class MemorySpace : std::uint8_t { None, Sbuf, Psum };

// One free dimension of an access pattern: `size` elements, `step` elements apart.
struct FreeDim {
  std::int16_t step = 1;
  std::uint16_t size = 1;
};

// A tile in SBUF or PSUM: the same free pattern on `partitions` partitions from `start_partition`.
// Element (i0, i1, i2, i3) of a partition lies at offset_bytes + register + sum(i_d * step_d) * element size.
struct TensorAccess {
  static constexpr std::uint8_t kNoRegister = 0xFF;

  MemorySpace space = MemorySpace::None;
  Format format = Format::Fp32;
  std::uint8_t offset_register = kNoRegister;  // adds this register's value in bytes
  std::uint8_t dims = 1;                       // free dimensions in use, 1..4, outermost first
  std::uint16_t start_partition = 0;
  std::uint16_t partitions = 0;
  std::uint32_t offset_bytes = 0;  // of the first element, within each partition
  std::array<FreeDim, kMaxFreeDims> free{};

  // Elements per partition.
  std::uint32_t free_size() const {
    std::uint32_t elements = 1;
    for (std::uint32_t d = 0; d < dims; ++d) elements *= free[d].size;
    return elements;
  }
  // True if the elements of a partition lie next to each other in order.
  bool contiguous() const {
    std::uint32_t expected = 1;
    for (std::uint32_t d = dims; d-- > 0;) {
      if (free[d].size != 1 && free[d].step != static_cast<std::int32_t>(expected)) return false;
      expected *= free[d].size;
    }
    return true;
  }
};

// One dimension of a DMA side: `count` steps of `stride_bytes`.
struct DmaDim {
  std::uint32_t count = 1;
  std::int64_t stride_bytes = 0;
};

// One side of a DMA: `rows` contiguous pieces of memory, each row one or more descriptors. Row (i0, i1) starts at
// address + i0 * outer.stride + i1 * inner.stride. An SBUF or PSUM address is the core's MMIO window: see
// address_map.h.
struct DmaAccess {
  std::uint64_t address = 0;
  DmaDim outer;
  DmaDim inner;

  std::uint64_t rows() const { return std::uint64_t{outer.count} * inner.count; }
};

enum class WaitCondition : std::uint8_t { None, GreaterEqual, Equal, LessEqual };

// Why a program waits; set by whoever inserted the wait, used only to attribute the time.
enum class WaitReason : std::uint8_t {
  Program,    // written by the author
  Data,       // the operand is not there yet
  SbufSpace,  // an SBUF buffer is still in use
  PsumSpace,  // a PSUM buffer is still in use
  DmaOrder,   // the DMA's semaphore is still in use by an earlier transfer
};

struct SemaphoreWait {
  WaitCondition condition = WaitCondition::None;
  WaitReason reason = WaitReason::Program;
  std::uint8_t semaphore = 0;
  std::uint32_t value = 0;
};

enum class UpdateOp : std::uint8_t { None, Increment, Decrement, AddImmediate, SubImmediate, WriteImmediate };
enum class UpdateTiming : std::uint8_t { Complete, Read };  // Read: when the operands start being read

struct SemaphoreUpdate {
  UpdateOp op = UpdateOp::None;
  UpdateTiming timing = UpdateTiming::Complete;
  std::uint8_t semaphore = 0;
  std::uint32_t value = 0;
};

// A 32-bit source of the sequencer: a register or an immediate.
struct ScalarSource {
  bool is_register = false;
  std::uint8_t reg = 0;
  std::uint32_t immediate = 0;
};

enum class BranchCondition : std::uint8_t { Always, Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

// Flags of Instruction::flags.
inline constexpr std::uint16_t kFlagAccumulate = 1 << 0;         // nc_matmul: add into PSUM
inline constexpr std::uint16_t kFlagStochastic = 1 << 1;         // round the output stochastically
inline constexpr std::uint16_t kFlagSaturate = 1 << 2;           // overflow saturates
inline constexpr std::uint16_t kFlagTransposeMode = 1 << 3;      // nc_matmul: is_transpose
inline constexpr std::uint16_t kFlagStationaryOneZero = 1 << 4;  // nc_matmul: is_stationary_onezero
inline constexpr std::uint16_t kFlagMovingOneZero = 1 << 5;      // nc_matmul: is_moving_onezero
inline constexpr std::uint16_t kFlagReverse0 = 1 << 6;           // swap the operands of alu_op[0]
inline constexpr std::uint16_t kFlagReverse1 = 1 << 7;           // swap the operands of alu_op[1]
inline constexpr std::uint16_t kFlagNegate = 1 << 8;
inline constexpr std::uint16_t kFlagMask = 0x1FF;

// One instruction. Fields that an opcode does not use keep their defaults (the encoder refuses others).
struct Instruction {
  Opcode opcode = Opcode::Nop;
  std::uint16_t flags = 0;
  SemaphoreWait wait;                        // before issue
  SemaphoreUpdate update;                    // at `update.timing`
  std::array<AluOp, 3> alu_op{};             // op0, op1, reduce op
  std::uint8_t function = 0;                 // activation function, rounding or random distribution, by opcode
  std::array<std::uint32_t, 4> immediate{};  // scalar parameters, by opcode (FP32 bits or integers)
  std::uint8_t operand_count = 0;
  std::array<TensorAccess, kMaxOperands> operand{};  // destination first, then sources in NKI's order

  // Sequencer.
  std::uint8_t reg = 0;  // destination or compared register
  ScalarSource source;
  ScalarSource source2;
  BranchCondition condition = BranchCondition::Always;
  std::uint32_t target = 0;   // branch target, an instruction index
  std::uint64_t address = 0;  // register_load / register_store

  // DMA. The element format matters only when the two differ (conversion through FP32).
  DmaAccess dma_dst;
  DmaAccess dma_src;
  std::uint32_t dma_bytes = 0;  // bytes a row at the source
  Format dma_dst_format = Format::Uint8;
  Format dma_src_format = Format::Uint8;
  std::uint8_t dma_queue = 0;  // queue index on each of the 16 DMA engines
};

// What the five engines of one core run.
struct Program {
  std::array<std::vector<Instruction>, kEngines> code;

  std::vector<Instruction>& operator[](EngineId engine) { return code[static_cast<std::size_t>(engine)]; }
  const std::vector<Instruction>& operator[](EngineId engine) const { return code[static_cast<std::size_t>(engine)]; }
};

// Field-wise equality, for round-trip tests and to tell fields left at their defaults.
bool operator==(const TensorAccess& a, const TensorAccess& b);
bool operator==(const DmaAccess& a, const DmaAccess& b);
bool operator==(const SemaphoreWait& a, const SemaphoreWait& b);
bool operator==(const SemaphoreUpdate& a, const SemaphoreUpdate& b);
bool operator==(const ScalarSource& a, const ScalarSource& b);
bool operator==(const Instruction& a, const Instruction& b);
inline bool operator!=(const Instruction& a, const Instruction& b) { return !(a == b); }

}  // namespace azulejo
