// SPDX-License-Identifier: Apache-2.0
#include "tlm/wave/wave_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <verilated.h>
#include <verilated_vcd_c.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <unordered_set>

#include "tlm/common/check.h"
#include "tlm/common/error.h"
#include "tlm/common/output_file.h"
#include "tlm/wave/scope_filter.h"

namespace azulejo {
namespace {

// Verilator's own file class ends the program when a write fails and spins on a pipe that is full.
class VcdFile final : public VerilatedVcdFile {
 public:
  bool open(const std::string& name) override {
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) error_ = errno;
    return descriptor_ >= 0;
  }

  void close() override {
    if (descriptor_ >= 0 && ::close(descriptor_) != 0 && error_ == 0) error_ = errno;
    descriptor_ = -1;
  }

  ssize_t write(const char* data, ssize_t size) override {
    for (ssize_t done = 0; done < size && error_ == 0;) {
      const ssize_t written = ::write(descriptor_, data + done, static_cast<std::size_t>(size - done));
      if (written >= 0) {
        done += written;
      } else if (errno != EINTR) {
        error_ = errno;  // reported by WaveFile::close()
      }
    }
    return size;
  }

  int error() const { return error_; }

 private:
  int descriptor_ = -1;
  int error_ = 0;
};

// A name that is one word in a VCD.
std::string vcd_word(std::string_view name, bool keep_dots) {
  std::string word(name);
  for (char& c : word) {
    if (c == '.' && !keep_dots)
      c = ' ';  // the writer's separator of scopes
    else if (c <= ' ' || c > '~')
      c = '_';
  }
  return word;
}

}  // namespace

struct WaveFile::Impl {
  struct Signal {
    std::uint32_t first_word;  // of `words`, least significant first
    std::uint32_t bits;
    std::uint32_t code;  // the writer's number for it
    bool dirty;
  };

  explicit Impl(WaveOptions given) : options(std::move(given)), filter(options.scopes), vcd(make_vcd()) {
    using Vcd = VerilatedVcd;
    vcd->spTrace()->addInitCb(
        [](void* self, Vcd* trace, std::uint32_t code) { static_cast<Impl*>(self)->init(*trace, code); }, this);
    vcd->spTrace()->addFullCb([](void* self, Vcd::Buffer* buffer) { static_cast<Impl*>(self)->dump_all(*buffer); },
                              this);
    vcd->spTrace()->addChgCb([](void* self, Vcd::Buffer* buffer) { static_cast<Impl*>(self)->dump_dirty(*buffer); },
                             this);
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
    if (!filter.selects(scope, name)) return kNoSignal;
    AZULEJO_CHECK(paths.insert(vcd_word(scope, false) + '\t' + vcd_word(name, true)).second,
                  "two signals have the same path");
    const auto first_word = static_cast<std::uint32_t>(words.size());
    words.resize(words.size() + (bits + 31) / 32, 0);
    signals.push_back({first_word, bits, 0, false});
    declared.push_back({std::string(scope), std::string(name), bits, text});
    return static_cast<SignalId>(signals.size() - 1);
  }

  // The writer's callbacks.
  void init(VerilatedVcd& trace, std::uint32_t code) {
    trace.scopeEscape(' ');  // a dot in a signal's own name is no scope
    for (std::size_t i = 0; i < signals.size(); ++i) {
      Signal& signal = signals[i];
      signal.code = code;
      code += (signal.bits + 31) / 32;
      trace.pushNamePrefix(vcd_word(declared[i].scope.empty() ? "top" : declared[i].scope, false) + ' ');
      const std::string name = vcd_word(declared[i].name, true);
      if (signal.bits == 1) {
        trace.declBit(signal.code, name.c_str(), false, -1);
      } else {
        trace.declArray(signal.code, name.c_str(), false, -1, static_cast<int>(signal.bits) - 1, 0);
      }
      trace.popNamePrefix();
    }
    trace.scopeEscape('.');  // the writer's default
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
    vcd->dump(std::uint64_t{at});
    last_dump = at;
  }

  void open() {
    begun = true;
    vcd->open(options.path.c_str());
    if (!vcd->isOpen()) {
      throw OutputError(options.path +
                        ": cannot be opened for writing: " + std::generic_category().message(file.error()));
    }
  }

  bool has_changes() const { return evaluated || !dirty.empty(); }

  void clear_dirty() {
    for (const SignalId id : dirty) signals[id].dirty = false;
    dirty.clear();
    evaluated = false;
  }

  // Writes the values of `time`, which are complete. `later` (> time) is when the next ones come.
  void settle(Femtoseconds later) {
    if (!begun && later > options.from) {
      open();
      dump(std::max(time, options.from));
    } else if (begun && has_changes() && time <= options.to && time > last_dump) {
      dump(time);
    }
    clear_dirty();
  }

  void advance_to_now() {
    const Femtoseconds now = options.now();
    if (now == time) return;
    AZULEJO_CHECK(now > time, "simulated time went backwards");
    settle(now);
    time = now;
  }

  void mark_dirty(SignalId id) {
    if (signals[id].dirty) return;
    signals[id].dirty = true;
    dirty.push_back(id);
  }

  void close() {
    if (closed) return;
    advance_to_now();
    closed = true;
    if (!begun) {
      open();
      if (time >= options.from) dump(time);
    } else if (std::min(time, options.to) > last_dump) {
      if (time > options.to) clear_dirty();
      dump(std::min(time, options.to));  // without a change too: the time axis ends with the simulation
    }
    clear_dirty();
    vcd->close();
    if (file.error() != 0) {
      throw OutputError(options.path + ": not completely written: " + std::generic_category().message(file.error()));
    }
  }

  const WaveOptions options;
  ScopeFilter filter;
  std::vector<WaveDeclaration> declared;
  std::unordered_set<std::string> paths;
  std::vector<Signal> signals;
  std::vector<std::uint32_t> words;  // the newest values
  std::vector<SignalId> dirty;       // changed at `time`
  Femtoseconds time = 0;
  Femtoseconds last_dump = 0;
  bool begun = false;
  bool closed = false;
  bool evaluated = false;  // a Verilated model was evaluated at `time`

  // In this order: the writer is destroyed before its file and its context.
  VerilatedContext context;
  VcdFile file;
  std::unique_ptr<VerilatedVcdC> vcd;
};

WaveFile::WaveFile(WaveOptions options) {
  if (options.from > options.to) throw ConfigError(options.path + ": the time window ends before it begins");
  check_writable(options.path);
  impl_ = std::make_unique<Impl>(std::move(options));
}

WaveFile::~WaveFile() {
  if (!impl_->begun) return;
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
  Impl& wave = *impl_;
  if (wave.closed) return;
  wave.advance_to_now();
  const std::uint32_t bits = wave.signals[signal].bits;
  if (bits < 64) value &= (std::uint64_t{1} << bits) - 1;
  std::uint32_t* const words = &wave.words[wave.signals[signal].first_word];
  const auto low = static_cast<std::uint32_t>(value);
  const auto high = static_cast<std::uint32_t>(value >> 32);
  if (words[0] == low && (bits <= 32 || words[1] == high)) return;
  words[0] = low;
  if (bits > 32) words[1] = high;
  wave.mark_dirty(signal);
}

void WaveFile::change_text(SignalId signal, std::string_view value) {
  Impl& wave = *impl_;
  if (wave.closed) return;
  wave.advance_to_now();
  const std::uint32_t characters = wave.signals[signal].bits / 8;
  std::uint32_t* const words = &wave.words[wave.signals[signal].first_word];
  value = value.substr(0, characters);
  // Right-justified with leading NULs, as Verilog stores a string in a vector.
  std::fill_n(words, (characters + 3) / 4, 0);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i] >= ' ' && value[i] <= '~' ? value[i] : '?';
    const std::size_t byte = value.size() - 1 - i;
    words[byte / 4] |= static_cast<std::uint32_t>(static_cast<unsigned char>(c)) << (8 * (byte % 4));
  }
  wave.mark_dirty(signal);
}

const std::vector<WaveDeclaration>& WaveFile::declared() const { return impl_->declared; }

std::vector<std::string> WaveFile::unmatched_scopes() const { return impl_->filter.unmatched(); }

void WaveFile::flush() {
  if (impl_->closed) return;
  impl_->advance_to_now();
  if (impl_->begun) impl_->vcd->flush();
}

void WaveFile::close() { impl_->close(); }

VerilatedContext& WaveFile::context() { return impl_->context; }

VerilatedVcdC& WaveFile::writer() { return *impl_->vcd; }

void WaveFile::before_evaluation() {
  if (impl_->closed) return;
  impl_->advance_to_now();
  impl_->evaluated = true;
}

}  // namespace azulejo
