// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_wave.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace azulejo::test {
namespace {

namespace fs = std::filesystem;

constexpr Femtoseconds kBefore = 1'000'000'000;  // of a difference, that is kept
constexpr Femtoseconds kAfter = 200'000'000;
constexpr std::uint64_t kLimit = 64 << 20;  // bytes

std::string path;  // empty: no wave
Femtoseconds window_from = 0;
Femtoseconds window_to = kNever;

// The time of the first difference plus one, for tests that run their platforms in processes of their own.
std::atomic<Femtoseconds>& difference() {
  static auto* const shared = new (::mmap(nullptr, sizeof(std::atomic<Femtoseconds>), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<Femtoseconds>(0);
  return *shared;
}

}  // namespace

void read_wave_options(int& argc, char** argv) {
  difference();
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--wave") == 0 && i + 1 < argc) {
      path = argv[++i];
    } else if (std::strcmp(argv[i], "--wave-around") == 0 && i + 1 < argc) {  // of leave_waves()
      const Femtoseconds time = std::strtoull(argv[++i], nullptr, 10);
      window_from = time > kBefore ? time - kBefore : 0;
      window_to = time + kAfter;
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
}

std::optional<WaveOptions> next_wave(std::function<Femtoseconds()> now) {
  if (path.empty()) return std::nullopt;
  WaveOptions options;
  options.path = path;
  const fs::path name(path);
  for (int i = 2; fs::exists(options.path); ++i) {
    options.path = name.parent_path() / fmt::format("{}-{}{}", name.stem().string(), i, name.extension().string());
  }
  options.now = std::move(now);
  options.from = window_from;
  options.to = window_to;
  options.limit_bytes = kLimit;
  return options;
}

void note_difference(Femtoseconds time) {
  Femtoseconds none = 0;
  difference().compare_exchange_strong(none, time + 1);
}

void leave_waves(const char* program) {
  const char* const directory = std::getenv("AZULEJO_FAILED_WAVES");
  if (directory == nullptr || !path.empty()) return;
  std::error_code ignored;
  fs::create_directories(directory, ignored);
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  for (int s = 0; s < unit.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *unit.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (!test.should_run() || test.result()->Passed() || test.result()->Skipped()) continue;
      const std::string name = fmt::format("{}.{}", suite.name(), test.name());
      std::string file = name;
      for (char& c : file) c = c == '/' ? '-' : c;
      const std::string wave = (fs::path(directory) / (file + ".fst")).string();
      const std::string filter = "--gtest_filter=" + name;
      const std::string around = std::to_string(difference() > 0 ? difference() - 1 : 0);
      std::printf("running %s again for %s\n", name.c_str(), wave.c_str());
      std::fflush(stdout);
      const pid_t process = ::fork();
      if (process == 0) {
        if (difference() > 0) {
          ::execl(program, program, filter.c_str(), "--wave", wave.c_str(), "--wave-around", around.c_str(), nullptr);
        } else {
          ::execl(program, program, filter.c_str(), "--wave", wave.c_str(), nullptr);
        }
        ::_exit(127);
      }
      ::waitpid(process, nullptr, 0);
    }
  }
}

SignalId TeeSink::declare(std::string_view scope, std::string_view name, unsigned bits) {
  signals_.push_back({first_.declare(scope, name, bits), second_.declare(scope, name, bits)});
  return static_cast<SignalId>(signals_.size() - 1);
}

SignalId TeeSink::declare_text(std::string_view scope, std::string_view name, unsigned characters) {
  signals_.push_back({first_.declare_text(scope, name, characters), second_.declare_text(scope, name, characters)});
  return static_cast<SignalId>(signals_.size() - 1);
}

template <class Action>
void TeeSink::each(SignalId signal, Action action) {
  const Pair pair = signals_[signal];
  if (pair.first != kNoSignal) action(first_, pair.first);
  if (pair.second != kNoSignal) action(second_, pair.second);
}

void TeeSink::change(SignalId signal, std::uint64_t value) {
  each(signal, [&](WaveSink& sink, SignalId id) { sink.change(id, value); });
}

void TeeSink::change_text(SignalId signal, std::string_view value) {
  each(signal, [&](WaveSink& sink, SignalId id) { sink.change_text(id, value); });
}

void TeeSink::change_at(SignalId signal, std::uint64_t value, Femtoseconds time) {
  each(signal, [&](WaveSink& sink, SignalId id) { sink.change_at(id, value, time); });
}

void TeeSink::change_text_at(SignalId signal, std::string_view value, Femtoseconds time) {
  each(signal, [&](WaveSink& sink, SignalId id) { sink.change_text_at(id, value, time); });
}

void TeeSink::add_at(SignalId signal, std::int64_t difference, Femtoseconds time) {
  each(signal, [&](WaveSink& sink, SignalId id) { sink.add_at(id, difference, time); });
}

}  // namespace azulejo::test
