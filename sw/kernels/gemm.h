// SPDX-License-Identifier: Apache-2.0
// C[M, N] = A * B on one NeuronCore, A in HBM as [K, M], B as [K, N], in the four tilings of AWS's public
// matrix-multiplication tutorial (Neuron SDK, "Matrix multiplication" NKI tutorial, 2.20 to 2.26).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sw/nki/kernel.h"

namespace azulejo::kernels {

// Tile of one matmul: K x M stationary, K x N moving.
inline constexpr std::uint32_t kGemmTileK = 128;
inline constexpr std::uint32_t kGemmTileM = 128;
inline constexpr std::uint32_t kGemmTileN = 512;

enum class GemmTiling : std::uint8_t {
  Basic,      // both tiles loaded in the innermost K loop
  Hoist,      // K column of stationary tiles once per M tile, of moving tiles once per (M, N) tile
  BlockFree,  // the same for blocks of 2 x 2 tiles
  Full,       // blocks of 16 M, 2 N and 8 K tiles, partial results in SBUF
};

std::string_view tiling_name(GemmTiling tiling);  // "basic", "hoist", "block_free", "full"
std::optional<GemmTiling> parse_tiling(std::string_view name);
const std::vector<GemmTiling>& all_tilings();

struct GemmOptions {
  Format type = Format::Bf16;      // of A and B
  Format out_type = Format::Bf16;  // of C
  Format partials = Format::Fp32;  // of partial results between K blocks in SBUF: Fp32 or Bf16
  GemmTiling tiling = GemmTiling::Full;
  std::uint32_t max_block_k = 8;  // Full: K tiles of one block, at most
};

struct GemmShape {
  std::uint64_t m = 0, k = 0, n = 0;  // all at least 1
};

// How a tiling is laid out for one shape on one core.
struct GemmPlan {
  std::uint32_t m_tiles = 0, k_tiles = 0, n_tiles = 0;
  std::uint32_t block_m = 1, block_n = 1, block_k = 1;  // tiles per block
  std::uint32_t super_m = 1;                            // Full: M blocks whose partial results share SBUF
  std::uint32_t stationary_buffers = 1;                 // tiles (Full: rows of block_m tiles) that SBUF holds
  std::uint32_t moving_buffers = 1;
  std::uint32_t out_buffers = 1;
  std::uint64_t sbuf_bytes = 0;  // per partition, in use
  // K tiles whose products are summed in PSUM before they leave it.
  std::uint32_t psum_k_tiles() const { return block_k; }
};

// Throws nki::KernelError when a block does not fit SBUF, with the sizes and what would fit.
GemmPlan plan_gemm(const nki::Target& target, const GemmShape& shape, const GemmOptions& options);

struct GemmTensors {
  nki::HbmTensor a;  // [K, M]
  nki::HbmTensor b;  // [K, N]
  nki::HbmTensor c;  // [M, N]
};

// Records the kernel of one core. REQUIRES: the tensors have the shape and types.
Program record_gemm(const nki::Target& target, const GemmShape& shape, const GemmOptions& options,
                    const GemmTensors& tensors);

}  // namespace azulejo::kernels
