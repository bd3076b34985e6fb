// SPDX-License-Identifier: Apache-2.0
// Speed of the main job, `gemm` on one NeuronCore of trn1.2xlarge, as ratios within one run:
//   data full   simulated multiply-adds against the host's FP32 FMA peak on one core   (reach: at least one half)
//   data none   against SCALE-Sim 3: 2048 x 2048 x 2048 in 425 CPU s on a machine whose SystemC kernel runs an
//   SC_METHOD in
//               58 ns (scalesim-project/scale-sim-v3 1d62b68), scaled by this machine's SC_METHOD   (reach: at least
//               1,000)
//   wave off    time that the signals' assignments take when no wave is written, of a run without data, which has most
//               of them for its time   (reach: less than 1 %)
// Exit status 1 if a result is wrong or a ratio falls below four fifths of its reach (shared machines are noisy).
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <systemc>

#include "platforms/cli/gemm_workload.h"
#include "sw/runtime/runtime.h"
#include "tests/bench/host_peak.h"

namespace {

using namespace azulejo;

constexpr double kGuard = 0.8;
constexpr double kScaleSimSeconds = 425;   // CPU s for 2048^3
constexpr double kScaleSimMethod = 58e-9;  // s per SC_METHOD activation on its machine

// A process that only notifies itself.
class Ticker : public sc_core::sc_module {
 public:
  explicit Ticker(const sc_core::sc_module_name& name) : sc_module(name) {
    SC_HAS_PROCESS(Ticker);
    SC_METHOD(tick);
    sensitive << event_;
    dont_initialize();
  }
  void run(unsigned count) {
    left_ = count;
    event_.notify(1, sc_core::SC_NS);
  }

 private:
  void tick() {
    if (--left_ > 0) next_trigger(1, sc_core::SC_NS);
  }
  unsigned left_ = 0;
  sc_core::sc_event event_;
};

double method_seconds(Ticker& ticker) {
  constexpr unsigned kCount = 1'000'000;
  const double start = bench::cpu_seconds();
  ticker.run(kCount);
  sc_core::sc_start();
  return (bench::cpu_seconds() - start) / kCount;
}

int bench_full() {
  const PlatformConfig config = load_platform("trn1.2xlarge", {});
  Platform platform(config, {});
  cli::GemmArguments arguments;
  arguments.m = "4096";
  arguments.k = "8192";
  arguments.n = "4096";
  const auto workload = cli::make_gemm(arguments, config, true, 1);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  workload->start(platform);
  // The peak is sampled between slices of the run: both see the same machine, whatever else it does meanwhile.
  double peak_sum = 0;
  double peak_seconds = 0;
  int samples = 0;
  RunLimits limits;
  limits.progress = [&](Femtoseconds) {
    const double before = bench::cpu_seconds();
    peak_sum += bench::host_peak_flops();
    ++samples;
    peak_seconds += bench::cpu_seconds() - before;
  };
  const double start = bench::cpu_seconds();
  run_simulation(limits, [&] { return platform.finished(); });
  const double seconds = bench::cpu_seconds() - start - peak_seconds;
  const double peak = peak_sum / samples;
  const double rate = workload->work().flops / seconds;
  const bool exact = workload->check(platform).mismatches == 0;
  std::printf("data full  4096 x 8192 x 4096 bf16: %.1f GFLOP/s of %.1f GFLOP/s peak: ratio %.2f%s\n", rate / 1e9,
              peak / 1e9, rate / peak, exact ? "" : "  (WRONG RESULT)");
  return exact && rate >= kGuard * 0.5 * peak ? 0 : 1;
}

int bench_none() {
  const PlatformConfig config = load_platform("trn1.2xlarge", {});
  Ticker ticker("ticker");
  const double start = bench::cpu_seconds();
  PlatformOptions options;
  options.keep_data = false;
  Platform platform(config, options);
  cli::GemmArguments arguments;
  arguments.m = arguments.k = arguments.n = "2048";
  const auto workload = cli::make_gemm(arguments, config, false, 1);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  workload->start(platform);
  run_simulation({}, [&] { return platform.finished(); });
  const double seconds = bench::cpu_seconds() - start;
  const double method = method_seconds(ticker);
  const double ratio = kScaleSimSeconds / kScaleSimMethod / (seconds / method);
  std::printf("data none  2048 x 2048 x 2048: %.3f CPU s, SC_METHOD %.0f ns here: %.0f times SCALE-Sim 3\n", seconds,
              method * 1e9, ratio);
  return ratio >= kGuard * 1000 ? 0 : 1;
}

// Counts what would be recorded.
class CountingSink : public WaveSink {
 public:
  SignalId declare(std::string_view, std::string_view, unsigned) override { return 0; }
  SignalId declare_text(std::string_view, std::string_view, unsigned) override { return 0; }
  void change(SignalId, std::uint64_t) override { ++count; }
  void change_text(SignalId, std::string_view) override { ++count; }
  void change_at(SignalId, std::uint64_t, Femtoseconds) override { ++count; }
  void change_text_at(SignalId, std::string_view, Femtoseconds) override { ++count; }
  std::uint64_t count = 0;
};

// CPU seconds of the simulation; `sink` null: no wave.
double run_with(WaveSink* sink) {
  const PlatformConfig config = load_platform("trn1.2xlarge", {});
  PlatformOptions options;
  options.keep_data = false;
  Platform platform(config, options);
  if (sink != nullptr) {
    Instruments instruments;
    instruments.wave = sink;
    platform.attach(instruments);
  }
  cli::GemmArguments arguments;
  arguments.m = arguments.k = arguments.n = "4096";
  const auto workload = cli::make_gemm(arguments, config, false, 1);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  workload->start(platform);
  const double start = bench::cpu_seconds();
  run_simulation({}, [&] { return platform.finished(); });
  return bench::cpu_seconds() - start;
}

int bench_wave_off() {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  if (fork() == 0) {  // SystemC elaborates once a process
    CountingSink sink;
    run_with(&sink);
    _exit(write(ends[1], &sink.count, sizeof sink.count) == sizeof sink.count ? 0 : 1);
  }
  std::uint64_t assignments = 0;
  if (read(ends[0], &assignments, sizeof assignments) != sizeof assignments) return 1;
  wait(nullptr);
  const double seconds = run_with(nullptr);
  constexpr std::uint64_t kCount = 200'000'000;
  WaveSignal off(WaveSink::none(), "scope", "signal", 8);
  const double start = bench::cpu_seconds();
  for (std::uint64_t i = 0; i < kCount; ++i) {
    off = i;
    asm volatile("" : "+m"(off));  // it is read each time
  }
  const double each = (bench::cpu_seconds() - start) / kCount;
  const double share = static_cast<double>(assignments) * each / seconds;
  std::printf("wave off   4096 x 4096 x 4096 without data: %llu assignments of %.2f ns in %.3f CPU s: %.3f %%\n",
              static_cast<unsigned long long>(assignments), each * 1e9, seconds, 100 * share);
  return share < 0.01 && assignments > 0 ? 0 : 1;
}

}  // namespace

// SystemC elaborates once a process: `gemm_bench full`, `none` or `wave_off`.
int sc_main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "full") == 0) return bench_full();
  if (argc == 2 && std::strcmp(argv[1], "none") == 0) return bench_none();
  if (argc == 2 && std::strcmp(argv[1], "wave_off") == 0) return bench_wave_off();
  std::fputs("usage: gemm_bench full|none|wave_off\n", stderr);
  return 2;
}

int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
