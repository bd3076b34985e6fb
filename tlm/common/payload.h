// SPDX-License-Identifier: Apache-2.0
// Generic payloads and their extensions: a pool, rows of a strided burst, and the mark of a payload without data.
#pragma once

#include <cstdint>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "tlm/common/attribution.h"
#include "tlm/common/time.h"

namespace azulejo {

inline sc_core::sc_time to_sc_time(Femtoseconds time) { return sc_core::sc_time::from_value(time); }
inline Femtoseconds now_fs() { return sc_core::sc_time_stamp().value(); }

// A burst of `rows` rows of row_bytes each: the payload's address is the first row's, its data_length rows * row_bytes,
// its data the rows one after another; row r lies at address + row_stride * r. Absent: one row. Only targets that state
// support in their header receive it.
struct StridedBurst : tlm::tlm_extension<StridedBurst> {
  std::uint64_t rows = 1;
  std::uint64_t row_bytes = 0;
  std::uint64_t row_stride = 0;

  tlm::tlm_extension_base* clone() const override { return new StridedBurst(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const StridedBurst&>(other); }
};

// Present and set: the data pointer is scratch memory; the target takes the time and leaves the data alone.
struct TimingOnly : tlm::tlm_extension<TimingOnly> {
  bool set = false;

  tlm::tlm_extension_base* clone() const override { return new TimingOnly(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const TimingOnly&>(other); }
};

// On a semaphore write: what bounded the work that it reports, for the attribution of who waits. Ignorable.
struct UpdateCause : tlm::tlm_extension<UpdateCause> {
  Cause cause = Cause::Semaphore;

  tlm::tlm_extension_base* clone() const override { return new UpdateCause(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const UpdateCause&>(other); }
};

// Identity of the initiator and a running number of its requests: the key that orders requests of one instant.
struct RequestKey : tlm::tlm_extension<RequestKey> {
  std::uint32_t initiator = 0;  // unique within the chip
  std::uint64_t sequence = 0;
  std::uint32_t route = 0;  // the interconnect's port on the way back; the interconnect's alone

  tlm::tlm_extension_base* clone() const override { return new RequestKey(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const RequestKey&>(other); }
};

// A payload that carries all four extensions from birth, so that no transaction allocates.
class PooledPayload : public tlm::tlm_generic_payload {
 public:
  explicit PooledPayload(tlm::tlm_mm_interface* pool);
  ~PooledPayload() override;
  PooledPayload(const PooledPayload&) = delete;
  PooledPayload& operator=(const PooledPayload&) = delete;

  StridedBurst burst;
  TimingOnly timing_only;
  UpdateCause update_cause;
  RequestKey key;
  void* packet = nullptr;  // the owner's own note; nobody else reads it
};

// Owner of payloads. Everything given out must come back before the pool is destroyed.
class PayloadPool : public tlm::tlm_mm_interface {
 public:
  // A payload with reference count 1, an incomplete response, and extensions that say nothing; the caller sets command,
  // address, data, lengths and key.
  PooledPayload& acquire();
  void free(tlm::tlm_generic_payload* payload) override;

  std::size_t outstanding() const { return all_.size() - free_.size(); }

 private:
  std::vector<std::unique_ptr<PooledPayload>> all_;
  std::vector<PooledPayload*> free_;
};

// Memory that a payload without data may point to: `bytes` bytes, shared by all, never read or written by our targets.
unsigned char* scratch_data(std::uint64_t bytes);

}  // namespace azulejo
