// SPDX-License-Identifier: Apache-2.0
// TransactionProbe: what it shows of LT, AT of one to four phases, DMI and DMA, and that it changes nothing.
#include "tlm/common/transaction_probe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "sw/kernels/gemm.h"
#include "tests/support/machine.h"
#include "tlm/common/tile_access.h"

TLM_DECLARE_EXTENDED_PHASE(data_ready);

namespace azulejo::test {
namespace {

using History = std::vector<std::pair<Femtoseconds, std::string>>;

// Records every signal; numbers as text.
class WaveLog : public WaveSink {
 public:
  SignalId declare(std::string_view scope, std::string_view name, unsigned) override { return add(scope, name, "0"); }
  SignalId declare_text(std::string_view scope, std::string_view name, unsigned characters) override {
    const SignalId id = add(scope, name, "");
    signals_[id].characters = characters;
    return id;
  }
  void change(SignalId id, std::uint64_t value) override { change_at(id, value, now_fs()); }
  void change_text(SignalId id, std::string_view value) override { change_text_at(id, value, now_fs()); }
  void change_at(SignalId id, std::uint64_t value, Femtoseconds time) override {
    signals_[id].changes.push_back({time, std::to_string(value), 0});
  }
  void change_text_at(SignalId id, std::string_view value, Femtoseconds time) override {
    EXPECT_GE(time, now_fs());
    EXPECT_LE(value.size(), signals_[id].characters);
    signals_[id].changes.push_back({time, std::string(value), 0});
  }
  void add_at(SignalId id, std::int64_t difference, Femtoseconds time) override {
    EXPECT_GE(time, now_fs());
    signals_[id].changes.push_back({time, "", difference});
  }

  // Every value that differs from the one before it, with its time; the last of an instant counts.
  History history(const std::string& path) const {
    const Signal& signal = signals_.at(ids_.at(path));
    std::vector<Change> changes = signal.changes;
    std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
    History history;
    std::string value = signal.initial;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const Change& change = changes[i];
      value = change.difference != 0 ? std::to_string(std::stoll(value) + change.difference) : change.value;
      if (i + 1 < changes.size() && changes[i + 1].time == change.time) continue;
      if (value != (history.empty() ? signal.initial : history.back().second)) history.push_back({change.time, value});
    }
    return history;
  }
  // Every text that was shown, in order.
  std::vector<std::string> texts(const std::string& path) const {
    std::vector<std::string> texts;
    for (const Change& change : signals_.at(ids_.at(path)).changes) texts.push_back(change.value);
    return texts;
  }
  std::string last(const std::string& path) const {
    const History all = history(path);
    return all.empty() ? signals_.at(ids_.at(path)).initial : all.back().second;
  }
  bool declared(const std::string& path) const { return ids_.count(path) != 0; }

 private:
  struct Change {
    Femtoseconds time;
    std::string value;
    std::int64_t difference;
  };
  struct Signal {
    std::string initial;
    unsigned characters = 0;
    std::vector<Change> changes;
  };

  SignalId add(std::string_view scope, std::string_view name, std::string initial) {
    ids_[fmt::format("{}.{}", scope, name)] = static_cast<SignalId>(signals_.size());
    signals_.push_back({std::move(initial), 0, {}});
    return static_cast<SignalId>(signals_.size() - 1);
  }

  std::map<std::string, SignalId> ids_;
  std::vector<Signal> signals_;
};

struct Arrival {
  std::string phase;
  Femtoseconds delay = 0;
};
bool operator==(const Arrival& a, const Arrival& b) { return a.phase == b.phase && a.delay == b.delay; }

// An initiator and a target with a probe between them; the test plays both and says what each call answers.
class Pair : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Pair> initiator{"initiator"};
  tlm_utils::simple_target_socket<Pair> target{"target"};

  using Transport = std::function<tlm::tlm_sync_enum(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&)>;

  explicit Pair(const sc_core::sc_module_name& name) : sc_module(name) {
    initiator.register_nb_transport_bw(this, &Pair::nb_transport_bw);
    initiator.register_invalidate_direct_mem_ptr(this, &Pair::invalidate);
    target.register_nb_transport_fw(this, &Pair::nb_transport_fw);
    target.register_b_transport(this, &Pair::b_transport);
    target.register_get_direct_mem_ptr(this, &Pair::get_direct_mem_ptr);
    target.register_transport_dbg(this, &Pair::transport_dbg);
    probes.name_initiator("nc0.dma.engine0");
    probes.name_initiator("nc0.dma.engine1");
    probes.bind(initiator, target, target);
    probes.attach(log);
    SC_HAS_PROCESS(Pair);
    SC_THREAD(thread);
  }

  PooledPayload& read(std::uint64_t address, std::uint32_t bytes = 64, std::uint32_t initiator_number = 0) {
    PooledPayload& payload = pool.acquire();
    payload.set_command(tlm::TLM_READ_COMMAND);
    payload.set_address(address);
    payload.set_data_ptr(buffer.data());
    payload.set_data_length(bytes);
    payload.set_streaming_width(bytes);
    payload.key.initiator = initiator_number;
    return payload;
  }

  // The phase and delay that the call leaves behind are kept in `returned`.
  tlm::tlm_sync_enum forward(tlm::tlm_generic_payload& payload, tlm::tlm_phase phase, Femtoseconds delay = 0) {
    sc_core::sc_time annotated = to_sc_time(delay);
    const tlm::tlm_sync_enum result = initiator->nb_transport_fw(payload, phase, annotated);
    returned = {phase.get_name(), annotated.value()};
    return result;
  }
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase phase, Femtoseconds delay = 0) {
    sc_core::sc_time annotated = to_sc_time(delay);
    const tlm::tlm_sync_enum result = target->nb_transport_bw(payload, phase, annotated);
    returned = {phase.get_name(), annotated.value()};
    return result;
  }
  void to(Femtoseconds time) { sc_core::sc_start(to_sc_time(time - now_fs()), sc_core::SC_RUN_TO_TIME); }

  History history(const std::string& signal) const { return log.history("pair.target." + signal); }

  WaveLog log;
  PayloadPool pool;
  std::vector<unsigned char> buffer = std::vector<unsigned char>(4096);
  Transport on_forward, on_backward;  // empty: TLM_ACCEPTED
  std::function<void(tlm::tlm_generic_payload&, sc_core::sc_time&)> on_blocking;
  std::function<void()> in_thread;
  std::vector<Arrival> forwarded, backwarded;
  std::vector<std::uint64_t> invalidated;
  unsigned debugged = 0;
  Arrival returned;

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
    forwarded.push_back({phase.get_name(), delay.value()});
    return on_forward ? on_forward(payload, phase, delay) : tlm::TLM_ACCEPTED;
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
    backwarded.push_back({phase.get_name(), delay.value()});
    return on_backward ? on_backward(payload, phase, delay) : tlm::TLM_ACCEPTED;
  }
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    if (on_blocking) on_blocking(payload, delay);
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
    dmi.set_dmi_ptr(buffer.data());
    dmi.set_start_address(0);
    dmi.set_end_address(0xFFF);
    dmi.allow_read();
    return payload.get_address() < 0x1000;
  }
  void invalidate(sc_dt::uint64 start, sc_dt::uint64 end) { invalidated.insert(invalidated.end(), {start, end}); }
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload) {
    ++debugged;
    return payload.get_data_length() / 2;
  }
  void thread() {
    wait(sc_core::SC_ZERO_TIME);
    wait(to_sc_time(7));
    if (in_thread) in_thread();
  }

  TransactionProbes probes{true};
};

struct Bench : Pair {
  Bench() : Pair("pair") { sc_core::sc_start(sc_core::SC_ZERO_TIME); }
};

// Answers a call: the phase, the delay and the result.
Pair::Transport answer(tlm::tlm_sync_enum result, tlm::tlm_phase reached, Femtoseconds after) {
  return [=](tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    phase = reached;
    delay += to_sc_time(after);
    return result;
  };
}

TEST(TransactionProbe, ShowsTheFourPhasesAtTheirAnnotatedTimes) {
  Bench pair;
  PooledPayload& payload = pair.read(0x1f4000, 4096);
  pair.to(10 * kNs);
  EXPECT_EQ(pair.forward(payload, tlm::BEGIN_REQ, 2 * kNs), tlm::TLM_ACCEPTED);
  pair.to(15 * kNs);
  EXPECT_EQ(pair.backward(payload, tlm::END_REQ, 1 * kNs), tlm::TLM_ACCEPTED);
  pair.to(30 * kNs);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(pair.backward(payload, tlm::BEGIN_RESP, 3 * kNs), tlm::TLM_ACCEPTED);
  EXPECT_EQ(pair.history("lane0"), (History{{12 * kNs, "RD 0x1f4000 4096 B nc0.dma.engine0"}}));
  pair.to(40 * kNs);
  pair.on_forward = answer(tlm::TLM_COMPLETED, tlm::END_RESP, 0);
  EXPECT_EQ(pair.forward(payload, tlm::END_RESP, 4 * kNs), tlm::TLM_COMPLETED);
  payload.release();

  EXPECT_EQ(pair.history("lane0"), (History{{12 * kNs, "RD 0x1f4000 4096 B nc0.dma.engine0"}, {44 * kNs, ""}}));
  EXPECT_EQ(pair.history("lane0_phase"),
            (History{{12 * kNs, "BEGIN_REQ"}, {16 * kNs, "END_REQ"}, {33 * kNs, "BEGIN_RESP"}, {44 * kNs, ""}}));
  EXPECT_EQ(pair.history("completed"), (History{{44 * kNs, "RD 0x1f4000 4096 B nc0.dma.engine0 32.0 ns"}}));
  EXPECT_EQ(pair.history("outstanding"), (History{{12 * kNs, "1"}, {44 * kNs, "0"}}));
  EXPECT_EQ(pair.history("transactions"), (History{{12 * kNs, "1"}}));
  EXPECT_EQ(pair.history("dmi_accesses"), History{});
  // Nothing of it was changed on the way.
  EXPECT_EQ(pair.forwarded, (std::vector<Arrival>{{"BEGIN_REQ", 2 * kNs}, {"END_RESP", 4 * kNs}}));
  EXPECT_EQ(pair.backwarded, (std::vector<Arrival>{{"END_REQ", 1 * kNs}, {"BEGIN_RESP", 3 * kNs}}));
}

TEST(TransactionProbe, ShowsTransactionsOfOneToThreePhases) {
  Bench pair;
  const std::string text = "RD 0x40 64 B nc0.dma.engine1";
  // One: the request completes.
  pair.on_forward = answer(tlm::TLM_COMPLETED, tlm::BEGIN_REQ, 5 * kNs);
  EXPECT_EQ(pair.forward(pair.read(0x40, 64, 1), tlm::BEGIN_REQ), tlm::TLM_COMPLETED);
  EXPECT_EQ(pair.returned, (Arrival{"BEGIN_REQ", 5 * kNs}));
  // Two: END_REQ is returned, the response completes with a time to come.
  pair.to(100 * kNs);
  PooledPayload& two = pair.read(0x40, 64, 1);
  pair.on_forward = answer(tlm::TLM_UPDATED, tlm::END_REQ, 1 * kNs);
  EXPECT_EQ(pair.forward(two, tlm::BEGIN_REQ), tlm::TLM_UPDATED);
  EXPECT_EQ(pair.returned, (Arrival{"END_REQ", 1 * kNs}));
  pair.to(110 * kNs);
  pair.on_backward = answer(tlm::TLM_COMPLETED, tlm::BEGIN_RESP, 2 * kNs);
  EXPECT_EQ(pair.backward(two, tlm::BEGIN_RESP, 7 * kNs), tlm::TLM_COMPLETED);
  EXPECT_EQ(pair.returned, (Arrival{"BEGIN_RESP", 9 * kNs}));
  // The response is returned; END_RESP follows.
  pair.to(200 * kNs);
  PooledPayload& returned = pair.read(0x40, 64, 1);
  pair.on_forward = answer(tlm::TLM_UPDATED, tlm::BEGIN_RESP, 3 * kNs);
  EXPECT_EQ(pair.forward(returned, tlm::BEGIN_REQ), tlm::TLM_UPDATED);
  pair.to(210 * kNs);
  pair.on_forward = {};
  EXPECT_EQ(pair.forward(returned, tlm::END_RESP), tlm::TLM_ACCEPTED);
  // BEGIN_RESP without END_REQ; END_RESP is returned.
  pair.to(300 * kNs);
  PooledPayload& three = pair.read(0x40, 64, 1);
  EXPECT_EQ(pair.forward(three, tlm::BEGIN_REQ), tlm::TLM_ACCEPTED);
  pair.to(320 * kNs);
  three.set_response_status(tlm::TLM_OK_RESPONSE);
  pair.on_backward = answer(tlm::TLM_UPDATED, tlm::END_RESP, 6 * kNs);
  EXPECT_EQ(pair.backward(three, tlm::BEGIN_RESP), tlm::TLM_UPDATED);
  EXPECT_EQ(pair.returned, (Arrival{"END_RESP", 6 * kNs}));

  EXPECT_EQ(pair.history("lane0"), (History{{0, text},
                                            {5 * kNs, ""},
                                            {100 * kNs, text},
                                            {119 * kNs, ""},
                                            {200 * kNs, text},
                                            {210 * kNs, ""},
                                            {300 * kNs, text},
                                            {326 * kNs, ""}}));
  EXPECT_EQ(pair.history("lane0_phase"), (History{{0, "BEGIN_REQ"},
                                                  {5 * kNs, ""},
                                                  {100 * kNs, "BEGIN_REQ"},
                                                  {101 * kNs, "END_REQ"},
                                                  {119 * kNs, ""},
                                                  {200 * kNs, "BEGIN_REQ"},
                                                  {203 * kNs, "BEGIN_RESP"},
                                                  {210 * kNs, ""},
                                                  {300 * kNs, "BEGIN_REQ"},
                                                  {320 * kNs, "BEGIN_RESP"},
                                                  {326 * kNs, ""}}));
  EXPECT_EQ(pair.log.texts("pair.target.completed"),
            (std::vector<std::string>{text + " 5.0 ns", text + " 19.0 ns", text + " 10.0 ns", text + " 26.0 ns"}));
  EXPECT_EQ(pair.log.last("pair.target.outstanding"), "0");
}

TEST(TransactionProbe, PassesIgnorablePhasesOnAndShowsThem) {
  Bench pair;
  PooledPayload& payload = pair.read(0);
  pair.forward(payload, tlm::BEGIN_REQ);
  pair.to(5 * kNs);
  EXPECT_EQ(pair.backward(payload, data_ready), tlm::TLM_ACCEPTED);
  pair.to(6 * kNs);
  EXPECT_EQ(pair.forward(payload, data_ready, 1), tlm::TLM_ACCEPTED);
  EXPECT_EQ(pair.backwarded, (std::vector<Arrival>{{"data_ready", 0}}));
  EXPECT_EQ(pair.forwarded.back(), (Arrival{"data_ready", 1}));
  EXPECT_EQ(pair.history("lane0_phase"), (History{{0, "BEGIN_REQ"}, {5 * kNs, "data_ready"}}));
  EXPECT_EQ(pair.log.last("pair.target.outstanding"), "1");
}

TEST(TransactionProbe, ShowsLooselyTimedTransactionsAndTheirErrors) {
  Bench pair;
  pair.on_blocking = [](tlm::tlm_generic_payload&, sc_core::sc_time& delay) { delay += to_sc_time(1'300 * kNs); };
  PooledPayload& write = pair.read(0x80, 8);
  write.set_command(tlm::TLM_WRITE_COMMAND);
  write.burst.rows = 4;
  write.burst.row_bytes = 2;
  sc_core::sc_time delay = to_sc_time(2 * kNs);
  pair.initiator->b_transport(write, delay);
  EXPECT_EQ(delay.value(), 1'302 * kNs);
  EXPECT_EQ(pair.history("lane0"), (History{{2 * kNs, "WR 0x80 4 x 2 B nc0.dma.engine0"}, {1'302 * kNs, ""}}));
  EXPECT_EQ(pair.history("lane0_phase"), (History{{2 * kNs, "LT"}, {1'302 * kNs, ""}}));
  EXPECT_EQ(pair.history("completed"), (History{{1'302 * kNs, "WR 0x80 4 x 2 B nc0.dma.engine0 1.3 us"}}));

  // Without duration: no lane, but counted. No key: no name.
  pair.to(2'000 * kNs);
  pair.on_blocking = [](tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  };
  tlm::tlm_generic_payload bare;
  bare.set_command(tlm::TLM_READ_COMMAND);
  bare.set_address(0x1000);
  bare.set_data_length(16);
  delay = sc_core::SC_ZERO_TIME;
  pair.initiator->b_transport(bare, delay);
  EXPECT_EQ(bare.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(pair.history("lane0").size(), 2u);
  EXPECT_EQ(pair.log.last("pair.target.completed"), "RD 0x1000 16 B 0 s ADDRESS_ERROR");
  EXPECT_EQ(pair.log.last("pair.target.transactions"), "2");
  EXPECT_EQ(pair.log.last("pair.target.outstanding"), "0");
}

TEST(TransactionProbe, ShowsABlockingTransactionWhileItBlocks) {
  Bench pair;
  pair.on_blocking = [](tlm::tlm_generic_payload&, sc_core::sc_time&) { sc_core::wait(to_sc_time(100)); };
  pair.in_thread = [&] {
    sc_core::sc_time delay;
    pair.initiator->b_transport(pair.read(0), delay);
    EXPECT_EQ(now_fs(), 107u);
  };
  pair.to(50);
  EXPECT_EQ(pair.history("lane0"), (History{{7, "RD 0x0 64 B nc0.dma.engine0"}}));
  pair.to(200);
  EXPECT_EQ(pair.history("lane0"), (History{{7, "RD 0x0 64 B nc0.dma.engine0"}, {107, ""}}));
  EXPECT_EQ(pair.log.last("pair.target.completed"), "RD 0x0 64 B nc0.dma.engine0 100 fs");
}

TEST(TransactionProbe, CountsWhatFindsNoLaneAndReusesTheLowestFreeOne) {
  Bench pair;
  std::vector<PooledPayload*> open;
  for (std::uint64_t i = 0; i < 6; ++i) {
    open.push_back(&pair.read(i));
    pair.forward(*open.back(), tlm::BEGIN_REQ);
  }
  EXPECT_EQ(pair.history("outstanding"), (History{{0, "6"}}));
  EXPECT_EQ(pair.history("lane3"), (History{{0, "RD 0x3 64 B nc0.dma.engine0"}}));
  const auto finish = [&](std::uint64_t i) {
    open[i]->set_response_status(tlm::TLM_OK_RESPONSE);
    pair.on_backward = answer(tlm::TLM_COMPLETED, tlm::BEGIN_RESP, 0);
    pair.backward(*open[i], tlm::BEGIN_RESP);
  };
  pair.to(10);
  finish(5);  // without a lane
  EXPECT_EQ(pair.history("completed"), (History{{10, "RD 0x5 64 B nc0.dma.engine0 10 fs"}}));
  finish(2);
  finish(1);
  // At that instant only the lanes that end at it are left: no gap.
  pair.forward(pair.read(0x10), tlm::BEGIN_REQ);
  EXPECT_EQ(pair.history("lane1"), (History{{0, "RD 0x1 64 B nc0.dma.engine0"}, {10, "RD 0x10 64 B nc0.dma.engine0"}}));
  pair.to(20);
  pair.forward(pair.read(0x20), tlm::BEGIN_REQ);
  EXPECT_EQ(pair.history("lane2"),
            (History{{0, "RD 0x2 64 B nc0.dma.engine0"}, {10, ""}, {20, "RD 0x20 64 B nc0.dma.engine0"}}));
  EXPECT_EQ(pair.history("outstanding"), (History{{0, "6"}, {10, "4"}, {20, "5"}}));
  EXPECT_EQ(pair.history("transactions"), (History{{0, "6"}, {10, "7"}, {20, "8"}}));
}

TEST(TransactionProbe, CountsResponsesToComeWhateverTheirOrder) {
  Bench pair;
  for (const Femtoseconds after : {30, 10, 20}) {
    pair.on_forward = answer(tlm::TLM_COMPLETED, tlm::BEGIN_RESP, after);
    pair.forward(pair.read(after), tlm::BEGIN_REQ);
  }
  pair.to(15);
  pair.on_forward = answer(tlm::TLM_COMPLETED, tlm::BEGIN_RESP, 2);
  pair.forward(pair.read(2), tlm::BEGIN_REQ);
  EXPECT_EQ(pair.history("outstanding"), (History{{0, "3"}, {10, "2"}, {15, "3"}, {17, "2"}, {20, "1"}, {30, "0"}}));
  EXPECT_EQ(pair.history("completed"), (History{{10, "RD 0xa 64 B nc0.dma.engine0 10 fs"},
                                                {17, "RD 0x2 64 B nc0.dma.engine0 2 fs"},
                                                {20, "RD 0x14 64 B nc0.dma.engine0 20 fs"},
                                                {30, "RD 0x1e 64 B nc0.dma.engine0 30 fs"}}));
}

TEST(TransactionProbe, ShowsEqualTransactionsBackToBackAsTwo) {
  Bench pair;
  pair.on_forward = answer(tlm::TLM_COMPLETED, tlm::BEGIN_RESP, 10);
  pair.forward(pair.read(0), tlm::BEGIN_REQ);
  pair.to(10);
  pair.forward(pair.read(0), tlm::BEGIN_REQ);
  EXPECT_EQ(pair.history("lane0"), (History{{0, "RD 0x0 64 B nc0.dma.engine0"}, {10, ""}}));
  EXPECT_EQ(pair.history("lane1"), (History{{10, "RD 0x0 64 B nc0.dma.engine0"}, {20, ""}}));
}

TEST(TransactionProbe, TellsAPayloadThatIsReusedWithinTheResponse) {
  Bench pair;
  PooledPayload& payload = pair.read(0x100);
  pair.forward(payload, tlm::BEGIN_REQ);
  pair.to(10);
  pair.on_backward = [&](tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) {
    if (now_fs() > 10) return tlm::TLM_COMPLETED;
    payload.set_address(0x200);
    pair.forward(payload, tlm::BEGIN_REQ);
    return tlm::TLM_COMPLETED;
  };
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  pair.backward(payload, tlm::BEGIN_RESP);
  EXPECT_EQ(pair.history("completed"), (History{{10, "RD 0x100 64 B nc0.dma.engine0 10 fs"}}));
  EXPECT_EQ(pair.history("outstanding"), (History{{0, "1"}}));
  EXPECT_EQ(pair.history("lane1"), (History{{10, "RD 0x200 64 B nc0.dma.engine0"}}));
  pair.to(15);
  pair.backward(payload, tlm::BEGIN_RESP);
  EXPECT_EQ(pair.log.last("pair.target.completed"), "RD 0x200 64 B nc0.dma.engine0 5 fs");
  EXPECT_EQ(pair.history("outstanding"), (History{{0, "1"}, {15, "0"}}));
}

TEST(TransactionProbe, CountsDirectAccessesGrantsAndInvalidations) {
  Bench pair;
  TensorAccess tile;
  tile.space = MemorySpace::Psum;
  tile.start_partition = 32;
  tile.partitions = 32;
  tile.free[0] = {1, 256};
  TileAccess access;
  access.add(tile, 0x800, TileRole::Write);
  access.add(tile, 0, TileRole::Read);
  access.occupancy = 40;
  PooledPayload& payload = pair.read(0, 1);
  payload.set_extension(&access);
  pair.forward(payload, tlm::BEGIN_REQ);
  pair.to(10);
  pair.on_backward = [&](tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) {
    payload.clear_extension(&access);
    payload.release();
    return tlm::TLM_COMPLETED;
  };
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  pair.backward(payload, tlm::BEGIN_RESP, 5);
  const std::string text = "DMI WR psum p32-63 0x800 1024 B +1 nc0.dma.engine0";
  EXPECT_EQ(pair.history("lane0"), (History{{0, text.substr(0, TransactionProbe::kTextCharacters)}, {55, ""}}));
  EXPECT_EQ(pair.history("lane0_phase"), (History{{0, "BEGIN_REQ"}, {15, "DMI"}, {55, ""}}));
  EXPECT_EQ(pair.history("dmi_accesses"), (History{{15, "2"}}));

  // Refused: nothing is accessed.
  PooledPayload& refused = pair.read(0, 1, 9);
  refused.set_extension(&access);
  access.count = 1;
  pair.on_forward = [](tlm::tlm_generic_payload& p, tlm::tlm_phase&, sc_core::sc_time&) {
    p.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  };
  pair.to(100);
  pair.forward(refused, tlm::BEGIN_REQ);
  refused.clear_extension(&access);
  EXPECT_EQ(pair.log.last("pair.target.completed"), "DMI WR psum p32-63 0x800 1024 B 0 s BURST_ERROR");
  EXPECT_EQ(pair.log.last("pair.target.dmi_accesses"), "2");

  tlm::tlm_dmi dmi;
  EXPECT_TRUE(pair.initiator->get_direct_mem_ptr(pair.read(0), dmi));
  EXPECT_EQ(dmi.get_dmi_ptr(), pair.buffer.data());
  EXPECT_FALSE(pair.initiator->get_direct_mem_ptr(pair.read(0x1000), dmi));
  EXPECT_EQ(pair.history("dmi_grants"), (History{{100, "1"}}));
  EXPECT_EQ(pair.history("dmi"), (History{{100, "granted RD 0x0-0xfff"}}));
  pair.to(110);
  pair.target->invalidate_direct_mem_ptr(0x10, 0x1F);
  EXPECT_EQ(pair.invalidated, (std::vector<std::uint64_t>{0x10, 0x1F}));
  EXPECT_EQ(pair.log.last("pair.target.dmi"), "invalidated 0x10-0x1f");
}

TEST(TransactionProbe, PassesDebugAccessesWithoutShowingThem) {
  Bench pair;
  EXPECT_EQ(pair.initiator->transport_dbg(pair.read(0, 100)), 50u);
  EXPECT_EQ(pair.debugged, 1u);
  EXPECT_EQ(pair.history("transactions"), History{});
}

class HbmPair : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<HbmPair> initiator{"initiator"};
  explicit HbmPair(const sc_core::sc_module_name& name) : sc_module(name), hbm("hbm", HbmConfig{}, true) {
    initiator.register_nb_transport_bw(this, &HbmPair::nb_transport_bw);
    probes.bind(initiator, hbm.target, hbm.target);
    probes.attach(log);
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase&, sc_core::sc_time&) {
    payload.release();
    return tlm::TLM_COMPLETED;
  }
  Hbm hbm;
  WaveLog log;
  TransactionProbes probes{true};
};

TEST(TransactionProbe, AnHbmReadLastsItsTransferPlusTheLatency) {
  HbmPair pair("pair");
  PayloadPool pool;
  std::vector<unsigned char> data(4096);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  sc_core::sc_start(to_sc_time(9 * kNs), sc_core::SC_RUN_TO_TIME);
  PooledPayload& payload = pool.acquire();
  payload.set_command(tlm::TLM_READ_COMMAND);
  payload.set_address(0x1000);
  payload.set_data_ptr(data.data());
  payload.set_data_length(4096);
  payload.set_streaming_width(4096);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay;
  EXPECT_EQ(pair.initiator->nb_transport_fw(payload, phase, delay), tlm::TLM_UPDATED);
  sc_core::sc_start();
  const Femtoseconds end = 9 * kNs + at_rate(4096, 410'000'000'000) + 120 * kNs;
  EXPECT_EQ(pair.log.history("pair.hbm.target.lane0"), (History{{9 * kNs, "RD 0x1000 4096 B"}, {end, ""}}));
  EXPECT_EQ(pair.log.history("pair.hbm.target.lane0_phase"), (History{{9 * kNs, "END_REQ"}, {end, ""}}));
  EXPECT_EQ(pair.log.history("pair.hbm.target.completed"), (History{{end, "RD 0x1000 4096 B 129.9 ns"}}));
  EXPECT_EQ(pool.outstanding(), 0u);
}

// A gemm on core 1 of a chip: everything that is measured, and the result.
std::string run_gemm(bool probes, WaveSink* sink, const std::function<void(Machine&)>& look = {}) {
  MachineOptions options;
  options.spans = false;
  options.platform.transactions = probes;
  Machine machine("trn1.2xlarge", {"chip.hbm_stacks=1"}, options);
  Instruments instruments;
  if (sink != nullptr) {
    instruments.wave = sink;
    machine.platform().attach(instruments);
  }
  const kernels::GemmShape shape{300, 400, 700};
  HbmAllocator stack(0, machine.platform().config().chip.hbm.capacity);
  kernels::GemmTensors tensors;
  tensors.a = stack.tensor("A", shape.k, shape.m, Format::Bf16);
  tensors.b = stack.tensor("B", shape.k, shape.n, Format::Bf16);
  tensors.c = stack.tensor("C", shape.m, shape.n, Format::Bf16);
  std::vector<std::uint16_t> values(shape.k * shape.n);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(0x3F00 + i * 37 % 256);
  machine.write(tensors.a.address, std::vector<std::uint16_t>(values.begin(), values.begin() + 400 * 300));
  machine.write(tensors.b.address, values);
  const NeuronCoreConfig& nc = machine.platform().config().chip.nc;
  const nki::Target target{1, nc.sbuf.partition_size, nc.psum.partition_size, nc.psum.banks};
  machine.load(kernels::record_gemm(target, shape, {}, tensors), 1);
  EXPECT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_TRUE(machine.faults().empty());
  std::string text = statistics(machine);
  for (const std::uint16_t c : machine.read<std::uint16_t>(tensors.c.address, shape.m * shape.n)) {
    text += fmt::format("{:04x}", c);
  }
  if (look) look(machine);
  return text;
}

TEST(TransactionProbe, AGemmTakesTheSameFemtosecondsAndGivesTheSameBits) {
  const std::string without = in_child([] { return run_gemm(false, nullptr); });
  EXPECT_GT(without.size(), 4u * 300 * 700);
  EXPECT_EQ(in_child([] { return run_gemm(true, nullptr); }), without);  // put in, but nothing recorded
  EXPECT_EQ(in_child([] {
              WaveLog log;
              return run_gemm(true, &log);
            }),
            without);
}

TEST(TransactionProbe, APlatformShowsEveryTransactionOfAGemm) {
  WaveLog log;
  run_gemm(true, &log, [&](Machine& machine) {
    const auto count = [&](const std::string& path) { return std::stoull(log.last(path)); };
    const Hbm::Stats& hbm = machine.platform().chip(0).hbm(0).stats();
    EXPECT_EQ(count("chip0.hbm0.target.transactions"), hbm.reads + hbm.writes);
    NeuronCore& core = machine.core(1);
    std::uint64_t at_engines = 0;
    std::uint64_t packets = 0;
    for (std::size_t e = 0; e < core.dma.size(); ++e) {
      const std::string socket = fmt::format("chip0.nc1.dma.engine{}.memory_initiator", e);
      at_engines += count(socket + ".transactions");
      packets += core.dma.engine(e).stats().packets;
      EXPECT_EQ(log.last(socket + ".outstanding"), "0");
      const std::string completed = log.last(socket + ".completed");
      EXPECT_NE(completed.find(fmt::format(" nc1.dma.engine{} ", e)), std::string::npos) << completed;
    }
    EXPECT_EQ(at_engines, 2 * packets + 16 * core.dma.stats().transfers);  // semaphores too
    EXPECT_EQ(count("chip0.nc1.target.transactions"), at_engines - hbm.reads - hbm.writes);
    EXPECT_EQ(log.last("chip0.hbm0.target.outstanding"), "0");
    EXPECT_EQ(log.last("chip0.hbm0.target.lane0"), "");

    // The tiles of every matmul and copy are seen, though the engines move them by DMI.
    const std::string tensor = "chip0.nc1.tensor_engine.";
    const std::string vector = "chip0.nc1.vector_engine.";
    EXPECT_EQ(count(tensor + "psum_initiator.dmi_accesses"), core.tensor_engine.stats().matmuls);
    EXPECT_EQ(count(tensor + "sbuf_initiator.transactions") + count(vector + "sbuf_initiator.transactions"),
              core.sbuf.stats().tile_requests);
    EXPECT_EQ(count(tensor + "psum_initiator.transactions") + count(vector + "psum_initiator.transactions"),
              core.psum.stats().tile_requests);
    EXPECT_EQ(log.texts(tensor + "sbuf_initiator.completed").front(), "DMI RD sbuf p0-127 0x0 256 B tensor_engine 0 s");
    const std::vector<std::string> copies = log.texts(vector + "sbuf_initiator.lane0_phase");
    EXPECT_NE(std::find(copies.begin(), copies.end(), "DMI"), copies.end());  // a port that is held

    std::uint64_t triggers = 0;
    for (std::size_t e = 0; e < kEngines; ++e) {
      triggers += count(std::string(core.engine(e).name()) + ".dma_initiator.transactions");
    }
    EXPECT_EQ(triggers, core.dma.stats().transfers);
  });
}

}  // namespace
}  // namespace azulejo::test
