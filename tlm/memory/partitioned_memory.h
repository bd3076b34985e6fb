// SPDX-License-Identifier: Apache-2.0
// SBUF or PSUM: a memory of partitions that engines reach by tiles and DMA engines by address.
//
// Abstraction: loosely timed. A port that several engines share is granted to one at a time, in the order of arrival
// and, within one instant, of the engine's number; an engine with a port of its own never waits. Bandwidth within an
// instruction is part of the instruction's documented cost.
// Source: Trainium/Inferentia2 Architecture Guide for NKI, "Fast Matrix Memories" (start-partition rules, shared ports,
// PSUM banks, accumulation only onto what a matmul wrote).
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "tlm/common/host_memory.h"
#include "tlm/common/instruments.h"
#include "tlm/common/payload.h"
#include "tlm/common/tile_access.h"
#include "tlm/memory/config.h"

namespace azulejo {

class PartitionedMemory : public sc_core::sc_module {
 public:
  // One binding per engine; requests carry TileAccess. DMI is granted read/write over the whole memory: partition p
  // starts at p * (end + 1) / partitions. Not granted without data.
  tlm_utils::multi_passthrough_target_socket<PartitionedMemory> engine_target{"engine_target"};
  // Byte addresses p * address_stride + offset; StridedBurst supported; LT and debug.
  tlm_utils::simple_target_socket<PartitionedMemory> dma_target{"dma_target"};

  struct Stats {
    std::uint64_t tile_requests = 0;
    std::uint64_t refused = 0;         // answered with an error
    std::uint64_t port_conflicts = 0;  // requests that had to wait
    std::uint64_t dma_read_bytes = 0;
    std::uint64_t dma_written_bytes = 0;
  };

  // `address_stride` is the distance of two partitions in the DMA's address space; `keep_data` false stores nothing;
  // `space` is the memory's name in messages and whether a matmul may write to it. REQUIRES: validate(config) is empty.
  PartitionedMemory(const sc_core::sc_module_name& name, const PartitionedMemoryConfig& config, MemorySpace space,
                    std::uint64_t address_stride, bool keep_data);

  const Stats& stats() const { return stats_; }
  const PartitionedMemoryConfig& config() const { return config_; }
  void attach(const Instruments& instruments);

 private:
  struct Port {
    Femtoseconds free_at = 0;
    WaveSignal wave_busy;
    WaveText wave_owner;  // the engine that holds it
  };
  struct Waiting {
    int binding;
    tlm::tlm_generic_payload* payload;
    TileAccess* access;
  };

  tlm::tlm_sync_enum nb_transport_fw(int binding, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay);
  void engine_b_transport(int binding, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(int binding, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);
  void dma_b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned int dma_debug(tlm::tlm_generic_payload& payload);

  void arbitrate();
  bool check(TileAccess& access, tlm::tlm_generic_payload& payload);
  bool check_tile(TileAccess& access, const TileAccess::Tile& tile, tlm::tlm_generic_payload& payload);
  void mark_written(const TileAccess& access);
  void forget_matmuls(std::uint64_t address, std::uint64_t rows, std::uint64_t row_bytes, std::uint64_t stride);
  // Copies one row between the memory and `data`; false if it leaves the memory.
  bool move_row(std::uint64_t address, std::uint8_t* data, std::uint64_t bytes, bool write, bool with_data);

  const PartitionedMemoryConfig config_;
  const MemorySpace space_;
  const std::uint64_t address_stride_;
  const std::uint64_t host_stride_;  // bytes between partitions on the host: no power of two, so that a
                                     // column of partitions does not fall into one set of its caches
  // Nothing without data. A tile touches a page per partition, more than the host's TLB holds, so a memory that serves
  // many tiles moves into huge pages; one that is hardly used costs what it uses.
  HostMemory memory_;
  std::vector<int> port_of_engine_;  // index into ports_, -1: a port of its own
  std::vector<Port> ports_;
  std::vector<Waiting> waiting_;
  std::vector<Waiting> granting_;  // of the instant being arbitrated
  sc_core::sc_event arbitrate_;
  // PSUM: per 4-byte word of a partition, the partitions on which a matmul wrote it last (bit per partition).
  std::vector<std::array<std::uint64_t, 2>> matmul_written_;
  Stats stats_;
  WaveSignal wave_requests_;
  WaveSignal wave_dma_written_;
  WaveSignal wave_dma_read_;
};

}  // namespace azulejo
