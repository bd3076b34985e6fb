// SPDX-License-Identifier: Apache-2.0
#include "tlm/vector_engine/vector_engine.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "tlm/isa/opcode_table.h"
#include "tlm/numerics/matmul.h"
#include "tlm/rounding/rounding_unit_model.h"
#include "tlm/vector_engine/vector_timing.h"

namespace azulejo {

VectorEngine::VectorEngine(const sc_core::sc_module_name& name, const VectorEngineConfig& config)
    : Engine(name, {EngineId::Vector, config.clock, config.issue_cycles}),
      config_(config),
      rounding_unit_(std::make_unique<RoundingUnitModel>(config.random_source, config.seed,
                                                         static_cast<std::uint32_t>(EngineId::Vector))) {
  register_response(sbuf_initiator);
  register_response(psum_initiator);
}

void VectorEngine::end_of_elaboration() {
  sbuf_ = direct_store(sbuf_initiator);
  psum_ = direct_store(psum_initiator);
}

void VectorEngine::set_rounding_unit(std::unique_ptr<RoundingUnit> unit, std::function<RtlCounts()> counts) {
  rounding_unit_ = std::move(unit);
  rtl_counts_ = std::move(counts);
}

void VectorEngine::attach(const Instruments& instruments) {
  Engine::attach(instruments);
  if (config_.rounding_unit == Fidelity::Tlm) return;
  wave_rtl_cycles_ = WaveSignal(*instruments.wave, name(), "rtl_cycles", 48);
  if (config_.rounding_unit == Fidelity::Lockstep) {
    wave_mismatches_ = WaveSignal(*instruments.wave, name(), "lockstep_mismatches", 32);
  }
}

bool VectorEngine::executes(Opcode opcode) const {
  return opcode == Opcode::TensorCopy || opcode == Opcode::Memset || opcode == Opcode::TensorTensor;
}

Engine::Response VectorEngine::check(const Instruction& instruction) const {
  const auto refuse = [](std::string message) { return Response{tlm::TLM_BURST_ERROR_RESPONSE, std::move(message)}; };
  const TensorAccess& dst = instruction.operand[0];
  for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
    const TensorAccess& operand = instruction.operand[i];
    if (operand.space == MemorySpace::None) return refuse(fmt::format("operand {} is in no memory", i));
    if (operand.partitions != dst.partitions || operand.free_size() != dst.free_size()) {
      return refuse(fmt::format("operand {} is [{}, {}], the result [{}, {}]", i, operand.partitions,
                                operand.free_size(), dst.partitions, dst.free_size()));
    }
    if (spec(operand.format).storage_bits < 8) {
      return refuse(fmt::format("the vector engine does not read or write {}", spec(operand.format).name));
    }
  }
  if ((instruction.flags & ~(kFlagStochastic | kFlagSaturate)) != 0) {
    return {tlm::TLM_COMMAND_ERROR_RESPONSE, "reversed and negated operands are defined but not executed"};
  }
  if (instruction.opcode == Opcode::TensorTensor && instruction.alu_op[0] != AluOp::Add) {
    return {tlm::TLM_COMMAND_ERROR_RESPONSE, fmt::format("tensor_tensor with op {} is defined but not executed; add is",
                                                         alu_op_name(instruction.alu_op[0]))};
  }
  return {};
}

Engine::Response VectorEngine::request(const Instruction& instruction) {
  Response response = check(instruction);
  if (response.status != tlm::TLM_OK_RESPONSE) return response;
  sbuf_access_.count = 0;
  psum_access_.count = 0;
  for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
    const TensorAccess& operand = instruction.operand[i];
    TileAccess& access = operand.space == MemorySpace::Psum ? psum_access_ : sbuf_access_;
    access.add(operand, offset_of(operand), i == 0 ? TileRole::Write : TileRole::Read);
  }
  const Femtoseconds occupancy = clock_.edge(vector_cycles(config_, instruction));
  sbuf_access_.occupancy = occupancy;
  psum_access_.occupancy = occupancy;
  if (sbuf_access_.count > 0) response = request_tiles(sbuf_initiator, sbuf_access_, Cause::SbufPort);
  if (psum_access_.count > 0 && response.status == tlm::TLM_OK_RESPONSE) {
    response = request_tiles(psum_initiator, psum_access_, Cause::PsumPort);
  }
  return response;
}

Engine::Availability VectorEngine::available(const Instruction&) {
  const std::uint64_t now = clock_.next_cycle(now_fs());
  if (free_ > now) return {clock_.edge(free_), Cause::Compute};
  return {clock_.edge(now), Cause::Issue};
}

Engine::Started VectorEngine::begin(const Instruction& instruction) {
  const std::uint64_t now = clock_.next_cycle(now_fs());
  const std::uint64_t cost = vector_cycles(config_, instruction);
  free_ = now + cost;
  stats_.busy_cycles += cost;
  stats_.elements += std::uint64_t{instruction.operand[0].partitions} * instruction.operand[0].free_size();
  if (sbuf_.base != nullptr) {
    rounding_unit_->begin(now);
    compute(instruction);
  }
  if (rtl_counts_) {
    const RtlCounts counts = rtl_counts_();
    wave_rtl_cycles_ = counts.cycles;
    wave_mismatches_.at(std::max(now_fs(), clock_.edge(counts.mismatch_cycle)), counts.mismatches);
  }

  Started started;
  started.next_issue = clock_.edge(free_);
  started.end = clock_.edge(free_);
  started.compute_start = now_fs();
  started.complete = clock_.edge(free_ + config_.access_latency_cycles);
  return started;
}

void VectorEngine::compute(const Instruction& instruction) {
  const TensorAccess& dst = instruction.operand[0];
  const std::uint32_t dst_offset = offset_of(dst);
  const std::size_t n = dst.free_size();
  ConversionMode mode;
  mode.flush_denormals = config_.flush_denormals;
  mode.saturate = (instruction.flags & kFlagSaturate) != 0;
  mode.rounding = (instruction.flags & kFlagStochastic) != 0 ? Rounding::Stochastic : config_.rounding;
  row_a_.resize(n);
  row_b_.resize(n);
  bool plain = instruction.opcode == Opcode::TensorTensor && !mode.saturate && !mode.flush_denormals;
  for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
    const TensorAccess& operand = instruction.operand[i];
    const std::int64_t apart = std::int64_t{offset_of(operand)} - std::int64_t{dst_offset};
    const bool overlaps =
        operand.space == dst.space && apart != 0 && std::abs(apart) < static_cast<std::int64_t>(n * sizeof(float));
    plain = plain && operand.format == Format::Fp32 && operand.contiguous() && !overlaps;
  }
  const auto words = [&](const TensorAccess& access, std::uint32_t p) {
    return reinterpret_cast<float*>(store(access).partition(access.start_partition + p) + offset_of(access));
  };

  for (std::uint32_t p = 0; p < dst.partitions; ++p) {
    switch (instruction.opcode) {
      case Opcode::TensorCopy: {
        const TensorAccess& src = instruction.operand[1];
        if (src.format == dst.format) {  // equal formats copy the bits; NKI ISA, tensor_copy
          copy_row(store(dst), dst, dst_offset, store(src), src, offset_of(src), p);
          continue;
        }
        read_row(store(src), src, offset_of(src), p, row_a_.data(), config_.flush_denormals);
        break;
      }
      case Opcode::Memset: {
        float value;
        std::memcpy(&value, &instruction.immediate[0], sizeof value);
        std::fill(row_a_.begin(), row_a_.end(), value);
        break;
      }
      default: {  // tensor_tensor, add
        const TensorAccess& a = instruction.operand[1];
        const TensorAccess& b = instruction.operand[2];
        if (plain) {  // FP32 next to FP32: no conversion on the way
          add_fp32_row(words(a, p), words(b, p), words(dst, p), n);
          continue;
        }
        read_row(store(a), a, offset_of(a), p, row_a_.data(), config_.flush_denormals);
        read_row(store(b), b, offset_of(b), p, row_b_.data(), config_.flush_denormals);
        add_fp32_row(row_a_.data(), row_b_.data(), row_a_.data(), n, config_.flush_denormals);
        break;
      }
    }
    rounding_unit_->write_row(store(dst), dst, dst_offset, p, row_a_.data(), mode);
  }
}

}  // namespace azulejo
