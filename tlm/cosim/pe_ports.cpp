// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/pe_ports.h"

#include <fmt/format.h>

#include <cstdlib>
#include <pugixml.hpp>
#include <string_view>

#include "tlm/common/error.h"
#include "tlm/isa/text.h"

namespace azulejo {
namespace {

class TypeTable {
 public:
  explicit TypeTable(const pugi::xml_node& table) {
    for (const pugi::xml_node& type : table.children()) types_.emplace(type.attribute("id").value(), type);
  }

  bool unpacked(const std::string& id) const {
    const auto found = types_.find(id);
    return found != types_.end() && std::string_view(found->second.name()) == "unpackarraydtype";
  }

  std::uint32_t bits(const std::string& id) const {
    const auto found = types_.find(id);
    if (found == types_.end()) return 0;
    const pugi::xml_node& type = found->second;
    const std::string_view kind = type.name();
    if (kind == "basicdtype") return range(type.attribute("left"), type.attribute("right"));
    if (kind == "structdtype" || kind == "uniondtype") {
      std::uint32_t total = 0;
      for (const pugi::xml_node& member : type.children("memberdtype"))
        total += bits(member.attribute("sub_dtype_id").value());
      return total;
    }
    const std::uint32_t element = bits(type.attribute("sub_dtype_id").value());
    if (kind != "packarraydtype" && kind != "unpackarraydtype") return element;
    const pugi::xml_node bounds = type.child("range");
    return element * range(bounds.child("const").attribute("name"), bounds.last_child().attribute("name"));
  }

 private:
  // A constant reads "32'sh3"; a plain number is decimal.
  static long number(const pugi::xml_attribute& attribute) {
    const std::string_view text = attribute.value();
    const std::size_t hex = text.find('h');
    return hex == std::string_view::npos ? attribute.as_int()
                                         : std::strtol(std::string(text.substr(hex + 1)).c_str(), nullptr, 16);
  }
  static std::uint32_t range(const pugi::xml_attribute& left, const pugi::xml_attribute& right) {
    return left.empty() ? 1 : static_cast<std::uint32_t>(std::labs(number(left) - number(right)) + 1);
  }

  std::map<std::string, pugi::xml_node> types_;
};

std::string describe(const RtlPort& port) {
  return port.direction == "parameter"
             ? "a parameter"
             : fmt::format("an {} of {} bit{}", port.direction, port.bits, port.bits == 1 ? "" : "s");
}

}  // namespace

std::map<std::string, RtlPort> read_ports(const std::string& xml_path) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_file(xml_path.c_str());
  const pugi::xml_node netlist = document.child("verilator_xml").child("netlist");
  if (!result || !netlist) {
    throw ConfigError(
        fmt::format("{}: no XML of Verilator ({}); Debian 12's verilator writes it", xml_path, result.description()));
  }
  const TypeTable types(netlist.child("typetable"));
  std::map<std::string, RtlPort> ports;
  for (const pugi::xml_node& var : netlist.find_child_by_attribute("module", "topModule", "1").children("var")) {
    const bool parameter = var.attribute("param").as_bool();
    if (!parameter && var.attribute("dir").empty()) continue;
    std::string direction = parameter ? "parameter" : var.attribute("dir").value();
    if (types.unpacked(var.attribute("dtype_id").value())) direction += " array";
    ports[var.attribute("origName").value()] = {std::move(direction), types.bits(var.attribute("dtype_id").value())};
  }
  return ports;
}

std::vector<std::string> compare_ports(const std::string& module, const std::map<std::string, RtlPort>& ports,
                                       const std::string& wanted_module, const std::map<std::string, RtlPort>& wanted) {
  std::vector<std::string> problems;
  std::vector<std::string_view> names;
  for (const auto& [name, port] : wanted) names.push_back(name);
  for (const auto& [name, port] : wanted) {
    const auto found = ports.find(name);
    if (found == ports.end()) {
      problems.push_back(
          fmt::format("{}: {} is missing; {} has it as {}", module, name, wanted_module, describe(port)));
      continue;
    }
    const bool same_width = port.direction == "parameter" || found->second.bits == port.bits;
    if (found->second.direction == port.direction && same_width) continue;
    problems.push_back(fmt::format("{}: {} is {}; {} has it as {}", module, name, describe(found->second),
                                   wanted_module, describe(port)));
  }
  for (const auto& [name, port] : ports) {
    // A parameter more has its default.
    if (port.direction == "parameter" || wanted.count(name) != 0) continue;
    problems.push_back(fmt::format("{}: {} is {}; {} has no such port{}", module, name, describe(port), wanted_module,
                                   did_you_mean(name, names)));
  }
  return problems;
}

}  // namespace azulejo
