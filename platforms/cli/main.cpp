// SPDX-License-Identifier: Apache-2.0
// The command line: parses, calls one command, turns errors into one line each and an exit status.
//
// Exit status: 0 success, 1 the run failed its check or the program faulted, 2 the user's input was wrong, 3 output
// incomplete or internal error.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <systemc>

#include "platforms/cli/cosim_command.h"
#include "platforms/cli/list_command.h"
#include "platforms/cli/log.h"
#include "platforms/cli/run_command.h"
#include "platforms/cli/version.h"
#include "tlm/common/error.h"
#include "tlm/common/output_file.h"
#include "tlm/isa/text.h"

namespace azulejo::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  azulejo run trn1.2xlarge gemm                                  1024 x 1024 x 1024 in bf16, checked
  azulejo run trn1.2xlarge gemm --m 4096 --k 8192 --n 8192 --data none
  azulejo run trn1.2xlarge gemm --a A.npy --b B.npy --out C.npy  your own matrices
  azulejo run trn1.2xlarge gemm --tiling hoist --trace t.json --wave w.vcd --report r.json
  azulejo run trn1.2xlarge gemm --wave w.fst --view              and look at it in GTKWave
  azulejo run trn1.2xlarge gemm --pe lockstep --rtl-fault round_tie_away --wave w.fst --wave-trigger mismatch
  azulejo run trn1.2xlarge gemm --set hbm.bandwidth='100 GB/s'   what if
  azulejo run trn1.2xlarge gemm --m 128 --k 128 --n 64 --pe lockstep  model and RTL, bit for bit
  azulejo list signals trn1.2xlarge 'chip0.nc0.*' --set tensor_engine.pe=rtl  with the inside of the RTL
  azulejo list keys | azulejo config trn2.3xlarge > mine.yaml | azulejo run ./mine.yaml gemm

What every run takes: azulejo run --help. Exit status: 0 success, 1 check failed or program faulted, 2 wrong input, 3 output incomplete or internal error.)";

void add_common_run_options(CLI::App& app, RunArguments& run) {
  app.add_option("--set", run.settings, "Override a configuration key, KEY=VALUE (repeatable; azulejo list keys)")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--data", run.data, "full: move and check data; none: times only")
      ->type_name("full|none")
      ->capture_default_str();
  app.add_option("--seed", run.seed, "Seed of data, rounding and injection")->type_name("N")->capture_default_str();
  app.add_option("--until", run.until, "Stop at this simulated time, e.g. 500us")->type_name("TIME");
  app.add_option(
         "--pe", run.pe,
         "PE arrays and rounding units: the model, Verilated RTL, or both compared; a --set of an instance wins")
      ->type_name("tlm|rtl|lockstep");
  app.add_option("--rtl", run.rtl, "SystemVerilog of your own PE, with the ports of rtl/pe/pe.sv, in place of it")
      ->type_name("pe=DIR[:TOP]");
  app.add_option("--rtl-fault", run.rtl_fault,
                 "Seed a fault into the RTL (azulejo list faults), everywhere or at chip0.nc0.tensor_engine.pe_3_17")
      ->type_name("NAME[@PATH]");
  app.add_option("--stop-on", run.stop_on,
                 "mismatch: stop at the first difference in lockstep; fault: there or at the program's first fault; "
                 "never: go on and count")
      ->type_name("fault|mismatch|never")
      ->capture_default_str();
  app.add_option("--reproducer", run.reproducer,
                 "Where the first difference goes, for azulejo cosim replay (azulejo-mismatch-UNIT-OPERATION.json)")
      ->type_name("FILE");
  app.add_option("--capture", run.capture, "Write the operands of the first matmuls, for azulejo cosim replay")
      ->type_name("FILE");
  app.add_option("--capture-count", run.capture_count, "How many of them (default 4)")->type_name("N");
  app.add_option("--inject", run.inject, "Damage results to test the check: bitflip:psum[:BIT]")->type_name("FAULT");
  app.add_option("--report", run.report, "Write the report as JSON")->type_name("FILE");
  app.add_option("--trace", run.trace, "Write a timeline for Perfetto or chrome://tracing")->type_name("FILE");
  app.add_flag("--quiet", run.quiet, "No summary and no progress bar");
  add_wave_options(app, run.wave, true);
}

// An empty value is none, and must not pass for an option that was not given.
void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    option->check(
        [](const std::string& value) { return std::string(value.empty() ? "the value is empty; see --help" : ""); },
        "");
  }
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) refuse_empty_values(*sub);
}

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

// What is wrong with a command line that does not parse, a line each, with the nearest option or command.
std::vector<std::string> parse_problems(const CLI::App& app, const CLI::ParseError& error) {
  std::vector<std::string> names;
  std::string command;
  for (const CLI::App* level = &app; level != nullptr;) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    for (const CLI::App* sub : level->get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(sub->get_name());
    const auto chosen = level->get_subcommands();
    level = chosen.empty() ? nullptr : chosen.front();
    if (level != nullptr) command += level->get_name() + ": ";
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const bool required = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
  const bool extras = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  const std::vector<std::string> words = app.remaining(true);
  if ((required || extras) && !words.empty()) {
    // After an unknown command nothing is known: its options are no problems of their own.
    std::vector<std::string> problems;
    for (const std::string& word : words) {
      if (!problems.empty() && !(is_option(words.front()) && is_option(word))) continue;
      const std::string name = word.substr(0, word.find('='));
      problems.push_back(
          fmt::format("{}unexpected {}{}; see --help", command, quote_word(name), did_you_mean(name, views)));
    }
    return problems;
  }
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  if (required && command.empty()) return {"which command? run, cosim, list, config, asm or disasm; see --help"};
  if (required) return {fmt::format("{}{} is missing; see --help", command, text.substr(0, text.find(" is required")))};
  return {text};
}

int run_main(int argc, char** argv) {
  CLI::App app{"azulejo: a SystemC/TLM-2.0 virtual platform for tiled AI accelerators", "azulejo"};
  app.footer(kExamples);
  app.set_version_flag("--version", std::string("azulejo ") + kVersion);
  app.require_subcommand(1);
  std::string level = "warning";
  app.add_option("--log", level, "Messages on stderr")->type_name("error|warning|info|debug")->capture_default_str();
  app.fallthrough();

  RunArguments run;
  CLI::App* run_app = app.add_subcommand("run", "Run a workload on a platform");
  run_app->add_option("platform", run.platform, "Preset (azulejo list platforms) or YAML file")->required();
  run_app->require_subcommand(0, 1);
  add_common_run_options(*run_app, run);
  run_app->fallthrough();
  CLI::App* gemm = run_app->add_subcommand("gemm", "C = A * B on NeuronCores, checked against a golden model");
  gemm->add_option("--m", run.gemm.m, "Rows of A and C (default 1024)")->type_name("N");
  gemm->add_option("--k", run.gemm.k, "Columns of A, rows of B (default 1024)")->type_name("N");
  gemm->add_option("--n", run.gemm.n, "Columns of B and C (default 1024)")->type_name("N");
  gemm->add_option(
          "--dtype", run.gemm.type,
          "Elements of A and B: bf16, fp16, fp32, tf32, e4m3, e5m2, e3m4, int8 (default bf16, or the files' type)")
      ->type_name("TYPE");
  gemm->add_option("--out-dtype", run.gemm.out_type, "Elements of C (default as --dtype; bf16 for 8-bit types)")
      ->type_name("TYPE");
  gemm->add_option("--partials", run.gemm.partials, "Partial results between K blocks of tiling full")
      ->type_name("fp32|bf16")
      ->capture_default_str();
  gemm->add_option("--tiling", run.gemm.tiling, "How tiles are loaded and reused")
      ->type_name("basic|hoist|block_free|full")
      ->capture_default_str();
  gemm->add_option("--cores", run.gemm.cores, "Split the rows of C over this many cores")
      ->type_name("N")
      ->capture_default_str();
  gemm->add_option("--a", run.gemm.a, "A as float32 or float16 .npy, [M, K]")->type_name("A.npy");
  gemm->add_option("--b", run.gemm.b, "B as float32 or float16 .npy, [K, N]")->type_name("B.npy");
  gemm->add_option("--out", run.gemm.out, "Write C (float32, or float16 for fp16)")->type_name("C.npy");
  gemm->fallthrough();
  CLI::App* program = run_app->add_subcommand("program", "Run assembler text or a binary program on core 0");
  program->add_option("file", run.program_file, "Program (azulejo asm writes binary ones)")->required();
  program->fallthrough();

  CosimArguments cosim;
  add_cosim_command(app, cosim);

  std::string what;
  std::vector<std::string> list_arguments;
  std::vector<std::string> settings;
  CLI::App* list =
      app.add_subcommand("list", "List platforms, workloads, keys, signals, instructions, formats, causes or faults");
  list->add_option(
      "what", what,
      "platforms | workloads | keys | signals PLATFORM [GLOB…] | instructions | formats | causes | faults");
  list->add_option("arguments", list_arguments, "Platform and globs, for signals");
  list->add_option("--set", settings, "Override a configuration key, KEY=VALUE")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  CLI::App* config =
      app.add_subcommand("config", "Print a platform's effective configuration, as YAML that can be run");
  std::string config_platform;
  config->add_option("platform", config_platform, "Preset or YAML file")->required();
  config->add_option("--set", settings, "Override a configuration key, KEY=VALUE")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  std::string input;
  std::string output;
  CLI::App* assemble_app = app.add_subcommand("asm", "Assemble a program: check it, and write the binary form with -o");
  assemble_app->add_option("file", input, "Assembler text")->required();
  assemble_app->add_option("-o,--output", output, "Binary program")->type_name("FILE");
  CLI::App* disassemble_app = app.add_subcommand("disasm", "Print a program as canonical assembler text");
  disassemble_app->add_option("file", input, "Binary program or text")->required();
  disassemble_app->add_option("-o,--output", output, "Text file instead of stdout")->type_name("FILE");

  refuse_empty_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    throw ConfigError(parse_problems(app, error));
  }
  const std::optional<LogLevel> parsed = parse_log_level(level);
  if (!parsed) {
    throw ConfigError(fmt::format("--log: unknown {}; allowed: error, warning, info, debug{}", quote_word(level),
                                  did_you_mean(level, {"error", "warning", "info", "debug"})));
  }
  set_log_level(*parsed);

  if (run_app->parsed()) {
    if (!gemm->parsed() && !program->parsed()) {
      throw ConfigError("run: which workload? gemm or program; for instance: azulejo run trn1.2xlarge gemm");
    }
    run.workload = gemm->parsed() ? "gemm" : "program";
    run.command = "azulejo";
    for (int i = 1; i < argc; ++i) run.command += std::string(" ") + argv[i];
    set_default_path(run.wave);
    return run_command(run);
  }
  if (app.got_subcommand("cosim")) {
    set_default_path(cosim.wave);
    return cosim_command(cosim);
  }
  if (list->parsed()) return list_command(what, list_arguments, settings);
  if (config->parsed()) return config_command(config_platform, settings);
  if (assemble_app->parsed()) return asm_command(input, output);
  return disasm_command(input, output);
}

}  // namespace
}  // namespace azulejo::cli

int sc_main(int argc, char** argv) {
  try {
    return azulejo::cli::run_main(argc, argv);
  } catch (const azulejo::ConfigError& error) {
    for (const std::string& problem : error.problems()) std::fprintf(stderr, "azulejo: %s\n", problem.c_str());
    return 2;
  } catch (const azulejo::OutputError& error) {
    std::fprintf(stderr, "azulejo: %s\n", error.what());
    return 3;
  } catch (const std::bad_alloc&) {
    std::fputs("azulejo: not enough memory on this host; --data none needs much less\n", stderr);
    return 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "azulejo: internal error: %s\n", error.what());
    return 3;
  }
}

int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);  // the kernel's banner
  std::signal(SIGXFSZ, SIG_IGN);                        // a file's limit is an error of the write that meets it
  return sc_core::sc_elab_and_sim(argc, argv);
}
