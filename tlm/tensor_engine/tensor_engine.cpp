// SPDX-License-Identifier: Apache-2.0
#include "tlm/tensor_engine/tensor_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tlm/numerics/random.h"
#include "tlm/tensor_engine/matmul_timing.h"
#include "tlm/tensor_engine/pe_array_model.h"

namespace azulejo {
namespace {

constexpr std::size_t kDst = 0;
constexpr std::size_t kMoving = 2;      // nc_matmul: dst, stationary (as loaded), moving
constexpr std::size_t kLoadSource = 0;  // load_stationary: stationary

bool is_matmul_operand(const TensorEngineConfig& config, Format format) {
  switch (format) {
    case Format::E4M3FN:
      return config.takes_e4m3fn;
    case Format::Int16:
    case Format::Uint16:
    case Format::Int32:
    case Format::Uint32:
    case Format::E8M0:
    case Format::E2M1:
      return false;
    default:
      return true;
  }
}

}  // namespace

TensorEngine::TensorEngine(const sc_core::sc_module_name& name, const TensorEngineConfig& config)
    : Engine(name, {EngineId::Tensor, config.clock, config.issue_cycles}),
      config_(config),
      array_(std::make_unique<PeArrayModel>(
          PeArrayModelConfig{config.rows, config.cols, config.pe_stages, config.flush_denormals})) {
  register_response(sbuf_initiator);
  register_response(psum_initiator);
}

void TensorEngine::end_of_elaboration() {
  sbuf_ = direct_store(sbuf_initiator);
  psum_ = direct_store(psum_initiator);
}

void TensorEngine::attach(const Instruments& instruments) {
  Engine::attach(instruments);
  wave_matmuls_ = WaveSignal(*instruments.wave, name(), "matmuls", 32);
  wave_load_busy_ = WaveSignal(*instruments.wave, name(), "load_busy", 1);
  wave_streaming_ = WaveSignal(*instruments.wave, name(), "streaming", 1);
  if (config_.pe == Fidelity::Tlm) return;
  wave_rtl_cycles_ = WaveSignal(*instruments.wave, name(), "rtl_cycles", 48);
  if (config_.pe == Fidelity::Lockstep) {
    wave_mismatches_ = WaveSignal(*instruments.wave, name(), "lockstep_mismatches", 32);
  }
}

void TensorEngine::set_array(std::unique_ptr<PeArray> array, std::function<RtlCounts()> counts) {
  array_ = std::move(array);
  rtl_counts_ = std::move(counts);
}

bool TensorEngine::executes(Opcode opcode) const {
  return opcode == Opcode::LoadStationary || opcode == Opcode::NcMatmul;
}

Engine::Response TensorEngine::check(const Instruction& instruction) const {
  const auto refuse = [](std::string message) { return Response{tlm::TLM_BURST_ERROR_RESPONSE, std::move(message)}; };
  if ((instruction.flags & ~(kFlagAccumulate | kFlagStationaryOneZero | kFlagMovingOneZero)) != 0) {
    return {tlm::TLM_COMMAND_ERROR_RESPONSE,
            "transposes and rounding modes of the tensor engine are defined but not executed"};
  }
  if (instruction.opcode == Opcode::LoadStationary) {
    const TensorAccess& stationary = instruction.operand[kLoadSource];
    if (stationary.space != MemorySpace::Sbuf) return refuse("the tensor engine reads SBUF only");
    if (stationary.partitions > config_.rows) {
      return refuse(
          fmt::format("stationary tile with K = {}; the array has {} rows", stationary.partitions, config_.rows));
    }
    if (stationary.free_size() > config_.cols) {
      return refuse(
          fmt::format("stationary tile with M = {}; the array has {} columns", stationary.free_size(), config_.cols));
    }
    if (!is_matmul_operand(config_, stationary.format)) {
      return refuse(fmt::format("the array does not multiply {}", spec(stationary.format).name));
    }
    return {};
  }
  const TensorAccess& dst = instruction.operand[kDst];
  const TensorAccess& moving = instruction.operand[kMoving];
  if ((instruction.flags & kFlagTransposeMode) != 0) {
    return {tlm::TLM_COMMAND_ERROR_RESPONSE, "nc_matmul with is_transpose is defined but not executed"};
  }
  if (!weights_.loaded) return refuse("nc_matmul before any load_stationary");
  if (moving.space != MemorySpace::Sbuf) return refuse("the tensor engine reads SBUF only");
  if (dst.space != MemorySpace::Psum) return refuse("the tensor engine writes PSUM only");
  if (dst.format != Format::Fp32) {
    return refuse(fmt::format("PSUM accumulates in fp32 on this generation, not in {}", spec(dst.format).name));
  }
  if (moving.partitions > config_.rows) {
    return refuse(fmt::format("moving tile with K = {}; the array has {} rows", moving.partitions, config_.rows));
  }
  if (moving.partitions != weights_.k) {
    return refuse(
        fmt::format("moving tile with K = {} meets a stationary tile with K = {}", moving.partitions, weights_.k));
  }
  if (moving.free_size() > config_.max_moving) {
    return refuse(fmt::format("moving tile with N = {}; at most {}", moving.free_size(), config_.max_moving));
  }
  if (!is_matmul_operand(config_, moving.format))
    return refuse(fmt::format("the array does not multiply {}", spec(moving.format).name));
  if ((moving.format == Format::Fp32) != (weights_.format == Format::Fp32)) {
    return refuse("fp32 multiplies fp32 only");
  }
  if (dst.partitions != weights_.m || dst.free_size() != moving.free_size()) {
    return refuse(fmt::format("result tile [{}, {}] of a product [{}, {}]", dst.partitions, dst.free_size(), weights_.m,
                              moving.free_size()));
  }
  return {};
}

Engine::Response TensorEngine::request(const Instruction& instruction) {
  Response response = check(instruction);
  if (response.status != tlm::TLM_OK_RESPONSE) return response;
  const bool load = instruction.opcode == Opcode::LoadStationary;
  const TensorAccess& source = instruction.operand[load ? kLoadSource : kMoving];
  sbuf_access_.count = 0;
  sbuf_access_.add(source, offset_of(source), TileRole::Read);
  response = request_tiles(sbuf_initiator, sbuf_access_, Cause::SbufPort);
  if (load || response.status != tlm::TLM_OK_RESPONSE) return response;
  const TensorAccess& dst = instruction.operand[kDst];
  const bool accumulate = (instruction.flags & kFlagAccumulate) != 0;
  psum_access_.count = 0;
  psum_access_.add(dst, offset_of(dst), accumulate ? TileRole::MatmulAccumulate : TileRole::MatmulWrite);
  return request_tiles(psum_initiator, psum_access_, Cause::PsumPort);
}

Engine::Availability TensorEngine::available(const Instruction& instruction) {
  const std::uint64_t now = clock_.next_cycle(now_fs());
  if (instruction.opcode == Opcode::LoadStationary) {
    return load_free_ > now ? Availability{clock_.edge(load_free_), Cause::LoadStationary}
                            : Availability{clock_.edge(now), Cause::Issue};
  }
  // A matmul needs the array and its weights; a load that outlasts the matmul before it is exposed.
  if (load_free_ > now && load_free_ >= array_free_) return {clock_.edge(load_free_), Cause::LoadStationary};
  if (array_free_ > now) return {clock_.edge(array_free_), Cause::Compute};
  return {clock_.edge(now), Cause::Issue};
}

Engine::Started TensorEngine::begin(const Instruction& instruction) {
  return instruction.opcode == Opcode::LoadStationary ? begin_load(instruction) : begin_matmul(instruction);
}

Engine::Started TensorEngine::begin_load(const Instruction& instruction) {
  const TensorAccess& stationary = instruction.operand[kLoadSource];
  weights_.loaded = true;
  weights_.k = stationary.partitions;
  weights_.m = stationary.free_size();
  weights_.format = stationary.format;
  const std::uint64_t now = clock_.next_cycle(now_fs());
  if (sbuf_.base != nullptr) array_->load({sbuf_, stationary, offset_of(stationary)}, now);
  load_free_ = now + config_.load_stationary_cycles;
  wave_load_busy_.at(clock_.edge(now), 1);
  wave_load_busy_.at(clock_.edge(load_free_), 0);
  Started started;
  started.next_issue = clock_.edge(now + config_.issue_cycles);
  started.complete = clock_.edge(load_free_);
  return started;
}

Engine::Started TensorEngine::begin_matmul(const Instruction& instruction) {
  const TensorAccess& moving = instruction.operand[kMoving];
  const std::uint32_t n = moving.free_size();
  const bool one_zero = (instruction.flags & (kFlagStationaryOneZero | kFlagMovingOneZero)) != 0;
  const MatmulCycles cost = matmul_cycles(config_, n, matmul_passes(weights_.format, moving.format, one_zero));
  const std::uint64_t now = clock_.next_cycle(now_fs());
  array_free_ = now + cost.start + cost.stream;

  ++stats_.matmuls;
  stats_.macs += std::uint64_t{weights_.k} * weights_.m * n;
  wave_matmuls_ = stats_.matmuls;
  if (sbuf_.base != nullptr) multiply(instruction, now, now + cost.start);
  wave_streaming_.at(clock_.edge(now + cost.start), 1);
  wave_streaming_.at(clock_.edge(array_free_), 0);

  Started started;
  started.next_issue = clock_.edge(now + config_.issue_cycles);
  started.compute_start = clock_.edge(now + cost.start);
  started.end = clock_.edge(array_free_);
  started.complete = clock_.edge(array_free_ + cost.drain);
  return started;
}

void TensorEngine::multiply(const Instruction& instruction, std::uint64_t begin_cycle,
                            std::uint64_t first_column_cycle) {
  const TensorAccess& dst = instruction.operand[kDst];
  const TensorAccess& moving = instruction.operand[kMoving];
  const std::size_t n = moving.free_size();
  MatmulMode mode;
  mode.accumulate = (instruction.flags & kFlagAccumulate) != 0;
  mode.stationary_one_zero = (instruction.flags & kFlagStationaryOneZero) != 0;
  mode.moving_one_zero = (instruction.flags & kFlagMovingOneZero) != 0;
  mode.begin_cycle = begin_cycle;
  mode.first_column_cycle = first_column_cycle;

  // PSUM words lie next to each other in nearly every program; else the tile goes through a buffer.
  const bool direct = dst.contiguous();
  float* psum = nullptr;
  std::size_t stride = n;
  if (direct) {
    psum = reinterpret_cast<float*>(psum_.partition(dst.start_partition) + offset_of(dst));
    stride = psum_.stride / sizeof(float);
  } else {
    result_.resize(weights_.m * n);
    psum = result_.data();
    if (mode.accumulate) read_tile(psum_, dst, offset_of(dst), psum, false);
  }
  array_->multiply({sbuf_, moving, offset_of(moving)}, mode, psum, stride);
  if (rtl_counts_) {
    const RtlCounts counts = rtl_counts_();
    wave_rtl_cycles_ = counts.cycles;
    // Where the sum leaves the array; it was computed ahead of that time.
    wave_mismatches_.at(std::max(now_fs(), clock_.edge(counts.mismatch_cycle)), counts.mismatches);
  }
  if (flip_.enabled) {
    std::uint64_t state = flip_.seed + stats_.matmuls;
    const std::uint64_t word = splitmix64(state);
    float& victim = psum[(word >> 32) % weights_.m * stride + (word & 0xFFFF'FFFF) % n];
    std::uint32_t bits;
    std::memcpy(&bits, &victim, sizeof bits);
    bits ^= std::uint32_t{1} << flip_.bit;
    std::memcpy(&victim, &bits, sizeof bits);
  }
  for (std::uint32_t m = 0; !direct && m < weights_.m; ++m) {
    write_row(psum_, dst, offset_of(dst), m, psum + m * n, {}, nullptr);
  }
}

}  // namespace azulejo
