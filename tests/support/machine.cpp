// SPDX-License-Identifier: Apache-2.0
#include "tests/support/machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "tlm/isa/assembler.h"

namespace azulejo::test {
namespace {

__extension__ using Uint128 = unsigned __int128;

void describe_account(std::string& text, const std::string& name, const Attribution& account) {
  text += name + ":";
  for (std::size_t c = 0; c < kCauses; ++c) {
    const auto cause = static_cast<Cause>(c);
    if (account[cause] != 0) text += fmt::format(" {}={}", cause_name(cause), account[cause]);
  }
  text += "\n";
}

}  // namespace

Femtoseconds edge(std::uint64_t cycle, std::uint64_t hz) {
  return static_cast<Femtoseconds>(Uint128{cycle} * 1'000'000'000'000'000U / hz);
}

std::uint64_t first_edge(Femtoseconds time, std::uint64_t hz) {
  std::uint64_t low = 0;
  std::uint64_t high = 1;
  while (edge(high, hz) < time) high *= 2;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (edge(middle, hz) >= time) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Femtoseconds at_rate(std::uint64_t bytes, std::uint64_t bytes_per_second) {
  const Uint128 scaled = Uint128{bytes} * 1'000'000'000'000'000U;
  return static_cast<Femtoseconds>(scaled / bytes_per_second + (scaled % bytes_per_second != 0 ? 1 : 0));
}

TrackId Recorder::track(std::string_view path, std::string_view) {
  tracks_.emplace_back(path);
  return static_cast<TrackId>(tracks_.size() - 1);
}

void Recorder::span(TrackId track, std::string_view name, Femtoseconds start, Femtoseconds end, std::string_view detail,
                    std::string_view cause) {
  spans_.push_back({tracks_.at(track), std::string(name), start, end, std::string(detail), std::string(cause)});
}

SignalId Recorder::declare(std::string_view scope, std::string_view name, unsigned) {
  constexpr std::string_view kSemaphores = ".semaphores";
  if (scope.size() < kSemaphores.size() || scope.substr(scope.size() - kSemaphores.size()) != kSemaphores)
    return kNoSignal;
  const auto id = static_cast<SignalId>(changes_.size());
  signals_[fmt::format("{}.{}", scope, name)] = id;
  changes_.emplace_back();
  return id;
}

void Recorder::change(SignalId signal, std::uint64_t value) { changes_.at(signal).push_back({now_fs(), value}); }

std::vector<Span> Recorder::spans(std::string_view track, std::string_view name) const {
  std::vector<Span> found;
  for (const Span& span : spans_) {
    if (span.track == track && (name.empty() || span.name == name)) found.push_back(span);
  }
  return found;
}

const std::vector<Change>& Recorder::changes(const std::string& signal) const {
  return changes_.at(signals_.at(signal));
}

MachineOptions Machine::with_wave(MachineOptions options, WaveFile* wave) {
  options.platform.twins.wave = wave;
  options.platform.transactions = options.platform.transactions || wave != nullptr;
  options.platform.twins.on_difference = [seen = options.platform.twins.on_difference](const Difference& difference) {
    note_difference(difference.time);
    if (seen) seen(difference);
  };
  return options;
}

namespace {

std::unique_ptr<WaveFile> make_wave() {
  const std::optional<WaveOptions> options = next_wave(now_fs);
  return options ? std::make_unique<WaveFile>(*options) : nullptr;
}

}  // namespace

Machine::Machine(const std::string& preset, const std::vector<std::string>& settings, const MachineOptions& options)
    : recorder_(options.spans),
      wave_(make_wave()),
      both_(recorder_, wave_ ? *wave_ : WaveSink::none()),
      platform_(load_platform(preset, settings), with_wave(options, wave_.get()).platform) {
  Instruments instruments;
  instruments.trace = &recorder_;
  if (wave_) {
    instruments.wave = &both_;
  } else {
    instruments.wave = &recorder_;
  }
  instruments.faults = &recorder_;
  platform_.attach(instruments);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborates: sockets work from here on
}

void Machine::load(std::string_view text, std::uint32_t core) {
  const AssemblyResult result = assemble(text);
  for (const AssemblyError& error : result.errors) {
    ADD_FAILURE() << "program line " << error.line << ":" << error.column << ": " << error.message;
  }
  if (result.errors.empty()) load(result.program, core);
}

void Machine::load(const Program& program, std::uint32_t core) {
  platform_.host.load(core, program);
  loaded_.push_back(core);
}

RunEnd Machine::run(Femtoseconds until) {
  for (const std::uint32_t core : loaded_) platform_.host.start(core);
  RunLimits limits;
  limits.until = until;
  const RunEnd result = run_simulation(limits, [this] { return platform_.finished(); });
  end_ = now_fs();
  platform_.finish_account(end_);
  if (wave_) wave_->close();
  return result;
}

const std::vector<Change>& Machine::semaphore_changes(std::uint32_t index, std::uint32_t core) {
  return recorder_.changes(fmt::format("{}.s{}", platform_.core(core).semaphores.name(), index));
}

void Machine::write_bytes(std::uint32_t chip, std::uint64_t address, const void* data, std::uint64_t bytes) {
  EXPECT_TRUE(platform_.host.write(chip, address, data, bytes)) << "address " << address;
}

void Machine::read_bytes(std::uint32_t chip, std::uint64_t address, void* data, std::uint64_t bytes) {
  EXPECT_TRUE(platform_.host.read(chip, address, data, bytes)) << "address " << address;
}

std::string statistics(Machine& machine) {
  std::string text = fmt::format("end {}\n", machine.end());
  Platform& platform = machine.platform();
  for (std::size_t c = 0; c < platform.cores(); ++c) {
    NeuronCore& core = platform.core(c);
    for (std::size_t e = 0; e < kEngines; ++e) {
      const Engine& engine = core.engine(e);
      const Engine::Stats& stats = engine.engine_stats();
      text += fmt::format("{} instructions={} datapath={} dma={} faults={} finished={}\n", engine.name(),
                          stats.instructions, stats.datapath, stats.dma_triggers, stats.faults, stats.finished_at);
      describe_account(text, engine.name(), engine.attribution());
    }
    text += fmt::format("matmuls={} macs={} elements={}\n", core.tensor_engine.stats().matmuls,
                        core.tensor_engine.stats().macs, core.vector_engine.stats().elements);
    for (std::size_t e = 0; e < core.dma.size(); ++e) {
      const DmaEngine& engine = core.dma.engine(e);
      const DmaEngine::Stats& stats = engine.stats();
      text += fmt::format("{} packets={} descriptors={} bytes={} faults={}\n", engine.name(), stats.packets,
                          stats.descriptors, stats.bytes, stats.faults);
      describe_account(text, engine.name(), engine.attribution());
    }
  }
  for (std::size_t c = 0; c < platform.chips(); ++c) {
    for (std::size_t s = 0; s < platform.chip(c).stacks(); ++s) {
      const Hbm& stack = platform.chip(c).hbm(s);
      text += fmt::format("{} read={} written={} moved={}\n", stack.name(), stack.stats().read_bytes,
                          stack.stats().written_bytes, stack.stats().moved_bytes);
      describe_account(text, stack.name(), stack.attribution());
    }
  }
  return text;
}

void expect_accounts_add_up(Machine& machine) {
  Platform& platform = machine.platform();
  for (std::size_t c = 0; c < platform.cores(); ++c) {
    NeuronCore& core = platform.core(c);
    for (std::size_t e = 0; e < kEngines; ++e) {
      EXPECT_EQ(core.engine(e).attribution().sum(), machine.end()) << core.engine(e).name();
    }
    for (std::size_t e = 0; e < core.dma.size(); ++e) {
      const DmaEngine& engine = core.dma.engine(e);
      EXPECT_EQ(engine.attribution().sum(), machine.end()) << engine.name();
      for (std::uint32_t q = 0; q < platform.config().chip.nc.dma.queues; ++q) {
        if (const Attribution* queue = engine.queue_attribution(q)) {
          EXPECT_EQ(queue->sum(), machine.end()) << engine.name() << " queue " << q;
        }
      }
    }
  }
  for (std::size_t c = 0; c < platform.chips(); ++c) {
    for (std::size_t s = 0; s < platform.chip(c).stacks(); ++s) {
      EXPECT_EQ(platform.chip(c).hbm(s).attribution().sum(), machine.end()) << platform.chip(c).hbm(s).name();
    }
  }
}

std::string in_child(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) {
    ADD_FAILURE() << "no pipe";
    return {};
  }
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const std::string text = work();
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t part = ::write(ends[1], text.data() + sent, text.size() - sent);
      if (part <= 0) break;
      sent += static_cast<std::size_t>(part);
    }
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() || sent < text.size() ? 1 : 0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = ::read(ends[0], piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  const bool clean = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  EXPECT_TRUE(clean) << "a child process failed";
  return text;
}

}  // namespace azulejo::test
