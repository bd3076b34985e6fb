// SPDX-License-Identifier: Apache-2.0
// What the five engines of a NeuronCore share: program memory, sequencer (registers, branches, semaphores, DMA
// triggers), the account of their time, and the order of issue and completion.
//
// Abstraction: loosely timed, a few events per instruction, in-order issue. A data-path instruction is issued when its
// wait is satisfied, the engine's unit is free and the memories grant their ports; its semaphore update is made at
// completion. Not modelled: instruction fetch from HBM.
// Source: Trainium/Inferentia2 Architecture Guide for NKI, "NeuronCore-v2 Compute Engines"; the cost of the sequencer's
// own instructions is assumed.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <deque>
#include <queue>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "tlm/common/attribution.h"
#include "tlm/common/dma_request.h"
#include "tlm/common/instruments.h"
#include "tlm/common/payload.h"
#include "tlm/common/semaphore_if.h"
#include "tlm/common/tile_access.h"
#include "tlm/common/tile_data.h"
#include "tlm/isa/instruction.h"

namespace azulejo {

struct EngineConfig {
  EngineId id = EngineId::Sync;
  std::uint64_t clock = 1'400'000'000;  // Hz
  std::uint32_t issue_cycles = 1;       // of each of the sequencer's own instructions
};

class Engine : public sc_core::sc_module, private SemaphoreWaiter {
 public:
  // Program memory: a write of whole 256-byte instructions at index * 256, which ends the program there. Answers
  // TLM_BURST_ERROR_RESPONSE to a length that is no multiple, TLM_GENERIC_ERROR_RESPONSE to bytes that are no
  // instruction.
  tlm_utils::simple_target_socket<Engine> instr_target{"instr_target"};
  sc_core::sc_port<SemaphoreIf> semaphores{"semaphores"};
  // A DmaRequest per transfer; the DMA may answer later (ring full).
  tlm_utils::simple_initiator_socket<Engine> dma_initiator{"dma_initiator"};

  struct Stats {
    std::uint64_t instructions = 0;  // retired, all kinds
    std::uint64_t datapath = 0;      // of which on the data path
    std::uint64_t dma_triggers = 0;
    std::uint64_t faults = 0;
    Femtoseconds finished_at = 0;  // completion of the last instruction
  };

  Engine(const sc_core::sc_module_name& name, const EngineConfig& config);

  // Starts the program at the current instant. REQUIRES: not running.
  void start();

  bool has_program() const { return !program_.empty(); }
  bool finished() const { return state_ == State::Finished || state_ == State::NotStarted; }
  EngineId id() const { return engine_config_.id; }
  const Clock& clock() const { return clock_; }
  const Stats& engine_stats() const { return engine_stats_; }
  const Attribution& attribution() const { return attribution_; }
  const std::array<std::uint32_t, kRegisters>& registers() const { return registers_; }

  // One line that says what the engine is waiting for; empty if it is not.
  std::string waiting_for() const;

  // Closes the account of time at the end of the run.
  void finish_account(Femtoseconds end);

  // REQUIRES: before the first start().
  virtual void attach(const Instruments& instruments);

 protected:
  struct Response {
    tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
    std::string message;
  };

  // When something may start: not before `earliest`, and what it waits for until then.
  struct Availability {
    Femtoseconds earliest = 0;
    Cause cause = Cause::Issue;
  };

  // A started instruction: [start, compute_start) is charged to MatmulStart, up to `end` to Compute.
  struct Started {
    Femtoseconds next_issue = 0;  // the sequencer goes on at this time
    Femtoseconds complete = 0;    // semaphore update
    Femtoseconds compute_start = 0;
    Femtoseconds end = 0;  // of the busy interval; 0: background work, charged to nothing
  };

  // True if this engine's data path executes `opcode`.
  virtual bool executes(Opcode opcode) const = 0;
  // Called once per instruction when its wait is satisfied: checks it and asks the memories for its tiles by
  // request_tiles(). A response other than OK is a fault: the instruction is skipped.
  virtual Response request(const Instruction& instruction) = 0;
  // When the engine's own unit may start the instruction, at a clock edge at or after now.
  virtual Availability available(const Instruction& instruction) = 0;
  // Starts the instruction now and takes effect on the values (a program whose semaphores are right cannot tell that
  // from an effect at completion). REQUIRES: available() and the ports allow it at this instant.
  virtual Started begin(const Instruction& instruction) = 0;

  // Asks the memory behind `socket` to check the tiles of `access` and to grant its port; `cause` names the port.
  // Returns the memory's refusal, if it refuses at once. REQUIRES: register_response(socket); `access` lives until the
  // instruction begins.
  Response request_tiles(tlm_utils::simple_initiator_socket<Engine>& socket, TileAccess& access, Cause cause);
  void register_response(tlm_utils::simple_initiator_socket<Engine>& socket);
  // Direct access to the memory behind `socket`; no base without data.
  static TileStore direct_store(tlm_utils::simple_initiator_socket<Engine>& socket);
  // Byte offset of an operand's first element within its partition.
  std::uint32_t offset_of(const TensorAccess& access) const;

  const Clock clock_;

 private:
  enum class State : std::uint8_t { NotStarted, Ready, WaitSemaphore, WaitTime, WaitPort, WaitDma, Finished };

  struct Completion {
    Femtoseconds time;
    std::uint64_t order;
    std::uint64_t instruction;
    bool operator>(const Completion& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  void load(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  tlm::tlm_sync_enum response_from(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);

  void step();
  void retire_due(Femtoseconds now);
  void run(Femtoseconds now);  // executes until the sequencer has to wait
  bool execute_control(const Instruction& instruction, Femtoseconds now);
  void retire_control(std::uint64_t next_pc, Femtoseconds now);
  bool trigger_dma(const Instruction& instruction, Femtoseconds now);
  void fault(const Instruction& instruction, const Response& response, Femtoseconds now);
  void update_semaphore(const Instruction& instruction, UpdateTiming timing);
  void wait_until(Femtoseconds time, Cause cause);
  void set_state(State state, Cause cause);
  void show_state(std::string_view state, std::string_view stall_cause);  // in the wave
  std::uint32_t value_of(const ScalarSource& source) const;
  void semaphore_ready(Cause bound) override;
  void charge(Cause cause, Femtoseconds until);
  void advance(std::uint64_t pc);

  const EngineConfig engine_config_;
  std::deque<Instruction> program_;  // grows without moving
  std::array<std::uint32_t, kRegisters> registers_{};
  std::uint64_t pc_ = 0;
  State state_ = State::NotStarted;
  Cause wait_cause_ = Cause::NotStarted;
  Femtoseconds resume_at_ = 0;
  std::uint32_t grants_pending_ = 0;
  bool semaphore_satisfied_ = false;  // the current instruction's wait
  bool requested_ = false;            // the current instruction asked for its ports
  Availability ports_;                // what the grants say
  Response ports_response_;
  std::priority_queue<Completion, std::vector<Completion>, std::greater<>> completions_;
  std::uint64_t issue_order_ = 0;
  Femtoseconds last_complete_ = 0;
  sc_core::sc_event wake_;
  PayloadPool pool_;
  DmaRequest dma_request_;
  Attribution attribution_;
  Stats engine_stats_;

  Instruments instruments_;
  TrackId track_ = 0;
  WaveText wave_state_;  // not_started, issue, compute, wait, finished
  WaveText wave_stall_;  // what a wait is charged to, as in the attribution
  WaveText wave_opcode_;
  WaveSignal wave_instruction_;
  WaveSignal wave_busy_;
};

}  // namespace azulejo
