// SPDX-License-Identifier: Apache-2.0
#include "sw/nki/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tlm/isa/address_map.h"

namespace azulejo::nki {
namespace {

// Semaphores of automatic synchronisation: one per unit, then a ring per trigger engine. A ring's semaphore carries one
// transfer at a time, so that +16 always means that transfer.
constexpr std::uint32_t kRingSemaphores = 48;
constexpr std::uint32_t kFirstRing = 8;
static_assert(kFirstRing + kRingSemaphores * kEngines <= kSemaphores);

}  // namespace

Tile Tile::columns(std::uint32_t first, std::uint32_t count) const {
  if (first > cols || count > cols - first)
    throw KernelError(fmt::format("columns {} to {} of a tile of {}", first, first + count, cols));
  Tile slice = *this;
  slice.offset_bytes += static_cast<std::uint32_t>(storage_bytes(format, first));
  slice.cols = count;
  return slice;
}

Kernel::Kernel(const Target& target, Synchronisation synchronisation)
    : target_(target), synchronisation_(synchronisation) {}

TilePool& Kernel::sbuf_pool(const std::string& name, std::uint64_t buffer_size, std::uint32_t count) {
  // Rows start at multiples of 64 bytes.
  const std::uint64_t size = (buffer_size + 63) / 64 * 64;
  if (count == 0 || size * count > sbuf_free()) {
    throw KernelError(
        fmt::format("SBUF: {} buffers of {} bytes per partition for '{}' do not fit: {} of {} bytes are free", count,
                    size, name, sbuf_free(), target_.sbuf_partition_size));
  }
  TilePool& pool = pools_.emplace_back();
  pool.space_ = MemorySpace::Sbuf;
  pool.buffer_size_ = size;
  for (std::uint32_t i = 0; i < count; ++i) {
    pool.buffers_.push_back(static_cast<std::uint32_t>(buffers_.size()));
    Buffer& buffer = buffers_.emplace_back();
    buffer.offset_bytes = static_cast<std::uint32_t>(sbuf_used_);
    sbuf_used_ += size;
  }
  return pool;
}

TilePool& Kernel::psum_pool(const std::string& name, std::uint32_t count) {
  if (count == 0 || count > psum_banks_free()) {
    throw KernelError(fmt::format("PSUM: {} banks for '{}' do not fit: {} of {} are free", count, name,
                                  psum_banks_free(), target_.psum_banks));
  }
  TilePool& pool = pools_.emplace_back();
  pool.space_ = MemorySpace::Psum;
  pool.buffer_size_ = target_.psum_partition_size / target_.psum_banks;
  for (std::uint32_t i = 0; i < count; ++i) {
    pool.buffers_.push_back(static_cast<std::uint32_t>(buffers_.size()));
    Buffer& buffer = buffers_.emplace_back();
    buffer.space = MemorySpace::Psum;
    buffer.offset_bytes = static_cast<std::uint32_t>(psum_used_++ * pool.buffer_size_);
  }
  return pool;
}

Tile Kernel::tile(TilePool& pool, std::uint32_t partitions, std::uint32_t cols, Format format) {
  if (partitions == 0 || partitions > kPartitions || cols == 0) {
    throw KernelError(fmt::format("a tile of [{}, {}]; partitions are 1 to {}", partitions, cols, kPartitions));
  }
  if (storage_bytes(format, cols) > pool.buffer_size_) {
    throw KernelError(fmt::format("a row of {} {} takes {} bytes; the pool's buffers have {}", cols, spec(format).name,
                                  storage_bytes(format, cols), pool.buffer_size_));
  }
  Tile tile;
  tile.buffer = pool.buffers_[pool.next_];
  pool.next_ = (pool.next_ + 1) % pool.size();
  buffers_[tile.buffer].fresh = true;
  tile.space = pool.space_;
  tile.format = format;
  tile.partitions = partitions;
  tile.cols = cols;
  tile.offset_bytes = buffers_[tile.buffer].offset_bytes;
  return tile;
}

EngineId Kernel::engine_of(Unit unit) { return unit == kTensorLoad ? EngineId::Tensor : static_cast<EngineId>(unit); }

TensorAccess Kernel::access(const Tile& tile) const {
  if (tile.cols > 0xFFFF)
    throw KernelError(fmt::format("an instruction takes rows of up to 65535 elements, not {}", tile.cols));
  TensorAccess access;
  access.space = tile.space;
  access.format = tile.format;
  access.partitions = static_cast<std::uint16_t>(tile.partitions);
  access.offset_bytes = tile.offset_bytes;
  access.dims = 1;
  access.free[0] = {1, static_cast<std::uint16_t>(tile.cols)};
  return access;
}

void Kernel::need(Unit user, bool by_dma, const Accesses& accesses, WaitReason reason, bool skip_own) {
  for (std::uint8_t u = 0; u < kUnits; ++u) {
    const auto unit = static_cast<Unit>(u);
    const std::uint32_t ordinal = accesses.unit[u];
    if (ordinal == 0) continue;
    const bool own = !by_dma && engine_of(unit) == engine_of(user);
    if (own && (skip_own || user == kTensor || user == kTensorLoad)) continue;  // in-order engine
    unit_waits_.push_back({unit, ordinal, reason});
  }
  for (const DmaTicket& ticket : accesses.dma) dma_waits_.push_back({ticket, reason});
}

void Kernel::need_read(Unit user, bool by_dma, const Tile& tile) {
  need(user, by_dma, buffers_[tile.buffer].writes, WaitReason::Data, false);
}

void Kernel::need_write(Unit user, bool by_dma, const Tile& tile) {
  const Buffer& buffer = buffers_[tile.buffer];
  WaitReason reason = WaitReason::Data;
  if (buffer.fresh) reason = buffer.space == MemorySpace::Psum ? WaitReason::PsumSpace : WaitReason::SbufSpace;
  need(user, by_dma, buffer.writes, reason, true);
  need(user, by_dma, buffer.reads, reason, true);
}

void Kernel::read_by(Unit unit, const Tile& tile) { buffers_[tile.buffer].reads.unit[unit] = issued_[unit]; }

Kernel::Accesses& Kernel::writes_of(const Tile& tile) {
  Buffer& buffer = buffers_[tile.buffer];
  if (buffer.fresh) {
    // Everything before is ordered before this write; the tile's own history starts here.
    buffer.reads = {};
    buffer.writes = {};
    buffer.fresh = false;
  }
  if (loaded_valid_ && loaded_.buffer == tile.buffer) loaded_valid_ = false;  // the array holds the old weights
  return buffer.writes;
}

void Kernel::written_by(Unit unit, const Tile& tile) { writes_of(tile).unit[unit] = issued_[unit]; }

void Kernel::emit(Unit unit, Instruction instruction) {
  const EngineId engine = engine_of(unit);
  auto& code = program_[engine];
  auto& known = known_[static_cast<std::size_t>(engine)];
  auto& known_dma = known_dma_[static_cast<std::size_t>(engine)];

  // Latest wait per unit and per semaphore that is not known to be satisfied.
  std::array<UnitWait, kUnits> units{};
  for (const UnitWait& wait : unit_waits_) {
    if (wait.ordinal <= known[wait.unit] || wait.ordinal <= units[wait.unit].ordinal) continue;
    units[wait.unit] = wait;
  }
  std::vector<Instruction> waits;  // as instructions; the last one moves into the instruction itself
  std::vector<Patch> patches;
  for (std::uint8_t u = 0; u < kUnits; ++u) {
    const UnitWait& wait = units[u];
    if (wait.ordinal == 0) continue;
    known[u] = wait.ordinal;
    Instruction w;
    w.opcode = Opcode::SemaphoreWait;
    w.wait = {WaitCondition::GreaterEqual, wait.reason, u, 0};
    patches.push_back(
        {engine, static_cast<std::uint32_t>(code.size() + waits.size()), static_cast<Unit>(u), wait.ordinal});
    waits.push_back(w);
  }
  for (const DmaWait& wait : dma_waits_) {
    std::uint32_t& seen = known_dma[wait.ticket.semaphore];
    if (wait.ticket.value <= seen) continue;
    seen = wait.ticket.value;
    Instruction w;
    w.opcode = Opcode::SemaphoreWait;
    w.wait = {WaitCondition::GreaterEqual, wait.reason, wait.ticket.semaphore, wait.ticket.value};
    waits.push_back(w);
  }
  unit_waits_.clear();
  dma_waits_.clear();

  if (synchronisation_ == Synchronisation::Automatic) {
    if (!waits.empty()) {
      instruction.wait = waits.back().wait;
      waits.pop_back();
    }
    code.insert(code.end(), waits.begin(), waits.end());
    patches_.insert(patches_.end(), patches.begin(), patches.end());
  }
  index_of_[unit].push_back(static_cast<std::uint32_t>(code.size()));
  ++issued_[unit];
  code.push_back(instruction);
}

void Kernel::nc_matmul(const Tile& dst, const Tile& stationary, const Tile& moving, bool accumulate) {
  const bool loaded = loaded_valid_ && loaded_.buffer == stationary.buffer &&
                      loaded_.offset_bytes == stationary.offset_bytes && loaded_.partitions == stationary.partitions &&
                      loaded_.cols == stationary.cols && loaded_.format == stationary.format;
  if (!loaded) {
    Instruction load;
    load.opcode = Opcode::LoadStationary;
    load.operand_count = 1;
    load.operand[0] = access(stationary);
    need_read(kTensorLoad, false, stationary);
    emit(kTensorLoad, load);
    read_by(kTensorLoad, stationary);
    loaded_ = stationary;
    loaded_valid_ = true;
  }
  Instruction matmul;
  matmul.opcode = Opcode::NcMatmul;
  matmul.flags = accumulate ? kFlagAccumulate : 0;
  matmul.operand_count = 3;
  matmul.operand[0] = access(dst);
  matmul.operand[1] = access(stationary);
  matmul.operand[2] = access(moving);
  need_read(kTensor, false, moving);
  need_write(kTensor, false, dst);
  emit(kTensor, matmul);
  read_by(kTensor, moving);
  written_by(kTensor, dst);
}

void Kernel::tensor_copy(const Tile& dst, const Tile& src) {
  Instruction copy;
  copy.opcode = Opcode::TensorCopy;
  copy.operand_count = 2;
  copy.operand[0] = access(dst);
  copy.operand[1] = access(src);
  need_read(kVector, false, src);
  need_write(kVector, false, dst);
  emit(kVector, copy);
  read_by(kVector, src);
  written_by(kVector, dst);
}

void Kernel::memset(const Tile& dst, float value) {
  Instruction set;
  set.opcode = Opcode::Memset;
  set.operand_count = 1;
  set.operand[0] = access(dst);
  std::memcpy(&set.immediate[0], &value, sizeof value);
  need_write(kVector, false, dst);
  emit(kVector, set);
  written_by(kVector, dst);
}

void Kernel::tensor_tensor(const Tile& dst, const Tile& data1, const Tile& data2, AluOp op) {
  Instruction instruction;
  instruction.opcode = Opcode::TensorTensor;
  instruction.alu_op[0] = op;
  instruction.operand_count = 3;
  instruction.operand[0] = access(dst);
  instruction.operand[1] = access(data1);
  instruction.operand[2] = access(data2);
  need_read(kVector, false, data1);
  need_read(kVector, false, data2);
  need_write(kVector, false, dst);
  emit(kVector, instruction);
  read_by(kVector, data1);
  read_by(kVector, data2);
  written_by(kVector, dst);
}

void Kernel::transfer(Instruction instruction, const Tile& tile, bool tile_is_destination, EngineId trigger) {
  const auto unit = static_cast<Unit>(trigger);
  const auto engine = static_cast<std::size_t>(trigger);
  if (tile_is_destination) {
    need_write(unit, true, tile);
  } else {
    need_read(unit, true, tile);
  }
  DmaTicket ticket;
  if (synchronisation_ == Synchronisation::Automatic) {
    const std::uint32_t number = transfers_[engine]++;
    ticket.semaphore = static_cast<std::uint8_t>(kFirstRing + engine * kRingSemaphores + number % kRingSemaphores);
    ticket.value = target_.dma_engines * (number / kRingSemaphores + 1);
    if (number >= kRingSemaphores) {
      dma_waits_.push_back({{ticket.semaphore, ticket.value - target_.dma_engines}, WaitReason::DmaOrder});
    }
    instruction.update = {UpdateOp::Increment, UpdateTiming::Complete, ticket.semaphore, 0};
  }
  emit(unit, instruction);
  (tile_is_destination ? writes_of(tile) : buffers_[tile.buffer].reads).dma.push_back(ticket);
}

namespace {

DmaAccess sbuf_side(const Target& target, const Tile& tile) {
  DmaAccess side;
  side.address = address_map::sbuf(target.core, 0, tile.offset_bytes);
  side.inner = {tile.partitions, static_cast<std::int64_t>(address_map::kSbufPartitionStride)};
  return side;
}

DmaAccess hbm_side(const HbmView& view) {
  const HbmTensor& tensor = *view.tensor;
  if (view.row + view.rows > tensor.rows || view.col + view.cols > tensor.cols) {
    throw KernelError(fmt::format("[{}:{}, {}:{}] of an HBM tensor of [{}, {}]", view.row, view.row + view.rows,
                                  view.col, view.col + view.cols, tensor.rows, tensor.cols));
  }
  DmaAccess side;
  side.address = tensor.address + view.row * tensor.row_stride + storage_bytes(tensor.format, view.col);
  side.inner = {static_cast<std::uint32_t>(view.rows), static_cast<std::int64_t>(tensor.row_stride)};
  return side;
}

Instruction dma_instruction(const HbmView& view, const Tile& tile, std::uint8_t queue) {
  if (tile.space != MemorySpace::Sbuf) throw KernelError("a DMA of this kernel reaches SBUF, not PSUM");
  if (view.rows != tile.partitions || view.cols != tile.cols) {
    throw KernelError(fmt::format("dma_copy between [{}, {}] in HBM and a tile of [{}, {}]", view.rows, view.cols,
                                  tile.partitions, tile.cols));
  }
  Instruction instruction;
  instruction.opcode = Opcode::DmaCopy;
  instruction.dma_queue = queue;
  return instruction;
}

}  // namespace

void Kernel::dma_copy(const Tile& dst, const HbmView& src, EngineId trigger, std::uint8_t queue) {
  Instruction instruction = dma_instruction(src, dst, queue);
  instruction.dma_dst = sbuf_side(target_, dst);
  instruction.dma_src = hbm_side(src);
  instruction.dma_bytes = static_cast<std::uint32_t>(storage_bytes(src.tensor->format, src.cols));
  instruction.dma_dst_format = dst.format;
  instruction.dma_src_format = src.tensor->format;
  transfer(instruction, dst, true, trigger);
}

void Kernel::dma_copy(const HbmView& dst, const Tile& src, EngineId trigger, std::uint8_t queue) {
  Instruction instruction = dma_instruction(dst, src, queue);
  instruction.dma_dst = hbm_side(dst);
  instruction.dma_src = sbuf_side(target_, src);
  instruction.dma_bytes = static_cast<std::uint32_t>(storage_bytes(src.format, src.cols));
  instruction.dma_dst_format = dst.tensor->format;
  instruction.dma_src_format = src.format;
  transfer(instruction, src, false, trigger);
}

void Kernel::semaphore_wait(EngineId engine, std::uint8_t semaphore, WaitCondition condition, std::uint32_t value) {
  Instruction wait;
  wait.opcode = Opcode::SemaphoreWait;
  wait.wait = {condition, WaitReason::Program, semaphore, value};
  record(engine, wait);
}

void Kernel::semaphore_increment(EngineId engine, std::uint8_t semaphore) {
  Instruction increment;
  increment.opcode = Opcode::SemaphoreIncrement;
  increment.update = {UpdateOp::Increment, UpdateTiming::Complete, semaphore, 0};
  record(engine, increment);
}

void Kernel::record(EngineId engine, const Instruction& instruction) { program_[engine].push_back(instruction); }

Program Kernel::finish() {
  // Only instructions that somebody waits for move their unit's semaphore; a wait's value is that instruction's rank.
  std::array<std::vector<std::uint32_t>, kUnits> waited;
  for (const Patch& patch : patches_) waited[patch.unit].push_back(patch.ordinal);
  for (std::uint8_t u = 0; u < kUnits; ++u) {
    auto& ordinals = waited[u];
    std::sort(ordinals.begin(), ordinals.end());
    ordinals.erase(std::unique(ordinals.begin(), ordinals.end()), ordinals.end());
    auto& code = program_[engine_of(static_cast<Unit>(u))];
    for (std::uint32_t ordinal : ordinals) {
      code[index_of_[u][ordinal - 1]].update = {UpdateOp::Increment, UpdateTiming::Complete, u, 0};
    }
  }
  for (const Patch& patch : patches_) {
    const auto& ordinals = waited[patch.unit];
    const auto rank = std::lower_bound(ordinals.begin(), ordinals.end(), patch.ordinal) - ordinals.begin() + 1;
    program_[patch.engine][patch.instruction].wait.value = static_cast<std::uint32_t>(rank);
  }
  patches_.clear();
  return std::move(program_);
}

}  // namespace azulejo::nki
