// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/gemm.h"

#include <fmt/format.h>

#include <algorithm>

namespace azulejo::kernels {
namespace {

using nki::HbmView;
using nki::Kernel;
using nki::KernelError;
using nki::Target;
using nki::Tile;
using nki::TilePool;

// Queues: loads are triggered by the Sync engine, stores by the Scalar engine, so that a store that waits never holds
// up a load.
constexpr EngineId kLoadTrigger = EngineId::Sync;
constexpr EngineId kStoreTrigger = EngineId::Scalar;
constexpr std::uint32_t kStationaryQueue = 0;
constexpr std::uint32_t kMovingQueue = 1;
constexpr std::uint32_t kStoreQueue = 2;

constexpr std::uint32_t kBasicBuffers = 64;  // tiles in flight that more SBUF would not make faster
constexpr std::uint32_t kOutBuffers = 4;

std::uint32_t tiles(std::uint64_t extent, std::uint32_t tile) {
  return static_cast<std::uint32_t>((extent + tile - 1) / tile);
}

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// Positions of one run of tiles along a dimension.
struct Span {
  std::uint64_t first = 0;
  std::uint32_t size = 0;
};
Span span(std::uint64_t extent, std::uint32_t tile, std::uint32_t first_tile, std::uint32_t count) {
  const std::uint64_t first = std::uint64_t{first_tile} * tile;
  const std::uint64_t last = std::min<std::uint64_t>(extent, first + std::uint64_t{count} * tile);
  return {first, static_cast<std::uint32_t>(last - first)};
}

// The parts that all tilings share.
class Gemm {
 public:
  Gemm(const Target& target, const GemmShape& shape, const GemmOptions& options, const GemmTensors& tensors)
      : shape_(shape),
        options_(options),
        tensors_(tensors),
        plan_(plan_gemm(target, shape, options)),
        kernel_(target),
        psum_(kernel_.psum_pool("psum", target.psum_banks)) {}

  Program record() {
    // A load and a matmul per tile product, a wait at most for each; a copy or an addition per tile and K block.
    const std::size_t products = std::size_t{plan_.m_tiles} * plan_.k_tiles * plan_.n_tiles;
    kernel_.reserve(EngineId::Tensor, 2 * products + products / 8);
    switch (options_.tiling) {
      case GemmTiling::Basic:
        basic();
        break;
      case GemmTiling::Hoist:
      case GemmTiling::BlockFree:
        columns();
        break;
      case GemmTiling::Full:
        full();
        break;
    }
    return kernel_.finish();
  }

 private:
  // A core with fewer queues shares them.
  std::uint8_t queue(std::uint32_t index) const {
    return static_cast<std::uint8_t>(index % kernel_.target().dma_queues);
  }

  std::uint64_t row_bytes(Format format, std::uint64_t cols) const { return storage_bytes(format, cols); }

  Tile load_stationary(TilePool& pool, std::uint32_t kt, std::uint32_t mt, std::uint32_t m_count) {
    const Span k = span(shape_.k, kGemmTileK, kt, 1);
    const Span m = span(shape_.m, kGemmTileM, mt, m_count);
    const Tile tile = kernel_.tile(pool, k.size, m.size, options_.type);
    kernel_.dma_copy(tile, HbmView{&tensors_.a, k.first, m.first, k.size, m.size}, kLoadTrigger,
                     queue(kStationaryQueue));
    return tile;
  }

  Tile load_moving(TilePool& pool, std::uint32_t kt, std::uint32_t nt, std::uint32_t n_count) {
    const Span k = span(shape_.k, kGemmTileK, kt, 1);
    const Span n = span(shape_.n, kGemmTileN, nt, n_count);
    const Tile tile = kernel_.tile(pool, k.size, n.size, options_.type);
    kernel_.dma_copy(tile, HbmView{&tensors_.b, k.first, n.first, k.size, n.size}, kLoadTrigger, queue(kMovingQueue));
    return tile;
  }

  void store(const Tile& out, std::uint32_t mt, std::uint32_t nt, std::uint32_t n_count) {
    const Span m = span(shape_.m, kGemmTileM, mt, 1);
    const Span n = span(shape_.n, kGemmTileN, nt, n_count);
    kernel_.dma_copy(HbmView{&tensors_.c, m.first, n.first, m.size, n.size}, out, kStoreTrigger, queue(kStoreQueue));
  }

  Tile psum_tile(std::uint32_t mt, std::uint32_t nt) {
    return kernel_.tile(psum_, span(shape_.m, kGemmTileM, mt, 1).size, span(shape_.n, kGemmTileN, nt, 1).size,
                        Format::Fp32);
  }

  // PSUM to C by way of an SBUF tile.
  void deliver(TilePool& out_pool, const Tile& psum, std::uint32_t mt, std::uint32_t nt) {
    const Tile out = kernel_.tile(out_pool, psum.partitions, psum.cols, options_.out_type);
    kernel_.tensor_copy(out, psum);
    store(out, mt, nt, 1);
  }

  TilePool& tile_pool(const char* name, std::uint32_t tile_cols, Format format, std::uint32_t count) {
    return kernel_.sbuf_pool(name, row_bytes(format, tile_cols), count);
  }

  void basic() {
    TilePool& stationary = tile_pool("stationary", cols_m(), options_.type, plan_.stationary_buffers);
    TilePool& moving = tile_pool("moving", cols_n(), options_.type, plan_.moving_buffers);
    TilePool& out = tile_pool("out", cols_n(), options_.out_type, plan_.out_buffers);
    for (std::uint32_t mt = 0; mt < plan_.m_tiles; ++mt) {
      for (std::uint32_t nt = 0; nt < plan_.n_tiles; ++nt) {
        const Tile sum = psum_tile(mt, nt);
        for (std::uint32_t kt = 0; kt < plan_.k_tiles; ++kt) {
          const Tile a = load_stationary(stationary, kt, mt, 1);
          const Tile b = load_moving(moving, kt, nt, 1);
          kernel_.nc_matmul(sum, a, b, kt > 0);
        }
        deliver(out, sum, mt, nt);
      }
    }
  }

  // hoist (blocks of 1 x 1) and block_free (2 x 2): K columns of tiles, tile by tile.
  void columns() {
    TilePool& stationary = tile_pool("stationary", cols_m(), options_.type, plan_.stationary_buffers);
    TilePool& moving = tile_pool("moving", cols_n(), options_.type, plan_.moving_buffers);
    TilePool& out = tile_pool("out", cols_n(), options_.out_type, plan_.out_buffers);
    for (std::uint32_t mb = 0; mb < plan_.m_tiles; mb += plan_.block_m) {
      const std::uint32_t m_count = std::min(plan_.block_m, plan_.m_tiles - mb);
      std::vector<std::vector<Tile>> a(m_count);
      for (std::uint32_t nb = 0; nb < plan_.n_tiles; nb += plan_.block_n) {
        const std::uint32_t n_count = std::min(plan_.block_n, plan_.n_tiles - nb);
        std::vector<std::vector<Tile>> b(n_count);
        for (std::uint32_t m = 0; m < m_count; ++m) {
          for (std::uint32_t n = 0; n < n_count; ++n) {
            const Tile sum = psum_tile(mb + m, nb + n);
            for (std::uint32_t kt = 0; kt < plan_.k_tiles; ++kt) {
              // A tile is loaded where it is used first, so loads come in the order of need.
              if (a[m].size() == kt) a[m].push_back(load_stationary(stationary, kt, mb + m, 1));
              if (b[n].size() == kt) b[n].push_back(load_moving(moving, kt, nb + n, 1));
              kernel_.nc_matmul(sum, a[m][kt], b[n][kt], kt > 0);
            }
            deliver(out, sum, mb + m, nb + n);
          }
        }
      }
    }
  }

  void full() {
    TilePool& stationary = tile_pool("stationary", block_cols_m(), options_.type, plan_.stationary_buffers);
    TilePool& moving = tile_pool("moving", block_cols_n(), options_.type, plan_.moving_buffers);
    TilePool& out = tile_pool("out", block_cols_n(), options_.out_type, plan_.out_buffers);
    const std::uint32_t k_blocks = (plan_.k_tiles + plan_.block_k - 1) / plan_.block_k;
    const std::uint32_t super_tiles = plan_.super_m * plan_.block_m;
    TilePool* results = nullptr;
    if (k_blocks > 1) {
      results = &tile_pool("results", block_cols_n(), options_.partials, std::min(super_tiles, plan_.m_tiles));
    }

    for (std::uint32_t super = 0; super < plan_.m_tiles; super += super_tiles) {
      const std::uint32_t super_end = std::min(super + super_tiles, plan_.m_tiles);
      for (std::uint32_t nb = 0; nb < plan_.n_tiles; nb += plan_.block_n) {
        const std::uint32_t n_count = std::min(plan_.block_n, plan_.n_tiles - nb);
        const std::uint32_t n_cols = span(shape_.n, kGemmTileN, nb, n_count).size;
        std::vector<Tile> partial(super_end - super);
        for (std::uint32_t kb = 0; kb < k_blocks; ++kb) {
          const std::uint32_t k_first = kb * plan_.block_k;
          const std::uint32_t k_count = std::min(plan_.block_k, plan_.k_tiles - k_first);
          std::vector<Tile> b;
          for (std::uint32_t mb = super; mb < super_end; mb += plan_.block_m) {
            const std::uint32_t m_count = std::min(plan_.block_m, super_end - mb);
            std::vector<Tile> a;
            for (std::uint32_t k = 0; k < k_count; ++k) {
              a.push_back(load_stationary(stationary, k_first + k, mb, m_count));
              if (b.size() == k) b.push_back(load_moving(moving, k_first + k, nb, n_count));
            }
            for (std::uint32_t m = 0; m < m_count; ++m) {
              const std::uint32_t mt = mb + m;
              const Span rows = span(shape_.m, kGemmTileM, mt, 1);
              const bool last = kb + 1 == k_blocks;
              if (kb == 0 && !last) partial[mt - super] = kernel_.tile(*results, rows.size, n_cols, options_.partials);
              Tile row;
              if (last) row = kernel_.tile(out, rows.size, n_cols, options_.out_type);
              for (std::uint32_t n = 0; n < n_count; ++n) {
                const Tile sum = psum_tile(mt, nb + n);
                for (std::uint32_t k = 0; k < k_count; ++k) {
                  kernel_.nc_matmul(sum, a[k].columns(m * kGemmTileM, rows.size),
                                    b[k].columns(n * kGemmTileN, sum.cols), k > 0);
                }
                const auto slice = [&](const Tile& tile) { return tile.columns(n * kGemmTileN, sum.cols); };
                if (last && k_blocks == 1) {
                  kernel_.tensor_copy(slice(row), sum);
                } else if (last) {
                  kernel_.tensor_tensor(slice(row), slice(partial[mt - super]), sum, AluOp::Add);
                } else if (kb == 0) {
                  kernel_.tensor_copy(slice(partial[mt - super]), sum);
                } else {
                  kernel_.tensor_tensor(slice(partial[mt - super]), slice(partial[mt - super]), sum, AluOp::Add);
                }
              }
              if (last) store(row, mt, nb, n_count);
            }
          }
        }
      }
    }
  }

  std::uint32_t cols_m() const { return static_cast<std::uint32_t>(std::min<std::uint64_t>(shape_.m, kGemmTileM)); }
  std::uint32_t cols_n() const { return static_cast<std::uint32_t>(std::min<std::uint64_t>(shape_.n, kGemmTileN)); }
  std::uint32_t block_cols_m() const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(shape_.m, std::uint64_t{plan_.block_m} * kGemmTileM));
  }
  std::uint32_t block_cols_n() const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(shape_.n, std::uint64_t{plan_.block_n} * kGemmTileN));
  }

  const GemmShape shape_;
  const GemmOptions options_;
  const GemmTensors tensors_;
  const GemmPlan plan_;
  Kernel kernel_;
  TilePool& psum_;
};

// Full: bytes per partition of one choice of block sizes and M blocks per super-block.
std::uint64_t full_bytes(const GemmShape& shape, const GemmOptions& options, const GemmPlan& plan,
                         std::uint32_t super_m) {
  const std::uint64_t m_cols = std::min<std::uint64_t>(shape.m, std::uint64_t{plan.block_m} * kGemmTileM);
  const std::uint64_t n_cols = std::min<std::uint64_t>(shape.n, std::uint64_t{plan.block_n} * kGemmTileN);
  std::uint64_t bytes = std::uint64_t{plan.stationary_buffers} * padded(storage_bytes(options.type, m_cols)) +
                        std::uint64_t{plan.moving_buffers} * padded(storage_bytes(options.type, n_cols)) +
                        std::uint64_t{plan.out_buffers} * padded(storage_bytes(options.out_type, n_cols));
  if (plan.k_tiles > plan.block_k) {
    bytes +=
        std::uint64_t{std::min(super_m * plan.block_m, plan.m_tiles)} * padded(storage_bytes(options.partials, n_cols));
  }
  return bytes;
}

void plan_full(const Target& target, const GemmShape& shape, const GemmOptions& options, GemmPlan& plan) {
  // The tutorial's blocks, halved where the element type is too wide for SBUF: K first, it costs the least traffic.
  plan.block_m = std::min(16u, plan.m_tiles);
  plan.block_n = std::min(2u, plan.n_tiles);
  plan.block_k = std::min(options.max_block_k, plan.k_tiles);
  plan.out_buffers = kOutBuffers;
  const auto size_buffers = [&] {
    const std::uint32_t k_blocks = (plan.k_tiles + plan.block_k - 1) / plan.block_k;
    const std::uint32_t m_blocks = (plan.m_tiles + plan.block_m - 1) / plan.block_m;
    const std::uint32_t n_blocks = (plan.n_tiles + plan.block_n - 1) / plan.block_n;
    plan.stationary_buffers = plan.block_k * (k_blocks * m_blocks * n_blocks > 1 ? 2 : 1);
    plan.moving_buffers = plan.block_k * (k_blocks * n_blocks > 1 ? 2 : 1);
  };
  size_buffers();
  while (full_bytes(shape, options, plan, 1) > target.sbuf_partition_size) {
    if (plan.block_k > 1) {
      plan.block_k = (plan.block_k + 1) / 2;
    } else if (plan.block_m > 1) {
      plan.block_m = (plan.block_m + 1) / 2;
    } else if (plan.block_n > 1) {
      plan.block_n = 1;
    } else {
      throw KernelError(
          fmt::format("tiling full: single tiles with two buffers each need {} bytes per SBUF partition; there are {}",
                      full_bytes(shape, options, plan, 1), target.sbuf_partition_size));
    }
    size_buffers();
  }
  const std::uint32_t m_blocks = (plan.m_tiles + plan.block_m - 1) / plan.block_m;
  plan.super_m = 1;
  while (plan.super_m < m_blocks && full_bytes(shape, options, plan, plan.super_m + 1) <= target.sbuf_partition_size) {
    ++plan.super_m;
  }
  plan.sbuf_bytes = full_bytes(shape, options, plan, plan.super_m);
}

}  // namespace

std::string_view tiling_name(GemmTiling tiling) {
  switch (tiling) {
    case GemmTiling::Basic:
      return "basic";
    case GemmTiling::Hoist:
      return "hoist";
    case GemmTiling::BlockFree:
      return "block_free";
    case GemmTiling::Full:
      return "full";
  }
  return "";
}

const std::vector<GemmTiling>& all_tilings() {
  static const std::vector<GemmTiling> tilings = {GemmTiling::Basic, GemmTiling::Hoist, GemmTiling::BlockFree,
                                                  GemmTiling::Full};
  return tilings;
}

std::optional<GemmTiling> parse_tiling(std::string_view name) {
  for (GemmTiling tiling : all_tilings()) {
    if (tiling_name(tiling) == name) return tiling;
  }
  return std::nullopt;
}

GemmPlan plan_gemm(const Target& target, const GemmShape& shape, const GemmOptions& options) {
  if (target.array_rows < kGemmTileK || target.array_cols < kGemmTileM || target.max_moving < kGemmTileN) {
    throw KernelError(fmt::format("gemm multiplies tiles of {} x {} x {}; the array takes {} x {} x {}", kGemmTileK,
                                  kGemmTileM, kGemmTileN, target.array_rows, target.array_cols, target.max_moving));
  }
  if (target.psum_partition_size / target.psum_banks < kGemmTileN * sizeof(float)) {
    throw KernelError(fmt::format("a result row of {} FP32 values takes {} bytes; a PSUM bank has {} per partition",
                                  kGemmTileN, kGemmTileN * sizeof(float),
                                  target.psum_partition_size / target.psum_banks));
  }
  GemmPlan plan;
  plan.m_tiles = tiles(shape.m, kGemmTileM);
  plan.k_tiles = tiles(shape.k, kGemmTileK);
  plan.n_tiles = tiles(shape.n, kGemmTileN);
  if (options.tiling == GemmTiling::Full) {
    plan_full(target, shape, options, plan);
    return plan;
  }

  plan.block_k = plan.k_tiles;
  const std::uint64_t a_tile = padded(storage_bytes(options.type, std::min<std::uint64_t>(shape.m, kGemmTileM)));
  const std::uint64_t b_tile = padded(storage_bytes(options.type, std::min<std::uint64_t>(shape.n, kGemmTileN)));
  const std::uint64_t out_tile = padded(storage_bytes(options.out_type, std::min<std::uint64_t>(shape.n, kGemmTileN)));
  plan.out_buffers = kOutBuffers;
  std::uint64_t a_min = 1;  // tiles that must be in SBUF at once
  std::uint64_t b_min = 1;
  std::uint64_t a_max = kBasicBuffers;  // tiles beyond which nothing is gained
  std::uint64_t b_max = kBasicBuffers;
  if (options.tiling != GemmTiling::Basic) {
    const std::uint32_t block = options.tiling == GemmTiling::BlockFree ? 2 : 1;
    plan.block_m = std::min(block, plan.m_tiles);
    plan.block_n = std::min(block, plan.n_tiles);
    a_min = std::uint64_t{plan.block_m} * plan.k_tiles;
    // A moving tile that one M tile uses may be replaced at once; two M tiles need the whole column.
    b_min = plan.block_m > 1 ? std::uint64_t{plan.block_n} * plan.k_tiles : 1;
    a_max = 2 * a_min;
    b_max = 2 * std::uint64_t{plan.block_n} * plan.k_tiles;
  }
  while (plan.out_buffers > 1 &&
         a_min * a_tile + b_min * b_tile + plan.out_buffers * out_tile > target.sbuf_partition_size) {
    plan.out_buffers /= 2;
  }
  const std::uint64_t needed = a_min * a_tile + b_min * b_tile + plan.out_buffers * out_tile;
  if (needed > target.sbuf_partition_size) {
    throw KernelError(
        fmt::format("tiling {}: {} stationary and {} moving tiles need {} bytes per SBUF partition; there are {}{}",
                    tiling_name(options.tiling), a_min, b_min, needed, target.sbuf_partition_size,
                    options.tiling == GemmTiling::Basic ? "" : " (tiling full has no such limit)"));
  }
  // What is left goes to moving tiles first, which are replaced more often.
  std::uint64_t left = target.sbuf_partition_size - needed;
  const std::uint64_t b_more = std::min(b_max - std::min(b_max, b_min), left / 2 / b_tile);
  left -= b_more * b_tile;
  const std::uint64_t a_more = std::min(a_max - std::min(a_max, a_min), left / a_tile);
  left -= a_more * a_tile;
  const std::uint64_t b_rest = std::min(b_max - std::min(b_max, b_min + b_more), left / b_tile);
  plan.stationary_buffers = static_cast<std::uint32_t>(a_min + a_more);
  plan.moving_buffers = static_cast<std::uint32_t>(b_min + b_more + b_rest);
  plan.sbuf_bytes = plan.stationary_buffers * a_tile + plan.moving_buffers * b_tile + plan.out_buffers * out_tile;
  return plan;
}

Program record_gemm(const Target& target, const GemmShape& shape, const GemmOptions& options,
                    const GemmTensors& tensors) {
  return Gemm(target, shape, options, tensors).record();
}

}  // namespace azulejo::kernels
