// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tlm/common/check.h"
#include "tlm/isa/assembler.h"
#include "tlm/isa/encoding.h"
#include "tlm/isa/opcode_table.h"

namespace azulejo {
namespace {

std::string_view reason_name(WaitReason reason) {
  switch (reason) {
    case WaitReason::Program:
      return "semaphore";
    case WaitReason::Data:
      return "data";
    case WaitReason::SbufSpace:
      return "sbuf_space";
    case WaitReason::PsumSpace:
      return "psum_space";
    case WaitReason::DmaOrder:
      return "dma_semaphore";
  }
  return "";
}

// The cause of a finished wait: what the author of the wait said it is for, or who delivered the data.
Cause wait_cause(WaitReason reason, Cause bound) {
  switch (reason) {
    case WaitReason::Program:
      return Cause::Semaphore;
    case WaitReason::Data:
      return bound;
    case WaitReason::SbufSpace:
      return Cause::SbufSpace;
    case WaitReason::PsumSpace:
      return Cause::PsumSpace;
    case WaitReason::DmaOrder:
      return Cause::DmaSemaphore;
  }
  return Cause::Semaphore;
}

Cause engine_cause(EngineId id) {
  return static_cast<Cause>(static_cast<std::size_t>(Cause::TensorEngine) + static_cast<std::size_t>(id));
}

bool is_control(Opcode opcode) { return opcode < Opcode::DmaCopy; }

std::string response_name(tlm::tlm_response_status status) {
  tlm::tlm_generic_payload payload;
  payload.set_response_status(status);
  return payload.get_response_string();
}

}  // namespace

Engine::Engine(const sc_core::sc_module_name& name, const EngineConfig& config)
    : sc_module(name), clock_(config.clock), engine_config_(config) {
  instr_target.register_b_transport(this, &Engine::load);
  dma_initiator.register_nb_transport_bw(this, &Engine::response_from);
  SC_HAS_PROCESS(Engine);
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
}

void Engine::register_response(tlm_utils::simple_initiator_socket<Engine>& socket) {
  socket.register_nb_transport_bw(this, &Engine::response_from);
}

void Engine::attach(const Instruments& instruments) {
  instruments_ = instruments;
  track_ = instruments.trace->track(name(), "engine");
  wave_state_ = WaveText(*instruments.wave, name(), "state", 12);
  wave_stall_ = WaveText(*instruments.wave, name(), "stall_cause", 16);
  wave_opcode_ = WaveText(*instruments.wave, name(), "opcode", 20);
  wave_instruction_ = WaveSignal(*instruments.wave, name(), "instruction", 32);
  wave_busy_ = WaveSignal(*instruments.wave, name(), "busy", 1);
}

void Engine::load(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
  const std::uint64_t length = payload.get_data_length();
  if (!payload.is_write()) return payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
  if (length % kInstructionBytes != 0 || payload.get_address() % kInstructionBytes != 0) {
    return payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
  }
  const std::uint64_t first = payload.get_address() / kInstructionBytes;
  const std::uint64_t count = length / kInstructionBytes;
  if (first > program_.size()) return payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  program_.resize(first);  // what was loaded behind it belongs to another program
  for (std::uint64_t i = 0; i < count; ++i) {
    EncodedInstruction bytes;
    std::memcpy(bytes.data(), payload.get_data_ptr() + i * kInstructionBytes, kInstructionBytes);
    DecodeResult result = decode_instruction(bytes);
    if (!result.instruction) return payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    program_.push_back(*result.instruction);
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

void Engine::start() {
  AZULEJO_CHECK(finished(), "start of an engine that is running");
  if (program_.empty()) return;
  pc_ = 0;
  semaphore_satisfied_ = false;
  charge(Cause::NotStarted, now_fs());
  set_state(State::Ready, Cause::Issue);
  wake_.notify(sc_core::SC_ZERO_TIME);
}

void Engine::charge(Cause cause, Femtoseconds until) {
  const Femtoseconds from = attribution_.cursor();
  if (until <= from) return;
  attribution_.charge(cause, until);
  if (!instruments_.trace->enabled() || cause == Cause::NotStarted || cause == Cause::Finished) return;
  switch (cause) {
    case Cause::Compute:
    case Cause::MatmulStart:
      break;  // begin() writes one span for both
    case Cause::Issue:
      if (pc_ < program_.size())
        instruments_.trace->span(track_, opcode_info(program_[pc_].opcode).name, from, until, "", "");
      break;
    default:
      instruments_.trace->span(track_, fmt::format("wait: {}", cause_name(cause)), from, until, "", cause_name(cause));
  }
}

void Engine::set_state(State state, Cause cause) {
  state_ = state;
  wait_cause_ = cause;
  const bool computing = attribution_.cursor() > now_fs();
  wave_busy_ = computing ? 1 : 0;
  switch (state) {
    case State::NotStarted:
      show_state("not_started", "");
      break;
    case State::Ready:
      break;
    case State::WaitSemaphore:
      if (!computing) show_state("wait", reason_name(program_[pc_].wait.reason));
      break;
    case State::WaitTime:
      if (computing) {
        show_state("compute", "");
      } else if (cause == Cause::Issue) {
        show_state("issue", "");
      } else {
        show_state("wait", cause_name(cause));
      }
      break;
    case State::WaitPort:
    case State::WaitDma:
      show_state("wait", cause_name(cause));
      break;
    case State::Finished:
      show_state("finished", "");
      wave_busy_ = 0;
      break;
  }
}

void Engine::show_state(std::string_view state, std::string_view stall_cause) {
  wave_state_ = state;
  wave_stall_ = stall_cause;
}

void Engine::step() {
  const Femtoseconds now = now_fs();
  retire_due(now);
  if (state_ == State::WaitTime && now >= resume_at_) {
    charge(wait_cause_, now);
    set_state(State::Ready, Cause::Issue);
  }
  if (state_ == State::Ready) run(now);

  Femtoseconds next = completions_.empty() ? ~Femtoseconds{0} : completions_.top().time;
  if (state_ == State::WaitTime) next = std::min(next, resume_at_);
  // A waiting engine may still compute; the end of that shows in the waves only.
  const bool computing = attribution_.cursor() > now;
  wave_busy_ = computing ? 1 : 0;
  if (!computing && state_ == State::WaitSemaphore) {
    show_state("wait", reason_name(program_[pc_].wait.reason));
  }
  if (computing && instruments_.wave != &WaveSink::none()) next = std::min(next, attribution_.cursor());
  if (next != ~Femtoseconds{0}) wake_.notify(to_sc_time(next - now));
}

void Engine::retire_due(Femtoseconds now) {
  while (!completions_.empty() && completions_.top().time <= now) {
    const Instruction& instruction = program_[completions_.top().instruction];
    completions_.pop();
    update_semaphore(instruction, UpdateTiming::Complete);
  }
}

void Engine::run(Femtoseconds now) {
  while (state_ == State::Ready) {
    if (pc_ >= program_.size()) {
      if (last_complete_ > now) {
        const Femtoseconds from = std::max(now, attribution_.cursor());
        if (instruments_.trace->enabled()) instruments_.trace->span(track_, "drain", from, last_complete_, "", "");
        return wait_until(last_complete_, Cause::Compute);
      }
      engine_stats_.finished_at = now;
      return set_state(State::Finished, Cause::Finished);
    }
    const Instruction& instruction = program_[pc_];
    if (!semaphore_satisfied_ && instruction.wait.condition != WaitCondition::None) {
      if (!semaphores->satisfied(instruction.wait)) {
        semaphores->notify_when(instruction.wait, *this);
        return set_state(State::WaitSemaphore, wait_cause(instruction.wait.reason, Cause::Semaphore));
      }
    }
    semaphore_satisfied_ = true;

    if (is_control(instruction.opcode) || instruction.opcode == Opcode::DmaCopy) {
      if (!execute_control(instruction, now)) return;
      continue;
    }
    if (!executes(instruction.opcode)) {
      fault(instruction,
            {tlm::TLM_COMMAND_ERROR_RESPONSE,
             fmt::format("the {} engine does not execute {}", engine_name(engine_config_.id),
                         opcode_info(instruction.opcode).name)},
            now);
      continue;
    }
    if (!requested_) {
      ports_ = {now, Cause::Issue};
      requested_ = true;
      ports_response_ = request(instruction);
    }
    if (grants_pending_ > 0) return set_state(State::WaitPort, ports_.cause);
    if (ports_response_.status != tlm::TLM_OK_RESPONSE) {
      fault(instruction, ports_response_, now);
      continue;
    }
    if (ports_.earliest > now) return wait_until(ports_.earliest, ports_.cause);
    const Availability unit = available(instruction);
    if (unit.earliest > now) return wait_until(unit.earliest, unit.cause);

    const Started started = begin(instruction);
    if (started.end != 0 ||
        attribution_.cursor() <= now) {  // work in the background does not hide what the unit computes
      wave_opcode_ = opcode_info(instruction.opcode).name;
      wave_instruction_ = pc_;
    }
    update_semaphore(instruction, UpdateTiming::Read);
    if (instruction.update.op != UpdateOp::None && instruction.update.timing == UpdateTiming::Complete) {
      completions_.push({started.complete, issue_order_++, pc_});
    }
    last_complete_ = std::max(last_complete_, started.complete);
    ++engine_stats_.instructions;
    ++engine_stats_.datapath;
    if (started.end != 0) {
      if (instruments_.trace->enabled()) {
        instruments_.trace->span(track_, opcode_info(instruction.opcode).name, now, started.end,
                                 disassemble(instruction), "");
      }
      charge(Cause::MatmulStart, started.compute_start);
      charge(Cause::Compute, started.end);
    }
    advance(pc_ + 1);
    if (started.next_issue > now)
      return wait_until(started.next_issue, started.end != 0 ? Cause::Compute : Cause::LoadStationary);
  }
}

void Engine::advance(std::uint64_t pc) {
  pc_ = pc;
  semaphore_satisfied_ = false;
  requested_ = false;
}

void Engine::wait_until(Femtoseconds time, Cause cause) {
  resume_at_ = time;
  set_state(State::WaitTime, cause);
}

std::uint32_t Engine::value_of(const ScalarSource& source) const {
  return source.is_register ? registers_[source.reg] : source.immediate;
}

std::uint32_t Engine::offset_of(const TensorAccess& access) const {
  const std::uint32_t base =
      access.offset_register == TensorAccess::kNoRegister ? 0 : registers_[access.offset_register];
  return access.offset_bytes + base;
}

bool Engine::execute_control(const Instruction& instruction, Femtoseconds now) {
  std::uint64_t next_pc = pc_ + 1;
  switch (instruction.opcode) {
    case Opcode::Nop:
    case Opcode::SemaphoreWait:
    case Opcode::SemaphoreIncrement:
      break;
    case Opcode::Halt:
      next_pc = program_.size();
      break;
    case Opcode::RegisterMove:
      registers_[instruction.reg] = value_of(instruction.source);
      break;
    case Opcode::RegisterAdd:
      registers_[instruction.reg] = value_of(instruction.source) + value_of(instruction.source2);
      break;
    case Opcode::CompareBranch: {
      const auto a = static_cast<std::int32_t>(registers_[instruction.reg]);
      const auto b = static_cast<std::int32_t>(value_of(instruction.source));
      bool taken = true;
      switch (instruction.condition) {
        case BranchCondition::Always:
          break;
        case BranchCondition::Equal:
          taken = a == b;
          break;
        case BranchCondition::NotEqual:
          taken = a != b;
          break;
        case BranchCondition::Less:
          taken = a < b;
          break;
        case BranchCondition::LessEqual:
          taken = a <= b;
          break;
        case BranchCondition::Greater:
          taken = a > b;
          break;
        case BranchCondition::GreaterEqual:
          taken = a >= b;
          break;
      }
      if (taken && instruction.target > program_.size()) {
        fault(instruction,
              {tlm::TLM_ADDRESS_ERROR_RESPONSE,
               fmt::format("branch to instruction {} of a program of {}", instruction.target, program_.size())},
              now);
        return true;
      }
      if (taken) next_pc = instruction.target;
      break;
    }
    case Opcode::DmaCopy:
      if ((instruction.flags & kFlagStochastic) != 0) {
        fault(instruction, {tlm::TLM_COMMAND_ERROR_RESPONSE, "the DMA rounds to nearest even only"}, now);
        return true;
      }
      if (instruction.update.op != UpdateOp::None && instruction.update.timing == UpdateTiming::Read) {
        fault(instruction, {tlm::TLM_COMMAND_ERROR_RESPONSE, "a transfer updates its semaphore at completion only"},
              now);
        return true;
      }
      if (!trigger_dma(instruction, now)) return false;
      break;
    default:
      fault(instruction,
            {tlm::TLM_COMMAND_ERROR_RESPONSE,
             fmt::format("{} is defined but no engine executes it", opcode_info(instruction.opcode).name)},
            now);
      return true;
  }
  if (instruction.opcode != Opcode::DmaCopy) {  // a transfer's update is the DMA's
    update_semaphore(instruction, UpdateTiming::Read);
    update_semaphore(instruction, UpdateTiming::Complete);
  }
  retire_control(next_pc, now);
  return true;
}

void Engine::retire_control(std::uint64_t next_pc, Femtoseconds now) {
  wave_opcode_ = opcode_info(program_[pc_].opcode).name;
  wave_instruction_ = pc_;
  ++engine_stats_.instructions;
  const Femtoseconds done = clock_.edge(clock_.next_cycle(now) + engine_config_.issue_cycles);
  charge(Cause::Issue, done);
  advance(next_pc);
  wait_until(done, Cause::Issue);
}

bool Engine::trigger_dma(const Instruction& instruction, Femtoseconds now) {
  dma_request_.dst = instruction.dma_dst;
  dma_request_.src = instruction.dma_src;
  dma_request_.bytes = instruction.dma_bytes;
  dma_request_.dst_format = instruction.dma_dst_format;
  dma_request_.src_format = instruction.dma_src_format;
  dma_request_.queue = instruction.dma_queue;
  dma_request_.saturate = (instruction.flags & kFlagSaturate) != 0;
  dma_request_.update = instruction.update;
  dma_request_.trigger = engine_config_.id;
  dma_request_.instruction = pc_;
  PooledPayload& payload = pool_.acquire();
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(0);
  payload.set_data_ptr(reinterpret_cast<unsigned char*>(&dma_request_));
  payload.set_data_length(sizeof dma_request_);
  payload.set_streaming_width(sizeof dma_request_);
  payload.key.initiator = static_cast<std::uint32_t>(engine_config_.id);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay;
  ++engine_stats_.dma_triggers;
  if (dma_initiator->nb_transport_fw(payload, phase, delay) == tlm::TLM_COMPLETED) {
    const bool ok = payload.is_response_ok();
    const tlm::tlm_response_status status = payload.get_response_status();
    payload.release();
    if (!ok) {
      fault(
          instruction,
          {status,
           "the DMA refuses the transfer: no such queue, sides of different shape, a row of more than one packet, or a "
           "format it does not convert"},
          now);
      return false;
    }
    return true;
  }
  set_state(State::WaitDma, Cause::DmaRing);
  return false;
}

tlm::tlm_sync_enum Engine::response_from(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                         sc_core::sc_time& delay) {
  AZULEJO_CHECK(phase == tlm::BEGIN_RESP, "an engine accepts BEGIN_RESP only");
  const Femtoseconds now = now_fs();
  if (state_ == State::WaitDma) {  // the ring has room again and holds the request
    charge(Cause::DmaRing, now);
    retire_control(pc_ + 1, now);
    wake_.notify(sc_core::SC_ZERO_TIME);
  } else {  // a port grant, from now + delay on
    AZULEJO_CHECK(grants_pending_ > 0, "a grant that nobody asked for");
    const Femtoseconds grant = now + delay.value();
    TileAccess* access = nullptr;
    payload.get_extension(access);
    if (grant > ports_.earliest) ports_ = {grant, access->cause};
    if (!payload.is_response_ok()) ports_response_ = {payload.get_response_status(), access->message};
    payload.clear_extension(access);
    if (--grants_pending_ == 0) {
      charge(wait_cause_, now);
      set_state(State::Ready, Cause::Issue);
      wake_.notify(sc_core::SC_ZERO_TIME);
    }
  }
  payload.release();
  return tlm::TLM_COMPLETED;
}

Engine::Response Engine::request_tiles(tlm_utils::simple_initiator_socket<Engine>& socket, TileAccess& access,
                                       Cause cause) {
  PooledPayload& payload = pool_.acquire();
  payload.set_command(tlm::TLM_READ_COMMAND);
  payload.set_address(0);
  payload.set_data_ptr(scratch_data(1));
  payload.set_data_length(1);
  payload.set_streaming_width(1);
  payload.timing_only.set = true;
  payload.key.initiator = static_cast<std::uint32_t>(engine_config_.id);
  payload.set_extension(&access);
  access.engine = engine_config_.id;
  access.cause = cause;
  access.message.clear();
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay;
  Response response;
  if (socket->nb_transport_fw(payload, phase, delay) == tlm::TLM_COMPLETED) {
    if (!payload.is_response_ok()) response = {payload.get_response_status(), access.message};
    payload.clear_extension(&access);
    payload.release();
  } else {
    ports_.cause = cause;
    ++grants_pending_;
  }
  return response;
}

TileStore Engine::direct_store(tlm_utils::simple_initiator_socket<Engine>& socket) {
  tlm::tlm_generic_payload request;
  request.set_command(tlm::TLM_READ_COMMAND);
  request.set_data_length(1);
  tlm::tlm_dmi dmi;
  if (!socket->get_direct_mem_ptr(request, dmi)) return {};
  return {dmi.get_dmi_ptr(), (dmi.get_end_address() + 1) / kPartitions};
}

void Engine::fault(const Instruction& instruction, const Response& response, Femtoseconds now) {
  Fault entry;
  entry.engine = name();
  entry.instruction = pc_;
  entry.time = now;
  entry.text = disassemble(instruction);
  entry.response = response_name(response.status);
  entry.message = response.message;
  instruments_.faults->fault(entry);
  ++engine_stats_.faults;
  // The program goes on without the instruction; who waits for it must not hang. (A transfer's update is the DMA's.)
  if (instruction.opcode != Opcode::DmaCopy) {
    update_semaphore(instruction, UpdateTiming::Read);
    update_semaphore(instruction, UpdateTiming::Complete);
  }
  retire_control(pc_ + 1, now);
}

void Engine::update_semaphore(const Instruction& instruction, UpdateTiming timing) {
  if (instruction.update.op == UpdateOp::None || instruction.update.timing != timing) return;
  semaphores->update(instruction.update, static_cast<std::uint32_t>(engine_config_.id),
                     engine_cause(engine_config_.id));
}

void Engine::semaphore_ready(Cause bound) {
  const Femtoseconds now = now_fs();
  charge(wait_cause(program_[pc_].wait.reason, bound), now);
  semaphore_satisfied_ = true;
  set_state(State::Ready, Cause::Issue);
  wake_.notify(sc_core::SC_ZERO_TIME);
}

std::string Engine::waiting_for() const {
  switch (state_) {
    case State::WaitSemaphore: {
      const SemaphoreWait& wait = program_[pc_].wait;
      const char* condition = wait.condition == WaitCondition::GreaterEqual ? ">="
                              : wait.condition == WaitCondition::Equal      ? "=="
                                                                            : "<=";
      return fmt::format("{} waits at instruction {} ({}) for semaphore s{} {} {}", name(), pc_,
                         opcode_info(program_[pc_].opcode).name, wait.semaphore, condition, wait.value);
    }
    case State::WaitDma:
      return fmt::format("{} waits at instruction {} for room in the ring of DMA queue {}", name(), pc_,
                         program_[pc_].dma_queue);
    case State::WaitPort:
      return fmt::format("{} waits at instruction {} for a memory port", name(), pc_);
    default:
      return "";
  }
}

void Engine::finish_account(Femtoseconds end) {
  Cause open = wait_cause_;
  if (state_ == State::NotStarted) open = Cause::NotStarted;
  if (state_ == State::Finished) open = Cause::Finished;
  attribution_.finish(open, end);
}

}  // namespace azulejo
