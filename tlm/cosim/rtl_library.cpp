// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/rtl_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
#include <verilated.h>
#include <verilated_cov.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <tuple>

#include "tlm/common/error.h"
#include "tlm/cosim/pe_ports.h"
#include "tlm/isa/text.h"

extern char** environ;

namespace azulejo {
namespace {

namespace fs = std::filesystem;

// Where the build has the sources, its own libraries and Verilator's run-time library.
const fs::path kSource = AZULEJO_SOURCE_DIR;
const fs::path kBuilt = AZULEJO_RTL_BUILD_DIR;
const fs::path kRuntime = AZULEJO_RTL_RUNTIME_DIR;

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool is_verilog(const fs::path& path) { return path.extension() == ".sv" || path.extension() == ".v"; }
bool is_verilog_or_header(const fs::path& path) {
  return is_verilog(path) || path.extension() == ".svh" || path.extension() == ".vh";
}

// True if a package is declared in the file: rtl/verilate.sh has the same rule.
bool has_package(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos && line.compare(first, 8, "package ") == 0) return true;
  }
  return false;
}

std::vector<fs::path> sorted_files(const fs::path& directory, bool (*wanted)(const fs::path&)) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.is_regular_file() && wanted(entry.path())) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Runs a program to its end with its output in `log`; false if it could not be started or failed.
bool run_program(std::vector<std::string> words, const fs::path& log) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    std::ofstream(log) << "error: " << words[0] << ": " << std::strerror(error) << '\n';
    return false;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The first lines of a log that say what went wrong.
std::vector<std::string> error_lines(const fs::path& log, const std::string& prefix) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> lines;
  std::ifstream file(log);
  std::string line;
  while (lines.size() < kMost && std::getline(file, line)) {
    if (line.find("rror") != std::string::npos) lines.push_back(prefix + line);
  }
  if (lines.empty()) lines.push_back(prefix + "Verilator or the compiler failed without a message");
  return lines;
}

// A scratch path that goes away with its owner.
class Scratch {
 public:
  explicit Scratch(fs::path path) : path_(std::move(path)) {}
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const fs::path& path() const { return path_; }

 private:
  const fs::path path_;
};

// Holds a file's lock.
class Lock {
 public:
  explicit Lock(const fs::path& path) : file_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    if (file_ >= 0) ::flock(file_, LOCK_EX);
  }
  ~Lock() {
    if (file_ >= 0) ::close(file_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  const int file_;
};

void check_sources(const RtlParameters& parameters) {
  const std::string& top = parameters.pe_top;
  const bool word =
      !top.empty() && top.find("__") == std::string::npos &&
      std::all_of(top.begin(), top.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (!word || std::isdigit(static_cast<unsigned char>(top[0])) != 0) {
    throw ConfigError(fmt::format("--rtl pe={}:{}: {} is no module name that can be used; letters, digits and single _",
                                  parameters.pe_directory, top, quote_word(top)));
  }
  if (parameters.faults) {
    throw ConfigError(
        fmt::format("--rtl pe={}: seeded faults are in the shipped RTL only; leave out --rtl or --rtl-fault",
                    quote_word(parameters.pe_directory)));
  }
  std::error_code error;
  const fs::path directory = parameters.pe_directory;
  if (!fs::is_directory(directory, error)) {
    throw ConfigError(fmt::format("--rtl pe={}: no such directory; give the one with the SystemVerilog of the PE",
                                  quote_word(parameters.pe_directory)));
  }
  if (sorted_files(directory, is_verilog).empty()) {
    throw ConfigError(fmt::format("--rtl pe={}: no .sv or .v file in it; the PE's module {} must be in one",
                                  quote_word(parameters.pe_directory), parameters.pe_top));
  }
}

std::vector<std::string> lint_command(const fs::path& xml, const std::string& top) {
  const fs::path rtl = kSource / "rtl";
  return {"verilator",
          "--xml-only",
          "--xml-output",
          xml.string(),
          "--Mdir",
          xml.parent_path().string(),
          "-Wno-fatal",
          "-Wno-lint",
          "-Wno-style",
          "-I" + (rtl / "pkg").string(),
          "--top-module",
          top,
          (rtl / "pkg/azulejo_pkg.sv").string(),
          (rtl / "pkg/azulejo_fault_pkg.sv").string()};
}

// Refuses a PE of other ports than pe.sv's, before anything is compiled.
void check_ports(const RtlParameters& parameters, const fs::path& scratch) {
  const std::string prefix = fmt::format("--rtl pe={}: ", quote_word(parameters.pe_directory));
  std::vector<std::string> shipped = lint_command(scratch / "shipped.xml", "pe");
  std::vector<std::string> own = lint_command(scratch / "own.xml", parameters.pe_top);
  std::vector<fs::path> own_files = sorted_files(parameters.pe_directory, is_verilog);
  std::stable_partition(own_files.begin(), own_files.end(), has_package);
  own.push_back("-I" + parameters.pe_directory);
  own.push_back("-Werror-MODDUP");
  std::vector<fs::path> arithmetic = sorted_files(kSource / "rtl/fp", is_verilog);
  std::stable_partition(arithmetic.begin(), arithmetic.end(), has_package);
  for (const fs::path& file : arithmetic) {
    shipped.push_back(file.string());
    const bool replaced = std::any_of(own_files.begin(), own_files.end(),
                                      [&](const fs::path& mine) { return mine.filename() == file.filename(); });
    if (!replaced) own.push_back(file.string());
  }
  shipped.push_back((kSource / "rtl/pe/pe.sv").string());
  for (const fs::path& file : own_files) own.push_back(file.string());
  const fs::path log = scratch / "log";
  if (!run_program(own, log)) throw ConfigError(error_lines(log, prefix));
  if (!run_program(shipped, log)) throw ConfigError(error_lines(log, "rtl/pe/pe.sv: "));
  std::vector<std::string> problems = compare_ports(parameters.pe_top, read_ports((scratch / "own.xml").string()),
                                                    "pe.sv", read_ports((scratch / "shipped.xml").string()));
  for (std::string& problem : problems) problem.insert(0, prefix);
  if (!problems.empty()) throw ConfigError(problems);
}

// 64-bit FNV-1a over everything that goes into a library.
class Digest {
 public:
  void add(const std::string& text) {
    for (const char c : text + '\0') state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3;
  }
  std::string text() const { return fmt::format("{:016x}", state_); }

 private:
  std::uint64_t state_ = 0xCBF2'9CE4'8422'2325;
};

std::string digest(const RtlParameters& parameters) {
  Digest digest;
  digest.add(fmt::format("{} {} {} {} {}", parameters.pipeline_stages, parameters.flush_denormals, parameters.faults,
                         parameters.coverage, parameters.pe_top));
  const auto add_files = [&](const fs::path& directory, bool (*wanted)(const fs::path&)) {
    for (const fs::path& file : sorted_files(directory, wanted)) {
      digest.add(file.filename().string());
      digest.add(read_text(file));
    }
  };
  for (const char* part : {"rtl", "rtl/pkg", "rtl/fp", "rtl/pe", "rtl/rounding", "tlm/cosim/units"})
    add_files(kSource / part, [](const fs::path& path) { return path.extension() != ".md"; });
  digest.add(read_text(kSource / "tlm/cosim/rtl_abi.h"));
  if (!parameters.pe_directory.empty()) {
    std::vector<fs::path> files;  // with what may be included
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(parameters.pe_directory)) {
      if (entry.is_regular_file() && is_verilog_or_header(entry.path())) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      digest.add(file.string());
      digest.add(read_text(file));
    }
  }
  return digest.text();
}

fs::path compile(const RtlParameters& parameters, const std::function<void(const std::string&)>& progress) {
  const bool own = !parameters.pe_directory.empty();
  if (own) check_sources(parameters);
  const fs::path cache = kBuilt / "cache";
  const fs::path library = cache / (digest(parameters) + ".so");
  std::error_code error;
  if (fs::exists(library, error)) return library;
  fs::create_directories(cache, error);
  // Of several processes that want the same library, one compiles and the others wait.
  const Lock lock(cache / (library.stem().string() + ".lock"));
  if (fs::exists(library, error)) return library;
  // What a process that was killed left behind.
  for (const fs::directory_entry& entry : fs::directory_iterator(cache)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && name.rfind(library.stem().string() + ".", 0) == 0) fs::remove_all(entry.path(), error);
  }
  const Scratch scratch(cache / fmt::format("{}.{}", library.stem().string(), ::getpid()));
  fs::create_directories(scratch.path(), error);
  if (error) {
    throw ConfigError(fmt::format("{}: {}; compiled RTL is kept there", cache.string(), error.message()));
  }
  if (own) check_ports(parameters, scratch.path());
  if (progress) {
    progress(fmt::format("compiling the RTL of {} ({} pipeline stage{}{}{}{}), about a minute, once",
                         own ? parameters.pe_directory : "the shipped PE", parameters.pipeline_stages,
                         parameters.pipeline_stages == 1 ? "" : "s",
                         parameters.flush_denormals ? ", denormals flushed" : "",
                         parameters.faults ? ", with faults" : "", parameters.coverage ? ", with coverage" : ""));
  }
  const fs::path output = scratch.path() / "library.so";
  std::vector<std::string> command = {(kSource / "rtl/verilate.sh").string(),
                                      "--output",
                                      output.string(),
                                      "--stages",
                                      std::to_string(parameters.pipeline_stages),
                                      "--flush",
                                      parameters.flush_denormals ? "1" : "0",
                                      "--runtime",
                                      kRuntime.string()};
  if (parameters.faults) command.push_back("--faults");
  if (parameters.coverage) command.push_back("--coverage");
  if (own) command.insert(command.end(), {"--pe", parameters.pe_directory, "--pe-top", parameters.pe_top});
  const fs::path log = scratch.path() / "log";
  if (!run_program(command, log)) {
    throw ConfigError(
        error_lines(log, own ? fmt::format("--rtl pe={}: ", quote_word(parameters.pe_directory)) : "RTL: "));
  }
  fs::rename(output, library, error);
  if (error) throw ConfigError(fmt::format("{}: {}", library.string(), error.message()));
  return library;
}

fs::path library_path(const RtlParameters& parameters, const std::function<void(const std::string&)>& progress) {
  const bool shipped = parameters.pipeline_stages == 1 && !parameters.flush_denormals && !parameters.coverage &&
                       parameters.pe_directory.empty();
  if (shipped) return kBuilt / (parameters.faults ? "faults.so" : "plain.so");
  return compile(parameters, progress);
}

// Cycles from an activation to its sum, 0 if none comes out.
std::uint32_t measure_latency(const rtl::PeAbi& pe) {
  constexpr std::uint32_t kLongest = 64;
  std::array<rtl::PeInputs, kLongest> inputs{};
  std::array<rtl::PeOutputs, kLongest> outputs{};
  inputs[0].act.valid = 1;
  VerilatedContext context;  // of its own, since plain_context() would keep its coverage counters
  {
    const std::unique_ptr<void, void (*)(void*)> unit(pe.unit.create(&context, "latency"), pe.unit.destroy);
    pe.run(unit.get(), kLongest, inputs.data(), outputs.data());
  }
  Verilated::threadContextp(&plain_context());  // `context` ends here
  for (std::uint32_t t = 0; t < kLongest; ++t) {
    if (outputs[t].psum.valid != 0) return t + 1;
  }
  return 0;
}

}  // namespace

VerilatedContext& plain_context() {
  static VerilatedContext context;
  return context;
}

void write_rtl_coverage(const std::string& path) { plain_context().coveragep()->write(path.c_str()); }

const RtlLibrary& RtlLibrary::load(const RtlParameters& parameters,
                                   const std::function<void(const std::string&)>& progress) {
  static std::map<std::tuple<std::uint32_t, bool, bool, bool, std::string, std::string>, RtlLibrary> loaded;
  const auto key = std::make_tuple(parameters.pipeline_stages, parameters.flush_denormals, parameters.faults,
                                   parameters.coverage, parameters.pe_directory, parameters.pe_top);
  const auto found = loaded.find(key);
  if (found != loaded.end()) return found->second;

  const fs::path path = library_path(parameters, progress);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto entry = handle == nullptr
                         ? nullptr
                         : reinterpret_cast<decltype(&azulejo_rtl_library)>(dlsym(handle, "azulejo_rtl_library"));
  if (entry == nullptr) throw ConfigError(fmt::format("{}: {}; delete it and try again", path.string(), dlerror()));
  RtlLibrary library;
  library.parameters_ = parameters;
  library.abi_ = entry();
  const rtl::LibraryAbi& abi = *library.abi_;
  if (abi.abi_version != rtl::kAbiVersion) {
    throw ConfigError(fmt::format("{}: made for interface {}, this is {}; delete it and try again", path.string(),
                                  abi.abi_version, rtl::kAbiVersion));
  }
  library.pe_latency_cycles_ = measure_latency(abi.pe);
  if (!parameters.pe_directory.empty() && library.pe_latency_cycles_ != parameters.pipeline_stages) {
    throw ConfigError(fmt::format(
        "--rtl pe={}: {}, tensor_engine.pe_stages is {}; give a PE and a platform of the same number, 1 to 3",
        quote_word(parameters.pe_directory),
        library.pe_latency_cycles_ == 0
            ? "no sum ever leaves the PE"
            : fmt::format("a sum leaves the PE after {} cycles", library.pe_latency_cycles_),
        parameters.pipeline_stages));
  }
  return loaded.emplace(key, std::move(library)).first->second;
}

}  // namespace azulejo
