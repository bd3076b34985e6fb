// SPDX-License-Identifier: Apache-2.0
// Do the seeded faults have the same numbers, names and modules in C++ and in rtl/pkg, and is each of them in its
// module?
#include "tlm/cosim/fault_table.h"

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/unit/common/temporary_directory.h"
#include "tlm/common/error.h"

namespace azulejo::test {
namespace {

const std::filesystem::path kRtl = std::filesystem::path(AZULEJO_SOURCE_DIR) / "rtl";

std::string snake_case(const std::string& enumerator) {
  std::string name;
  for (const char c : enumerator) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (upper && !name.empty()) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

TEST(FaultTable, IsThatOfTheRtlPackage) {
  std::istringstream package(TemporaryDirectory::read((kRtl / "pkg/azulejo_fault_pkg.sv").string()));
  const std::regex comment("\\s*// (\\w+)");
  const std::regex enumerator("\\s*(\\w+)\\s*= 8'd(\\d+),?");
  std::string line;
  std::string module;
  std::size_t row = 0;
  while (std::getline(package, line)) {
    std::smatch match;
    if (std::regex_match(line, match, comment)) module = match[1];
    if (!std::regex_match(line, match, enumerator) || match[1] == "NoFault") continue;
    ASSERT_LT(row, rtl_faults().size()) << "fault_table.cpp lacks " << line;
    const RtlFault& fault = rtl_faults()[row++];
    EXPECT_EQ(fault.enumerator, match[1].str());
    EXPECT_EQ(fault.name, snake_case(match[1]));
    EXPECT_EQ(std::to_string(fault.id), match[2].str()) << fault.name;
    EXPECT_EQ(fault.module, module) << fault.name;
  }
  EXPECT_EQ(row, rtl_faults().size());
  EXPECT_GE(row, 60U);
}

// The text of every module and function of rtl/, by name.
std::map<std::string, std::string> units_of_rtl() {
  const std::regex begin("\\s*(?:module|function automatic [^;=(]*?)\\s*\\b(\\w+)\\s*(?:#?\\(|$)");
  const std::regex end("\\s*(?:endmodule|endfunction).*");
  std::map<std::string, std::string> units;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRtl)) {
    if (entry.path().extension() != ".sv") continue;
    std::istringstream text(TemporaryDirectory::read(entry.path().string()));
    std::string line;
    std::string name;
    while (std::getline(text, line)) {
      std::smatch match;
      if (name.empty() && std::regex_search(line, match, begin, std::regex_constants::match_continuous))
        name = match[1];
      if (!name.empty()) units[name] += line + "\n";
      if (std::regex_match(line, end)) name.clear();
    }
  }
  return units;
}

TEST(FaultTable, EveryFaultIsInItsModuleAndSaysWhatItDoes) {
  std::map<std::string, std::string> units = units_of_rtl();
  std::set<std::string_view> sentences;
  for (const RtlFault& fault : rtl_faults()) {
    const std::string& text = units[std::string(fault.module)];
    EXPECT_TRUE(std::regex_search(text, std::regex("\\b" + std::string(fault.enumerator) + "\\b")))
        << fault.enumerator << " is not in " << fault.module;
    EXPECT_GT(fault.what.size(), 10U) << fault.name;
    EXPECT_TRUE(fault.name == "xorwow_zero_kept" || fault.name == "encode_tie_away" ||
                sentences.insert(fault.what).second)
        << fault.name << " says what another says";
  }
}

std::string refusal(const std::string& text) {
  try {
    parse_fault(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(FaultTable, AFaultIsReadWithItsPlace) {
  const FaultPlace everywhere = parse_fault("add_sticky_dropped");
  EXPECT_EQ(everywhere.fault->enumerator, "AddStickyDropped");
  EXPECT_EQ(everywhere.instance, "");
  EXPECT_EQ(everywhere.row, -1);
  EXPECT_EQ(everywhere.col, -1);
  const FaultPlace instance = parse_fault("lfsr_tap_wrong@chip0.nc1.vector_engine");
  EXPECT_EQ(instance.fault->module, "lfsr_source");
  EXPECT_EQ(instance.instance, "chip0.nc1.vector_engine");
  EXPECT_EQ(instance.row, -1);
  const FaultPlace pe = parse_fault("pe_stale_weight@pe_3_127");
  EXPECT_EQ(pe.instance, "");
  EXPECT_EQ(pe.row, 3);
  EXPECT_EQ(pe.col, 127);
  const FaultPlace both = parse_fault("round_tie_away@chip0.nc0.tensor_engine.pe_0_17");
  EXPECT_EQ(both.instance, "chip0.nc0.tensor_engine");
  EXPECT_EQ(both.row, 0);
  EXPECT_EQ(both.col, 17);
}

TEST(FaultTable, AnUnknownFaultOrPlaceIsRefusedWithARemedy) {
  EXPECT_EQ(refusal("add_stickydropped"), "no seeded fault 'add_stickydropped'; did you mean 'add_sticky_dropped'?");
  EXPECT_EQ(refusal("x"), "no seeded fault 'x'; 'azulejo list faults' has their names");
  EXPECT_EQ(refusal(""), "no seeded fault ''; 'azulejo list faults' has their names");
  const std::string start = "fault pe_stale_weight: the place ";
  for (const char* place : {"", ".", "pe_", "pe_3", "pe_3_", "pe_128_0", "pe_0_128", "pe_-1_0", "pe_1_2_3", "chip0.",
                            "chip0..nc0", "chip 0", "Chip0", ".pe_1_2", "pe_1_2.x@", "pe_99999999999999999999_0"}) {
    const std::string sentence = refusal(std::string("pe_stale_weight@") + place);
    EXPECT_EQ(sentence.substr(0, start.size()), start) << place;
  }
  EXPECT_EQ(refusal("lfsr_tap_wrong@pe_0_0"),
            "fault lfsr_tap_wrong: the place 'pe_0_0' is a PE, and lfsr_source is in none; places look like "
            "chip0.nc0.vector_engine");
}

}  // namespace
}  // namespace azulejo::test
