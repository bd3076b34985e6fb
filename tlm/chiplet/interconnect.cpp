// SPDX-License-Identifier: Apache-2.0
#include "tlm/chiplet/interconnect.h"

#include "tlm/common/check.h"
#include "tlm/common/payload.h"
#include "tlm/isa/address_map.h"

namespace azulejo {

Interconnect::Interconnect(const sc_core::sc_module_name& name) : sc_module(name) {
  target.register_nb_transport_fw(this, &Interconnect::nb_transport_fw);
  target.register_b_transport(this, &Interconnect::b_transport);
  target.register_transport_dbg(this, &Interconnect::transport_dbg);
  hbm_initiator.register_nb_transport_bw(this, &Interconnect::nb_transport_bw);
}

Interconnect::Destination Interconnect::destination_of(std::uint64_t address) {
  Destination destination;
  if (address >= address_map::kCoreBase) {
    const std::uint64_t index = (address - address_map::kCoreBase) / address_map::kCoreStride;
    destination.ok = index < core_initiator.size();
    destination.index = static_cast<unsigned int>(index);
    destination.base = address_map::kCoreBase + index * address_map::kCoreStride;
  } else {
    const std::uint64_t index = address / address_map::kHbmStride;
    destination.hbm = true;
    destination.ok = index < hbm_initiator.size();
    destination.index = static_cast<unsigned int>(index);
    destination.base = index * address_map::kHbmStride;
  }
  return destination;
}

tlm::tlm_sync_enum Interconnect::nb_transport_fw(int initiator, tlm::tlm_generic_payload& payload,
                                                 tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  const std::uint64_t address = payload.get_address();
  const Destination destination = destination_of(address);
  if (!destination.ok) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  payload.set_address(address - destination.base);
  if (!destination.hbm) {
    core_initiator[static_cast<int>(destination.index)]->b_transport(payload, delay);
    payload.set_address(address);
    return tlm::TLM_COMPLETED;
  }
  RequestKey* key = nullptr;
  payload.get_extension(key);
  if (key != nullptr) {
    key->route = static_cast<std::uint32_t>(initiator);
  } else {
    routes_[&payload] = initiator;
  }
  const tlm::tlm_sync_enum result =
      hbm_initiator[static_cast<int>(destination.index)]->nb_transport_fw(payload, phase, delay);
  if (result == tlm::TLM_COMPLETED) {
    payload.set_address(address);
    if (key == nullptr) routes_.erase(&payload);
  }
  return result;
}

tlm::tlm_sync_enum Interconnect::nb_transport_bw(int stack, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                 sc_core::sc_time& delay) {
  RequestKey* key = nullptr;
  payload.get_extension(key);
  if (phase == tlm::BEGIN_RESP) {
    payload.set_address(payload.get_address() + static_cast<std::uint64_t>(stack) * address_map::kHbmStride);
  }
  if (key != nullptr) return target[static_cast<int>(key->route)]->nb_transport_bw(payload, phase, delay);
  const auto route = routes_.find(&payload);
  AZULEJO_CHECK(route != routes_.end(), "a response to a request that came this way");
  const int initiator = route->second;
  if (phase == tlm::BEGIN_RESP) routes_.erase(route);
  return target[initiator]->nb_transport_bw(payload, phase, delay);
}

void Interconnect::b_transport(int, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t address = payload.get_address();
  const Destination destination = destination_of(address);
  if (!destination.ok) return payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  payload.set_address(address - destination.base);
  if (destination.hbm) {
    hbm_initiator[static_cast<int>(destination.index)]->b_transport(payload, delay);
  } else {
    core_initiator[static_cast<int>(destination.index)]->b_transport(payload, delay);
  }
  payload.set_address(address);
}

unsigned int Interconnect::transport_dbg(int, tlm::tlm_generic_payload& payload) {
  const std::uint64_t address = payload.get_address();
  const Destination destination = destination_of(address);
  if (!destination.ok) return 0;
  payload.set_address(address - destination.base);
  const unsigned int bytes = destination.hbm
                                 ? hbm_initiator[static_cast<int>(destination.index)]->transport_dbg(payload)
                                 : core_initiator[static_cast<int>(destination.index)]->transport_dbg(payload);
  payload.set_address(address);
  return bytes;
}

}  // namespace azulejo
