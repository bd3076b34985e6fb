// SPDX-License-Identifier: Apache-2.0
// SBUF and PSUM by bare initiators: partition rules, bounds, banks, accumulation, shared ports.
#include "tlm/memory/partitioned_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "tests/support/machine.h"

namespace azulejo::test {
namespace {

// Requests tiles as an engine does and notes when the port was granted.
class BareEngine : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<BareEngine> initiator{"initiator"};

  BareEngine(const sc_core::sc_module_name& name, EngineId id) : sc_module(name), id_(id) {
    initiator.register_nb_transport_bw(this, &BareEngine::response);
  }

  // Requests [partitions, 16] FP32 for `occupancy`. True if it was answered at once.
  bool request(Femtoseconds occupancy, std::uint32_t partitions = 128) {
    tiles_.emplace_back();
    Tile& tile = tiles_.back();
    tile.tensor.space = MemorySpace::Sbuf;
    tile.tensor.partitions = static_cast<std::uint16_t>(partitions);
    tile.tensor.free[0] = {1, 16};
    tile.access.engine = id_;
    tile.access.add(tile.tensor, 0, TileRole::Read);
    tile.access.occupancy = occupancy;
    PooledPayload& payload = pool.acquire();
    payload.set_command(tlm::TLM_READ_COMMAND);
    payload.set_extension(&tile.access);
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay;
    const tlm::tlm_sync_enum result = initiator->nb_transport_fw(payload, phase, delay);
    if (result != tlm::TLM_COMPLETED) return false;
    status = payload.get_response_status();
    grants.push_back(now_fs() + delay.value());
    payload.clear_extension(&tile.access);
    payload.release();
    return true;
  }

  PayloadPool pool;
  std::vector<Femtoseconds> grants;
  tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;

 private:
  struct Tile {
    TensorAccess tensor;
    TileAccess access;
  };

  tlm::tlm_sync_enum response(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    EXPECT_EQ(phase, tlm::BEGIN_RESP);
    grants.push_back(now_fs() + delay.value());
    TileAccess* access = nullptr;
    payload.get_extension(access);
    payload.clear_extension(access);
    payload.release();
    return tlm::TLM_COMPLETED;
  }

  const EngineId id_;
  std::deque<Tile> tiles_;
};

class Bench : public sc_core::sc_module {
 public:
  Bench(const sc_core::sc_module_name& name, const PartitionedMemoryConfig& config,
        MemorySpace space = MemorySpace::Sbuf)
      : sc_module(name), memory("memory", config, space, space == MemorySpace::Psum ? 0x4000 : 0x4'0000, true) {
    for (BareEngine* engine : {&tensor, &vector, &scalar, &gpsimd}) engine->initiator.bind(memory.engine_target);
    dma.bind(memory.dma_target);
  }

  // Checks one tile by loosely timed access.
  tlm::tlm_response_status check(const TensorAccess& pattern, TileRole role = TileRole::Read,
                                 std::uint32_t offset = 0) {
    TileAccess access;
    access.engine =
        role == TileRole::MatmulWrite || role == TileRole::MatmulAccumulate ? EngineId::Tensor : EngineId::Vector;
    access.add(pattern, offset, role);
    tlm::tlm_generic_payload payload;
    payload.set_command(tlm::TLM_READ_COMMAND);
    payload.set_extension(&access);
    sc_core::sc_time delay;
    vector.initiator->b_transport(payload, delay);
    payload.clear_extension(&access);
    message = access.message;
    return payload.get_response_status();
  }

  tlm::tlm_response_status move(tlm::tlm_command command, std::uint64_t address, std::vector<unsigned char>& data,
                                std::uint64_t rows = 1, std::uint64_t stride = 0) {
    PooledPayload& payload = pool.acquire();
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(data.data());
    payload.set_data_length(static_cast<unsigned>(data.size()));
    payload.set_streaming_width(static_cast<unsigned>(data.size()));
    payload.burst.rows = rows;
    payload.burst.row_bytes = data.size() / rows;
    payload.burst.row_stride = stride;
    sc_core::sc_time delay;
    dma->b_transport(payload, delay);
    const tlm::tlm_response_status status = payload.get_response_status();
    payload.release();
    return status;
  }

  BareEngine tensor{"tensor", EngineId::Tensor};
  BareEngine vector{"vector", EngineId::Vector};
  BareEngine scalar{"scalar", EngineId::Scalar};
  BareEngine gpsimd{"gpsimd", EngineId::GpSimd};
  tlm_utils::simple_initiator_socket<Bench> dma{"dma"};
  PartitionedMemory memory;
  PayloadPool pool;
  std::string message;
};

PartitionedMemoryConfig sbuf_v2() { return {128, 192 * 1024, 1, {{EngineId::Vector, EngineId::GpSimd}}}; }
PartitionedMemoryConfig psum_v2() { return {128, 16 * 1024, 8, {{EngineId::Vector, EngineId::Scalar}}}; }

TensorAccess tile(std::uint32_t start, std::uint32_t partitions, std::vector<FreeDim> free,
                  Format format = Format::Fp32) {
  TensorAccess access;
  access.space = MemorySpace::Sbuf;
  access.format = format;
  access.start_partition = static_cast<std::uint16_t>(start);
  access.partitions = static_cast<std::uint16_t>(partitions);
  access.dims = static_cast<std::uint8_t>(free.size());
  std::copy(free.begin(), free.end(), access.free.begin());
  return access;
}

TEST(PartitionedMemory, TheStartPartitionDependsOnTheNumberOfPartitions) {
  Bench bench("bench", sbuf_v2());
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  for (std::uint32_t count = 0; count <= 140; ++count) {
    for (std::uint32_t start = 0; start <= 140; ++start) {
      bool allowed = false;
      if (count >= 1 && count <= 32) {
        allowed = start == 0 || start == 32 || start == 64 || start == 96;
      } else if (count >= 33 && count <= 64) {
        allowed = start == 0 || start == 64;
      } else if (count >= 65 && count <= 128) {
        allowed = start == 0;
      }
      ASSERT_EQ(bench.check(tile(start, count, {{1, 16}})),
                allowed ? tlm::TLM_OK_RESPONSE : tlm::TLM_BURST_ERROR_RESPONSE)
          << count << " partitions from " << start;
      ASSERT_TRUE(allowed == bench.message.empty());
    }
  }
}

TEST(PartitionedMemory, TilesEndAtTheLastByteOfThePartition) {
  Bench bench("bench", sbuf_v2());
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  const std::uint32_t size = 192 * 1024;
  EXPECT_EQ(bench.check(tile(0, 128, {{1, 16}}), TileRole::Read, size - 64), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.check(tile(0, 128, {{1, 16}}), TileRole::Read, size - 60), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bench.check(tile(0, 128, {{1, 16}}), TileRole::Write, size), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bench.check(tile(0, 128, {{1, 16}}), TileRole::Read, ~std::uint32_t{3}), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  // 15 steps of -1 element below the first.
  EXPECT_EQ(bench.check(tile(0, 128, {{-1, 16}}), TileRole::Read, 60), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.check(tile(0, 128, {{-1, 16}}), TileRole::Read, 56), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bench.check(tile(0, 128, {{-1, 16}}), TileRole::Read, size - 4), tlm::TLM_OK_RESPONSE);
  // Up by 3 * 1000 in one dimension, down by 7 * 100 in another.
  EXPECT_EQ(bench.check(tile(0, 128, {{1000, 4}, {-100, 8}}), TileRole::Read, 2800), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.check(tile(0, 128, {{1000, 4}, {-100, 8}}), TileRole::Read, 2796), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bench.check(tile(0, 128, {{1000, 4}, {-100, 8}}), TileRole::Read, size - 12'004), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.check(tile(0, 128, {{1000, 4}, {-100, 8}}), TileRole::Read, size - 12'000),
            tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

TEST(PartitionedMemory, ElementsAreAlignedToTheirSize) {
  Bench bench("bench", sbuf_v2());
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  for (std::uint32_t offset = 0; offset < 8; ++offset) {
    EXPECT_EQ(bench.check(tile(0, 1, {{1, 4}}, Format::Fp32), TileRole::Read, offset) == tlm::TLM_OK_RESPONSE,
              offset % 4 == 0);
    EXPECT_EQ(bench.check(tile(0, 1, {{1, 4}}, Format::Bf16), TileRole::Read, offset) == tlm::TLM_OK_RESPONSE,
              offset % 2 == 0);
    EXPECT_EQ(bench.check(tile(0, 1, {{1, 4}}, Format::E4M3), TileRole::Read, offset), tlm::TLM_OK_RESPONSE);
  }
}

TEST(PartitionedMemory, AMatmulResultStaysInOneBankAndOthersNeedNot) {
  Bench bench("bench", psum_v2(), MemorySpace::Psum);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  for (std::uint32_t bank = 0; bank < 8; ++bank) {
    EXPECT_EQ(bench.check(tile(0, 128, {{1, 512}}), TileRole::MatmulWrite, bank * 2048), tlm::TLM_OK_RESPONSE) << bank;
    EXPECT_EQ(bench.check(tile(0, 128, {{1, 16}}), TileRole::MatmulWrite, bank * 2048 + 2048 - 64),
              tlm::TLM_OK_RESPONSE);
  }
  EXPECT_EQ(bench.check(tile(0, 128, {{1, 512}}), TileRole::MatmulWrite, 4), tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(bench.check(tile(0, 128, {{1, 17}}), TileRole::MatmulWrite, 2048 - 64), tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(bench.check(tile(0, 128, {{512, 2}}), TileRole::MatmulWrite, 0), tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(bench.check(tile(0, 128, {{1, 17}}), TileRole::Read, 2048 - 64), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.check(tile(0, 128, {{1, 4096}}), TileRole::Write, 0), tlm::TLM_OK_RESPONSE);
}

TEST(PartitionedMemory, AccumulationFollowsTheLastWriterOfEveryWordAndPartition) {
  Bench bench("bench", psum_v2(), MemorySpace::Psum);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  const auto accumulate = [&](const TensorAccess& t, std::uint32_t offset = 0) {
    return bench.check(t, TileRole::MatmulAccumulate, offset);
  };
  const TensorAccess whole = tile(0, 128, {{1, 16}});
  EXPECT_EQ(accumulate(whole), tlm::TLM_COMMAND_ERROR_RESPONSE);  // never written
  EXPECT_EQ(bench.check(whole, TileRole::Write), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(accumulate(whole), tlm::TLM_COMMAND_ERROR_RESPONSE);  // by the vector engine
  EXPECT_EQ(bench.check(whole, TileRole::MatmulWrite), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(accumulate(whole), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(accumulate(whole), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.check(whole, TileRole::Read), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(accumulate(tile(32, 32, {{1, 16}})), tlm::TLM_OK_RESPONSE);             // a part of it
  EXPECT_EQ(accumulate(tile(0, 128, {{1, 17}})), tlm::TLM_COMMAND_ERROR_RESPONSE);  // a word more
  // One word of one partition, overwritten by the vector engine.
  EXPECT_EQ(bench.check(tile(96, 1, {{1, 1}}), TileRole::Write, 60), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(accumulate(whole), tlm::TLM_COMMAND_ERROR_RESPONSE);
  EXPECT_EQ(accumulate(tile(0, 128, {{1, 15}})), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(accumulate(tile(64, 32, {{1, 16}})), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(accumulate(tile(96, 32, {{1, 16}})), tlm::TLM_COMMAND_ERROR_RESPONSE);
  // Every second word.
  EXPECT_EQ(bench.check(tile(0, 128, {{2, 8}}), TileRole::MatmulWrite, 1024), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(accumulate(tile(0, 128, {{2, 8}}), 1024), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(accumulate(tile(0, 128, {{1, 8}}), 1024), tlm::TLM_COMMAND_ERROR_RESPONSE);
}

TEST(PartitionedMemory, ADmaWriteIntoPsumIsNoMatmulEither) {
  Bench bench("bench", psum_v2(), MemorySpace::Psum);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  EXPECT_EQ(bench.check(tile(0, 128, {{1, 16}}), TileRole::MatmulWrite), tlm::TLM_OK_RESPONSE);
  std::vector<unsigned char> data(4, 1);
  EXPECT_EQ(bench.move(tlm::TLM_WRITE_COMMAND, 5 * 0x4000 + 8, data), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.check(tile(0, 128, {{1, 16}}), TileRole::MatmulAccumulate), tlm::TLM_COMMAND_ERROR_RESPONSE);
}

TEST(PartitionedMemory, EnginesThatShareAPortTakeTurnsByTheirNumber) {
  for (const bool vector_first : {true, false}) {
    in_child([vector_first] {
      Bench bench("bench", sbuf_v2());
      sc_core::sc_start(sc_core::SC_ZERO_TIME);
      const auto ask = [&](BareEngine& engine, Femtoseconds occupancy) { EXPECT_FALSE(engine.request(occupancy)); };
      if (vector_first) ask(bench.vector, 1'000);
      ask(bench.gpsimd, 300);
      if (!vector_first) ask(bench.vector, 1'000);
      EXPECT_TRUE(bench.tensor.request(5'000));  // a port of its own: granted at once
      sc_core::sc_start();
      EXPECT_EQ(bench.vector.grants, std::vector<Femtoseconds>{0});
      EXPECT_EQ(bench.gpsimd.grants, std::vector<Femtoseconds>{1'000});
      EXPECT_EQ(bench.tensor.grants, std::vector<Femtoseconds>{0});
      EXPECT_EQ(bench.memory.stats().port_conflicts, 1u);
      // Later: the port is free at 1300.
      sc_core::sc_start(to_sc_time(1'200), sc_core::SC_RUN_TO_TIME);
      ask(bench.gpsimd, 50);
      sc_core::sc_start(to_sc_time(200), sc_core::SC_RUN_TO_TIME);
      ask(bench.vector, 10);
      sc_core::sc_start();
      EXPECT_EQ(bench.gpsimd.grants.back(), 1'300u);
      EXPECT_EQ(bench.vector.grants.back(), 1'400u);
      EXPECT_EQ(bench.memory.stats().port_conflicts, 2u);
      EXPECT_EQ(bench.vector.pool.outstanding() + bench.gpsimd.pool.outstanding() + bench.tensor.pool.outstanding(),
                0u);
      return std::string();
    });
  }
}

TEST(PartitionedMemory, ARefusedRequestDoesNotHoldThePort) {
  Bench bench("bench", sbuf_v2());
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  EXPECT_TRUE(bench.vector.request(1'000, 129));
  EXPECT_EQ(bench.vector.status, tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_FALSE(bench.gpsimd.request(300));
  sc_core::sc_start();
  EXPECT_EQ(bench.gpsimd.grants, std::vector<Femtoseconds>{0});
  EXPECT_EQ(bench.memory.stats().refused, 1u);
}

TEST(PartitionedMemory, WithoutSharedPortsNobodyWaits) {
  Bench bench("bench", PartitionedMemoryConfig{128, 224 * 1024, 1, {}});
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  EXPECT_TRUE(bench.gpsimd.request(1'000));
  EXPECT_TRUE(bench.vector.request(1'000));
  EXPECT_TRUE(bench.scalar.request(1'000));
  sc_core::sc_start();
  EXPECT_EQ(bench.gpsimd.grants, std::vector<Femtoseconds>{0});
  EXPECT_EQ(bench.vector.grants, std::vector<Femtoseconds>{0});
  EXPECT_EQ(bench.memory.stats().port_conflicts, 0u);
}

TEST(PartitionedMemory, DmaAccessesMoveRowsOfPartitionsAndStayInside) {
  Bench bench("bench", sbuf_v2());
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  std::vector<unsigned char> rows(3 * 8);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<unsigned char>(i + 1);
  EXPECT_EQ(bench.move(tlm::TLM_WRITE_COMMAND, 126 * 0x4'0000 + 100, rows, 3, 0x4'0000),
            tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bench.move(tlm::TLM_WRITE_COMMAND, 125 * 0x4'0000 + 100, rows, 3, 0x4'0000), tlm::TLM_OK_RESPONSE);
  std::vector<unsigned char> back(24);
  EXPECT_EQ(bench.move(tlm::TLM_READ_COMMAND, 127 * 0x4'0000 + 100, back, 3, static_cast<std::uint64_t>(-0x4'0000)),
            tlm::TLM_OK_RESPONSE);
  for (std::size_t r = 0; r < 3; ++r)
    EXPECT_TRUE(std::equal(back.begin() + static_cast<int>(8 * r), back.begin() + static_cast<int>(8 * r + 8),
                           rows.begin() + static_cast<int>(16 - 8 * r)));
  std::vector<unsigned char> edge_row(8);
  EXPECT_EQ(bench.move(tlm::TLM_READ_COMMAND, 192 * 1024 - 8, edge_row), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.move(tlm::TLM_READ_COMMAND, 192 * 1024 - 7, edge_row), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bench.move(tlm::TLM_READ_COMMAND, std::uint64_t{128} * 0x4'0000, edge_row),
            tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

TEST(SharedPorts, DoNotMakeAnEngineWaitForItself) {
  // The Scalar engine has no data path yet; the vector engine alone never waits for itself.
  Machine machine("trn1.2xlarge");
  machine.load(
      ".engine vector\n  memset dst=psum[0:128, 0] fp32 <512>, value=0.0\n  memset dst=psum[0:128, 0] fp32 <512>, "
      "value=0.0\n"
      "  tensor_copy dst=sbuf[0:128, 0] fp32 <512>, src=psum[0:128, 0] fp32 <512>\n");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.end(), edge(3 * 512 + 60, 1'120'000'000));
  EXPECT_EQ(machine.core().psum.stats().port_conflicts, 0u);
  EXPECT_EQ(machine.core().sbuf.stats().port_conflicts, 0u);
}

}  // namespace
}  // namespace azulejo::test
