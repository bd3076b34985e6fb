// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/program_workload.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tlm/common/error.h"
#include "tlm/isa/address_map.h"
#include "tlm/isa/assembler.h"
#include "tlm/isa/encoding.h"
#include "tlm/isa/opcode_table.h"

namespace azulejo::cli {
namespace {

class ProgramWorkload : public Workload {
 public:
  ProgramWorkload(std::string path, Program program) : path_(std::move(path)), program_(std::move(program)) {}

  std::string name() const override { return "program"; }

  void start(Platform& platform) override {
    if (!platform.keeps_data()) refuse_data_dependence();
    platform.host.load(0, program_);
    platform.host.start(0);
  }

  double fraction(Platform&) const override { return -1; }  // branches: nobody knows

  CheckResult check(Platform&) override { return {}; }

  WorkDone work() const override { return {}; }

  nlohmann::ordered_json report() const override {
    nlohmann::ordered_json json;
    json["name"] = "program";
    json["file"] = path_;
    for (std::size_t e = 0; e < kEngines; ++e) {
      json["instructions"][std::string(engine_name(static_cast<EngineId>(e)))] = program_.code[e].size();
    }
    return json;
  }

  std::vector<std::string> describe() const override {
    std::string line = fmt::format("program  {}:", path_);
    bool empty = true;
    for (std::size_t e = 0; e < kEngines; ++e) {
      empty = empty && program_.code[e].empty();
      if (!program_.code[e].empty())
        line += fmt::format(" {} {}", program_.code[e].size(), engine_name(static_cast<EngineId>(e)));
    }
    return {line + (empty ? " no instructions" : " instructions")};
  }

 private:
  // A semaphore that takes its value from memory makes times depend on data.
  void refuse_data_dependence() const {
    for (const auto& code : program_.code) {
      for (const Instruction& instruction : code) {
        if (instruction.opcode == Opcode::DmaCopy && address_map::is_semaphore(instruction.dma_dst.address)) {
          throw ConfigError(
              fmt::format("{}: a dma_copy writes a semaphore, so the times depend on data: use --data full", path_));
        }
      }
    }
  }

  const std::string path_;
  const Program program_;
};

}  // namespace

Program read_program_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw ConfigError(path + ": is a directory; a program file is expected");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  const std::vector<std::uint8_t> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) throw ConfigError(fmt::format("{}: cannot be read", path));
  const std::string_view magic = "AZLJPRG";
  if (bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0) {
    ProgramFileResult result = read_program(bytes);
    if (!result.error.empty())
      throw ConfigError(fmt::format("{}: damaged program: {}; assemble it again", path, result.error));
    return std::move(result.program);
  }
  AssemblyResult result = assemble(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (!result.errors.empty()) {
    std::vector<std::string> problems;
    for (const AssemblyError& error : result.errors) {
      problems.push_back(fmt::format("{}:{}:{}: {}", path, error.line, error.column, error.message));
    }
    throw ConfigError(problems);
  }
  return std::move(result.program);
}

std::unique_ptr<Workload> make_program(const std::string& path) {
  return std::make_unique<ProgramWorkload>(path, read_program_file(path));
}

}  // namespace azulejo::cli
