// SPDX-License-Identifier: Apache-2.0
// On-die interconnect: routes by address from DMA engines and host to HBM stacks and core windows (address_map.h).
//
// Abstraction: no time and no contention of its own. Base protocol towards HBM; accesses to a core complete at once.
#pragma once

#include <tlm_utils/multi_passthrough_initiator_socket.h>
#include <tlm_utils/multi_passthrough_target_socket.h>

#include <systemc>
#include <tlm>
#include <unordered_map>

namespace azulejo {

class Interconnect : public sc_core::sc_module {
 public:
  // Any number of initiators.
  tlm_utils::multi_passthrough_target_socket<Interconnect> target{"target"};
  tlm_utils::multi_passthrough_initiator_socket<Interconnect> hbm_initiator{"hbm_initiator"};    // stack order
  tlm_utils::multi_passthrough_initiator_socket<Interconnect> core_initiator{"core_initiator"};  // core order

  explicit Interconnect(const sc_core::sc_module_name& name);

 private:
  struct Destination {
    bool hbm = false;
    bool ok = false;
    unsigned int index = 0;
    std::uint64_t base = 0;
  };

  Destination destination_of(std::uint64_t address);
  tlm::tlm_sync_enum nb_transport_fw(int initiator, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay);
  tlm::tlm_sync_enum nb_transport_bw(int stack, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay);
  void b_transport(int initiator, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned int transport_dbg(int initiator, tlm::tlm_generic_payload& payload);

  std::unordered_map<const tlm::tlm_generic_payload*, int> routes_;  // of requests without RequestKey
};

}  // namespace azulejo
