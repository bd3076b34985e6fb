// SPDX-License-Identifier: Apache-2.0
// Is the VCD what the standard says, and does it hold the values that the model assigned, at the times it did?
#include "tlm/wave/wave_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <verilated.h>
#include <verilated_vcd_c.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include "tests/unit/wave/vcd_reader.h"
#include "tlm/common/error.h"
#include "tlm/common/output_file.h"
#include "tlm/wave/wave_trigger.h"

namespace azulejo {
namespace {

using test::read_vcd;
using test::Vcd;

class WaveFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "waveXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = directory_ + "/run.vcd";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  WaveOptions options(std::vector<std::string> scopes = {}) {
    WaveOptions result;
    result.path = path_;
    result.scopes = std::move(scopes);
    result.now = [this] { return now_; };
    return result;
  }

  std::string directory_;
  std::string path_;
  Femtoseconds now_ = 0;
};

TEST_F(WaveFileTest, ValuesAppearAtTheirTimesBelowTheirScopes) {
  WaveFile wave(options());
  WaveSignal state(wave, "chip0.nc0.tensor_engine", "state", 3);
  WaveSignal busy(wave, "chip0.nc0.tensor_engine", "busy", 1);
  WaveSignal address(wave, "chip0.hbm", "address", 64);
  WaveSignal count(wave, "chip0", "count", 32);
  now_ = 1'234'567;
  state = 5;
  busy = 1;
  now_ = 2'000'001;
  address = 0xFEDC'BA98'7654'3210;
  count = 0x8000'0001;
  now_ = 2'000'002;
  busy = 0;
  now_ = 9'000'000;
  wave.close();

  const Vcd vcd = read_vcd(path_);
  EXPECT_EQ(vcd.timescale, "1fs");
  EXPECT_EQ(vcd.times, (std::vector<std::uint64_t>{0, 1'234'567, 2'000'001, 2'000'002, 9'000'000}));
  EXPECT_EQ(vcd.number_at("chip0.nc0.tensor_engine.state", 1'234'566), 0U);
  EXPECT_EQ(vcd.number_at("chip0.nc0.tensor_engine.state", 1'234'567), 5U);
  EXPECT_EQ(vcd.at("chip0.nc0.tensor_engine.busy", 2'000'001), "1");
  EXPECT_EQ(vcd.at("chip0.nc0.tensor_engine.busy", 2'000'002), "0");
  EXPECT_EQ(vcd.number_at("chip0.hbm.address", 9'000'000), 0xFEDC'BA98'7654'3210U);
  EXPECT_EQ(vcd.number_at("chip0.count", 2'000'001), 0x8000'0001U);
  EXPECT_EQ(vcd.variables.at("chip0.hbm.address").changes.size(), 2U);
}

TEST_F(WaveFileTest, TheLastOfSeveralChangesAtOneTimeCounts) {
  WaveFile wave(options());
  WaveSignal depth(wave, "queue", "depth", 8);
  now_ = 10;
  depth = 1;
  depth = 2;
  depth = 3;
  now_ = 20;
  depth = 4;
  depth = 3;  // back again: no change at 20
  now_ = 30;
  depth = 5;
  wave.close();
  const Vcd vcd = read_vcd(path_);
  const auto& changes = vcd.variables.at("queue.depth").changes;
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[1], (std::pair<std::uint64_t, std::string>{10, "00000011"}));
  EXPECT_EQ(changes[2], (std::pair<std::uint64_t, std::string>{30, "00000101"}));
}

TEST_F(WaveFileTest, SignalsMayBeDeclaredAfterAValueAtTimeZero) {
  WaveFile wave(options());
  WaveSignal first(wave, "a", "x", 4);
  first = 9;  // by the first module's constructor
  WaveSignal second(wave, "b", "y", 4);
  second = 6;
  wave.close();
  const Vcd vcd = read_vcd(path_);
  EXPECT_EQ(vcd.number_at("a.x", 0), 9U);
  EXPECT_EQ(vcd.number_at("b.y", 0), 6U);
  EXPECT_EQ(vcd.times, (std::vector<std::uint64_t>{0}));
}

TEST_F(WaveFileTest, TextIsAPackedAsciiVector) {
  WaveFile wave(options());
  WaveText instruction(wave, "chip0.nc0.sync_engine", "instruction", 12);
  now_ = 5;
  instruction = "nc_matmul";
  now_ = 6;
  instruction = "dma_copy_transpose";  // longer than declared
  now_ = 7;
  instruction = "a\tb";
  now_ = 8;
  instruction = "";
  wave.close();
  const Vcd vcd = read_vcd(path_);
  const std::string path = "chip0.nc0.sync_engine.instruction";
  EXPECT_EQ(vcd.variables.at(path).bits, 96U);
  EXPECT_EQ(vcd.text_at(path, 0), "");
  EXPECT_EQ(vcd.text_at(path, 5), "nc_matmul");
  EXPECT_EQ(vcd.text_at(path, 6), "dma_copy_tra");
  EXPECT_EQ(vcd.text_at(path, 7), "a?b");
  EXPECT_EQ(vcd.text_at(path, 8), "");
}

TEST_F(WaveFileTest, ValuesWiderThanTheSignalAreCut) {
  WaveFile wave(options());
  WaveSignal bit(wave, "a", "bit", 1);
  WaveSignal five(wave, "a", "five", 5);
  WaveSignal forty(wave, "a", "forty", 40);
  now_ = 1;
  bit = 7;
  five = ~std::uint64_t{0};
  forty = ~std::uint64_t{0};
  wave.close();
  const Vcd vcd = read_vcd(path_);
  EXPECT_EQ(vcd.at("a.bit", 1), "1");
  EXPECT_EQ(vcd.number_at("a.five", 1), 31U);
  EXPECT_EQ(vcd.number_at("a.forty", 1), (std::uint64_t{1} << 40) - 1);
}

TEST_F(WaveFileTest, UnselectedSignalsCostNothingAndAreAbsent) {
  WaveFile wave(options({"chip0", "!*.dma?"}));
  EXPECT_NE(wave.declare("chip0.nc0", "state", 2), WaveSink::kNoSignal);
  EXPECT_EQ(wave.declare("chip0.nc0.dma1", "state", 2), WaveSink::kNoSignal);
  EXPECT_EQ(wave.declare_text("chip1", "text", 4), WaveSink::kNoSignal);
  ASSERT_EQ(wave.declared().size(), 1U);
  EXPECT_EQ(wave.declared()[0].scope, "chip0.nc0");
  EXPECT_EQ(wave.declared()[0].bits, 2U);
  EXPECT_TRUE(wave.unmatched_scopes().empty());
  wave.close();
  EXPECT_EQ(read_vcd(path_).variables.size(), 1U);
}

TEST_F(WaveFileTest, AMisspeltScopeIsReported) {
  WaveFile wave(options({"chip0", "chip0.nc0.tensr_engine"}));
  wave.declare("chip0.nc0.tensor_engine", "state", 2);
  EXPECT_EQ(wave.unmatched_scopes(), std::vector<std::string>{"chip0.nc0.tensr_engine"});
}

TEST_F(WaveFileTest, OnlyTheWindowIsWrittenAndItBeginsWithTheValuesOfThen) {
  WaveOptions windowed = options();
  windowed.from = 100;
  windowed.to = 200;
  WaveFile wave(windowed);
  WaveSignal a(wave, "s", "a", 8);
  WaveSignal b(wave, "s", "b", 8);
  for (now_ = 10; now_ < 300; now_ += 10) a = now_ / 10;
  b = 1;
  wave.close();
  const Vcd vcd = read_vcd(path_);
  EXPECT_EQ(vcd.times.front(), 100U);
  EXPECT_EQ(vcd.times.back(), 200U);
  EXPECT_EQ(vcd.number_at("s.a", 100), 10U);
  EXPECT_EQ(vcd.number_at("s.a", 200), 20U);
  EXPECT_EQ(vcd.number_at("s.b", 200), 0U);
}

TEST_F(WaveFileTest, AWindowInsideAnIdleSpanShowsTheValuesFromBefore) {
  WaveOptions windowed = options();
  windowed.from = 100;
  windowed.to = 200;
  WaveFile wave(windowed);
  WaveSignal a(wave, "s", "a", 8);
  now_ = 7;
  a = 42;
  now_ = 500;
  a = 43;
  wave.close();
  const Vcd vcd = read_vcd(path_);
  EXPECT_EQ(vcd.times, (std::vector<std::uint64_t>{100, 200}));
  EXPECT_EQ(vcd.number_at("s.a", 100), 42U);
  EXPECT_EQ(vcd.number_at("s.a", 200), 42U);
}

TEST_F(WaveFileTest, ARunThatEndsBeforeTheWindowLeavesNoFile) {
  WaveOptions windowed = options();
  windowed.from = 100;
  WaveFile wave(windowed);
  WaveSignal a(wave, "s", "a", 8);
  now_ = 50;
  a = 1;
  wave.close();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(WaveFileTest, FlushMakesEarlierValuesVisibleAndKeepsThePresentOpen) {
  WaveFile wave(options());
  WaveSignal a(wave, "s", "a", 8);
  now_ = 5;
  a = 1;
  now_ = 6;
  a = 2;
  wave.flush();
  EXPECT_EQ(read_vcd(path_).number_at("s.a", 100), 1U);
  a = 3;
  now_ = 7;
  wave.flush();
  EXPECT_EQ(read_vcd(path_).number_at("s.a", 100), 3U);
  wave.close();
  a = 4;  // after the close: ignored
  wave.flush();
  wave.close();
  EXPECT_EQ(read_vcd(path_).number_at("s.a", 100), 3U);
}

TEST_F(WaveFileTest, DestructionAfterAnExceptionCompletesTheFile) {
  {
    WaveFile wave(options());
    WaveSignal a(wave, "s", "a", 8);
    now_ = 5;
    a = 1;
    now_ = 6;
    a = 2;
  }
  EXPECT_EQ(read_vcd(path_).number_at("s.a", 6), 2U);
}

TEST_F(WaveFileTest, AnUnusedWaveLeavesTheOldFileAlone) {
  std::ofstream(path_) << "old";
  { WaveFile wave(options()); }
  EXPECT_EQ(std::filesystem::file_size(path_), 3U);
}

TEST_F(WaveFileTest, APathThatCannotBeWrittenIsAConfigError) {
  path_ = directory_ + "/no/such/directory/run.vcd";
  EXPECT_THROW(WaveFile{options()}, ConfigError);
  path_ = directory_;
  EXPECT_THROW(WaveFile{options()}, ConfigError);
}

TEST_F(WaveFileTest, AWindowThatEndsBeforeItBeginsIsAConfigError) {
  WaveOptions windowed = options();
  windowed.from = 2;
  windowed.to = 1;
  EXPECT_THROW(WaveFile{windowed}, ConfigError);
}

TEST_F(WaveFileTest, AFullDiskIsReportedByCloseAndNotByAbort) {
  WaveOptions full = options();
  full.output = make_vcd_output("/dev/full");
  WaveFile wave(full);
  WaveSignal a(wave, "s", "a", 32);
  for (now_ = 1; now_ < 100'000; ++now_) a = now_;
  EXPECT_THROW(wave.close(), OutputError);
}

TEST_F(WaveFileTest, NamesBecomeVcdWords) {
  WaveFile wave(options());
  wave.declare("", "orphan", 1);
  wave.declare("chip 0.row[3]", "a b", 2);
  wave.declare("chip 0", "x.y", 2);
  wave.declare("chip 0-a", "q", 1);
  wave.close();
  const Vcd vcd = read_vcd(path_);
  EXPECT_EQ(vcd.variables.count("top.orphan"), 1U);
  EXPECT_EQ(vcd.variables.count("chip_0.row[3].a_b"), 1U);
  EXPECT_EQ(vcd.variables.count("chip_0.x_y"), 1U);
  EXPECT_EQ(vcd.variables.count("chip_0_a.q"), 1U);
}

// Random declarations and changes against a plain map.
TEST_F(WaveFileTest, RandomChangesReadBackExactly) {
  constexpr unsigned kSeed = 20'240'607;
  RecordProperty("seed", static_cast<int>(kSeed));
  std::mt19937_64 random(kSeed);
  WaveFile wave(options());
  constexpr std::size_t kSignals = 300;  // more than one character of identifier code
  std::vector<SignalId> ids;
  std::vector<unsigned> bits;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < kSignals; ++i) {
    const std::string scope = "chip" + std::to_string(random() % 3) + ".nc" + std::to_string(random() % 4);
    const std::string name = "s" + std::to_string(i);
    bits.push_back(1 + static_cast<unsigned>(random() % 64));
    ids.push_back(wave.declare(scope, name, bits.back()));
    paths.push_back(scope + "." + name);
  }
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> expected;  // path, time, value
  for (int i = 0; i < 20'000; ++i) {
    now_ += random() % 3;
    const std::size_t signal = random() % kSignals;
    std::uint64_t value = random();
    wave.change(ids[signal], value);
    if (bits[signal] < 64) value &= (std::uint64_t{1} << bits[signal]) - 1;
    expected[paths[signal]][now_] = value;
  }
  wave.close();

  const Vcd vcd = read_vcd(path_);
  ASSERT_EQ(vcd.variables.size(), kSignals);
  for (const auto& [path, changes] : expected) {
    for (const auto& [time, value] : changes) ASSERT_EQ(vcd.number_at(path, time), value) << path << " at " << time;
  }
}

// A stand-in for a Verilated model: variables that the writer polls by callbacks of their own.
TEST_F(WaveFileTest, PolledVariablesShareTheFileAndTheTimeAxis) {
  struct Model {
    std::uint32_t counter = 0;
    std::uint32_t code = 0;
  } model;
  WaveFile wave(options());
  EXPECT_TRUE(Verilated::threadContextp() == &wave.context());
  EXPECT_EQ(wave.context().timeprecision(), -15);
  VerilatedVcd* const trace = wave.writer().spTrace();
  trace->addInitCb(
      [](void* self, VerilatedVcd* vcd, std::uint32_t code) {
        static_cast<Model*>(self)->code = code;
        vcd->declBus(code, "rtl.counter", false, -1, 31, 0);
      },
      &model);
  const auto poll = [](void* self, VerilatedVcd::Buffer* buffer) {
    const Model& polled = *static_cast<Model*>(self);
    buffer->fullIData(buffer->oldp(polled.code), polled.counter, 32);
  };
  trace->addFullCb(poll, &model);
  trace->addChgCb(poll, &model);
  struct Process : WaveProcess {
    explicit Process(Model& stepped) : model(stepped) {}
    Femtoseconds next() const override { return model.counter < 10 ? Femtoseconds{2} * model.counter : kNever; }
    void step() override { ++model.counter; }
    Model& model;
  } process(model);
  wave.add(process);
  WaveSignal state(wave, "tlm", "state", 4);
  WaveSignal later(wave, "tlm", "later", 4);
  WaveText text(wave, "tlm", "text", 4);
  now_ = 4;
  state = 3;
  later.at(11, 5);
  text.at(4, "now");
  text.at(7, "then");
  now_ = 9;  // the steps at 0 to 8 come before
  state = 4;
  now_ = 18;
  wave.close();
  const Vcd vcd = read_vcd(path_);
  for (std::uint64_t time = 0; time <= 18; ++time) EXPECT_EQ(vcd.number_at("rtl.counter", time), time / 2 + 1) << time;
  EXPECT_EQ(vcd.number_at("tlm.state", 3), 0U);
  EXPECT_EQ(vcd.number_at("tlm.state", 4), 3U);
  EXPECT_EQ(vcd.number_at("tlm.later", 10), 0U);
  EXPECT_EQ(vcd.number_at("tlm.later", 11), 5U);
  EXPECT_EQ(vcd.text_at("tlm.text", 4), "now");
  EXPECT_EQ(vcd.text_at("tlm.text", 7), "then");
}

TEST_F(WaveFileTest, PolledVariablesAreSelectedByScopeToo) {
  struct Model {
    std::uint32_t value = 0;
    std::uint32_t code = 0;
  } model;
  WaveFile wave(options({"rtl.unit.a", "tlm", "!*.b"}));
  VerilatedVcd* const trace = wave.writer().spTrace();
  trace->addInitCb(
      [](void* self, VerilatedVcd* vcd, std::uint32_t code) {
        static_cast<Model*>(self)->code = code;
        vcd->declBus(code, "rtl.unit.a", false, -1, 7, 0);
        vcd->declBit(code + 1, "rtl.unit.b", false, -1);
        vcd->declBus(code + 2, "rtl.other.c", false, -1, 7, 0);
      },
      &model);
  const auto poll = [](void* self, VerilatedVcd::Buffer* buffer) {
    const Model& polled = *static_cast<Model*>(self);
    buffer->fullCData(buffer->oldp(polled.code), static_cast<CData>(polled.value), 8);
    buffer->fullBit(buffer->oldp(polled.code + 1), polled.value & 1);
    buffer->fullCData(buffer->oldp(polled.code + 2), static_cast<CData>(polled.value), 8);
  };
  trace->addFullCb(poll, &model);
  trace->addChgCb(poll, &model);
  WaveSignal state(wave, "tlm", "state", 4);
  for (now_ = 0; now_ < 10; ++now_) {
    state = model.value = static_cast<std::uint32_t>(now_);
  }
  wave.close();
  const Vcd vcd = read_vcd(path_);
  EXPECT_EQ(vcd.variables.size(), 2U);
  EXPECT_EQ(vcd.number_at("tlm.state", 9), 9U);
  EXPECT_GT(vcd.variables.at("rtl.unit.a").changes.size(), 5U);
  EXPECT_EQ(wave.declared().size(), 2U);
  EXPECT_TRUE(wave.declared()[1].rtl);
  EXPECT_EQ(wave.known_paths().size(), 4U);
  EXPECT_TRUE(wave.unmatched_scopes().empty());
}

// Whatever ends the program, the file is whole up to then.
TEST_F(WaveFileTest, ACrashCompletesTheFile) {
  for (const char* extension : {"vcd", "fst"}) {
    for (const int signal : {SIGSEGV, SIGABRT, SIGKILL}) {
      path_ = directory_ + "/crash." + extension;
      std::fflush(stdout);
      const pid_t process = fork();
      if (process == 0) {
        WaveFile wave(options());
        WaveSignal a(wave, "s", "a", 32);
        for (now_ = 1; now_ <= 20'000; ++now_) a = now_;
        if (signal == SIGKILL) wave.flush();  // nobody is asked
        kill(getpid(), signal);
        _exit(0);
      }
      int status = 0;
      waitpid(process, &status, 0);
      EXPECT_NE(status, 0);
      if (WIFSIGNALED(status)) {  // the address sanitizer makes an exit of some
        EXPECT_EQ(WTERMSIG(status), signal);
      }
      std::string read = path_;
      if (std::string(extension) == "fst") {
        read = directory_ + "/back.vcd";
        const std::string command = "fst2vcd -f '" + path_ + "' -o '" + read + "' > /dev/null 2>&1";
        for (int i = 0; i < 100 && std::system(command.c_str()) != 0; ++i) usleep(20'000);  // it is being completed
      }
      EXPECT_EQ(read_vcd(read).times.back(), 20'000U) << extension << ", signal " << signal;
      std::remove(path_.c_str());
    }
  }
}

TEST_F(WaveFileTest, OfChangesAskedForAheadAndThenTheLastCounts) {
  WaveFile wave(options());
  WaveSignal a(wave, "s", "a", 8);
  WaveSignal sum(wave, "s", "sum", 8);
  a.at(10, 2);
  sum.add_at(10, 3);
  sum.add_at(10, 4);
  sum.add_at(12, -2);
  now_ = 10;
  a = 3;
  now_ = 11;
  a = 4;
  a.at(11, 5);
  now_ = 20;
  wave.close();
  const Vcd vcd = read_vcd(path_);
  EXPECT_EQ(vcd.number_at("s.a", 9), 0U);
  EXPECT_EQ(vcd.number_at("s.a", 10), 3U);
  EXPECT_EQ(vcd.number_at("s.a", 11), 5U);
  EXPECT_EQ(vcd.number_at("s.sum", 10), 7U);
  EXPECT_EQ(vcd.number_at("s.sum", 12), 5U);
}

TEST_F(WaveFileTest, FstAndVcdHoldTheSame) {
  const auto run = [&] {
    WaveFile wave(options());
    WaveSignal state(wave, "chip0.nc0", "state", 3);
    WaveSignal bit(wave, "chip0", "bit", 1);
    for (now_ = 1; now_ < 5'000; now_ += 3) {
      state = now_ / 7;
      bit = now_ % 2;
    }
    wave.close();
    now_ = 0;
  };
  run();
  const Vcd expected = read_vcd(path_);
  path_ = directory_ + "/run.fst";
  run();
  const std::string back = directory_ + "/back.vcd";
  ASSERT_EQ(std::system(("fst2vcd -f '" + path_ + "' -o '" + back + "' > /dev/null 2>&1").c_str()), 0);
  const Vcd vcd = read_vcd(back);
  EXPECT_EQ(vcd.timescale, "1fs");
  ASSERT_EQ(vcd.variables.size(), expected.variables.size());
  for (const auto& [path, variable] : expected.variables) {
    EXPECT_EQ(vcd.variables.at(path).bits, variable.bits);
    EXPECT_EQ(vcd.variables.at(path).changes, variable.changes);
  }
}

TEST_F(WaveFileTest, ALimitEndsTheFileCleanly) {
  WaveOptions limited = options();
  limited.limit_bytes = 100'000;
  WaveFile wave(limited);
  WaveSignal a(wave, "s", "a", 32);
  for (now_ = 1; now_ < 100'000; ++now_) a = now_;
  wave.close();
  EXPECT_TRUE(wave.summary().limit_reached);
  EXPECT_LT(std::filesystem::file_size(path_), 300'000U);
  const Vcd vcd = read_vcd(path_);
  EXPECT_EQ(vcd.times.back(), wave.summary().last);
  EXPECT_EQ(vcd.number_at("s.a", wave.summary().last), wave.summary().last);
}

TEST_F(WaveFileTest, ATriggerFindsTheFirstTimeAtWhoseEndItHolds) {
  const auto watch = [&](const std::string& condition) {
    now_ = 0;
    const auto trigger = std::make_shared<TriggerOutput>(SignalCondition::parse(condition));
    trigger->set_text(condition.find("text") != std::string::npos);
    WaveOptions watched = options();
    watched.output = trigger;
    WaveFile wave(watched);
    WaveSignal a(wave, "s", "a", 8);
    WaveText text(wave, "s", "text", 8);
    for (now_ = 1; now_ < 200; ++now_) {
      a = 77;  // for an instant
      a = now_;
      text = now_ == 50 ? "fifty" : "x";
    }
    wave.close();
    return trigger->fired();
  };
  EXPECT_EQ(watch("s.a==77"), std::optional<std::uint64_t>(77));
  EXPECT_EQ(watch("s.a==0x10"), std::optional<std::uint64_t>(16));
  EXPECT_EQ(watch("s.a==0b101"), std::optional<std::uint64_t>(5));
  EXPECT_EQ(watch("s.text==fifty"), std::optional<std::uint64_t>(50));
  EXPECT_EQ(watch("s.text==0"), std::nullopt);  // no number
  EXPECT_EQ(watch("s.a==250"), std::nullopt);
  EXPECT_EQ(watch("s.b==1"), std::nullopt);
  EXPECT_THROW(SignalCondition::parse("s.a=1"), ConfigError);
  EXPECT_THROW(SignalCondition::parse("==1"), ConfigError);
}

// GTKWave's own reader takes the file without a word.
TEST_F(WaveFileTest, GtkwaveReadsTheFile) {
  WaveFile wave(options());
  WaveSignal state(wave, "chip0.nc0.tensor_engine", "state", 3);
  WaveText text(wave, "chip0.nc0.tensor_engine", "instruction", 16);
  for (now_ = 1; now_ < 1'000; ++now_) {
    state = now_;
    text = std::to_string(now_);
  }
  wave.close();
  const std::string command = "vcd2fst '" + path_ + "' '" + directory_ + "/run.fst' > '" + directory_ +
                              "/log' 2>&1 && "
                              "fst2vcd -f '" +
                              directory_ + "/run.fst' -o '" + directory_ + "/back.vcd' >> '" + directory_ +
                              "/log' 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream log(directory_ + "/log");
  const std::string output((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
  ASSERT_EQ(status, 0) << "this test needs vcd2fst and fst2vcd of the package gtkwave\n" << output;
  EXPECT_EQ(output.find("rror"), std::string::npos) << output;
  std::ifstream back(directory_ + "/back.vcd");
  const std::string converted((std::istreambuf_iterator<char>(back)), std::istreambuf_iterator<char>());
  EXPECT_NE(converted.find("#999"), std::string::npos);
  EXPECT_NE(converted.find("tensor_engine"), std::string::npos);
}

// A million changes of a few among many signals: the cost must not grow with the signals that stay.
TEST_F(WaveFileTest, AMillionChangesAmongManySignalsAreQuick) {
  WaveFile wave(options());
  std::vector<SignalId> ids;
  for (int i = 0; i < 10'000; ++i)
    ids.push_back(wave.declare("chip0.s" + std::to_string(i / 100), "v" + std::to_string(i), 16));
  constexpr std::uint64_t kChanges = 1'000'000;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < kChanges; ++i) {
    now_ += i % 4;
    wave.change(ids[i * 7 % ids.size()], i);
  }
  wave.close();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%.1f M changes/s\n", static_cast<double>(kChanges) / seconds / 1e6);
  EXPECT_LT(seconds,
            10.0);  // about 0.1 s; polling ten thousand signals at each of 750,000 times would take many times that
}

TEST_F(WaveFileTest, WithoutAnOutputItIsAListOfSignals) {
  WaveOptions listed = options();
  listed.path.clear();
  listed.output = std::make_shared<NoOutput>();
  WaveFile wave(listed);
  WaveText text(wave, "chip0", "instruction", 16);
  wave.begin();
  ASSERT_EQ(wave.declared().size(), 1U);
  EXPECT_EQ(wave.declared()[0].name, "instruction");
  EXPECT_EQ(wave.declared()[0].bits, 128U);
  EXPECT_TRUE(wave.declared()[0].text);
}

}  // namespace
}  // namespace azulejo
