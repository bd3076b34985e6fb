// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

namespace azulejo::test {
namespace {

using nki::HbmTensor;
using nki::HbmView;
using nki::Tile;
using nki::TilePool;

constexpr std::uint32_t kBufferBytes = 256;
constexpr std::uint32_t kMaxCols = 40;

float canonical(float value) {
  if (!std::isnan(value)) return value;
  const std::uint32_t bits = 0x7FC0'0000;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// FP32 to bf16, nearest even.
std::uint16_t to_bf16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return 0x7FC0;
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

float from_bf16(std::uint16_t code) {
  const std::uint32_t bits = std::uint32_t{code} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return canonical(value);
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed), kernel_(random_kernel_target()) {
    const nki::Target target = random_kernel_target();
    for (auto& partition : result_.sbuf) partition.assign(target.sbuf_partition_size, 0);
    for (auto& partition : result_.psum) partition.assign(target.psum_partition_size, 0);
    result_.input.resize(RandomKernel::kInputBytes);
    for (std::size_t i = 0; i < result_.input.size(); i += 2) {
      // bf16 (or halves of FP32) of moderate size.
      const std::uint64_t r = random_();
      const auto code = static_cast<std::uint16_t>((r & 0x807F) | ((0x7A + (r >> 32) % 6) << 7));
      std::memcpy(&result_.input[i], &code, 2);
    }
    result_.output.assign(RandomKernel::kOutputBytes, 0);
  }

  RandomKernel run() {
    std::vector<TilePool*> sbuf;
    for (std::uint64_t i = 0; i < 1 + random_() % 3; ++i) {
      sbuf.push_back(&kernel_.sbuf_pool("pool", kBufferBytes, static_cast<std::uint32_t>(1 + random_() % 3)));
    }
    TilePool& psum = kernel_.psum_pool("psum", static_cast<std::uint32_t>(1 + random_() % 3));
    const std::uint64_t steps = 20 + random_() % 100;
    for (std::uint64_t step = 0; step < steps; ++step) {
      switch (random_() % 9) {
        case 0:
        case 1:
          load(*sbuf[random_() % sbuf.size()]);
          break;
        case 2:
          store();
          break;
        case 3:
          memset(random_() % 4 == 0 ? psum : *sbuf[random_() % sbuf.size()]);
          break;
        case 4:
          copy(random_() % 4 == 0 ? psum : *sbuf[random_() % sbuf.size()]);
          break;
        case 5:
          add(random_() % 4 == 0 ? psum : *sbuf[random_() % sbuf.size()]);
          break;
        case 6:
          reload();
          break;
        default:
          matmul(psum);
          break;
      }
    }
    for (int i = 0; i < 3; ++i) store();
    result_.program = kernel_.finish();
    return std::move(result_);
  }

 private:
  struct Live {
    Tile tile;
    bool by_matmul = false;
  };

  std::uint32_t pick(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random_() % (high - low + 1));
  }

  // A new tile replaces what lived in its buffer.
  Tile fresh(TilePool& pool, std::uint32_t partitions, std::uint32_t cols, Format format) {
    const Tile tile = kernel_.tile(pool, partitions, cols, format);
    live_[tile.buffer] = {tile, false};
    return tile;
  }

  // Some live tile that `accepts` accepts; null if there is none.
  template <class Accepts>
  const Live* some(Accepts accepts) {
    std::vector<const Live*> candidates;
    for (const auto& [buffer, live] : live_) {
      if (accepts(live)) candidates.push_back(&live);
    }
    return candidates.empty() ? nullptr : candidates[random_() % candidates.size()];
  }

  // [partitions, cols] at some column of `tile`.
  Tile part(const Tile& tile, std::uint32_t partitions, std::uint32_t cols) {
    Tile slice = tile.columns(pick(0, tile.cols - cols), cols);
    slice.partitions = partitions;
    return slice;
  }

  std::uint8_t* cell(const Tile& tile, std::uint32_t p, std::uint32_t col) {
    auto& memory = tile.space == MemorySpace::Psum ? result_.psum : result_.sbuf;
    return memory[p].data() + tile.offset_bytes + col * (tile.format == Format::Fp32 ? 4 : 2);
  }
  float get(const Tile& tile, std::uint32_t p, std::uint32_t col) {
    if (tile.format == Format::Fp32) {
      float value;
      std::memcpy(&value, cell(tile, p, col), 4);
      return canonical(value);
    }
    std::uint16_t code;
    std::memcpy(&code, cell(tile, p, col), 2);
    return from_bf16(code);
  }
  void put(const Tile& tile, std::uint32_t p, std::uint32_t col, float value) {
    if (tile.format == Format::Fp32) {
      value = canonical(value);
      std::memcpy(cell(tile, p, col), &value, 4);
    } else {
      const std::uint16_t code = to_bf16(value);
      std::memcpy(cell(tile, p, col), &code, 2);
    }
  }

  static Touch touch(const Tile& tile, bool write) {
    const std::uint32_t bytes = tile.cols * (tile.format == Format::Fp32 ? 4 : 2);
    return {tile.space, tile.partitions, tile.offset_bytes, tile.offset_bytes + bytes, write};
  }
  void called(EngineId engine, bool dma, std::vector<Touch> touches) {
    result_.calls.push_back({engine, dma, engine == EngineId::Tensor && !dma, std::move(touches)});
  }
  EngineId trigger() { return static_cast<EngineId>(random_() % kEngines); }
  std::uint8_t queue() { return static_cast<std::uint8_t>(random_() % kDmaQueues); }
  Format some_format() { return random_() % 3 == 0 ? Format::Fp32 : Format::Bf16; }

  void transfer_in(const Tile& tile) {
    const std::uint64_t row = tile.cols * (tile.format == Format::Fp32 ? 4u : 2u);
    HbmTensor tensor;
    tensor.rows = tile.partitions;
    tensor.cols = tile.cols;
    tensor.format = tile.format;
    tensor.row_stride = row + 4 * (random_() % 10);
    tensor.address = 4 * (random_() % ((RandomKernel::kInputBytes - tile.partitions * tensor.row_stride) / 4));
    const EngineId by = trigger();
    kernel_.dma_copy(tile, HbmView{&tensor, 0, 0, tensor.rows, tensor.cols}, by, queue());
    for (std::uint32_t p = 0; p < tile.partitions; ++p) {
      std::memcpy(cell(tile, p, 0), result_.input.data() + tensor.address + p * tensor.row_stride, row);
    }
    called(by, true, {touch(tile, true)});
  }

  void load(TilePool& pool) { transfer_in(fresh(pool, pick(1, 4) * 8, pick(1, kMaxCols), some_format())); }

  // A transfer over a part of a live tile.
  void reload() {
    const Live* live = some([](const Live& l) { return l.tile.space == MemorySpace::Sbuf; });
    if (live == nullptr) return;
    const Tile& tile = live->tile;
    transfer_in(part(tile, pick(1, tile.partitions), pick(1, tile.cols)));
  }

  void store() {
    const Live* live = some([](const Live& l) { return l.tile.space == MemorySpace::Sbuf; });
    if (live == nullptr) return;
    const Tile tile = part(live->tile, pick(1, live->tile.partitions), pick(1, live->tile.cols));
    const std::uint64_t row = tile.cols * (tile.format == Format::Fp32 ? 4u : 2u);
    HbmTensor tensor;
    tensor.rows = tile.partitions;
    tensor.cols = tile.cols;
    tensor.format = tile.format;
    tensor.row_stride = row;
    // Tiles are ordered by the builder, HBM is not: every store has a place of its own.
    if (stored_ + row * tile.partitions > RandomKernel::kOutputBytes) return;
    tensor.address = RandomKernel::kOutputAddress + stored_;
    const EngineId by = trigger();
    kernel_.dma_copy(HbmView{&tensor, 0, 0, tensor.rows, tensor.cols}, tile, by, queue());
    for (std::uint32_t p = 0; p < tile.partitions; ++p) {
      std::memcpy(result_.output.data() + stored_ + p * row, cell(tile, p, 0), row);
    }
    stored_ += row * tile.partitions;
    called(by, true, {touch(tile, false)});
  }

  // The destination of a vector operation of [partitions, cols]: a new tile, or a part of a live one of that size.
  Tile destination(TilePool& pool, std::uint32_t partitions, std::uint32_t cols) {
    if (random_() % 2 == 0) {
      const Live* live = some([&](const Live& l) { return l.tile.partitions >= partitions && l.tile.cols >= cols; });
      if (live != nullptr) {
        live_[live->tile.buffer].by_matmul = false;
        return part(live->tile, partitions, cols);
      }
    }
    return fresh(pool, partitions, cols, some_format());
  }

  void memset(TilePool& pool) {
    const Tile dst = destination(pool, pick(1, 32), pick(1, kMaxCols));
    const float value = static_cast<float>(random_() % 9) - 4.0F;
    kernel_.memset(dst, value);
    for (std::uint32_t p = 0; p < dst.partitions; ++p) {
      for (std::uint32_t c = 0; c < dst.cols; ++c) put(dst, p, c, value);
    }
    called(EngineId::Vector, false, {touch(dst, true)});
  }

  void copy(TilePool& pool) {
    const Live* live = some([](const Live&) { return true; });
    if (live == nullptr) return;
    const Tile src = part(live->tile, pick(1, live->tile.partitions), pick(1, live->tile.cols));
    const Tile dst = destination(pool, src.partitions, src.cols);
    if (dst.buffer == src.buffer) {
      // A new tile in the source's buffer, or an overlap: fill it instead, so that it holds something.
      kernel_.memset(dst, 1.5F);
      for (std::uint32_t p = 0; p < dst.partitions; ++p) {
        for (std::uint32_t c = 0; c < dst.cols; ++c) put(dst, p, c, 1.5F);
      }
      called(EngineId::Vector, false, {touch(dst, true)});
      return;
    }
    kernel_.tensor_copy(dst, src);
    for (std::uint32_t p = 0; p < dst.partitions; ++p) {
      for (std::uint32_t c = 0; c < dst.cols; ++c) {
        if (dst.format == src.format) {
          std::memcpy(cell(dst, p, c), cell(src, p, c), dst.format == Format::Fp32 ? 4 : 2);
        } else {
          put(dst, p, c, get(src, p, c));
        }
      }
    }
    called(EngineId::Vector, false, {touch(dst, true), touch(src, false)});
  }

  void add(TilePool& pool) {
    const Live* a = some([](const Live&) { return true; });
    const Live* b = some([](const Live&) { return true; });
    if (a == nullptr) return;
    const std::uint32_t partitions = pick(1, std::min(a->tile.partitions, b->tile.partitions));
    const std::uint32_t cols = pick(1, std::min(a->tile.cols, b->tile.cols));
    const Tile x = part(a->tile, partitions, cols);
    const Tile y = part(b->tile, partitions, cols);
    const Tile dst = random_() % 3 == 0 ? x : destination(pool, partitions, cols);
    const bool in_place = dst.buffer == x.buffer && dst.offset_bytes == x.offset_bytes && dst.format == x.format;
    if ((dst.buffer == x.buffer && !in_place) ||
        (dst.buffer == y.buffer && (!in_place || y.offset_bytes != x.offset_bytes))) {
      kernel_.memset(dst, -0.5F);
      for (std::uint32_t p = 0; p < dst.partitions; ++p) {
        for (std::uint32_t c = 0; c < dst.cols; ++c) put(dst, p, c, -0.5F);
      }
      called(EngineId::Vector, false, {touch(dst, true)});
      live_[dst.buffer].by_matmul = false;
      return;
    }
    live_[dst.buffer].by_matmul = false;
    kernel_.tensor_tensor(dst, x, y, AluOp::Add);
    for (std::uint32_t p = 0; p < partitions; ++p) {
      for (std::uint32_t c = 0; c < cols; ++c) put(dst, p, c, get(x, p, c) + get(y, p, c));
    }
    called(EngineId::Vector, false, {touch(dst, true), touch(x, false), touch(y, false)});
  }

  void matmul(TilePool& psum) {
    const auto operand = [](const Live& l) {
      return l.tile.space == MemorySpace::Sbuf && l.tile.format == Format::Bf16;
    };
    const Live* a = some(operand);
    const Live* b = some(operand);
    if (a == nullptr) return;
    const std::uint32_t k = pick(1, std::min(a->tile.partitions, b->tile.partitions));
    const Tile moving = part(b->tile, k, pick(1, b->tile.cols));
    // Sometimes the same weights as before.
    Tile stationary = part(a->tile, k, pick(1, std::min(a->tile.cols, RandomKernel::kPartitionsUsed)));
    if (random_() % 2 == 0 && a->tile.partitions == b->tile.partitions) {
      stationary = a->tile.columns(0, std::min(a->tile.cols, RandomKernel::kPartitionsUsed));
      Tile all = b->tile;
      multiply(psum, stationary, all);
      return;
    }
    multiply(psum, stationary, moving);
  }

  void multiply(TilePool& psum, const Tile& stationary, const Tile& moving) {
    const std::uint32_t m = stationary.cols;
    const std::uint32_t n = moving.cols;
    Tile dst;
    bool accumulate = false;
    const Live* old = some([&](const Live& l) {
      return l.tile.space == MemorySpace::Psum && l.by_matmul && l.tile.partitions >= m && l.tile.cols >= n;
    });
    if (old != nullptr && random_() % 4 != 0) {
      dst = part(old->tile, m, n);
      accumulate = random_() % 4 != 0;
    } else {
      dst = fresh(psum, m, n, Format::Fp32);
      live_[dst.buffer].by_matmul = true;
    }
    kernel_.nc_matmul(dst, stationary, moving, accumulate);
    for (std::uint32_t i = 0; i < m; ++i) {
      for (std::uint32_t j = 0; j < n; ++j) {
        float sum = 0.0F;
        for (std::uint32_t row = 0; row < stationary.partitions; ++row)
          sum = std::fma(get(stationary, row, i), get(moving, row, j), sum);
        sum = canonical(sum);
        put(dst, i, j, accumulate ? get(dst, i, j) + sum : sum);
      }
    }
    called(EngineId::Tensor, false, {touch(stationary, false), touch(moving, false), touch(dst, true)});
  }

  std::mt19937_64 random_;
  nki::Kernel kernel_;
  RandomKernel result_;
  std::map<std::uint32_t, Live> live_;  // by buffer
  std::uint64_t stored_ = 0;
};

}  // namespace

nki::Target random_kernel_target() { return {0, 4096, 16 << 10, 8}; }

RandomKernel random_kernel(std::uint64_t seed) { return Generator(seed).run(); }

}  // namespace azulejo::test
