// SPDX-License-Identifier: Apache-2.0
// Speed of the Verilated PE array: a 128 x 128 x 512 BF16 matmul from load to last sum, of the RTL alone and in
// lockstep with the model. Reach: 10 M PE-cycles/s of the RTL on one core, and 5 s for the matmul in lockstep. Those
// are figures of one machine, so the guard is a ratio within this run: PE-cycles/s against scalar fused multiply-adds/s
// of this host. Exit status 1 below the guard, or if RTL and model differ.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <systemc>
#include <utility>
#include <vector>

#include "tests/bench/host_peak.h"
#include "tlm/cosim/pe_array_rtl.h"
#include "tlm/tensor_engine/pe_array_model.h"

namespace {

using namespace azulejo;

constexpr std::uint32_t kSize = 128;  // rows and columns of the array
constexpr std::uint32_t kMoving = 512;
constexpr int kRounds = 5;

// A third below what a quiet machine shows.
constexpr double kGuard = 0.0027;

volatile float g_sink;

#if defined(__x86_64__)
#define AZULEJO_TARGET_FMA __attribute__((target("fma"), noinline))
#else
#define AZULEJO_TARGET_FMA __attribute__((noinline))
#endif

// `iterations` multiply-adds on each of as many independent chains as the pack has indices, enough to keep two units of
// four to five cycles' latency busy; the empty asm keeps them scalar and in registers.
template <std::size_t... kChain>
AZULEJO_TARGET_FMA float fma_chains(int iterations, std::index_sequence<kChain...>) {
  float sums[] = {static_cast<float>(kChain)...};
  for (int i = 0; i < iterations; ++i) {
    ((sums[kChain] = __builtin_fmaf(sums[kChain], 0.5F, 1.0F)), ...);
#if defined(__x86_64__)
    ([&] { asm volatile("" : "+x"(sums[kChain])); }(), ...);
#endif
  }
  return (0.0F + ... + sums[kChain]);
}

// Scalar FP32 fused multiply-adds per CPU second of one core.
double scalar_fma_rate() {
  constexpr int kIterations = 1 << 20;
  constexpr std::size_t kChains = 12;
  const double start = bench::cpu_seconds();
  g_sink = fma_chains(kIterations, std::make_index_sequence<kChains>{});
  return static_cast<double>(kChains) * kIterations / (bench::cpu_seconds() - start);
}

// BF16 values of both signs with magnitudes in [0.5, 2).
class Bf16Tile {
 public:
  Bf16Tile(std::uint32_t columns, std::uint32_t seed) : codes_(std::size_t{kSize} * columns) {
    for (std::uint16_t& code : codes_) {
      seed = seed * 1664525 + 1013904223;
      code = static_cast<std::uint16_t>(0x3F00 | (seed >> 24) | ((seed >> 8) & 0x8000));
    }
    tile_.store = {reinterpret_cast<std::uint8_t*>(codes_.data()), columns * sizeof(std::uint16_t)};
    tile_.access.format = Format::Bf16;
    tile_.access.partitions = kSize;
    tile_.access.free[0].size = static_cast<std::uint16_t>(columns);
  }
  const OperandTile& tile() const { return tile_; }

 private:
  std::vector<std::uint16_t> codes_;
  OperandTile tile_;
};

// CPU seconds of load and multiply.
double matmul_seconds(PeArray& array, const OperandTile& stationary, const OperandTile& moving,
                      std::vector<float>& psum) {
  const double start = bench::cpu_seconds();
  array.load(stationary, 0);
  array.multiply(moving, {}, psum.data(), kMoving);
  return bench::cpu_seconds() - start;
}

}  // namespace

int sc_main(int, char**) {
  const RtlLibrary& library = RtlLibrary::load({});
  PeArrayRtlConfig config;
  config.name = "array";
  config.rows = config.cols = kSize;
  const double building = bench::cpu_seconds();
  PeArrayRtl rtl(config, library, plain_context());
  const double build_seconds = bench::cpu_seconds() - building;
  LockstepLog log;
  const std::unique_ptr<PeArray> lockstep =
      make_pe_array_lockstep(std::make_unique<PeArrayModel>(PeArrayModelConfig{}),
                             std::make_unique<PeArrayRtl>(config, library, plain_context()), config, {}, log);
  const Bf16Tile stationary(kSize, 1);
  const Bf16Tile moving(kMoving, 2);
  std::vector<float> psum(std::size_t{kSize} * kMoving);

  // Alternate measurements and keep the best of each: other work on the host interrupts only some of them.
  double fma_rate = 0;
  double rtl_seconds = 1e9;
  double lockstep_seconds = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    fma_rate = std::max(fma_rate, scalar_fma_rate());
    rtl_seconds = std::min(rtl_seconds, matmul_seconds(rtl, stationary.tile(), moving.tile(), psum));
    lockstep_seconds = std::min(lockstep_seconds, matmul_seconds(*lockstep, stationary.tile(), moving.tile(), psum));
  }
  const double pe_cycles = static_cast<double>(rtl.stats().pe_cycles) / kRounds;
  const double rate = pe_cycles / rtl_seconds;
  std::printf("scalar FP32 FMA       %8.2f G/s\n", fma_rate / 1e9);
  std::printf("RTL, 128 x 128 x 512  %8.2f s, %.1f M PE-cycles/s of PEs with a valid operand (array built in %.2f s)\n",
              rtl_seconds, rate / 1e6, build_seconds);
  std::printf("lockstep with model   %8.2f s, %.1f M PE-cycles/s, %llu of %llu elements differ\n", lockstep_seconds,
              pe_cycles / lockstep_seconds / 1e6, static_cast<unsigned long long>(log.mismatches()),
              static_cast<unsigned long long>(log.compared()));
  std::printf("ratio %.5f PE-cycles per FMA (guard %.5f)\n", rate / fma_rate, kGuard);
  return log.mismatches() == 0 && rate / fma_rate >= kGuard ? 0 : 1;
}
