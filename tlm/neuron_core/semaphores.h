// SPDX-License-Identifier: Apache-2.0
// The 256 semaphores of one NeuronCore.
//
// Updates of one instant are collected, ordered by their source, and applied together; waits are then answered. 32-bit
// values that wrap (the width is not documented: assumed).
// Source: aws-neuron-driver address_map.h: 256 semaphores, read/set/increment/decrement aliases, 4-byte stride.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <systemc>
#include <tlm>
#include <vector>

#include "tlm/common/instruments.h"
#include "tlm/common/payload.h"
#include "tlm/common/semaphore_if.h"

namespace azulejo {

class Semaphores : public sc_core::sc_module, public SemaphoreIf {
 public:
  // The MMIO block from the read alias on: 4-byte accesses; read, set, increment and decrement by address
  // (address_map.h). Updates carry RequestKey and UpdateCause when present.
  // TLM_ADDRESS_ERROR_RESPONSE outside, TLM_BURST_ERROR_RESPONSE for other lengths, TLM_COMMAND_ERROR_RESPONSE for a
  // write to the read alias.
  tlm_utils::simple_target_socket<Semaphores> target{"target"};
  sc_core::sc_export<SemaphoreIf> waits{"waits"};

  explicit Semaphores(const sc_core::sc_module_name& name);

  std::uint32_t value(std::uint32_t semaphore) const { return values_[semaphore]; }
  void attach(const Instruments& instruments);

  bool satisfied(const SemaphoreWait& wait) const override;
  void notify_when(const SemaphoreWait& wait, SemaphoreWaiter& waiter) override;
  void update(const SemaphoreUpdate& update, std::uint32_t source, Cause cause) override;

 private:
  struct Pending {
    SemaphoreUpdate update;
    std::uint32_t source;
    Cause cause;
  };
  struct Waiting {
    SemaphoreWait wait;
    SemaphoreWaiter* waiter;
  };

  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload);
  void apply();

  // Applies in the kernel's update phase: within one delta cycle, nobody sees some of its updates and others not.
  class Applier : public sc_core::sc_prim_channel {
   public:
    explicit Applier(Semaphores& semaphores) : semaphores_(semaphores) {}
    void request() { request_update(); }

   private:
    void update() override { semaphores_.apply(); }
    Semaphores& semaphores_;
  };

  std::array<std::uint32_t, kSemaphores> values_{};
  std::vector<Pending> pending_;
  std::vector<Pending> applying_;
  std::array<std::vector<Waiting>, kSemaphores> waiting_;
  Applier applier_{*this};
  std::array<WaveSignal, kSemaphores> wave_;
};

}  // namespace azulejo
