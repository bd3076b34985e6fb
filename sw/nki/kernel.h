// SPDX-License-Identifier: Apache-2.0
// Kernel builder: records instructions per engine under the names of NKI's ISA, allocates tiles in SBUF and PSUM with
// the capacity checked, and inserts the semaphores that the reads and writes of tiles require.
//
// Needs tlm/isa and tlm/numerics only. A kernel error (a tile that does not fit, a shape that an instruction cannot
// take) throws KernelError; what only the hardware can know is left to the machine.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "tlm/isa/instruction.h"

namespace azulejo::nki {

class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What a kernel must know of the core it is written for.
struct Target {
  std::uint32_t core = 0;                 // index within the chip, for the DMA addresses of its SBUF
  std::uint64_t sbuf_partition_size = 0;  // bytes
  std::uint64_t psum_partition_size = 0;
  std::uint32_t psum_banks = 8;
  std::uint32_t array_rows = 128;  // largest K, M and N of one matmul
  std::uint32_t array_cols = 128;
  std::uint32_t max_moving = 512;
  std::uint32_t dma_engines = kDmaEngines;  // semaphore increments of one transfer
  std::uint32_t dma_queues = kDmaQueues;
};

// Semaphores::Automatic inserts waits from the hazards of tiles; Manual records what the author writes and nothing
// else.
enum class Synchronisation : std::uint8_t { Automatic, Manual };

// A row-major matrix in HBM, addressed as the DMA engines address it.
struct HbmTensor {
  std::uint64_t address = 0;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  Format format = Format::Bf16;
  std::uint64_t row_stride = 0;  // bytes
};

// [rows, cols] of an HbmTensor from (row, col) on.
struct HbmView {
  const HbmTensor* tensor = nullptr;
  std::uint64_t row = 0;
  std::uint64_t col = 0;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
};

// A tile in SBUF or PSUM: [partitions, cols] elements of `format`, rows contiguous. A value: slices share the buffer.
struct Tile {
  std::uint32_t buffer = 0;  // index of the buffer that holds it
  MemorySpace space = MemorySpace::Sbuf;
  Format format = Format::Bf16;
  std::uint32_t partitions = 0;
  std::uint32_t cols = 0;
  std::uint32_t offset_bytes = 0;  // of the first column, within each partition

  // Columns [first, first + count). REQUIRES: within the tile.
  Tile columns(std::uint32_t first, std::uint32_t count) const;
};

// A ring of equal buffers; each tile takes the next one, and waits at its first write until the tile that had it before
// is no longer in use.
class TilePool {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(buffers_.size()); }

 private:
  friend class Kernel;
  MemorySpace space_ = MemorySpace::Sbuf;
  std::uint64_t buffer_size_ = 0;  // bytes per partition
  std::vector<std::uint32_t> buffers_;
  std::uint32_t next_ = 0;
};

class Kernel {
 public:
  Kernel(const Target& target, Synchronisation synchronisation = Synchronisation::Automatic);

  const Target& target() const { return target_; }

  // `count` buffers of `buffer_size` bytes per partition. Throws KernelError if they do not fit beside what is
  // allocated; a PSUM buffer must fit one bank and takes it whole.
  TilePool& sbuf_pool(const std::string& name, std::uint64_t buffer_size, std::uint32_t count);
  TilePool& psum_pool(const std::string& name, std::uint32_t count);
  std::uint64_t sbuf_free() const { return target_.sbuf_partition_size - sbuf_used_; }
  std::uint32_t psum_banks_free() const { return target_.psum_banks - psum_used_; }

  // The pool's next buffer as a tile. Throws KernelError if [partitions, cols] of `format` does not fit the buffer.
  Tile tile(TilePool& pool, std::uint32_t partitions, std::uint32_t cols, Format format);

  // nki.isa. `dst[M, N] (+)= stationary[K, M].T @ moving[K, N]`; loads the stationary tile unless the same one is
  // loaded.
  void nc_matmul(const Tile& dst, const Tile& stationary, const Tile& moving, bool accumulate);
  void tensor_copy(const Tile& dst, const Tile& src);
  void memset(const Tile& dst, float value);
  void tensor_tensor(const Tile& dst, const Tile& data1, const Tile& data2, AluOp op);
  // Row r of the HBM side is partition r of the tile. `trigger` is the engine whose queue starts the transfer.
  void dma_copy(const Tile& dst, const HbmView& src, EngineId trigger, std::uint8_t queue);
  void dma_copy(const HbmView& dst, const Tile& src, EngineId trigger, std::uint8_t queue);

  // Sequencer instructions, for manual synchronisation and control flow.
  void semaphore_wait(EngineId engine, std::uint8_t semaphore, WaitCondition condition, std::uint32_t value);
  void semaphore_increment(EngineId engine, std::uint8_t semaphore);
  void record(EngineId engine, const Instruction& instruction);

  // Room for `instructions` of one engine, so that a long recording does not move what it has.
  void reserve(EngineId engine, std::size_t instructions) { program_[engine].reserve(instructions); }

  // The recorded program; the kernel records nothing more.
  Program finish();

 private:
  // What completes in order and counts with one semaphore. Weight loads overtake the matmul before them, so they count
  // apart.
  enum Unit : std::uint8_t { kTensor, kVector, kScalar, kGpSimd, kSync, kTensorLoad, kUnits };

  struct DmaTicket {
    std::uint8_t semaphore = 0;
    std::uint32_t value = 0;
  };
  // Last accesses to a buffer: per unit the number of the instruction plus one (0: none), and the open transfers.
  struct Accesses {
    std::array<std::uint32_t, kUnits> unit{};
    std::vector<DmaTicket> dma;
  };
  struct Buffer {
    MemorySpace space = MemorySpace::Sbuf;
    std::uint32_t offset_bytes = 0;
    Accesses reads;
    Accesses writes;
    bool fresh = true;  // no write since the tile was taken
  };
  struct UnitWait {
    Unit unit;
    std::uint32_t ordinal;  // instruction number plus one
    WaitReason reason;
  };
  struct DmaWait {
    DmaTicket ticket;
    WaitReason reason;
  };
  struct Patch {
    EngineId engine;
    std::uint32_t instruction;
    Unit unit;
    std::uint32_t ordinal;
  };

  static EngineId engine_of(Unit unit);
  TensorAccess access(const Tile& tile) const;
  void need(Unit user, bool by_dma, const Accesses& accesses, WaitReason reason, bool skip_own);
  void need_read(Unit user, bool by_dma, const Tile& tile);
  void need_write(Unit user, bool by_dma, const Tile& tile);
  void read_by(Unit unit, const Tile& tile);
  void written_by(Unit unit, const Tile& tile);
  Accesses& writes_of(const Tile& tile);  // to add a write to
  void emit(Unit unit, Instruction instruction);
  void transfer(Instruction instruction, const Tile& tile, bool tile_is_destination, EngineId trigger);

  const Target target_;
  const Synchronisation synchronisation_;
  Program program_;
  std::deque<TilePool> pools_;
  std::vector<Buffer> buffers_;
  std::uint64_t sbuf_used_ = 0;
  std::uint32_t psum_used_ = 0;

  std::array<std::uint32_t, kUnits> issued_{};                       // instructions per unit
  std::array<std::vector<std::uint32_t>, kUnits> index_of_;          // unit's instruction number -> program index
  std::array<std::array<std::uint32_t, kUnits>, kEngines> known_{};  // [engine][unit]: already waited for
  std::array<std::array<std::uint32_t, kSemaphores>, kEngines> known_dma_{};
  std::array<std::uint32_t, kEngines> transfers_{};  // per trigger
  std::vector<UnitWait> unit_waits_;                 // of the instruction being recorded
  std::vector<DmaWait> dma_waits_;
  std::vector<Patch> patches_;
  Tile loaded_;
  bool loaded_valid_ = false;
};

}  // namespace azulejo::nki
