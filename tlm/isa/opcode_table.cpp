// SPDX-License-Identifier: Apache-2.0
// The instruction table and the names of engines and operators.
//
// Sources: operands and parameters: nki.isa of SDK 2.32 (removed ones: 2.26). Costs: the docstrings of SDK 2.26,
// dropped from the documentation later. N is the elements per partition of the (input) tile, P its partitions, F its
// free size.
#include "tlm/isa/opcode_table.h"

#include <array>
#include <cstddef>

namespace azulejo {

namespace {

constexpr std::uint8_t bit(EngineId engine) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(engine)); }

constexpr std::uint8_t kTensor = bit(EngineId::Tensor);
constexpr std::uint8_t kVector = bit(EngineId::Vector);
constexpr std::uint8_t kScalar = bit(EngineId::Scalar);
constexpr std::uint8_t kGpSimd = bit(EngineId::GpSimd);
constexpr std::uint8_t kAll = kTensor | kVector | kScalar | kGpSimd | bit(EngineId::Sync);

constexpr OpcodeStatus kExecuted = OpcodeStatus::Executed;
constexpr OpcodeStatus kDefined = OpcodeStatus::Defined;

constexpr std::string_view kIsa226 = "SDK 2.26 nki.isa docstring";
constexpr std::string_view kIsa = "SDK 2.32 nki.isa";
constexpr std::string_view kSequencer = "NKI architecture guide, engine sequencers";
constexpr std::string_view kSemaphores = "Neuron Explorer profile schema, semaphore updates";

// In the order of enum Opcode.
std::vector<OpcodeInfo> make_table() {
  return {
      // Sequencer.
      {Opcode::Nop, "nop", kAll, {}, {}, "", "", kSequencer, kExecuted},
      {Opcode::Halt, "halt", kAll, {}, {}, "", "", "azulejo: ends an engine's program", kExecuted},
      {Opcode::SemaphoreWait, "semaphore_wait", kAll, {}, {}, "", "", kSemaphores, kExecuted},
      {Opcode::SemaphoreIncrement, "semaphore_increment", kAll, {}, {}, "", "", kSemaphores, kExecuted},
      {Opcode::RegisterMove, "register_move", kAll, {}, {}, "dst, src", "", kIsa, kExecuted},
      {Opcode::RegisterAdd, "register_add", kAll, {}, {}, "dst, src, src2", "", kSequencer, kExecuted},
      {Opcode::RegisterLoad, "register_load", kAll, {}, {}, "dst, address", "", kIsa, kDefined},
      {Opcode::RegisterStore, "register_store", kAll, {}, {}, "address, src", "", kIsa, kDefined},
      {Opcode::CompareBranch,
       "compare_branch",
       kAll,
       {},
       {},
       "condition, target",
       "",
       "NKI architecture guide, engine sequencers; runtime opcode COMPARE_BRANCH",
       kExecuted},
      // DMA.
      {Opcode::DmaCopy, "dma_copy", kAll, {}, {}, "dst, src, bytes, queue?, stochastic, saturate", "", kIsa, kExecuted},
      {Opcode::DmaTranspose, "dma_transpose", kAll, {}, {}, "dst, src, bytes, queue?", "", kIsa, kDefined},
      {Opcode::DmaCompute,
       "dma_compute",
       kAll,
       {},
       {},
       "dst, src (the second source is dst), bytes, queue?, reduce_op (add only), stochastic, saturate",
       "",
       kIsa,
       kDefined},
      {Opcode::Sendrecv,
       "sendrecv",
       kAll,
       {},
       {"send_to_rank", "recv_from_rank", "pipe_id"},
       "dst, src, bytes, queue?",
       "",
       kIsa,
       kDefined},
      {Opcode::CoreBarrier, "core_barrier", kAll, {}, {"cores"}, "", "", kIsa, kDefined},
      // Tensor engine. nc_matmul multiplies by the loaded weights; its `stationary` only tells a reader which they are.
      {Opcode::LoadStationary,
       "load_stationary",
       kTensor,
       {"stationary"},
       {},
       "",
       "32 (fast) to 128, hidden behind the running matmul",
       "NKI architecture guides, tensor engine",
       kExecuted},
      {Opcode::NcMatmul,
       "nc_matmul",
       kTensor,
       {"dst", "stationary?", "moving"},
       {},
       "accumulate, is_transpose, is_stationary_onezero, is_moving_onezero, stochastic, saturate",
       "max(min(64, N_stationary), N_moving); 4 times that for FP32",
       kIsa226,
       kExecuted},
      {Opcode::NcMatmulMx,
       "nc_matmul_mx",
       kTensor,
       {"dst", "stationary", "moving", "stationary_scale", "moving_scale"},
       {},
       "accumulate, stochastic, saturate",
       "",
       kIsa,
       kDefined},
      {Opcode::NcTranspose,
       "nc_transpose",
       kTensor | kVector,
       {"dst", "data"},
       {},
       "",
       "vector: max(64, N); tensor: max(P, min(64, F))",
       kIsa226,
       kDefined},
      // Scalar engine.
      {Opcode::Activation,
       "activation",
       kScalar,
       {"dst", "data", "bias?", "scale?", "reduce_res?"},
       {"scale?", "bias?", "reduce_cmd?"},
       "function, reduce_op?, stochastic, saturate",
       "max(64, N)",
       kIsa226,
       kDefined},
      {Opcode::ActivationReduce,
       "activation_reduce",
       kScalar,
       {"dst", "data", "bias?", "scale?", "reduce_res"},
       {"scale?", "bias?"},
       "function, reduce_op, stochastic, saturate",
       "max(64, N) + 64",
       kIsa226,
       kDefined},
      {Opcode::Activate2,
       "activate2",
       kScalar,
       {"dst", "data", "imm0?", "imm1?", "reduce_res?"},
       {"imm0?", "imm1?", "relu_param?", "reduce_cmd?"},
       "function, op0?, op1?, reduce_op?, reverse0, reverse1, stochastic, saturate",
       "",
       kIsa,
       kDefined},
      // Vector, Scalar and GpSimd engines.
      {Opcode::TensorCopy,
       "tensor_copy",
       kVector | kScalar | kGpSimd,
       {"dst", "src"},
       {},
       "stochastic, saturate",
       "max(64, N)",
       kIsa226,
       kExecuted},
      {Opcode::TensorCopyDynamicSrc,
       "tensor_copy_dynamic_src",
       kVector | kScalar | kGpSimd,
       {"dst", "src"},
       {},
       "stochastic, saturate",
       "max(600, N)",
       kIsa226,
       kDefined},
      {Opcode::TensorCopyDynamicDst,
       "tensor_copy_dynamic_dst",
       kVector | kScalar | kGpSimd,
       {"dst", "src"},
       {},
       "stochastic, saturate",
       "max(600, N)",
       kIsa226,
       kDefined},
      {Opcode::TensorCopyPredicated,
       "tensor_copy_predicated",
       kVector,
       {"dst", "src?", "predicate"},
       {"src?"},
       "reverse_pred",
       "max(64, N) if src or predicate is in PSUM; max(64, 2N) if src and dst are in SBUF",
       kIsa226,
       kDefined},
      {Opcode::TensorTensor,
       "tensor_tensor",
       kVector | kGpSimd,
       {"dst", "data1", "data2"},
       {},
       "op (executed: add only), stochastic, saturate",
       "max(64, N) if one input is in PSUM, or all are BF16, contiguous, in SBUF and op is add, subtract or multiply; "
       "else max(64, 2N)",
       kIsa226,
       kExecuted},
      {Opcode::TensorTensorScan,
       "tensor_tensor_scan",
       kVector,
       {"dst", "data0", "data1", "initial?"},
       {"initial?"},
       "op0, op1, reverse0, reverse1, stochastic, saturate",
       "max(64, 2N)",
       kIsa226,
       kDefined},
      {Opcode::TensorScalar,
       "tensor_scalar",
       kVector | kScalar | kGpSimd,
       {"dst", "data", "operand0?", "operand1?"},
       {"operand0?", "operand1?"},
       "op0, op1?, reverse0, reverse1, stochastic, saturate",
       "max(64, N)",
       kIsa226,
       kDefined},
      {Opcode::TensorScalarReduce,
       "tensor_scalar_reduce",
       kVector,
       {"dst", "data", "operand0?", "reduce_res"},
       {"operand0?", "reduce_cmd?", "reduce_init?"},
       "op0, reduce_op, reverse0, stochastic, saturate",
       "max(64, N) + 64",
       kIsa226,
       kDefined},
      {Opcode::TensorScalarCumulative,
       "tensor_scalar_cumulative",
       kVector,
       {"dst", "src", "imm0?", "imm1?"},
       {"imm0?", "imm1?", "reduce_cmd?"},
       "op0, op1, reverse0, stochastic, saturate",
       "",
       kIsa,
       kDefined},
      {Opcode::ScalarTensorTensor,
       "scalar_tensor_tensor",
       kVector,
       {"dst", "data", "operand0?", "operand1"},
       {"operand0?"},
       "op0, op1, reverse0, reverse1, stochastic, saturate",
       "N if BF16, subtract then multiply and N even; else 2N",
       kIsa226,
       kDefined},
      {Opcode::TensorReduce,
       "tensor_reduce",
       kVector,
       {"dst", "data"},
       {"axes"},
       "op, negate, stochastic, saturate",
       "N/2 for BF16 in and out with add or maximum; else N",
       kIsa226,
       kDefined},
      {Opcode::TensorPartitionReduce,
       "tensor_partition_reduce",
       kGpSimd,
       {"dst", "data"},
       {},
       "op, stochastic, saturate",
       "",
       kIsa,
       kDefined},
      {Opcode::SelectReduce,
       "select_reduce",
       kVector,
       {"dst", "predicate", "on_true", "on_false?", "reduce_res?"},
       {"on_false?", "reduce_cmd?"},
       "reduce_op?, reverse_pred, stochastic, saturate",
       "",
       kIsa,
       kDefined},
      {Opcode::RangeSelect,
       "range_select",
       kVector,
       {"dst", "on_true_tile", "bound0", "bound1", "reduce_res?"},
       {"range_start?", "on_false_value", "reduce_cmd?"},
       "comp_op0, comp_op1, reduce_op?, stochastic, saturate",
       "max(64, N)",
       kIsa226,
       kDefined},
      {Opcode::AffineSelect,
       "affine_select",
       kGpSimd,
       {"dst", "pattern", "on_true_tile"},
       {"offset?", "channel_multiplier", "on_false_value"},
       "cmp_op, stochastic, saturate",
       "150 + N",
       kIsa226,
       kDefined},
      {Opcode::Exponential,
       "exponential",
       kVector,
       {"dst", "src", "max_value?", "reduce_res?"},
       {"max_value?", "reduce_cmd?", "reduce_init?"},
       "stochastic, saturate",
       "a quarter of the scalar engine's",
       kIsa,
       kDefined},
      {Opcode::Reciprocal,
       "reciprocal",
       kVector,
       {"dst", "data"},
       {},
       "stochastic, saturate",
       "max(64, 8N)",
       kIsa226,
       kDefined},
      {Opcode::Rsqrt,
       "rsqrt",
       kGpSimd,
       {"dst", "data"},
       {},
       "stochastic, saturate",
       "4 times the scalar engine's",
       kIsa226,
       kDefined},
      {Opcode::BnStats,
       "bn_stats",
       kVector,
       {"dst", "data"},
       {},
       "stochastic, saturate",
       "max(64, N)",
       kIsa226,
       kDefined},
      {Opcode::BnAggr,
       "bn_aggr",
       kVector,
       {"dst", "data"},
       {},
       "stochastic, saturate",
       "max(64, 13N/3)",
       kIsa226,
       kDefined},
      {Opcode::Dropout,
       "dropout",
       kVector,
       {"dst", "data", "prob?"},
       {"prob?"},
       "stochastic, saturate",
       "max(64, N)",
       kIsa226,
       kDefined},
      {Opcode::Memset,
       "memset",
       kVector | kGpSimd,
       {"dst"},
       {"value"},
       "stochastic, saturate",
       "max(64, N/2) for zero in BF16 or FP16; else max(64, N)",
       kIsa226,
       kExecuted},
      {Opcode::Iota,
       "iota",
       kGpSimd,
       {"dst", "pattern"},
       {"offset?", "channel_multiplier?"},
       "stochastic, saturate",
       "150 + N",
       kIsa226,
       kDefined},
      {Opcode::NcStreamShuffle,
       "nc_stream_shuffle",
       kVector,
       {"dst", "src", "shuffle_mask"},
       {},
       "",
       "max(64, N)",
       kIsa226,
       kDefined},
      {Opcode::Max8, "max8", kVector, {"dst", "src"}, {}, "stochastic, saturate", "N", kIsa226, kDefined},
      {Opcode::NcFindIndex8, "nc_find_index8", kVector, {"dst", "data", "vals"}, {}, "", "N", kIsa226, kDefined},
      {Opcode::NcMatchReplace8,
       "nc_match_replace8",
       kVector,
       {"dst", "data", "vals", "dst_idx?"},
       {"imm"},
       "stochastic, saturate",
       "min(64, N) as documented; max is meant (assumed)",
       kIsa226,
       kDefined},
      {Opcode::LocalGather,
       "local_gather",
       kGpSimd,
       {"dst", "src_buffer", "index"},
       {"num_elem_per_idx", "num_valid_indices"},
       "",
       "150 + indices*e/C, C = ((28 + 4e)/(4e)) / min(4/dtype_bytes, e), e = num_elem_per_idx",
       kIsa226,
       kDefined},
      {Opcode::NcNGather,
       "nc_n_gather",
       kGpSimd,
       {"dst", "data", "indices"},
       {},
       "",
       "ceil(N/512) instruction groups",
       kIsa,
       kDefined},
      {Opcode::Topk, "topk", kGpSimd, {"dst", "src"}, {"k"}, "", "4n + K", kIsa, kDefined},
      {Opcode::NonzeroWithCount,
       "nonzero_with_count",
       kGpSimd,
       {"dst", "src"},
       {"index_offset?", "padding_val?"},
       "",
       "",
       kIsa,
       kDefined},
      {Opcode::SequenceBounds, "sequence_bounds", kGpSimd, {"dst", "segment_ids"}, {}, "", "", kIsa, kDefined},
      {Opcode::Rng, "rng", kVector | kGpSimd, {"dst"}, {}, "", "", kIsa, kDefined},
      {Opcode::Rand2,
       "rand2",
       kVector,
       {"dst", "min?", "max?"},
       {"min?", "max?"},
       "stochastic, saturate",
       "",
       kIsa,
       kDefined},
      {Opcode::RandSetState, "rand_set_state", kVector | kGpSimd, {"src_seeds"}, {}, "", "", kIsa, kDefined},
      {Opcode::RandGetState, "rand_get_state", kVector | kGpSimd, {"dst"}, {}, "", "", kIsa, kDefined},
      {Opcode::SetRngSeed, "set_rng_seed", kVector, {"src_seeds"}, {}, "", "", kIsa, kDefined},
      {Opcode::QuantizeMx,
       "quantize_mx",
       kVector,
       {"dst", "src", "dst_scale"},
       {},
       "stochastic",
       "N/4: 4 elements a partition and cycle",
       "NKI architecture guide, Trainium3",
       kDefined},
  };
}

// Where a parameter name lives, for every opcode but those whose dst and src are registers or memory.
struct NamedField {
  std::string_view name;
  ParameterField field;
  std::uint16_t which;
};
constexpr std::array<NamedField, 24> kFields = {{
    {"op", ParameterField::AluOp, 0},
    {"op0", ParameterField::AluOp, 0},
    {"op1", ParameterField::AluOp, 1},
    {"cmp_op", ParameterField::AluOp, 0},
    {"comp_op0", ParameterField::AluOp, 0},
    {"comp_op1", ParameterField::AluOp, 1},
    {"reduce_op", ParameterField::AluOp, 2},
    {"function", ParameterField::Function, 0},
    {"accumulate", ParameterField::Flag, kFlagAccumulate},
    {"stochastic", ParameterField::Flag, kFlagStochastic},
    {"saturate", ParameterField::Flag, kFlagSaturate},
    {"is_transpose", ParameterField::Flag, kFlagTransposeMode},
    {"is_stationary_onezero", ParameterField::Flag, kFlagStationaryOneZero},
    {"is_moving_onezero", ParameterField::Flag, kFlagMovingOneZero},
    {"reverse0", ParameterField::Flag, kFlagReverse0},
    {"reverse1", ParameterField::Flag, kFlagReverse1},
    {"reverse_pred", ParameterField::Flag, kFlagReverse0},
    {"negate", ParameterField::Flag, kFlagNegate},
    {"src2", ParameterField::Source2, 0},
    {"condition", ParameterField::Compare, 0},
    {"target", ParameterField::Target, 0},
    {"address", ParameterField::Address, 0},
    {"bytes", ParameterField::DmaBytes, 0},
    {"queue", ParameterField::DmaQueue, 0},
}};

bool is_register_opcode(Opcode opcode) { return opcode <= Opcode::CompareBranch; }

Parameter resolve(Opcode opcode, std::string_view name, bool optional) {
  if (name == "dst") {
    return {name, is_register_opcode(opcode) ? ParameterField::Register : ParameterField::DmaDst, 0, optional};
  }
  if (name == "src") {
    return {name, is_register_opcode(opcode) ? ParameterField::Source : ParameterField::DmaSrc, 0, optional};
  }
  for (const NamedField& entry : kFields) {
    if (entry.name == name) return {name, entry.field, entry.which, optional || entry.field == ParameterField::Flag};
  }
  return {name, ParameterField::Flag, 0, true};  // a name missing in kFields: a test looks for flag 0
}

std::vector<Parameter> split(const OpcodeInfo& info) {
  std::vector<Parameter> parameters;
  std::string_view text = info.parameters;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t begin = item.find_first_not_of(' ');
    const std::size_t end = item.find_first_of(" (", begin);
    const std::string_view name = item.substr(begin, end == std::string_view::npos ? end : end - begin);
    parameters.push_back(resolve(info.opcode, plain_name(name), is_optional_name(name)));
  }
  return parameters;
}

constexpr std::array<std::string_view, kEngines> kEngineNames = {"tensor", "vector", "scalar", "gpsimd", "sync"};

// NKI's operator names (nki.api.shared), in the order of enum AluOp.
constexpr std::array<std::string_view, static_cast<std::size_t>(AluOp::Count_)> kAluOpNames = {
    "bypass",      "add",        "subtract",      "multiply",    "maximum",    "minimum",
    "equal",       "not_equal",  "greater_equal", "greater",     "less_equal", "less",
    "logical_and", "logical_or", "logical_xor",   "bitwise_and", "bitwise_or", "bitwise_xor",
    "invert",      "left_shift", "right_shift",   "power",       "abs_max",    "abs_min",
    "abs",         "square",     "relu",          "rsqrt",       "reciprocal"};

}  // namespace

const std::vector<OpcodeInfo>& opcode_table() {
  static const std::vector<OpcodeInfo> table = make_table();
  return table;
}

const OpcodeInfo& opcode_info(Opcode opcode) { return opcode_table()[static_cast<std::size_t>(opcode)]; }

std::optional<Opcode> parse_opcode(std::string_view name) {
  for (const OpcodeInfo& info : opcode_table()) {
    if (info.name == name) return info.opcode;
  }
  return std::nullopt;
}

const std::vector<Parameter>& opcode_parameters(Opcode opcode) {
  static const std::vector<std::vector<Parameter>> all = [] {
    std::vector<std::vector<Parameter>> result;
    for (const OpcodeInfo& info : opcode_table()) result.push_back(split(info));
    return result;
  }();
  return all[static_cast<std::size_t>(opcode)];
}

bool is_fp32_immediate(std::string_view name) {
  // reduce_cmd is 0 idle, 1 reset, 2 reduce, 3 reset_reduce, 4 load_reduce; axes and cores are bit masks.
  constexpr std::array<std::string_view, 14> integers = {"send_to_rank",
                                                         "recv_from_rank",
                                                         "pipe_id",
                                                         "cores",
                                                         "reduce_cmd",
                                                         "axes",
                                                         "range_start",
                                                         "offset",
                                                         "channel_multiplier",
                                                         "num_elem_per_idx",
                                                         "num_valid_indices",
                                                         "k",
                                                         "index_offset",
                                                         "padding_val"};
  for (const std::string_view integer : integers) {
    if (integer == name) return false;
  }
  return true;
}

std::string_view engine_name(EngineId engine) { return kEngineNames[static_cast<std::size_t>(engine)]; }

std::optional<EngineId> parse_engine(std::string_view name) {
  for (std::size_t i = 0; i < kEngineNames.size(); ++i) {
    if (kEngineNames[i] == name) return static_cast<EngineId>(i);
  }
  return std::nullopt;
}

std::string_view alu_op_name(AluOp op) { return kAluOpNames[static_cast<std::size_t>(op)]; }

std::optional<AluOp> parse_alu_op(std::string_view name) {
  for (std::size_t i = 0; i < kAluOpNames.size(); ++i) {
    if (kAluOpNames[i] == name) return static_cast<AluOp>(i);
  }
  return std::nullopt;
}

}  // namespace azulejo
