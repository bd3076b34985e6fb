// SPDX-License-Identifier: Apache-2.0
#include "tlm/dma/dma_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "tlm/common/check.h"
#include "tlm/dma/dma_timing.h"
#include "tlm/isa/address_map.h"
#include "tlm/isa/dma_descriptor.h"
#include "tlm/isa/opcode_table.h"

namespace azulejo {
namespace {

constexpr Femtoseconds kOutstanding = ~Femtoseconds{0};  // the time of a response that has not come

std::uint64_t descriptors_of(std::uint64_t row_bytes, std::uint64_t rows) {
  return rows * ((row_bytes + kDmaMaxDescriptorBytes - 1) / kDmaMaxDescriptorBytes);
}

// Rows from `row` on that lie at one stride on this side.
std::uint64_t uniform_rows(const DmaAccess& side, std::uint64_t row) {
  if (side.outer.count == 1) return side.rows() - row;
  if (side.inner.count == 1) return side.rows() - row;
  return side.inner.count - row % side.inner.count;
}

std::uint64_t stride_of(const DmaAccess& side) {
  return static_cast<std::uint64_t>(side.inner.count > 1 ? side.inner.stride_bytes : side.outer.stride_bytes);
}

}  // namespace

DmaEngine::DmaEngine(const sc_core::sc_module_name& name, const DmaConfig& config, std::uint32_t initiator,
                     std::uint64_t semaphore_block, bool keep_data, Listener& listener)
    : sc_module(name),
      config_(config),
      initiator_(initiator),
      semaphore_block_(semaphore_block),
      keep_data_(keep_data),
      listener_(listener),
      queues_(config.queues) {
  memory_initiator.register_nb_transport_bw(this, &DmaEngine::nb_transport_bw);
  SC_HAS_PROCESS(DmaEngine);
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
}

void DmaEngine::attach(const Instruments& instruments) {
  instruments_ = instruments;
  track_ = instruments.trace->track(name(), "engine");
  wave_pending_ = WaveSignal(*instruments.wave, name(), "descriptors_pending", 24);
  wave_in_flight_ = WaveSignal(*instruments.wave, name(), "bytes_in_flight", 32);
  wave_bytes_ = WaveSignal(*instruments.wave, name(), "bytes_moved", 48);
  wave_busy_ = WaveSignal(*instruments.wave, name(), "busy", 1);
}

std::uint64_t DmaEngine::dst_bytes(const DmaRequest& request) const {
  if (request.src_format == request.dst_format) return request.bytes;
  return storage_bytes(request.dst_format, request.bytes / storage_bytes(request.src_format, 1));
}

void DmaEngine::push(const DmaRequest& request, std::uint64_t first_row, std::uint64_t rows) {
  if (free_shares_.empty()) {
    shares_.push_back(std::make_unique<Share>());
    free_shares_.push_back(shares_.back().get());
  }
  Share* share = free_shares_.back();
  free_shares_.pop_back();
  const Femtoseconds now = now_fs();
  share->request = request;
  share->next_row = first_row;
  share->end_row = first_row + rows;
  share->arrived = now;
  share->ready = now + config_.start_latency;
  share->packets_left = 0;
  share->all_formed = false;
  for (std::size_t c = 0; c < kCauses; ++c) share->before[c] = attribution_[static_cast<Cause>(c)];
  ++outstanding_shares_;

  Queue& queue = queues_[request.queue];
  if (!queue.used) {
    queue.used = true;
    queue.track = instruments_.trace->track(fmt::format("{}.queue{}", name(), request.queue), "queue");
  }
  queue.shares.push_back(share);
  const std::uint64_t descriptors = descriptors_of(request.bytes, rows);
  queue.descriptors += descriptors;
  descriptors_pending_ += descriptors;
  wave_pending_ = descriptors_pending_;
  wake_.notify(sc_core::SC_ZERO_TIME);
}

void DmaEngine::step() {
  const Femtoseconds now = now_fs();
  bool progress = true;
  while (progress) {
    progress = false;
    while (retire_written(now)) progress = true;
    if (serving_ != nullptr && serve_end_ <= now) {
      end_service();
      progress = true;
    }
    while (form_packet(now)) progress = true;
    if (serving_ == nullptr && !fetched_.empty() && fetched_.front()->ready <= now &&
        writing_.size() < config_.outstanding_packets) {
      begin_service(now);
      progress = true;
    }
  }

  Femtoseconds next = kOutstanding;
  if (serving_ != nullptr) next = serve_end_;
  if (serving_ == nullptr && !fetched_.empty() && fetched_.front()->ready > now)
    next = std::min(next, fetched_.front()->ready);
  for (const Packet* packet : writing_) {
    if (packet->done > now) next = std::min(next, packet->done);
  }
  if (fetched_.size() < config_.outstanding_packets) {
    for (const Queue& queue : queues_) {
      if (!queue.shares.empty() && queue.shares.front()->ready > now)
        next = std::min(next, queue.shares.front()->ready);
    }
  }
  if (next != kOutstanding) wake_.notify(to_sc_time(next - now));
}

bool DmaEngine::form_packet(Femtoseconds now) {
  if (fetched_.size() >= config_.outstanding_packets) return false;
  for (std::uint32_t i = 0; i < config_.queues; ++i) {
    const std::uint32_t index = (next_queue_ + i) % config_.queues;
    Queue& queue = queues_[index];
    if (queue.shares.empty() || queue.shares.front()->ready > now) continue;
    Share* share = queue.shares.front();
    const DmaRequest& request = share->request;
    if (share->next_row == share->end_row) {  // a share without rows: its turn in the queue is all it needs
      queue.shares.pop_front();
      share->all_formed = true;
      // Order within the queue: its packets formed earlier must retire first.
      if (Packet* last = last_packet_of(index)) {
        last->followers.push_back(share);
      } else {
        complete(share);
      }
      return true;
    }
    if (free_packets_.empty()) {
      packets_.push_back(std::make_unique<Packet>());
      free_packets_.push_back(packets_.back().get());
    }
    Packet* packet = free_packets_.back();
    free_packets_.pop_back();
    const std::uint64_t per_row = descriptors_of(request.bytes, 1);
    std::uint64_t rows = std::max<std::uint64_t>(1, config_.packet_descriptors / per_row);
    rows = std::min({rows, share->end_row - share->next_row, uniform_rows(request.src, share->next_row),
                     uniform_rows(request.dst, share->next_row)});
    packet->share = share;
    packet->first_row = share->next_row;
    packet->rows = rows;
    packet->formed = now;
    packet->ready = kOutstanding;
    packet->done = kOutstanding;
    packet->refused = false;
    share->next_row += rows;
    ++share->packets_left;
    if (share->next_row == share->end_row) {
      share->all_formed = true;
      queue.shares.pop_front();
    }
    next_queue_ = (index + 1) % config_.queues;
    fetched_.push_back(packet);
    read(*packet);
    return true;
  }
  return false;
}

DmaEngine::Packet* DmaEngine::last_packet_of(std::uint32_t queue) const {
  const auto of_queue = [&](const Packet* packet) { return packet->share->request.queue == queue; };
  const auto fetched = std::find_if(fetched_.rbegin(), fetched_.rend(), of_queue);
  if (fetched != fetched_.rend()) return *fetched;
  if (serving_ != nullptr && of_queue(serving_)) return serving_;
  const auto writing = std::find_if(writing_.rbegin(), writing_.rend(), of_queue);
  return writing != writing_.rend() ? *writing : nullptr;
}

PooledPayload& DmaEngine::burst_payload(Packet& packet, const DmaAccess& side, std::uint64_t row_bytes, bool write) {
  PooledPayload& payload = pool_.acquire();
  const std::uint64_t bytes = packet.rows * row_bytes;
  payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  payload.set_address(row_address(side, packet.first_row));
  payload.set_data_length(static_cast<unsigned int>(bytes));
  payload.set_streaming_width(static_cast<unsigned int>(bytes));
  payload.burst.rows = packet.rows;
  payload.burst.row_bytes = row_bytes;
  payload.burst.row_stride = stride_of(side);
  payload.timing_only.set = !keep_data_;
  payload.key.initiator = initiator_;
  payload.key.sequence = sequence_++;
  if (keep_data_) {
    if (packet.data.size() < bytes) packet.data.resize(bytes);
    payload.set_data_ptr(packet.data.data());
  } else {
    payload.set_data_ptr(scratch_data(bytes));
  }
  return payload;
}

void DmaEngine::read(Packet& packet) {
  const DmaRequest& request = packet.share->request;
  PooledPayload& payload = burst_payload(packet, request.src, request.bytes, false);
  payload.packet = &packet;
  bytes_in_flight_ += packet.rows * request.bytes;
  wave_in_flight_ = bytes_in_flight_;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay;
  if (memory_initiator->nb_transport_fw(payload, phase, delay) == tlm::TLM_COMPLETED) {
    packet.ready = now_fs() + delay.value();
    if (!payload.is_response_ok()) report_fault(packet, payload, "source");
    payload.release();
  }
}

tlm::tlm_sync_enum DmaEngine::nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                              sc_core::sc_time& delay) {
  if (phase == tlm::END_REQ) return tlm::TLM_ACCEPTED;
  AZULEJO_CHECK(phase == tlm::BEGIN_RESP, "a DMA engine accepts END_REQ and BEGIN_RESP");
  auto& pooled = static_cast<PooledPayload&>(payload);
  auto& packet = *static_cast<Packet*>(pooled.packet);
  const Femtoseconds time = now_fs() + delay.value();
  if (payload.is_read()) {
    packet.ready = time;
    if (!payload.is_response_ok()) report_fault(packet, payload, "source");
  } else {
    if (!payload.is_response_ok()) report_fault(packet, payload, "destination");
    packet.done = time;
  }
  pooled.release();
  wake_.notify(sc_core::SC_ZERO_TIME);
  return tlm::TLM_COMPLETED;
}

void DmaEngine::begin_service(Femtoseconds now) {
  Packet* packet = fetched_.front();
  fetched_.pop_front();
  serving_ = packet;
  const Share& share = *packet->share;
  const DmaRequest& request = share.request;
  const DescriptorTime time = descriptor_time(config_, request.bytes, packet->rows);
  serve_end_ = add_time(now, time.total());

  // The gap before this packet: nothing asked for, then the start latency, then HBM.
  attribution_.charge(Cause::Idle, share.arrived);
  attribution_.charge(Cause::DmaStart, packet->formed);
  attribution_.charge(Cause::Hbm, now);
  attribution_.charge(Cause::DmaDescriptor, add_time(now, time.descriptor_bound));
  attribution_.charge(Cause::DmaTransfer, serve_end_);
  Queue& queue = queues_[request.queue];
  queue.attribution.charge(Cause::Idle, share.arrived);
  queue.attribution.charge(Cause::DmaStart, share.ready);
  queue.attribution.charge(Cause::QueueTurn, packet->formed);
  queue.attribution.charge(Cause::Hbm, std::min(now, packet->ready));
  queue.attribution.charge(Cause::QueueTurn, now);
  queue.attribution.charge(Cause::DmaDescriptor, add_time(now, time.descriptor_bound));
  queue.attribution.charge(Cause::DmaTransfer, serve_end_);

  ++stats_.packets;
  stats_.descriptors += time.descriptors;
  wave_busy_ = 1;
  if (instruments_.trace->enabled()) {
    const std::string_view bound = time.transfer_bound > time.descriptor_bound ? "dma_transfer" : "dma_descriptor";
    const std::string detail = fmt::format("{} rows of {} B, instruction {} of {}", packet->rows, request.bytes,
                                           request.instruction, engine_name(request.trigger));
    instruments_.trace->span(track_, fmt::format("queue {}", request.queue), now, serve_end_, detail, bound);
    instruments_.trace->span(queue.track, "dma_copy", now, serve_end_, detail, bound);
  }
}

void DmaEngine::end_service() {
  Packet* packet = serving_;
  serving_ = nullptr;
  wave_busy_ = 0;
  const DmaRequest& request = packet->share->request;
  const std::uint64_t descriptors = descriptors_of(request.bytes, packet->rows);
  queues_[request.queue].descriptors -= descriptors;
  descriptors_pending_ -= descriptors;
  wave_pending_ = descriptors_pending_;
  listener_.ring_freed(request.queue, descriptors);
  if (keep_data_ && request.src_format != request.dst_format) convert(*packet);
  writing_.push_back(packet);
  write(*packet);
}

void DmaEngine::write(Packet& packet) {
  const DmaRequest& request = packet.share->request;
  if (packet.refused) {  // nothing was read
    packet.done = now_fs();
    return;
  }
  PooledPayload& payload = burst_payload(packet, request.dst, dst_bytes(request), true);
  payload.packet = &packet;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay;
  if (memory_initiator->nb_transport_fw(payload, phase, delay) == tlm::TLM_COMPLETED) {
    if (!payload.is_response_ok()) report_fault(packet, payload, "destination");
    packet.done = now_fs() + delay.value();
    payload.release();
  }
}

void DmaEngine::convert(Packet& packet) const {
  const DmaRequest& request = packet.share->request;
  const std::size_t elements = packet.rows * (request.bytes / storage_bytes(request.src_format, 1));
  thread_local std::vector<float> values;
  values.resize(elements);
  decode_row(request.src_format, packet.data.data(), values.data(), elements);
  const std::size_t bytes = packet.rows * dst_bytes(request);
  if (packet.data.size() < bytes) packet.data.resize(bytes);
  ConversionMode mode;
  mode.saturate = request.saturate;
  encode_row(request.dst_format, values.data(), packet.data.data(), elements, mode);
}

bool DmaEngine::retire_written(Femtoseconds now) {
  for (std::size_t i = 0; i < writing_.size(); ++i) {
    Packet* packet = writing_[i];
    if (packet->done > now) continue;
    // Queues keep their order; different queues may overtake each other.
    const bool behind =
        std::any_of(writing_.begin(), writing_.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const Packet* other) { return other->share->request.queue == packet->share->request.queue; });
    if (behind) continue;
    writing_.erase(writing_.begin() + static_cast<std::ptrdiff_t>(i));
    // With nothing else in hand, the engine waited for the memory to take the data.
    if (serving_ == nullptr && fetched_.empty()) attribution_.charge(Cause::Hbm, now);
    Queue& queue = queues_[packet->share->request.queue];
    if (queue.descriptors == 0) queue.attribution.charge(Cause::Hbm, now);
    retire(packet);
    return true;
  }
  return false;
}

void DmaEngine::retire(Packet* packet) {
  Share* share = packet->share;
  const std::uint64_t moved = packet->rows * share->request.bytes;
  stats_.bytes += packet->refused ? 0 : packet->rows * dst_bytes(share->request);
  bytes_in_flight_ -= moved;
  wave_in_flight_ = bytes_in_flight_;
  wave_bytes_ = stats_.bytes;
  if (--share->packets_left == 0 && share->all_formed) complete(share);
  for (Share* follower : packet->followers) complete(follower);
  packet->followers.clear();
  free_packets_.push_back(packet);
}

void DmaEngine::complete(Share* share) {
  const SemaphoreUpdate& update = share->request.update;
  if (update.op != UpdateOp::None) {
    using namespace address_map;
    std::uint64_t alias = kSemaphoreIncrementOffset;
    if (update.op == UpdateOp::Decrement || update.op == UpdateOp::SubImmediate) alias = kSemaphoreDecrementOffset;
    if (update.op == UpdateOp::WriteImmediate) alias = kSemaphoreSetOffset;
    std::uint32_t value = update.op == UpdateOp::Increment || update.op == UpdateOp::Decrement ? 1 : update.value;
    PooledPayload& payload = pool_.acquire();
    payload.set_command(tlm::TLM_WRITE_COMMAND);
    payload.set_address(semaphore_block_ + alias - kSemaphoreReadOffset + std::uint64_t{update.semaphore} * 4);
    payload.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
    payload.set_data_length(sizeof value);
    payload.set_streaming_width(sizeof value);
    payload.key.initiator = initiator_;
    payload.update_cause.cause = bound_of(*share);
    sc_core::sc_time delay;
    memory_initiator->b_transport(payload, delay);
    AZULEJO_CHECK(payload.is_response_ok(), "a semaphore update of the core's own semaphores");
    payload.release();
  }
  --outstanding_shares_;
  free_shares_.push_back(share);
}

Cause DmaEngine::bound_of(const Share& share) const {
  Cause bound = Cause::DmaStart;
  Femtoseconds most = 0;
  for (Cause cause : {Cause::DmaStart, Cause::DmaDescriptor, Cause::DmaTransfer, Cause::Hbm}) {
    const Femtoseconds spent = attribution_[cause] - share.before[static_cast<std::size_t>(cause)];
    if (spent > most) {
      most = spent;
      bound = cause;
    }
  }
  return bound;
}

void DmaEngine::report_fault(Packet& packet, const tlm::tlm_generic_payload& payload, const char* side) {
  packet.refused = true;
  ++stats_.faults;
  const DmaRequest& request = packet.share->request;
  Fault fault;
  fault.engine = name();
  fault.instruction = request.instruction;
  fault.time = now_fs();
  fault.text = fmt::format("dma_copy triggered by the {} engine", engine_name(request.trigger));
  fault.response = payload.get_response_string();
  fault.message = fmt::format("{} rows of {} bytes at address {:#x} ({}) are not inside one memory", packet.rows,
                              request.bytes, payload.get_address(), side);
  instruments_.faults->fault(fault);
}

void DmaEngine::finish_account(Femtoseconds end) {
  const bool waiting = !fetched_.empty() || !writing_.empty();
  attribution_.finish(waiting ? Cause::Hbm : outstanding_shares_ > 0 ? Cause::DmaStart : Cause::Idle, end);
  for (Queue& queue : queues_) {
    if (queue.used)
      queue.attribution.finish(queue.descriptors > 0 ? (waiting ? Cause::Hbm : Cause::DmaStart) : Cause::Idle, end);
  }
}

}  // namespace azulejo
