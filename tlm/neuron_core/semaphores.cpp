// SPDX-License-Identifier: Apache-2.0
#include "tlm/neuron_core/semaphores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tlm/common/check.h"
#include "tlm/isa/address_map.h"

namespace azulejo {
namespace {

constexpr std::uint64_t kSetAlias = address_map::kSemaphoreSetOffset - address_map::kSemaphoreReadOffset;
constexpr std::uint64_t kIncrementAlias = address_map::kSemaphoreIncrementOffset - address_map::kSemaphoreReadOffset;
constexpr std::uint64_t kDecrementAlias = address_map::kSemaphoreDecrementOffset - address_map::kSemaphoreReadOffset;

}  // namespace

Semaphores::Semaphores(const sc_core::sc_module_name& name) : sc_module(name) {
  target.register_b_transport(this, &Semaphores::b_transport);
  target.register_transport_dbg(this, &Semaphores::transport_dbg);
  waits.bind(*this);
}

void Semaphores::attach(const Instruments& instruments) {
  for (std::uint32_t s = 0; s < kSemaphores; ++s)
    wave_[s] = WaveSignal(*instruments.wave, name(), fmt::format("s{}", s), 32);
}

bool Semaphores::satisfied(const SemaphoreWait& wait) const {
  const std::uint32_t value = values_[wait.semaphore];
  switch (wait.condition) {
    case WaitCondition::None:
      return true;
    case WaitCondition::GreaterEqual:
      return value >= wait.value;
    case WaitCondition::Equal:
      return value == wait.value;
    case WaitCondition::LessEqual:
      return value <= wait.value;
  }
  return true;
}

void Semaphores::notify_when(const SemaphoreWait& wait, SemaphoreWaiter& waiter) {
  waiting_[wait.semaphore].push_back({wait, &waiter});
}

void Semaphores::update(const SemaphoreUpdate& update, std::uint32_t source, Cause cause) {
  pending_.push_back({update, source, cause});
  applier_.request();
}

void Semaphores::apply() {
  applying_.swap(pending_);
  std::stable_sort(applying_.begin(), applying_.end(), [](const Pending& a, const Pending& b) {
    return a.update.semaphore != b.update.semaphore ? a.update.semaphore < b.update.semaphore : a.source < b.source;
  });
  for (std::size_t i = 0; i < applying_.size(); ++i) {
    const SemaphoreUpdate& update = applying_[i].update;
    std::uint32_t& value = values_[update.semaphore];
    switch (update.op) {
      case UpdateOp::None:
        break;
      case UpdateOp::Increment:
        ++value;
        break;
      case UpdateOp::Decrement:
        --value;
        break;
      case UpdateOp::AddImmediate:
        value += update.value;
        break;
      case UpdateOp::SubImmediate:
        value -= update.value;
        break;
      case UpdateOp::WriteImmediate:
        value = update.value;
        break;
    }
    const bool last = i + 1 == applying_.size() || applying_[i + 1].update.semaphore != update.semaphore;
    if (!last) continue;
    wave_[update.semaphore] = value;
    auto& waiting = waiting_[update.semaphore];
    for (std::size_t w = 0; w < waiting.size();) {
      if (!satisfied(waiting[w].wait)) {
        ++w;
        continue;
      }
      SemaphoreWaiter* waiter = waiting[w].waiter;
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(w));
      waiter->semaphore_ready(applying_[i].cause);
    }
  }
  applying_.clear();
}

void Semaphores::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
  const std::uint64_t address = payload.get_address();
  const std::uint64_t alias = address / 0x400 * 0x400;
  if (address > kDecrementAlias + (kSemaphores - 1) * 4)
    return payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  if (payload.get_data_length() != 4 || address % 4 != 0)
    return payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
  SemaphoreUpdate change;
  change.semaphore = static_cast<std::uint8_t>(address % 0x400 / 4);
  if (payload.is_read()) {
    std::memcpy(payload.get_data_ptr(), &values_[change.semaphore], 4);
    return payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  std::memcpy(&change.value, payload.get_data_ptr(), 4);
  change.op = alias == kSetAlias         ? UpdateOp::WriteImmediate
              : alias == kIncrementAlias ? UpdateOp::AddImmediate
              : alias == kDecrementAlias ? UpdateOp::SubImmediate
                                         : UpdateOp::None;
  if (change.op == UpdateOp::None) return payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
  RequestKey* key = nullptr;
  UpdateCause* cause = nullptr;
  payload.get_extension(key);
  payload.get_extension(cause);
  // Engines are sources 0 to 4; those beyond the core come after them.
  update(change, kEngines + (key != nullptr ? key->initiator : 0), cause != nullptr ? cause->cause : Cause::Semaphore);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

unsigned int Semaphores::transport_dbg(tlm::tlm_generic_payload& payload) {
  const std::uint64_t address = payload.get_address();
  if (!payload.is_read() || payload.get_data_length() != 4 || address % 4 != 0 || address / 4 >= kSemaphores) return 0;
  std::memcpy(payload.get_data_ptr(), &values_[address / 4], 4);
  return 4;
}

}  // namespace azulejo
