// SPDX-License-Identifier: Apache-2.0
// How near the functional model of the PE array comes to one core's FP32 FMA peak: the rate of independent FMAs on
// registers, against matmul_into_psum of a 128 x 128 x 512 tile with both operands decoded from BF16 each time.
// Exit status 1 if the ratio is below one half.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "tests/bench/host_peak.h"
#include "tlm/numerics/format.h"
#include "tlm/numerics/matmul.h"

namespace {

using azulejo::bench::cpu_seconds;

volatile float g_sink;

struct Tile {
  azulejo::TileShape shape{128, 128, 512};
  std::vector<std::uint16_t> stationary_codes = codes(shape.k * shape.m);
  std::vector<std::uint16_t> moving_codes = codes(shape.k * shape.n);
  std::vector<float> stationary = std::vector<float>(shape.k * shape.m);
  std::vector<float> moving = std::vector<float>(shape.k * shape.n);
  std::vector<float> psum = std::vector<float>(shape.m * shape.n);

  // BF16 values of both signs with magnitudes in [1, 2).
  static std::vector<std::uint16_t> codes(std::size_t count) {
    std::vector<std::uint16_t> result(count);
    std::uint32_t state = 1;
    for (auto& code : result) {
      state = state * 1664525 + 1013904223;
      code = static_cast<std::uint16_t>(0x3F80 | (state >> 25) | ((state >> 9) & 0x8000));
    }
    return result;
  }
};

double matmul_flops(Tile& tile, int repeats) {
  const azulejo::TileShape& shape = tile.shape;
  const double start = cpu_seconds();
  for (int i = 0; i < repeats; ++i) {
    azulejo::decode_row(azulejo::Format::Bf16, tile.stationary_codes.data(), tile.stationary.data(),
                        tile.stationary.size());
    azulejo::decode_row(azulejo::Format::Bf16, tile.moving_codes.data(), tile.moving.data(), tile.moving.size());
    azulejo::matmul_into_psum(tile.stationary.data(), shape.m, tile.moving.data(), shape.n, shape, tile.psum.data(),
                              shape.n, i != 0, false);
  }
  const double seconds = cpu_seconds() - start;
  g_sink = tile.psum[0];
  return 2.0 * static_cast<double>(shape.k * shape.m * shape.n) * repeats / seconds;
}

}  // namespace

int main() {
  Tile tile;
  matmul_flops(tile, 20);  // warm up
  double peak = 0;
  double rate = 0;
  // Alternate short measurements and keep the best of each: other work on the host interrupts only some of them.
  for (int round = 0; round < 400; ++round) {
    const double round_peak = azulejo::bench::host_peak_flops();
    const double round_rate = matmul_flops(tile, 5);
    peak = round_peak > peak ? round_peak : peak;
    rate = round_rate > rate ? round_rate : rate;
  }
  const double ratio = rate / peak;
  std::printf("path %s, one core\n", azulejo::simd_path().data());
  std::printf("FP32 FMA peak      %8.1f GFLOP/s\n", peak / 1e9);
  std::printf("matmul_into_psum   %8.1f GFLOP/s  (BF16 operands, k 128, m 128, n 512, decoding included)\n",
              rate / 1e9);
  std::printf("ratio %.2f of the host's peak\n", ratio);
  return ratio < 0.5 ? 1 : 0;
}
