// SPDX-License-Identifier: Apache-2.0
// Is the trace valid JSON with exact times, and is there never half a file?
#include "tlm/common/trace_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "tlm/common/error.h"
#include "tlm/common/output_file.h"

namespace azulejo {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class TraceFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "traceXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = directory_ / "trace.json";
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  // The events of phase `ph`.
  std::vector<json> events(const std::string& ph) const {
    std::vector<json> result;
    const json trace = json::parse(text());
    for (const json& event : trace.at("traceEvents")) {
      if (event.at("ph") == ph) result.push_back(event);
    }
    return result;
  }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  fs::path directory_;
  fs::path path_;
};

TEST(ProcessAndThread, SplitAtTheCoreElseAtTheChipElseAfterTheFirstComponent) {
  using Names = std::pair<std::string, std::string>;
  EXPECT_EQ(process_and_thread("chip0.nc1.tensor_engine"), (Names{"chip0.nc1", "tensor_engine"}));
  EXPECT_EQ(process_and_thread("chip0.nc1.dma3.queue4"), (Names{"chip0.nc1", "dma3.queue4"}));
  EXPECT_EQ(process_and_thread("board2.chip13.hbm0.channel7"), (Names{"board2.chip13", "hbm0.channel7"}));
  EXPECT_EQ(process_and_thread("fabric.link7"), (Names{"fabric", "link7"}));
  EXPECT_EQ(process_and_thread("host"), (Names{"host", "host"}));
  EXPECT_EQ(process_and_thread("chip0.nc1"), (Names{"chip0.nc1", "nc1"}));
  EXPECT_EQ(process_and_thread("ncx.chipper.a"), (Names{"ncx", "chipper.a"}));
}

TEST_F(TraceFileTest, SpansHaveExactTimesInMicroseconds) {
  TraceFile trace(path_);
  EXPECT_TRUE(trace.enabled());
  const TrackId engine = trace.track("chip0.nc0.tensor_engine", "engine");
  trace.span(engine, "nc_matmul", 1'234'567'891'234'567, 1'234'567'891'234'568, "psum[0]", "semaphore 3");
  trace.span(engine, "nc_matmul", 18'446'744'073'709'551'614U, std::numeric_limits<Femtoseconds>::max(), "", "");
  trace.close();
  EXPECT_NE(text().find("\"ts\":1234567.891234567,\"dur\":0.000000001,"), std::string::npos) << text();
  EXPECT_NE(text().find("\"ts\":18446744073.709551614,\"dur\":0.000000001,"), std::string::npos) << text();
  const std::vector<json> spans = events("X");
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].at("name"), "nc_matmul");
  EXPECT_EQ(spans[0].at("cat"), "engine");
  EXPECT_EQ(spans[0].at("args"), (json{{"detail", "psum[0]"}, {"cause", "semaphore 3"}}));
  EXPECT_FALSE(spans[1].contains("args"));
}

TEST_F(TraceFileTest, TracksAreNamedThreadsOfNamedProcessesInOrder) {
  TraceFile trace(path_);
  const TrackId channel = trace.track("chip0.nc0.dma0.queue1", "queue");
  const TrackId engine = trace.track("chip0.nc0.vector_engine", "engine");
  const TrackId other = trace.track("chip1.hbm.channel0", "channel");
  trace.span(channel, "a", 0, 1, "", "");
  trace.span(engine, "b", 0, 1, "", "");
  trace.span(other, "c", 0, 1, "", "");
  trace.close();
  const std::vector<json> spans = events("X");
  EXPECT_EQ(spans[0].at("pid"), spans[1].at("pid"));
  EXPECT_NE(spans[0].at("tid"), spans[1].at("tid"));
  EXPECT_NE(spans[0].at("pid"), spans[2].at("pid"));
  std::map<std::string, int> order;
  std::map<int, std::string> names;
  for (const json& event : events("M")) {
    if (event.at("name") == "thread_name")
      names[event.at("tid").get<int>()] = event.at("args").at("name").get<std::string>();
    if (event.at("name") == "thread_sort_index") {
      order[names.at(event.at("tid").get<int>())] = event.at("args").at("sort_index").get<int>();
    }
  }
  EXPECT_LT(order.at("vector_engine"), order.at("dma0.queue1"));
  EXPECT_EQ(order.count("hbm.channel0"), 1U);
}

TEST_F(TraceFileTest, CountersCarryTheirTrackInTheirName) {
  TraceFile trace(path_);
  const TrackId channel = trace.track("chip0.hbm.channel0", "channel");
  trace.counter(channel, "queued", 5'000, 0.1);
  trace.counter(channel, "queued", 6'000, std::numeric_limits<double>::infinity());
  trace.close();
  const std::vector<json> counters = events("C");
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[0].at("name"), "hbm.channel0 queued");
  EXPECT_EQ(counters[0].at("args").at("value").get<double>(), 0.1);
  EXPECT_TRUE(counters[1].at("args").at("value").is_null());
}

TEST_F(TraceFileTest, AnyTextBecomesValidJson) {
  const std::string accents = "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80";
  TraceFile trace(path_);
  const TrackId track = trace.track("a \"quoted\".\\track", "odd\nkind");
  trace.span(track, "tab\t nul" + std::string(1, '\0') + " quote\" back\\", 0, 1, accents,
             "\xC3(\xED\xA0\x80\xFF\xE2\x82");
  trace.close();
  const json span = events("X").at(0);
  EXPECT_EQ(span.at("name"), std::string("tab\t nul") + '\0' + " quote\" back\\");
  EXPECT_EQ(span.at("args").at("detail"), accents);
  EXPECT_EQ(span.at("args").at("cause").get<std::string>().substr(0, 4), "\xEF\xBF\xBD(");
}

TEST_F(TraceFileTest, ATraceWithoutEventsIsValidToo) {
  TraceFile trace(path_);
  trace.close();
  EXPECT_EQ(json::parse(text()), (json{{"displayTimeUnit", "ns"}, {"traceEvents", json::array()}}));
}

TEST_F(TraceFileTest, ThePathShowsTheOldFileUntilTheNewOneIsComplete) {
  std::ofstream(path_) << "old";
  {
    TraceFile trace(path_);
    trace.span(trace.track("a.b", "engine"), "x", 0, 1, "", "");
    EXPECT_EQ(text(), "old");
  }  // not closed: an error on the way
  EXPECT_EQ(text(), "old");
  EXPECT_EQ(files(), 1U);
  TraceFile trace(path_);
  trace.close();
  trace.close();
  EXPECT_NE(text(), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(TraceFileTest, EventsAfterTheCloseAreIgnored) {
  TraceFile trace(path_);
  const TrackId track = trace.track("a.b", "engine");
  trace.close();
  trace.span(track, "x", 0, 1, "", "");
  trace.counter(track, "y", 0, 1);
  trace.track("c.d", "link");
  EXPECT_TRUE(events("X").empty());
}

TEST_F(TraceFileTest, ASymbolicLinkStaysALink) {
  const fs::path target = directory_ / "target.json";
  std::ofstream(target) << "old";
  fs::create_symlink(target, path_);
  TraceFile trace(path_);
  trace.close();
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_TRUE(json::accept(text()));
}

TEST_F(TraceFileTest, ADeviceIsWrittenAndNotReplaced) {
  TraceFile null("/dev/null");
  null.close();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  TraceFile full("/dev/full");
  EXPECT_THROW(full.close(), OutputError);
}

TEST_F(TraceFileTest, APathThatCannotBeWrittenIsAConfigError) {
  EXPECT_THROW(TraceFile((directory_ / "no" / "trace.json").string()), ConfigError);
  EXPECT_THROW(TraceFile(directory_.string()), ConfigError);
}

TEST_F(TraceFileTest, ManySpansAreWrittenQuickly) {
  constexpr std::uint64_t kSpans = 200'000;
  const auto start = std::chrono::steady_clock::now();
  TraceFile trace(path_);
  std::vector<TrackId> tracks;
  for (int i = 0; i < 64; ++i)
    tracks.push_back(trace.track("chip0.nc" + std::to_string(i / 8) + ".e" + std::to_string(i), "engine"));
  for (std::uint64_t i = 0; i < kSpans; ++i) {
    trace.span(tracks[i % 64], "nc_matmul", i * 1'000'003, i * 1'000'003 + 999'999, "psum[0], sbuf[0:128, 0:512]",
               "semaphore");
  }
  trace.close();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%.1f M spans/s, %.0f MB\n", static_cast<double>(kSpans) / seconds / 1e6,
              static_cast<double>(fs::file_size(path_)) / 1e6);
  EXPECT_EQ(trace.events(), kSpans);
  EXPECT_LT(seconds, 10.0);  // about 0.1 s; the margin is for sanitizers
}

}  // namespace
}  // namespace azulejo
