// SPDX-License-Identifier: Apache-2.0
// Seeded faults. Only a build with AZULEJO_FAULTS has them: every unit then has an input `fault_i` that selects one.
`ifndef AZULEJO_FAULT_SVH
`define AZULEJO_FAULT_SVH
`ifdef AZULEJO_FAULTS
  // The last port of a unit or function, its connection at an instance and its argument in a call; all bring their comma.
  `define AZULEJO_FAULT_PORT , input azulejo_fault_pkg::fault_e fault_i
  `define AZULEJO_FAULT_CONNECT(signal) , .fault_i(signal)
  `define AZULEJO_FAULT_PASS(signal) , signal
  // `faulty` while `name` is selected, else `good`.
  `define AZULEJO_FAULT(name, faulty, good) ((fault_i == azulejo_fault_pkg::name) ? (faulty) : (good))
`else
  `define AZULEJO_FAULT_PORT
  `define AZULEJO_FAULT_CONNECT(signal)
  `define AZULEJO_FAULT_PASS(signal)
  `define AZULEJO_FAULT(name, faulty, good) (good)
`endif
`endif
