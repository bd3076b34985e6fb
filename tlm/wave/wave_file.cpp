// SPDX-License-Identifier: Apache-2.0
#include "tlm/wave/wave_file.h"

#include <verilated.h>
#include <verilated_vcd_c.h>

#include <algorithm>
#include <optional>
#include <queue>
#include <unordered_set>

#include "tlm/common/check.h"
#include "tlm/common/error.h"
#include "tlm/common/output_file.h"
#include "tlm/wave/crash_flush.h"
#include "tlm/wave/fst_output.h"
#include "tlm/wave/scope_filter.h"
#include "tlm/wave/vcd_selector.h"

namespace azulejo {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// A name as an identifier of IEEE 1364; the index of an element or a generate block stays.
std::string vcd_word(std::string_view name, bool is_scope) {
  std::string word(name);
  for (char& c : word) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (c == '.' && is_scope) {
      c = ' ';  // the writer's separator of scopes
    } else if (!letter && c != '_' && c != '$' && c != '[' && c != ']') {
      c = '_';
    }
  }
  return word;
}

std::shared_ptr<WaveOutput> make_output(const WaveOptions& options) {
  if (options.output) return options.output;
  const bool fst = ends_with(options.path, ".fst");
  if (!fst && !ends_with(options.path, ".vcd")) {
    throw ConfigError("'" + options.path + "' is neither a .vcd nor a .fst file, the formats that are written");
  }
  check_writable(options.path);
  return fst ? make_fst_output(options.path, options.limit_bytes) : make_vcd_output(options.path);
}

// The writer's file: the definitions, which come first, are kept until they have been looked through.
class WriterFile final : public VerilatedVcdFile {
 public:
  bool open(const std::string&) override { return true; }
  void close() override {}
  ssize_t write(const char* data, ssize_t size) override {
    const std::string_view text(data, static_cast<std::size_t>(size));
    if (to_) {
      to_(text);
    } else {
      kept_ += text;
    }
    return size;
  }

  const std::string& kept() const { return kept_; }
  // What was kept, and everything from now on.
  void pass_on(std::function<void(std::string_view)> to) {
    to_ = std::move(to);
    to_(kept_);
    kept_ = {};
  }

 private:
  std::string kept_;
  std::function<void(std::string_view)> to_;
};

class VariableList : public VcdHandler {
 public:
  explicit VariableList(std::function<void(const VcdVariable&)> found) : found_(std::move(found)) {}
  void variable(const VcdVariable& variable) override { found_(variable); }

 private:
  const std::function<void(const VcdVariable&)> found_;
};

}  // namespace

struct WaveFile::Impl {
  struct Signal {
    std::uint32_t first_word;  // of `words`, least significant first
    std::uint32_t bits;
    std::uint32_t code;  // the writer's number for it
    bool dirty;
  };
  struct Future {  // a change that is still to come
    Femtoseconds time;
    std::uint64_t order;
    SignalId signal;
    std::uint32_t text;  // of `texts`; kNumber: a number, kSum: one to add
    std::uint64_t value;
    bool operator>(const Future& other) const { return time != other.time ? time > other.time : order > other.order; }
  };
  static constexpr std::uint64_t kBuffered = 64 << 10;  // bytes that the writer may hold back
  static constexpr std::uint32_t kNumber = 0xFFFF'FFFF;
  static constexpr std::uint32_t kSum = 0xFFFF'FFFE;

  explicit Impl(WaveOptions given)
      : options(std::move(given)),
        filter(options.scopes, options.depth),
        output(make_output(options)),
        vcd(make_vcd()) {
    using Vcd = VerilatedVcd;
    vcd->spTrace()->addInitCb(
        [](void* self, Vcd* trace, std::uint32_t code) { static_cast<Impl*>(self)->init(*trace, code); }, this);
    vcd->spTrace()->addFullCb([](void* self, Vcd::Buffer* buffer) { static_cast<Impl*>(self)->dump_all(*buffer); },
                              this);
    vcd->spTrace()->addChgCb([](void* self, Vcd::Buffer* buffer) { static_cast<Impl*>(self)->dump_dirty(*buffer); },
                             this);
  }

  // Verilated units ask for the thread's context when they are destroyed, whichever they were made in.
  ~Impl() {
    static VerilatedContext none;
    if (Verilated::threadContextp() == &context) Verilated::threadContextp(&none);
  }

  std::unique_ptr<VerilatedVcdC> make_vcd() {
    // The writer takes its time unit from the thread's context when it is made.
    context.timeunit(-15);
    context.timeprecision(-15);
    context.traceEverOn(true);
    Verilated::threadContextp(&context);
    return std::make_unique<VerilatedVcdC>(&file);
  }

  SignalId declare(std::string_view scope, std::string_view name, std::uint32_t bits, bool text) {
    AZULEJO_CHECK(!begun, "a signal is declared after the first value was written");
    AZULEJO_CHECK(!name.empty() && bits > 0, "a signal has a name and at least one bit");
    if (!filter.selects(scope, name)) {
      left_out.push_back(std::string(scope) + "." + std::string(name));
      return kNoSignal;
    }
    AZULEJO_CHECK(paths.insert(vcd_word(scope, true) + '\t' + vcd_word(name, false)).second,
                  "two signals have the same path");
    const auto first_word = static_cast<std::uint32_t>(words.size());
    words.resize(words.size() + (bits + 31) / 32, 0);
    signals.push_back({first_word, bits, 0, false});
    declared.push_back({std::string(scope), std::string(name), bits, text, false});
    return static_cast<SignalId>(signals.size() - 1);
  }

  // The writer's callbacks.
  void init(VerilatedVcd& trace, std::uint32_t code) {
    first_code = code;
    for (std::size_t i = 0; i < signals.size(); ++i) {
      Signal& signal = signals[i];
      signal.code = code;
      code += (signal.bits + 31) / 32;
      trace.pushNamePrefix(vcd_word(declared[i].scope.empty() ? "top" : declared[i].scope, true) + ' ');
      const std::string name = vcd_word(declared[i].name, false);
      if (signal.bits == 1) {
        trace.declBit(signal.code, name.c_str(), false, -1);
      } else {
        trace.declArray(signal.code, name.c_str(), false, -1, static_cast<int>(signal.bits) - 1, 0);
      }
      trace.popNamePrefix();
    }
    end_code = code;
  }

  void dump_all(VerilatedVcd::Buffer& buffer) {
    for (Signal& signal : signals) {
      std::uint32_t* const old = buffer.oldp(signal.code);
      if (signal.bits == 1) {
        buffer.fullBit(old, static_cast<CData>(words[signal.first_word]));
      } else {
        buffer.fullWData(old, &words[signal.first_word], static_cast<int>(signal.bits));
      }
    }
  }

  void dump_dirty(VerilatedVcd::Buffer& buffer) {
    for (const SignalId id : dirty) {
      const Signal& signal = signals[id];
      std::uint32_t* const old = buffer.oldp(signal.code);
      if (signal.bits == 1) {
        buffer.chgBit(old, static_cast<CData>(words[signal.first_word]));
      } else {
        buffer.chgWData(old, &words[signal.first_word], static_cast<int>(signal.bits));
      }
    }
  }

  void dump(Femtoseconds at) {
    dumping = true;
    vcd->dump(std::uint64_t{at});
    dumping = false;
    last_dump = at;
    if (finished || output->bytes() + kBuffered < options.limit_bytes) return;
    limit_reached = true;
    finish();
  }

  // Ends the declarations and finds the variables of Verilated units among the definitions.
  void begin() {
    if (begun) return;
    begun = true;
    vcd->open(options.path.c_str());
    vcd->flush();
    std::vector<bool> wanted(end_code, false);  // by the writer's number
    bool all = true;
    VariableList list([&](const VcdVariable& variable) {
      if (variable.code >= wanted.size()) wanted.resize(variable.code + 1, false);
      const bool ours = variable.code >= first_code && variable.code < end_code;
      if (ours || filter.selects(variable.scope, variable.name)) {
        wanted[variable.code] = true;
        if (!ours) declared.push_back({variable.scope, variable.name, variable.bits, false, true});
      } else {
        all = false;
        left_out.push_back(variable.scope + "." + variable.name);
      }
    });
    VcdStream(list).write(file.kept());
    if (all) return;
    selector.emplace(
        [this](const VcdVariable& variable) {
          const bool ours = variable.code >= first_code && variable.code < end_code;
          return ours || filter.selects(variable.scope, variable.name);
        },
        *output);
  }

  // The first dump makes the file.
  void start() {
    started = true;
    first_dump = std::max(time, options.from);
    begin();
    file.pass_on([this](std::string_view text) {
      if (selector) {
        selector->write(text);
      } else {
        output->write(text);
      }
    });
    crash_flush.emplace(
        [](void* self) {
          Impl& wave = *static_cast<Impl*>(self);
          if (!wave.dumping && wave.has_changes() && wave.time > wave.last_dump) wave.dump(wave.time);
          wave.vcd->flush();
          wave.output->abandon();
        },
        this);
  }

  bool has_changes() const { return evaluated || !dirty.empty(); }

  void clear_dirty() {
    for (const SignalId id : dirty) signals[id].dirty = false;
    dirty.clear();
    evaluated = false;
  }

  // Writes the values of `time`, which are complete. `later` (> time) is when the next ones come.
  void settle(Femtoseconds later) {
    begin();
    if (!finished) {
      if (!started && later > options.from && time <= options.to) {
        start();
        dump(std::max(time, options.from));
      } else if (started && has_changes() && time > last_dump) {
        dump(time);
      }
      // What is known now holds up to the end of the window; Verilated units show no other time than the present.
      if (!finished && started && later > options.to) {
        if (options.to > last_dump) dump(options.to);
        finish();
      }
    }
    clear_dirty();
  }

  void move_to(Femtoseconds later) {
    if (later <= time) return;
    settle(later);
    time = later;
  }

  // The time of the next step of a process or change that was asked for.
  Femtoseconds next_step() const {
    Femtoseconds next = future.empty() ? kNever : future.top().time;
    for (const WaveProcess* process : processes) next = std::min(next, process->next());
    return next;
  }

  void step_at(Femtoseconds at) {
    stepping = true;
    for (WaveProcess* process : processes) {
      if (process->next() > at) continue;
      evaluated = true;
      process->step();
    }
    stepping = false;
    change_due();
  }

  // The changes asked for up to the present time.
  void change_due() {
    while (!future.empty() && future.top().time <= time) {
      const Future change = future.top();
      future.pop();
      if (change.text == kNumber) {
        set(change.signal, change.value);
      } else if (change.text == kSum) {
        set(change.signal, number_of(change.signal) + change.value);
      } else {
        set_text(change.signal, texts[change.text]);
        free_texts.push_back(change.text);
      }
    }
  }

  // Steps everything that is due before `until`.
  void run_steps(Femtoseconds until) {
    for (Femtoseconds next = next_step(); next < until && !finished; next = next_step()) {
      move_to(next);
      step_at(next);
    }
  }

  void advance_to_now() {
    if (stepping) return;
    const Femtoseconds now = options.now();
    if (now == time) return;
    AZULEJO_CHECK(now > time, "simulated time went backwards");
    run_steps(now);
    move_to(now);
  }

  // Of a number.
  std::uint64_t number_of(SignalId id) const {
    const std::uint32_t* const from = &words[signals[id].first_word];
    return from[0] | (signals[id].bits > 32 ? std::uint64_t{from[1]} << 32 : 0);
  }

  void set(SignalId id, std::uint64_t value) {
    const std::uint32_t bits = signals[id].bits;
    if (bits < 64) value &= (std::uint64_t{1} << bits) - 1;
    std::uint32_t* const to = &words[signals[id].first_word];
    const auto low = static_cast<std::uint32_t>(value);
    const auto high = static_cast<std::uint32_t>(value >> 32);
    if (to[0] == low && (bits <= 32 || to[1] == high)) return;
    to[0] = low;
    if (bits > 32) to[1] = high;
    mark_dirty(id);
  }

  // Right-justified with leading NULs, as Verilog stores a string in a vector.
  void set_text(SignalId id, std::string_view value) {
    const std::uint32_t characters = signals[id].bits / 8;
    std::uint32_t* const to = &words[signals[id].first_word];
    value = value.substr(0, characters);
    std::fill_n(to, (characters + 3) / 4, 0);
    for (std::size_t i = 0; i < value.size(); ++i) {
      const char c = value[i] >= ' ' && value[i] <= '~' ? value[i] : '?';
      const std::size_t byte = value.size() - 1 - i;
      to[byte / 4] |= static_cast<std::uint32_t>(static_cast<unsigned char>(c)) << (8 * (byte % 4));
    }
    mark_dirty(id);
  }

  void mark_dirty(SignalId id) {
    if (signals[id].dirty) return;
    signals[id].dirty = true;
    dirty.push_back(id);
  }

  void change_later(SignalId id, Femtoseconds at, std::uint32_t text, std::uint64_t value) {
    AZULEJO_CHECK(at >= options.now(), "a change is asked for in the past");
    future.push({at, order++, id, text, value});
  }

  std::uint32_t keep_text(std::string_view value) {
    if (free_texts.empty()) {
      texts.emplace_back();
      free_texts.push_back(static_cast<std::uint32_t>(texts.size() - 1));
    }
    const std::uint32_t index = free_texts.back();
    free_texts.pop_back();
    texts[index] = value;
    return index;
  }

  void finish() {
    if (finished) return;
    finished = true;
    crash_flush.reset();
    vcd->close();
    if (selector) selector->close();
    output->close();
  }

  void close() {
    if (closed) return;
    advance_to_now();
    run_steps(time + 1);
    closed = true;
    if (!started) {
      begin();
      if (time >= options.from) {
        start();
        dump(time);
      }
    } else if (!finished && time > last_dump) {
      dump(time);  // without a change too: the time axis ends with the simulation
    }
    clear_dirty();
    finish();
    if (!output->error().empty()) {
      throw OutputError(options.path + ": not completely written: " + output->error());
    }
  }

  const WaveOptions options;
  ScopeFilter filter;
  std::vector<WaveDeclaration> declared;
  std::vector<std::string> left_out;  // paths that are not selected
  std::unordered_set<std::string> paths;
  std::vector<Signal> signals;
  std::uint32_t first_code = 0, end_code = 0;  // of the writer's numbers, those of `signals`
  std::vector<std::uint32_t> words;            // the newest values
  std::vector<SignalId> dirty;                 // changed at `time`
  std::vector<WaveProcess*> processes;
  std::priority_queue<Future, std::vector<Future>, std::greater<>> future;
  std::vector<std::string> texts;  // of `future`
  std::vector<std::uint32_t> free_texts;
  std::uint64_t order = 0;
  Femtoseconds time = 0;
  Femtoseconds first_dump = 0;
  Femtoseconds last_dump = 0;
  bool begun = false;     // the declarations have ended
  bool started = false;   // the file is being written
  bool finished = false;  // the file is complete
  bool closed = false;
  bool limit_reached = false;
  bool stepping = false;
  bool dumping = false;
  bool evaluated = false;  // a Verilated unit was evaluated at `time`

  // In this order: the writer is destroyed before its file and its context.
  std::shared_ptr<WaveOutput> output;
  std::optional<VcdSelector> selector;
  VerilatedContext context;
  WriterFile file;
  std::unique_ptr<VerilatedVcdC> vcd;
  std::optional<CrashFlush> crash_flush;
};

WaveFile::WaveFile(WaveOptions options) {
  if (options.from > options.to) throw ConfigError(options.path + ": the time window ends before it begins");
  impl_ = std::make_unique<Impl>(std::move(options));
}

WaveFile::~WaveFile() {
  if (!impl_->started) return;
  try {
    impl_->close();
  } catch (const std::exception&) {  // whoever wants to know calls close()
  }
}

SignalId WaveFile::declare(std::string_view scope, std::string_view name, unsigned bits) {
  AZULEJO_CHECK(bits <= 64, "a signal has at most 64 bits");
  return impl_->declare(scope, name, bits, false);
}

SignalId WaveFile::declare_text(std::string_view scope, std::string_view name, unsigned characters) {
  return impl_->declare(scope, name, 8 * characters, true);
}

void WaveFile::change(SignalId signal, std::uint64_t value) {
  if (impl_->closed) return;
  impl_->advance_to_now();
  impl_->change_due();
  impl_->set(signal, value);
}

void WaveFile::change_text(SignalId signal, std::string_view value) {
  if (impl_->closed) return;
  impl_->advance_to_now();
  impl_->change_due();
  impl_->set_text(signal, value);
}

void WaveFile::change_at(SignalId signal, std::uint64_t value, Femtoseconds time) {
  if (!impl_->closed) impl_->change_later(signal, time, Impl::kNumber, value);
}

void WaveFile::change_text_at(SignalId signal, std::string_view value, Femtoseconds time) {
  if (!impl_->closed) impl_->change_later(signal, time, impl_->keep_text(value), 0);
}

void WaveFile::add_at(SignalId signal, std::int64_t difference, Femtoseconds time) {
  if (!impl_->closed) impl_->change_later(signal, time, Impl::kSum, static_cast<std::uint64_t>(difference));
}

void WaveFile::begin() { impl_->begin(); }

bool WaveFile::finished() const { return impl_->finished; }

const std::vector<WaveDeclaration>& WaveFile::declared() const { return impl_->declared; }

std::vector<std::string> WaveFile::unmatched_scopes() const { return impl_->filter.unmatched(); }

std::vector<std::string> WaveFile::known_paths() const {
  std::vector<std::string> paths = impl_->left_out;
  for (const WaveDeclaration& signal : impl_->declared) paths.push_back(signal.scope + "." + signal.name);
  return paths;
}

void WaveFile::flush() {
  if (impl_->closed || impl_->finished) return;
  impl_->advance_to_now();
  if (impl_->started) impl_->vcd->flush();
}

void WaveFile::close() { impl_->close(); }

WaveFile::Summary WaveFile::summary() const {
  Summary summary;
  summary.bytes = impl_->output->bytes();
  summary.signals = impl_->signals.size();
  summary.rtl_signals = impl_->declared.size() - impl_->signals.size();
  summary.first = impl_->first_dump;
  summary.last = impl_->last_dump;
  summary.started = impl_->started;
  summary.limit_reached = impl_->limit_reached;
  summary.error = impl_->output->error();
  return summary;
}

bool WaveFile::selects_unit(std::string_view path, bool by_default) {
  return impl_->filter.selects_unit(path, by_default);
}

VerilatedContext& WaveFile::context() { return impl_->context; }

VerilatedVcdC& WaveFile::writer() { return *impl_->vcd; }

void WaveFile::add(WaveProcess& process) { impl_->processes.push_back(&process); }

void WaveFile::remove(WaveProcess& process) {
  auto& processes = impl_->processes;
  processes.erase(std::remove(processes.begin(), processes.end(), &process), processes.end());
}

}  // namespace azulejo
