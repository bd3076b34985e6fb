// SPDX-License-Identifier: Apache-2.0
#include "tlm/memory/partitioned_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tlm/common/check.h"
#include "tlm/isa/opcode_table.h"

namespace azulejo {
namespace {

// Lowest and one past the highest byte that a tile touches within a partition, relative to its first element.
struct Extent {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

Extent extent(const TensorAccess& access) {
  Extent extent;
  const auto bytes = static_cast<std::int64_t>(storage_bytes(access.format, 1));
  for (std::uint32_t d = 0; d < access.dims; ++d) {
    const std::int64_t reach = std::int64_t{access.free[d].step} * (std::int64_t{access.free[d].size} - 1) * bytes;
    (reach < 0 ? extent.low : extent.high) += reach;
  }
  extent.high += bytes;
  return extent;
}

// 1 for each of `count` partitions from `start`, as a bit mask of 128.
std::array<std::uint64_t, 2> partition_mask(std::uint32_t start, std::uint32_t count) {
  std::array<std::uint64_t, 2> mask{};
  for (std::uint32_t p = start; p < start + count; ++p) mask[p / 64] |= std::uint64_t{1} << (p % 64);
  return mask;
}

// Elements per partition of one tile, repeated ones (step 0) included: a whole partition of bytes (assumed).
constexpr std::uint32_t kMaxTileElements = 1 << 18;

// Tiles after which a memory counts as busy: see memory_.
constexpr std::uint64_t kBusyTileRequests = 4096;

// Calls `visit(word)` for the 4-byte word of every element of the tile.
template <class Visit>
void for_each_word(const TensorAccess& access, std::uint32_t offset_bytes, Visit visit) {
  const auto element = static_cast<std::int64_t>(storage_bytes(access.format, 1));
  const auto& f = access.free;
  const auto size = [&](std::uint32_t d) { return d < access.dims ? std::int64_t{f[d].size} : 1; };
  for (std::int64_t i0 = 0; i0 < size(0); ++i0) {
    for (std::int64_t i1 = 0; i1 < size(1); ++i1) {
      for (std::int64_t i2 = 0; i2 < size(2); ++i2) {
        for (std::int64_t i3 = 0; i3 < size(3); ++i3) {
          const std::int64_t index = i0 * f[0].step + i1 * f[1].step + i2 * f[2].step + i3 * f[3].step;
          visit(static_cast<std::size_t>((std::int64_t{offset_bytes} + index * element) / 4));
        }
      }
    }
  }
}

}  // namespace

PartitionedMemory::PartitionedMemory(const sc_core::sc_module_name& name, const PartitionedMemoryConfig& config,
                                     MemorySpace space, std::uint64_t address_stride, bool keep_data)
    : sc_module(name),
      config_(config),
      space_(space),
      address_stride_(address_stride),
      host_stride_(config.partition_size + 64),
      memory_(keep_data ? config.partitions * host_stride_ : 0),
      port_of_engine_(kEngines, -1) {
  engine_target.register_nb_transport_fw(this, &PartitionedMemory::nb_transport_fw);
  engine_target.register_b_transport(this, &PartitionedMemory::engine_b_transport);
  engine_target.register_get_direct_mem_ptr(this, &PartitionedMemory::get_direct_mem_ptr);
  dma_target.register_b_transport(this, &PartitionedMemory::dma_b_transport);
  dma_target.register_transport_dbg(this, &PartitionedMemory::dma_debug);
  for (const auto& group : config.shared_ports) {
    for (EngineId engine : group) port_of_engine_[static_cast<std::size_t>(engine)] = static_cast<int>(ports_.size());
    ports_.emplace_back();
  }
  if (space == MemorySpace::Psum) matmul_written_.resize(config.partition_size / 4);
  SC_HAS_PROCESS(PartitionedMemory);
  SC_METHOD(arbitrate);
  sensitive << arbitrate_;
  dont_initialize();
}

void PartitionedMemory::attach(const Instruments& instruments) {
  wave_requests_ = WaveSignal(*instruments.wave, name(), "tile_requests", 32);
  for (std::size_t p = 0; p < ports_.size(); ++p) {
    ports_[p].wave_busy = WaveSignal(*instruments.wave, name(), fmt::format("port{}_busy", p), 1);
    ports_[p].wave_owner = WaveText(*instruments.wave, name(), fmt::format("port{}_owner", p), 8);
  }
  wave_dma_written_ = WaveSignal(*instruments.wave, name(), "dma_written_bytes", 48);
  wave_dma_read_ = WaveSignal(*instruments.wave, name(), "dma_read_bytes", 48);
}

tlm::tlm_sync_enum PartitionedMemory::nb_transport_fw(int binding, tlm::tlm_generic_payload& payload,
                                                      tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  AZULEJO_CHECK(phase == tlm::BEGIN_REQ, "a memory accepts BEGIN_REQ only");
  TileAccess* access = nullptr;
  payload.get_extension(access);
  AZULEJO_CHECK(access != nullptr, "an engine's request carries TileAccess");
  ++stats_.tile_requests;
  wave_requests_ = stats_.tile_requests;
  if (stats_.tile_requests == kBusyTileRequests) memory_.use_huge_pages();
  if (!check(*access, payload)) return tlm::TLM_COMPLETED;
  if (port_of_engine_[static_cast<std::size_t>(access->engine)] < 0) {
    mark_written(*access);
    delay = sc_core::SC_ZERO_TIME;
    return tlm::TLM_COMPLETED;
  }
  payload.acquire();
  waiting_.push_back({binding, &payload, access});
  arbitrate_.notify(sc_core::SC_ZERO_TIME);
  return tlm::TLM_ACCEPTED;
}

void PartitionedMemory::arbitrate() {
  // All requests of this instant are here: the engine's number decides, not the kernel's process order.
  granting_.swap(waiting_);
  std::stable_sort(granting_.begin(), granting_.end(),
                   [](const Waiting& a, const Waiting& b) { return a.access->engine < b.access->engine; });
  const Femtoseconds now = now_fs();
  for (const Waiting& request : granting_) {
    Port& port = ports_[static_cast<std::size_t>(port_of_engine_[static_cast<std::size_t>(request.access->engine)])];
    const Femtoseconds grant = std::max(now, port.free_at);
    if (grant > now) ++stats_.port_conflicts;
    port.free_at = grant + request.access->occupancy;
    port.wave_busy.at(grant, 1);
    port.wave_busy.at(port.free_at, 0);
    port.wave_owner.at(grant, engine_name(request.access->engine));
    port.wave_owner.at(port.free_at, "");
    mark_written(*request.access);
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = to_sc_time(grant - now);
    engine_target[request.binding]->nb_transport_bw(*request.payload, phase, delay);
    request.payload->release();
  }
  granting_.clear();
}

void PartitionedMemory::engine_b_transport(int, tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
  // Loosely timed: the checks without the port.
  TileAccess* access = nullptr;
  payload.get_extension(access);
  if (access == nullptr) return payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
  ++stats_.tile_requests;
  if (check(*access, payload)) mark_written(*access);
}

bool PartitionedMemory::check(TileAccess& access, tlm::tlm_generic_payload& payload) {
  for (std::uint32_t i = 0; i < access.count; ++i) {
    if (!check_tile(access, access.tiles[i], payload)) {
      ++stats_.refused;
      return false;
    }
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  return true;
}

bool PartitionedMemory::check_tile(TileAccess& access, const TileAccess::Tile& tile,
                                   tlm::tlm_generic_payload& payload) {
  const TensorAccess& a = *tile.access;
  const char* memory = space_ == MemorySpace::Psum ? "PSUM" : "SBUF";
  const auto refuse = [&](tlm::tlm_response_status status, std::string message) {
    payload.set_response_status(status);
    access.message = std::move(message);
    return false;
  };
  // NKI architecture guide, "Tensor access": the start partition depends on the number of partitions.
  const std::uint32_t grain = a.partitions > 64 ? 128 : a.partitions > 32 ? 64 : 32;
  if (a.partitions == 0 || a.partitions > config_.partitions) {
    return refuse(tlm::TLM_BURST_ERROR_RESPONSE, fmt::format("{} tile of {} partitions; 1 to {} are possible", memory,
                                                             a.partitions, config_.partitions));
  }
  if (a.start_partition % grain != 0 || a.start_partition + a.partitions > config_.partitions) {
    const char* allowed = grain == 128 ? "0" : grain == 64 ? "0 or 64" : "0, 32, 64 or 96";
    return refuse(tlm::TLM_BURST_ERROR_RESPONSE,
                  fmt::format("{} tile of {} partitions starts at partition {}; allowed: {}", memory, a.partitions,
                              a.start_partition, allowed));
  }
  if (a.free_size() > kMaxTileElements) {
    return refuse(tlm::TLM_BURST_ERROR_RESPONSE,
                  fmt::format("{} tile of {} elements per partition; at most {} are possible", memory, a.free_size(),
                              kMaxTileElements));
  }
  const Extent reach = extent(a);
  const std::int64_t low = std::int64_t{tile.offset_bytes} + reach.low;
  const std::int64_t high = std::int64_t{tile.offset_bytes} + reach.high;
  if (low < 0 || high > static_cast<std::int64_t>(config_.partition_size)) {
    return refuse(tlm::TLM_ADDRESS_ERROR_RESPONSE,
                  fmt::format("{} tile covers bytes {} to {} of a partition of {} bytes", memory, low, high,
                              config_.partition_size));
  }
  if (tile.offset_bytes % storage_bytes(a.format, 1) != 0) {
    return refuse(tlm::TLM_ADDRESS_ERROR_RESPONSE, fmt::format("{} tile of {} starts at byte {}, which is not aligned",
                                                               memory, spec(a.format).name, tile.offset_bytes));
  }
  if (tile.role == TileRole::MatmulWrite || tile.role == TileRole::MatmulAccumulate) {
    const auto bank = static_cast<std::int64_t>(config_.partition_size / config_.banks);
    if (low / bank != (high - 1) / bank) {
      return refuse(
          tlm::TLM_BURST_ERROR_RESPONSE,
          fmt::format("matmul result of {} bytes at byte {} crosses a PSUM bank of {} bytes", high - low, low, bank));
    }
  }
  if (tile.role == TileRole::MatmulAccumulate) {
    const auto mask = partition_mask(a.start_partition, a.partitions);
    bool written = true;
    for_each_word(a, tile.offset_bytes, [&](std::size_t word) {
      const auto& w = matmul_written_[word];
      written = written && (w[0] & mask[0]) == mask[0] && (w[1] & mask[1]) == mask[1];
    });
    if (!written) {
      return refuse(
          tlm::TLM_COMMAND_ERROR_RESPONSE,
          fmt::format("matmul accumulates at byte {} onto PSUM that no matmul has written (NeuronCore-v2/-v3 leave "
                      "the result undefined)",
                      tile.offset_bytes));
    }
  }
  return true;
}

void PartitionedMemory::mark_written(const TileAccess& access) {
  if (space_ != MemorySpace::Psum) return;
  for (std::uint32_t i = 0; i < access.count; ++i) {
    const TileAccess::Tile& tile = access.tiles[i];
    const TensorAccess& a = *tile.access;
    if (tile.role == TileRole::Read || tile.role == TileRole::MatmulAccumulate) continue;
    const auto mask = partition_mask(a.start_partition, a.partitions);
    const bool by_matmul = tile.role == TileRole::MatmulWrite;
    for_each_word(a, tile.offset_bytes, [&](std::size_t word) {
      auto& w = matmul_written_[word];
      for (std::size_t half = 0; half < 2; ++half)
        w[half] = by_matmul ? (w[half] | mask[half]) : (w[half] & ~mask[half]);
    });
  }
}

void PartitionedMemory::forget_matmuls(std::uint64_t address, std::uint64_t rows, std::uint64_t row_bytes,
                                       std::uint64_t stride) {
  if (space_ != MemorySpace::Psum) return;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t partition = (address + row * stride) / address_stride_;
    const std::uint64_t offset = (address + row * stride) % address_stride_;
    for (std::uint64_t word = offset / 4; word <= (offset + row_bytes - 1) / 4; ++word) {
      matmul_written_[word][partition / 64] &= ~(std::uint64_t{1} << (partition % 64));
    }
  }
}

bool PartitionedMemory::get_direct_mem_ptr(int, tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) {
  dmi.init();
  if (memory_.data() == nullptr) return false;
  dmi.set_dmi_ptr(memory_.data());
  dmi.set_start_address(0);
  dmi.set_end_address(config_.partitions * host_stride_ - 1);
  dmi.allow_read_write();
  return true;
}

bool PartitionedMemory::move_row(std::uint64_t address, std::uint8_t* data, std::uint64_t bytes, bool write,
                                 bool with_data) {
  const std::uint64_t partition = address / address_stride_;
  const std::uint64_t offset = address % address_stride_;
  if (partition >= config_.partitions || offset + bytes > config_.partition_size) return false;
  if (!with_data || memory_.data() == nullptr) return true;
  std::uint8_t* cell = memory_.data() + partition * host_stride_ + offset;
  if (write) {
    std::memcpy(cell, data, bytes);
  } else {
    std::memcpy(data, cell, bytes);
  }
  return true;
}

void PartitionedMemory::dma_b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
  if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) return payload.set_response_status(tlm::TLM_OK_RESPONSE);
  if (payload.get_byte_enable_ptr() != nullptr) return payload.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  StridedBurst* burst = nullptr;
  TimingOnly* timing_only = nullptr;
  payload.get_extension(burst);
  payload.get_extension(timing_only);
  const std::uint64_t rows = burst != nullptr ? burst->rows : 1;
  const std::uint64_t row_bytes = rows > 1 ? burst->row_bytes : payload.get_data_length();
  const std::uint64_t stride = rows > 1 ? burst->row_stride : 0;
  const bool with_data = timing_only == nullptr || !timing_only->set;
  if (payload.get_streaming_width() < payload.get_data_length()) {
    return payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
  }
  const SignedWide end = static_cast<SignedWide>(address_stride_) * config_.partitions;
  const SignedWide last = static_cast<SignedWide>(payload.get_address()) +
                          SignedWide{static_cast<std::int64_t>(stride)} * static_cast<SignedWide>(rows - 1);
  if (last < 0 || last >= end) return payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  for (std::uint64_t row = 0; row < rows; ++row) {
    if (!move_row(payload.get_address() + row * stride, payload.get_data_ptr() + (with_data ? row * row_bytes : 0),
                  row_bytes, payload.is_write(), with_data)) {
      return payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    }
  }
  if (payload.is_write()) {
    forget_matmuls(payload.get_address(), rows, row_bytes, stride);
    stats_.dma_written_bytes += rows * row_bytes;
    wave_dma_written_ = stats_.dma_written_bytes;
  } else {
    stats_.dma_read_bytes += rows * row_bytes;
    wave_dma_read_ = stats_.dma_read_bytes;
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

unsigned int PartitionedMemory::dma_debug(tlm::tlm_generic_payload& payload) {
  const auto bytes = payload.get_data_length();
  if (memory_.data() == nullptr ||
      !move_row(payload.get_address(), payload.get_data_ptr(), bytes, payload.is_write(), true))
    return 0;
  return bytes;
}

}  // namespace azulejo
