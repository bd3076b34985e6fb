// SPDX-License-Identifier: Apache-2.0
// The semaphores of a core as its engines see them.
#pragma once

#include <systemc>

#include "tlm/common/attribution.h"
#include "tlm/isa/instruction.h"

namespace azulejo {

class SemaphoreWaiter {
 public:
  // The condition holds; `bound` is the cause that the last update named.
  virtual void semaphore_ready(Cause bound) = 0;

 protected:
  ~SemaphoreWaiter() = default;
};

class SemaphoreIf : public virtual sc_core::sc_interface {
 public:
  virtual bool satisfied(const SemaphoreWait& wait) const = 0;

  // Calls `waiter` once, at the instant at which the condition holds. REQUIRES: !satisfied(wait), no other wait of this
  // waiter pending.
  virtual void notify_when(const SemaphoreWait& wait, SemaphoreWaiter& waiter) = 0;

  // Takes effect within this instant, after all updates of the instant are collected and ordered by `source`.
  virtual void update(const SemaphoreUpdate& update, std::uint32_t source, Cause cause) = 0;
};

}  // namespace azulejo
