// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/payload.h"

namespace azulejo {

PooledPayload::PooledPayload(tlm::tlm_mm_interface* pool) : tlm::tlm_generic_payload(pool) {
  set_extension(&burst);
  set_extension(&timing_only);
  set_extension(&update_cause);
  set_extension(&key);
}

PooledPayload::~PooledPayload() {
  // The base class frees extensions that are still set; these are members.
  clear_extension(&burst);
  clear_extension(&timing_only);
  clear_extension(&update_cause);
  clear_extension(&key);
}

PooledPayload& PayloadPool::acquire() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<PooledPayload>(this));
    free_.push_back(all_.back().get());
  }
  PooledPayload& payload = *free_.back();
  free_.pop_back();
  payload.acquire();
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  payload.set_byte_enable_ptr(nullptr);
  payload.set_dmi_allowed(false);
  payload.burst.rows = 1;
  payload.burst.row_bytes = 0;
  payload.burst.row_stride = 0;
  payload.timing_only.set = false;
  payload.update_cause.cause = Cause::Semaphore;
  return payload;
}

void PayloadPool::free(tlm::tlm_generic_payload* payload) { free_.push_back(static_cast<PooledPayload*>(payload)); }

unsigned char* scratch_data(std::uint64_t bytes) {
  // Outgrown buffers stay alive: a payload may still point to one.
  static std::vector<std::vector<unsigned char>> buffers;
  if (buffers.empty() || buffers.back().size() < bytes) buffers.emplace_back(bytes);
  return buffers.back().data();
}

}  // namespace azulejo
