// SPDX-License-Identifier: Apache-2.0
// HBM at fidelity `fast` and the payload pool, by a bare initiator.
#include "tlm/hbm/hbm.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/machine.h"

namespace azulejo::test {
namespace {

constexpr std::uint64_t kBandwidth = 410'000'000'000;
constexpr Femtoseconds kLatency = 120 * kNs;

class Bench : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Bench> initiator{"initiator"};

  struct Response {
    Femtoseconds time = 0;  // annotated delay included
    tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
    bool at_once = false;  // TLM_COMPLETED by the request itself
  };

  Bench(const sc_core::sc_module_name& name, const HbmConfig& config, bool keep_data = true,
        bool end_resp_later = false)
      : sc_module(name), hbm("hbm", config, keep_data), end_resp_later_(end_resp_later) {
    initiator.register_nb_transport_bw(this, &Bench::response);
    initiator.bind(hbm.target);
  }

  PooledPayload& payload(tlm::tlm_command command, std::uint64_t address, unsigned char* data, std::uint32_t bytes) {
    PooledPayload& p = pool.acquire();
    p.set_command(command);
    p.set_address(address);
    p.set_data_ptr(data);
    p.set_data_length(bytes);
    p.set_streaming_width(bytes);
    return p;
  }

  void issue(int id, PooledPayload& p, std::uint32_t key = 0, std::uint64_t sequence = 0) {
    ids_[&p] = id;
    p.key.initiator = key;
    p.key.sequence = sequence;
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay;
    const tlm::tlm_sync_enum result = initiator->nb_transport_fw(p, phase, delay);
    if (result == tlm::TLM_COMPLETED) {
      responses[id] = {now_fs() + delay.value(), p.get_response_status(), true};
      p.release();
    } else {
      EXPECT_EQ(result, tlm::TLM_UPDATED);
      EXPECT_EQ(phase, tlm::END_REQ);
    }
  }
  void read(int id, std::uint64_t address, std::uint32_t bytes, std::uint32_t key = 0, std::uint64_t sequence = 0) {
    issue(id, payload(tlm::TLM_READ_COMMAND, address, buffer.data(), bytes), key, sequence);
  }
  void run() { sc_core::sc_start(); }
  void run_to(Femtoseconds time) { sc_core::sc_start(to_sc_time(time - now_fs()), sc_core::SC_RUN_TO_TIME); }

  void end_responses() {
    for (PooledPayload* p : open_) {
      tlm::tlm_phase phase = tlm::END_RESP;
      sc_core::sc_time delay;
      EXPECT_EQ(initiator->nb_transport_fw(*p, phase, delay), tlm::TLM_COMPLETED);
      p->release();
    }
    open_.clear();
  }

  Hbm hbm;
  PayloadPool pool;
  std::map<int, Response> responses;
  std::vector<unsigned char> buffer = std::vector<unsigned char>(1 << 20);

 private:
  tlm::tlm_sync_enum response(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    EXPECT_EQ(phase, tlm::BEGIN_RESP);
    auto& pooled = static_cast<PooledPayload&>(p);
    responses[ids_.at(&pooled)] = {now_fs() + delay.value(), p.get_response_status(), false};
    if (end_resp_later_) {
      open_.push_back(&pooled);
      return tlm::TLM_ACCEPTED;
    }
    pooled.release();
    return tlm::TLM_COMPLETED;
  }

  const bool end_resp_later_;
  std::map<PooledPayload*, int> ids_;
  std::vector<PooledPayload*> open_;
};

TEST(PayloadPool, GivesOutCleanPayloadsAndTakesEveryOneBack) {
  PayloadPool pool;
  std::vector<PooledPayload*> out;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100; ++i) {
      PooledPayload& p = pool.acquire();
      EXPECT_EQ(p.get_ref_count(), 1);
      EXPECT_EQ(p.get_response_status(), tlm::TLM_INCOMPLETE_RESPONSE);
      EXPECT_EQ(p.burst.rows, 1u);
      EXPECT_FALSE(p.timing_only.set);
      EXPECT_EQ(p.get_byte_enable_ptr(), nullptr);
      EXPECT_EQ(p.get_extension<RequestKey>(), &p.key);
      // Dirt that the next user must not see.
      p.burst.rows = 7;
      p.timing_only.set = true;
      p.update_cause.cause = Cause::Hbm;
      p.set_response_status(tlm::TLM_OK_RESPONSE);
      out.push_back(&p);
    }
    EXPECT_EQ(pool.outstanding(), 100u);
    for (PooledPayload* p : out) p->release();
    out.clear();
    EXPECT_EQ(pool.outstanding(), 0u);
  }
}

TEST(Hbm, AnUnloadedAccessTakesItsTransferPlusTheLatency) {
  Bench bench("bench", HbmConfig{});
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  bench.read(0, 0, 64);
  bench.run_to(1'000 * kNs);
  bench.read(1, 4096, 65'536);
  bench.run();
  EXPECT_EQ(bench.responses[0].time, at_rate(64, kBandwidth) + kLatency);
  EXPECT_EQ(bench.responses[0].status, tlm::TLM_OK_RESPONSE);
  EXPECT_FALSE(bench.responses[0].at_once);
  EXPECT_EQ(bench.responses[1].time, 1'000 * kNs + at_rate(65'536, kBandwidth) + kLatency);
  EXPECT_EQ(bench.pool.outstanding(), 0u);
}

TEST(Hbm, ManyRequestsAreServedInOrderAtThePeakBandwidth) {
  Bench bench("bench", HbmConfig{});
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  for (int i = 0; i < 200; ++i)
    bench.read(i, static_cast<std::uint64_t>(i) * 8192, 4096, 0, static_cast<std::uint64_t>(i));
  bench.run();
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(bench.responses[i].time, static_cast<std::uint64_t>(i + 1) * at_rate(4096, kBandwidth) + kLatency) << i;
  }
  bench.hbm.finish_account(bench.responses[199].time);
  EXPECT_EQ(bench.hbm.attribution()[Cause::Transfer], 200 * at_rate(4096, kBandwidth));
  EXPECT_EQ(bench.hbm.attribution()[Cause::Idle], kLatency);
  EXPECT_EQ(bench.hbm.stats().read_bytes, 200u * 4096);
  EXPECT_EQ(bench.pool.outstanding(), 0u);
}

TEST(Hbm, FirstComeFirstServedAcrossInstants) {
  Bench bench("bench", HbmConfig{});
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  bench.read(0, 0, 65'536, 9);
  bench.run_to(1);
  bench.read(1, 0, 64, 1);  // a smaller key, but later
  bench.run();
  EXPECT_EQ(bench.responses[1].time, at_rate(65'536, kBandwidth) + at_rate(64, kBandwidth) + kLatency);
}

TEST(Hbm, RequestsOfOneInstantAreOrderedByInitiatorAndSequence) {
  Bench bench("bench", HbmConfig{});
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  bench.read(0, 0, 640, 3, 1);
  bench.read(1, 0, 320, 1, 8);
  bench.read(2, 0, 128, 1, 7);
  bench.read(3, 0, 64, 2, 0);
  bench.run();
  const Femtoseconds t2 = at_rate(128, kBandwidth);
  const Femtoseconds t1 = t2 + at_rate(320, kBandwidth);
  const Femtoseconds t3 = t1 + at_rate(64, kBandwidth);
  const Femtoseconds t0 = t3 + at_rate(640, kBandwidth);
  EXPECT_EQ(bench.responses[2].time, t2 + kLatency);
  EXPECT_EQ(bench.responses[1].time, t1 + kLatency);
  EXPECT_EQ(bench.responses[3].time, t3 + kLatency);
  EXPECT_EQ(bench.responses[0].time, t0 + kLatency);
}

TEST(Hbm, ShortAndMisalignedAccessesCostWholeAccesses) {
  HbmConfig config;
  config.latency = 0;
  Bench bench("bench", config);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  struct Case {
    std::uint64_t address;
    std::uint32_t bytes;
    std::uint64_t moved;
  };
  const std::vector<Case> cases = {{0, 1, 64},   {63, 1, 64},  {63, 2, 128},  {0, 64, 64},    {0, 65, 128},
                                   {1, 64, 128}, {32, 32, 64}, {32, 33, 128}, {60, 200, 320}, {128, 4096, 4096}};
  Femtoseconds expected = 0;
  std::uint64_t moved = 0;
  for (std::size_t i = 0; i < cases.size(); ++i)
    bench.read(static_cast<int>(i), cases[i].address, cases[i].bytes, 0, i);
  bench.run();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    expected += at_rate(cases[i].moved, kBandwidth);
    moved += cases[i].moved;
    EXPECT_EQ(bench.responses[static_cast<int>(i)].time, expected) << cases[i].address << " " << cases[i].bytes;
  }
  EXPECT_EQ(bench.hbm.stats().moved_bytes, moved);
}

TEST(Hbm, RefusesWhatLiesOutsideAndWhatItCannotDo) {
  Bench bench("bench", HbmConfig{});
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  const std::uint64_t capacity = std::uint64_t{16} << 30;
  std::vector<unsigned char> enables(64, 0xFF);
  bench.read(0, capacity - 64, 64);
  bench.read(1, capacity - 63, 64);
  bench.read(2, capacity, 1);
  bench.read(3, ~std::uint64_t{0} - 3, 64);
  bench.read(4, 0, 0);
  PooledPayload& enabled = bench.payload(tlm::TLM_READ_COMMAND, 0, bench.buffer.data(), 64);
  enabled.set_byte_enable_ptr(enables.data());
  enabled.set_byte_enable_length(64);
  bench.issue(5, enabled);
  bench.issue(6, bench.payload(tlm::TLM_IGNORE_COMMAND, 0, bench.buffer.data(), 64));
  PooledPayload& below = bench.payload(tlm::TLM_READ_COMMAND, 64, bench.buffer.data(), 128);
  below.burst.rows = 4;
  below.burst.row_bytes = 32;
  below.burst.row_stride = static_cast<std::uint64_t>(-64);  // its last rows lie below 0
  bench.issue(7, below);
  bench.run();
  EXPECT_EQ(bench.responses[0].status, tlm::TLM_OK_RESPONSE);
  for (const int id : {1, 2, 3, 7}) EXPECT_EQ(bench.responses[id].status, tlm::TLM_ADDRESS_ERROR_RESPONSE) << id;
  EXPECT_EQ(bench.responses[4].status, tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(bench.responses[5].status, tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  EXPECT_EQ(bench.responses[6].status, tlm::TLM_OK_RESPONSE);
  for (const int id : {1, 2, 3, 4, 5, 6, 7}) EXPECT_TRUE(bench.responses[id].at_once) << id;
  EXPECT_EQ(bench.hbm.stats().refused, 6u);
  EXPECT_EQ(bench.pool.outstanding(), 0u);
}

TEST(Hbm, StridedBurstsGatherAndScatterTheirRows) {
  HbmConfig config;
  config.latency = 0;
  Bench bench("bench", config);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  std::vector<unsigned char> rows(3 * 16);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<unsigned char>(i + 1);
  PooledPayload& scatter = bench.payload(tlm::TLM_WRITE_COMMAND, 1024, rows.data(), 48);
  scatter.burst.rows = 3;
  scatter.burst.row_bytes = 16;
  scatter.burst.row_stride = 256;
  bench.issue(0, scatter);
  bench.run();
  EXPECT_EQ(bench.responses[0].time, at_rate(3 * 64, kBandwidth));
  std::vector<unsigned char> found(48);
  PooledPayload& gather = bench.payload(tlm::TLM_READ_COMMAND, 1024 + 512, found.data(), 48);
  gather.burst.rows = 3;
  gather.burst.row_bytes = 16;
  gather.burst.row_stride = static_cast<std::uint64_t>(-256);
  bench.issue(1, gather);
  bench.run();
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t b = 0; b < 16; ++b) EXPECT_EQ(found[row * 16 + b], rows[(2 - row) * 16 + b]);
  }
  EXPECT_EQ(bench.hbm.stats().written_bytes, 48u);
  EXPECT_EQ(bench.hbm.stats().read_bytes, 48u);
}

TEST(Hbm, LooselyTimedAccessesAddTheirTimeToTheDelay) {
  Bench bench("bench", HbmConfig{});
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  std::vector<unsigned char> data(4096, 0x3C);
  PooledPayload& write = bench.payload(tlm::TLM_WRITE_COMMAND, 0, data.data(), 4096);
  sc_core::sc_time delay = to_sc_time(5 * kNs);
  bench.initiator->b_transport(write, delay);
  EXPECT_EQ(write.get_response_status(), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(delay.value(), 5 * kNs + at_rate(4096, kBandwidth) + kLatency);
  write.release();
  std::vector<unsigned char> found(4096);
  PooledPayload& read = bench.payload(tlm::TLM_READ_COMMAND, 0, found.data(), 4096);
  delay = sc_core::SC_ZERO_TIME;
  bench.initiator->b_transport(read, delay);  // queues behind the write
  EXPECT_EQ(delay.value(), 5 * kNs + 2 * at_rate(4096, kBandwidth) + kLatency);
  EXPECT_EQ(found, data);
  read.release();
  PooledPayload& outside = bench.payload(tlm::TLM_READ_COMMAND, std::uint64_t{16} << 30, found.data(), 64);
  bench.initiator->b_transport(outside, delay);
  EXPECT_EQ(outside.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  outside.release();
}

TEST(Hbm, DebugAccessesTakeNoTimeAndReachEveryByte) {
  Bench bench("bench", HbmConfig{});
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  const std::uint64_t capacity = std::uint64_t{16} << 30;
  std::vector<unsigned char> data(100, 0x9A);
  PooledPayload& write = bench.payload(tlm::TLM_WRITE_COMMAND, capacity - 100, data.data(), 100);
  EXPECT_EQ(bench.initiator->transport_dbg(write), 100u);
  write.set_address(capacity - 99);
  EXPECT_EQ(bench.initiator->transport_dbg(write), 0u);
  write.release();
  std::vector<unsigned char> found(100);
  PooledPayload& read = bench.payload(tlm::TLM_READ_COMMAND, capacity - 100, found.data(), 100);
  EXPECT_EQ(bench.initiator->transport_dbg(read), 100u);
  read.release();
  EXPECT_EQ(found, data);
  EXPECT_EQ(bench.hbm.stats().reads + bench.hbm.stats().writes, 0u);
  bench.read(0, 0, 64);
  bench.run();
  EXPECT_EQ(bench.responses[0].time, at_rate(64, kBandwidth) + kLatency);
}

TEST(Hbm, WithoutDataTheTimeIsTheSameAndNothingIsTouched) {
  Bench bench("bench", HbmConfig{}, false);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  unsigned char* nothing = scratch_data(4096);
  PooledPayload& p = bench.payload(tlm::TLM_WRITE_COMMAND, 0, nothing, 4096);
  p.timing_only.set = true;
  bench.issue(0, p);
  bench.run();
  EXPECT_EQ(bench.responses[0].time, at_rate(4096, kBandwidth) + kLatency);
  EXPECT_EQ(bench.hbm.resident_bytes(), 0u);
  PooledPayload& debug = bench.payload(tlm::TLM_READ_COMMAND, 0, nothing, 64);
  EXPECT_EQ(bench.initiator->transport_dbg(debug), 0u);
  debug.release();
}

TEST(Hbm, AnInitiatorOfFourPhasesEndsItsResponsesWhenItLikes) {
  Bench bench("bench", HbmConfig{}, true, true);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  for (int i = 0; i < 5; ++i) bench.read(i, 0, 64, 0, static_cast<std::uint64_t>(i));
  bench.run();
  EXPECT_EQ(bench.responses.size(), 5u);
  EXPECT_EQ(bench.pool.outstanding(), 5u);
  bench.end_responses();
  EXPECT_EQ(bench.pool.outstanding(), 0u);
  bench.read(9, 0, 64);
  bench.run();
  bench.end_responses();
  EXPECT_EQ(bench.responses[9].status, tlm::TLM_OK_RESPONSE);
}

}  // namespace
}  // namespace azulejo::test
