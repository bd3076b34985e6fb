// SPDX-License-Identifier: Apache-2.0
// Where the time of an engine, queue or channel went: a cursor that moves forward over simulated time and charges every
// femtosecond it passes to exactly one cause. There is no cause "other"; the causes sum to the total.
//
// No SystemC.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tlm/common/time.h"

namespace azulejo {

enum class Cause : std::uint8_t {
  // Working.
  Compute,         // data path streaming
  MatmulStart,     // start of a matmul that nothing hides
  LoadStationary,  // weight load that no matmul hides
  Issue,           // the sequencer's own instructions, and the wait for the next clock edge
  Transfer,        // HBM: moving data
  // Waiting for data, by who owes it.
  TensorEngine,
  VectorEngine,
  ScalarEngine,
  GpSimdEngine,
  SyncEngine,
  DmaStart,       // trigger to first descriptor
  DmaDescriptor,  // DMA engine bound by the time between descriptors
  DmaTransfer,    // DMA engine bound by its bandwidth
  Hbm,            // HBM has not delivered or taken the data yet
  // Waiting for room or a turn.
  SbufSpace,  // an SBUF buffer is still in use
  PsumSpace,  // a PSUM buffer is still in use
  SbufPort,   // another engine holds the shared SBUF port
  PsumPort,
  DmaRing,       // a DMA queue's ring is full
  DmaSemaphore,  // an earlier transfer still owns the DMA's semaphore
  QueueTurn,     // DMA queue: the engine serves another queue
  Semaphore,     // a wait that the program's author wrote
  // Nothing to do.
  Idle,        // DMA, queue, HBM: no request
  NotStarted,  // before the host starts the program
  Finished,    // after the last instruction
  Count_,
};
inline constexpr std::size_t kCauses = static_cast<std::size_t>(Cause::Count_);

std::string_view cause_name(Cause cause);  // "dma_descriptor"

class Attribution {
 public:
  // Charges the time from the cursor to `until` to `cause`; nothing if the cursor is already there.
  void charge(Cause cause, Femtoseconds until) {
    if (until <= cursor_) return;
    if (recent_[(recent_next_ + kRecent - 1) % kRecent].cause != cause || cursor_ == 0) {
      recent_[recent_next_] = {cause, cursor_};
      recent_next_ = (recent_next_ + 1) % kRecent;
    }
    total_[static_cast<std::size_t>(cause)] += until - cursor_;
    cursor_ = until;
  }

  // Ends the account at exactly `end`: what was charged beyond it is taken back, what is missing goes to `open`.
  void finish(Cause open, Femtoseconds end);

  Femtoseconds cursor() const { return cursor_; }
  Femtoseconds operator[](Cause cause) const { return total_[static_cast<std::size_t>(cause)]; }
  Femtoseconds sum() const;

 private:
  struct Segment {
    Cause cause = Cause::NotStarted;
    Femtoseconds start = 0;
  };
  static constexpr std::size_t kRecent = 8;  // segments that may lie beyond the present moment

  std::array<Femtoseconds, kCauses> total_{};
  std::array<Segment, kRecent> recent_{};
  std::size_t recent_next_ = 0;
  Femtoseconds cursor_ = 0;
};

}  // namespace azulejo
