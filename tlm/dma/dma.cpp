// SPDX-License-Identifier: Apache-2.0
#include "tlm/dma/dma.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tlm/common/check.h"
#include "tlm/isa/dma_descriptor.h"

namespace azulejo {

Dma::Dma(const sc_core::sc_module_name& name, const DmaConfig& config, std::uint32_t first_initiator,
         std::uint64_t semaphore_block, bool keep_data)
    : sc_module(name),
      config_(config),
      waiting_(config.queues),
      pending_of_queue_(config.queues),
      wave_queues_(config.queues) {
  request_target.register_nb_transport_fw(this, &Dma::nb_transport_fw);
  for (std::uint32_t i = 0; i < config.engines; ++i) {
    engines_.push_back(std::make_unique<DmaEngine>(fmt::format("engine{}", i).c_str(), config, first_initiator + i,
                                                   semaphore_block, keep_data,
                                                   static_cast<DmaEngine::Listener&>(*this)));
  }
  SC_HAS_PROCESS(Dma);
  SC_METHOD(admit);
  sensitive << admit_;
  dont_initialize();
}

void Dma::attach(const Instruments& instruments) {
  trace_ = instruments.trace;
  track_ = trace_->track(name(), "counter");
  wave_transfers_ = WaveSignal(*instruments.wave, name(), "transfers", 32);
  wave_waiting_ = WaveSignal(*instruments.wave, name(), "waiting_for_ring", 8);
  for (std::uint32_t q = 0; q < config_.queues; ++q) {
    wave_queues_[q] = WaveSignal(*instruments.wave, name(), fmt::format("queue{}_descriptors", q), 24);
  }
  for (auto& engine : engines_) engine->attach(instruments);
}

tlm::tlm_sync_enum Dma::nb_transport_fw(int binding, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                        sc_core::sc_time&) {
  AZULEJO_CHECK(phase == tlm::BEGIN_REQ, "the DMA accepts BEGIN_REQ only");
  AZULEJO_CHECK(payload.get_data_length() == sizeof(DmaRequest), "a DMA request carries a DmaRequest");
  Waiting arrival{binding, &payload, {}, false};
  std::memcpy(&arrival.request, payload.get_data_ptr(), sizeof(DmaRequest));
  const DmaRequest& request = arrival.request;
  if (!acceptable(request)) {
    payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    // Who waits for the transfer must not hang: its semaphore moves as if every engine had finished.
    DmaRequest nothing = request;
    if (nothing.queue >= config_.queues) nothing.queue = 0;
    for (auto& engine : engines_) engine->push(nothing, 0, 0);
    return tlm::TLM_COMPLETED;
  }
  payload.acquire();
  arriving_.push_back(arrival);
  admit_.notify(sc_core::SC_ZERO_TIME);
  return tlm::TLM_ACCEPTED;
}

bool Dma::acceptable(const DmaRequest& request) const {
  const bool converts = request.src_format != request.dst_format;
  const bool whole_bytes = spec(request.src_format).storage_bits >= 8 && spec(request.dst_format).storage_bits >= 8;
  const std::uint64_t longest = std::uint64_t{config_.packet_descriptors} * kDmaMaxDescriptorBytes;
  return request.queue < config_.queues && request.bytes > 0 && request.bytes <= longest && request.src.rows() > 0 &&
         request.src.rows() == request.dst.rows() &&
         (!converts || (whole_bytes && request.bytes % storage_bytes(request.src_format, 1) == 0));
}

bool Dma::fits(const DmaRequest& request) const {
  const std::uint64_t per_row = (request.bytes + kDmaMaxDescriptorBytes - 1) / kDmaMaxDescriptorBytes;
  for (std::uint32_t e = 0; e < config_.engines; ++e) {
    const std::uint64_t pending = engines_[e]->pending_descriptors(request.queue);
    const std::uint64_t more = partition_share(request.src.rows(), config_.engines, e).rows * per_row;
    // A transfer longer than the ring enters an empty one and is fed piece by piece.
    if (pending != 0 && more != 0 && pending + more > config_.ring_entries) return false;
  }
  return true;
}

void Dma::enter(const DmaRequest& request) {
  ++stats_.transfers;
  wave_transfers_ = stats_.transfers;
  const std::uint64_t descriptors =
      request.src.rows() * ((request.bytes + kDmaMaxDescriptorBytes - 1) / kDmaMaxDescriptorBytes);
  pending_ += descriptors;
  pending_of_queue_[request.queue] += descriptors;
  show_pending(request.queue);
  for (std::uint32_t e = 0; e < config_.engines; ++e) {  // without rows: the semaphore increment all the same
    const DmaShare share = partition_share(request.src.rows(), config_.engines, e);
    engines_[e]->push(request, share.first_row, share.rows);
  }
}

void Dma::admit() {
  // Requests of one instant enter by the number of the engine that triggered them.
  std::stable_sort(arriving_.begin(), arriving_.end(),
                   [](const Waiting& a, const Waiting& b) { return a.request.trigger < b.request.trigger; });
  for (const Waiting& arrival : arriving_) {
    waiting_[arrival.request.queue].push_back(arrival);
    ++waiting_count_;
  }
  arriving_.clear();
  for (auto& queue : waiting_) {
    while (!queue.empty()) {
      if (!fits(queue.front().request)) {
        if (!queue.front().counted) ++stats_.ring_waits;
        queue.front().counted = true;
        break;
      }
      const Waiting request = queue.front();
      queue.pop_front();
      --waiting_count_;
      enter(request.request);
      request.payload->set_response_status(tlm::TLM_OK_RESPONSE);
      tlm::tlm_phase phase = tlm::BEGIN_RESP;
      sc_core::sc_time delay;
      request_target[request.binding]->nb_transport_bw(*request.payload, phase, delay);
      request.payload->release();
    }
  }
  wave_waiting_ = waiting_count_;
}

void Dma::show_pending(std::uint32_t queue) {
  wave_queues_[queue] = pending_of_queue_[queue];
  if (trace_->enabled()) trace_->counter(track_, "descriptors pending", now_fs(), static_cast<double>(pending_));
}

void Dma::ring_freed(std::uint32_t queue, std::uint64_t descriptors) {
  pending_ -= descriptors;
  pending_of_queue_[queue] -= descriptors;
  show_pending(queue);
  if (waiting_count_ > 0) admit_.notify(sc_core::SC_ZERO_TIME);
}

bool Dma::idle() const {
  return arriving_.empty() && waiting_count_ == 0 &&
         std::all_of(engines_.begin(), engines_.end(), [](const auto& engine) { return engine->idle(); });
}

void Dma::finish_account(Femtoseconds end) {
  for (auto& engine : engines_) engine->finish_account(end);
}

}  // namespace azulejo
