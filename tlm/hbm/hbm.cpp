// SPDX-License-Identifier: Apache-2.0
#include "tlm/hbm/hbm.h"

#include <algorithm>
#include <tuple>

#include "tlm/common/check.h"

namespace azulejo {
namespace {

std::tuple<std::uint32_t, std::uint64_t> order_of(const tlm::tlm_generic_payload& payload) {
  RequestKey* key = nullptr;
  payload.get_extension(key);
  if (key == nullptr) return {~std::uint32_t{0}, 0};
  return {key->initiator, key->sequence};
}

}  // namespace

Hbm::Hbm(const sc_core::sc_module_name& name, const HbmConfig& config, bool keep_data)
    : sc_module(name), config_(config), keep_data_(keep_data) {
  target.register_nb_transport_fw(this, &Hbm::nb_transport_fw);
  target.register_b_transport(this, &Hbm::b_transport);
  target.register_transport_dbg(this, &Hbm::transport_dbg);
  SC_HAS_PROCESS(Hbm);
  SC_METHOD(arbitrate);
  sensitive << arbitrate_;
  dont_initialize();
}

void Hbm::attach(const Instruments& instruments) {
  trace_ = instruments.trace;
  track_ = trace_->track(name(), "channel");
  wave_read_bytes_ = WaveSignal(*instruments.wave, name(), "read_bytes", 48);
  wave_written_bytes_ = WaveSignal(*instruments.wave, name(), "written_bytes", 48);
}

Hbm::Burst Hbm::burst_of(const tlm::tlm_generic_payload& payload) {
  Burst burst;
  StridedBurst* strided = nullptr;
  TimingOnly* timing_only = nullptr;
  payload.get_extension(strided);
  payload.get_extension(timing_only);
  burst.row_bytes = payload.get_data_length();
  if (strided != nullptr && strided->rows > 1) burst = {strided->rows, strided->row_bytes, strided->row_stride, true};
  burst.with_data = timing_only == nullptr || !timing_only->set;
  return burst;
}

bool Hbm::check(tlm::tlm_generic_payload& payload) {
  const Burst burst = burst_of(payload);
  tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
  if (payload.get_byte_enable_ptr() != nullptr) {
    status = tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
  } else if (burst.row_bytes == 0 || payload.get_streaming_width() < payload.get_data_length()) {
    status = tlm::TLM_BURST_ERROR_RESPONSE;
  } else {
    // Signed and wide: a stride may be negative, and a wild one must not wrap back into the stack.
    const SignedWide first = payload.get_address();
    const SignedWide last =
        first + SignedWide{static_cast<std::int64_t>(burst.stride)} * static_cast<SignedWide>(burst.rows - 1);
    const SignedWide end = static_cast<SignedWide>(config_.capacity) - static_cast<SignedWide>(burst.row_bytes);
    if (std::min(first, last) < 0 || std::max(first, last) > end) status = tlm::TLM_ADDRESS_ERROR_RESPONSE;
  }
  payload.set_response_status(status);
  if (status != tlm::TLM_OK_RESPONSE) ++stats_.refused;
  return status == tlm::TLM_OK_RESPONSE;
}

tlm::tlm_sync_enum Hbm::nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                        sc_core::sc_time& delay) {
  if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
  AZULEJO_CHECK(phase == tlm::BEGIN_REQ, "HBM accepts BEGIN_REQ and END_RESP");
  AZULEJO_CHECK(delay == sc_core::SC_ZERO_TIME, "a shared resource is touched at kernel time only");
  if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  if (!check(payload)) return tlm::TLM_COMPLETED;
  if (payload.has_mm()) payload.acquire();
  waiting_.push_back(&payload);
  arbitrate_.notify(sc_core::SC_ZERO_TIME);
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

void Hbm::arbitrate() {
  serving_.swap(waiting_);
  std::stable_sort(serving_.begin(), serving_.end(),
                   [](const auto* a, const auto* b) { return order_of(*a) < order_of(*b); });
  const Femtoseconds now = now_fs();
  for (tlm::tlm_generic_payload* payload : serving_) {
    const Femtoseconds done = serve(*payload, now);
    move(*payload);
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = to_sc_time(done);
    target->nb_transport_bw(*payload, phase, delay);
    if (payload->has_mm()) payload->release();
  }
  serving_.clear();
}

Femtoseconds Hbm::serve(tlm::tlm_generic_payload& payload, Femtoseconds arrival) {
  const Burst burst = burst_of(payload);
  // Rows of one burst share their alignment when the stride is whole accesses; the first row's stands for all.
  const std::uint64_t head = payload.get_address() % config_.access_size;
  const std::uint64_t accesses = (head + burst.row_bytes + config_.access_size - 1) / config_.access_size;
  const std::uint64_t moved = burst.rows * accesses * config_.access_size;
  const Femtoseconds start = std::max(arrival, free_at_);
  free_at_ = add_time(start, transfer_time(moved, config_.bandwidth));
  attribution_.charge(Cause::Idle, start);
  attribution_.charge(Cause::Transfer, free_at_);
  if (trace_->enabled()) trace_->span(track_, payload.is_read() ? "read" : "write", start, free_at_, "", "");

  const std::uint64_t bytes = burst.rows * burst.row_bytes;
  stats_.moved_bytes += moved;
  if (payload.is_read()) {
    ++stats_.reads;
    stats_.read_bytes += bytes;
    wave_read_bytes_ = stats_.read_bytes;
  } else {
    ++stats_.writes;
    stats_.written_bytes += bytes;
    wave_written_bytes_ = stats_.written_bytes;
  }
  return free_at_ + config_.latency - arrival;
}

void Hbm::move(tlm::tlm_generic_payload& payload) {
  const Burst burst = burst_of(payload);
  if (!keep_data_ || !burst.with_data) return;
  for (std::uint64_t row = 0; row < burst.rows; ++row) {
    const std::uint64_t address = payload.get_address() + row * burst.stride;
    std::uint8_t* data = payload.get_data_ptr() + row * burst.row_bytes;
    if (payload.is_read()) {
      store_.read(address, data, burst.row_bytes);
    } else {
      store_.write(address, data, burst.row_bytes);
    }
  }
}

void Hbm::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) return payload.set_response_status(tlm::TLM_OK_RESPONSE);
  if (!check(payload)) return;
  delay += to_sc_time(serve(payload, add_time(now_fs(), delay.value())));
  move(payload);
}

unsigned int Hbm::transport_dbg(tlm::tlm_generic_payload& payload) {
  const std::uint64_t bytes = payload.get_data_length();
  const std::uint64_t address = payload.get_address();
  if (!keep_data_ || address > config_.capacity || config_.capacity - address < bytes) return 0;
  if (payload.is_read()) {
    store_.read(address, payload.get_data_ptr(), bytes);
  } else if (payload.is_write()) {
    store_.write(address, payload.get_data_ptr(), bytes);
  }
  return static_cast<unsigned int>(bytes);
}

void Hbm::finish_account(Femtoseconds end) { attribution_.finish(Cause::Idle, end); }

}  // namespace azulejo
