// SPDX-License-Identifier: Apache-2.0
// Writes a timeline in the Trace Event Format (JSON), which Perfetto and chrome://tracing open: a process per core,
// chip or other group of parts, a thread per track. Source: "Trace Event Format", the document that Perfetto and
// Chromium refer to; events `X`, `C` and `M`.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tlm/common/trace_sink.h"

namespace azulejo {

// Splits a hierarchical name into the process and the thread that show it: at the core ("chip0.nc1" / "tensor_engine"),
// else at the last chip ("board0.chip3" / "hbm.channel2"), else after the first component ("fabric" / "link7").
std::pair<std::string, std::string> process_and_thread(std::string_view path);

// Times are written in microseconds with nine decimals, which is exact. Events go to a temporary file beside `path`,
// which close() completes and moves there: the path never shows half a trace. Without close() nothing is left.
class TraceFile : public TraceSink {
 public:
  // Throws ConfigError if the path cannot be written.
  explicit TraceFile(std::string path);
  ~TraceFile() override;

  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  bool enabled() const override { return true; }

  // Tracks of one process are shown engines first, then queues, channels, links and others, each as declared.
  TrackId track(std::string_view path, std::string_view kind) override;

  // REQUIRES: a declared track, start <= end.
  void span(TrackId track, std::string_view name, Femtoseconds start, Femtoseconds end, std::string_view detail,
            std::string_view cause) override;
  void counter(TrackId track, std::string_view name, Femtoseconds time, double value) override;

  std::uint64_t events() const { return events_; }

  // Later events are ignored. Throws OutputError if the file could not be written completely.
  void close();

 private:
  struct Track {
    int process;
    std::string thread;
    std::string kind;
  };

  void begin_event();
  void append_time(std::string_view key, Femtoseconds time);
  void append_string(std::string_view text);  // quoted and escaped
  void append(std::string_view text) { buffer_.append(text.data(), text.data() + text.size()); }
  void write_out();

  std::string path_;
  std::string temporary_;  // empty: `path_` itself is written (it is no regular file, such as /dev/stdout)
  std::FILE* file_ = nullptr;
  int error_ = 0;  // errno of the first failed write
  fmt::memory_buffer buffer_;
  std::map<std::string, int> processes_;  // name to pid
  std::vector<Track> tracks_;
  std::uint64_t events_ = 0;
  bool first_ = true;
};

}  // namespace azulejo
