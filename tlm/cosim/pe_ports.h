// SPDX-License-Identifier: Apache-2.0
// Whether a user's PE has the ports and parameters of rtl/pe/pe.sv, read from what Verilator says of both modules (its
// --xml-only output).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace azulejo {

struct RtlPort {
  std::string direction;  // "input", "output", "parameter"
  std::uint32_t bits = 0;
};

// Ports and parameters of the top module, by name. Throws ConfigError if the file is none of Verilator's.
std::map<std::string, RtlPort> read_ports(const std::string& xml_path);

// One sentence per port or parameter that is missing, additional or different; empty if none. `module` and
// `wanted_module` name the two in the sentences.
std::vector<std::string> compare_ports(const std::string& module, const std::map<std::string, RtlPort>& ports,
                                       const std::string& wanted_module, const std::map<std::string, RtlPort>& wanted);

}  // namespace azulejo
