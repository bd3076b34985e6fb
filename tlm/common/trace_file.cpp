// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/trace_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "tlm/common/check.h"
#include "tlm/common/error.h"
#include "tlm/common/output_file.h"

namespace azulejo {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

// "nc12" for "nc": the word and then digits only.
bool is_instance_of(std::string_view word, std::string_view component) {
  if (component.size() <= word.size() || component.substr(0, word.size()) != word) return false;
  return component.find_first_not_of("0123456789", word.size()) == std::string_view::npos;
}

int kind_rank(std::string_view kind) {
  constexpr std::array<std::string_view, 4> kOrder{"engine", "queue", "channel", "link"};
  int rank = 0;
  while (rank < static_cast<int>(kOrder.size()) && kOrder[static_cast<std::size_t>(rank)] != kind) ++rank;
  return rank;
}

// Bytes of the UTF-8 character at the start of `text`; 0: no well-formed one (RFC 3629, section 4).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!tail(1) || !tail(2) || (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3) || (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
      return 0;
    return 4;
  }
  return 0;
}

}  // namespace

std::pair<std::string, std::string> process_and_thread(std::string_view path) {
  std::size_t split = std::string_view::npos;  // length of the process's name
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string_view component = path.substr(begin, end - begin);
    if (is_instance_of("nc", component)) {
      split = end;
      break;
    }
    if (begin == 0 || is_instance_of("chip", component)) split = end;
    begin = end + 1;
  }
  const std::string process(path.substr(0, split));
  if (split >= path.size()) {  // the process itself: named by its last component
    return {process, std::string(path.substr(path.rfind('.') == std::string_view::npos ? 0 : path.rfind('.') + 1))};
  }
  return {process, std::string(path.substr(split + 1))};
}

TraceFile::TraceFile(std::string path) : path_(std::move(path)) {
  namespace fs = std::filesystem;
  check_writable(path_);
  const fs::file_status status = fs::status(path_);
  if (fs::is_regular_file(status)) path_ = fs::canonical(path_).string();  // a symbolic link stays one
  if (fs::is_regular_file(status) || !fs::exists(status)) temporary_ = fmt::format("{}.{}.part", path_, ::getpid());
  const std::string& opened = temporary_.empty() ? path_ : temporary_;
  file_ = std::fopen(opened.c_str(), "wbe");
  if (file_ == nullptr) throw ConfigError(opened + ": cannot be written: " + std::generic_category().message(errno));
  std::setvbuf(file_, nullptr, _IONBF, 0);  // buffer_ is the buffer
  append("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

TraceFile::~TraceFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

TrackId TraceFile::track(std::string_view path, std::string_view kind) {
  const auto id = static_cast<TrackId>(tracks_.size());
  auto [process, thread] = process_and_thread(path);
  const auto [entry, is_new] = processes_.try_emplace(process, static_cast<int>(processes_.size()) + 1);
  const int pid = entry->second;
  if (file_ != nullptr) {
    const auto metadata = [&](std::string_view what, bool of_thread, std::string_view key) {
      begin_event();
      append("{\"ph\":\"M\",\"name\":\"");
      append(what);
      fmt::format_to(std::back_inserter(buffer_), "\",\"pid\":{}", pid);
      if (of_thread) fmt::format_to(std::back_inserter(buffer_), ",\"tid\":{}", id + 1);
      append(",\"args\":{\"");
      append(key);
      append("\":");
    };
    if (is_new) {
      metadata("process_name", false, "name");
      append_string(process);
      append("}}");
      metadata("process_sort_index", false, "sort_index");
      fmt::format_to(std::back_inserter(buffer_), "{}}}}}", pid);
    }
    metadata("thread_name", true, "name");
    append_string(thread);
    append("}}");
    metadata("thread_sort_index", true, "sort_index");
    fmt::format_to(std::back_inserter(buffer_), "{}}}}}", std::int64_t{kind_rank(kind)} * 1'000'000 + id);
  }
  tracks_.push_back({pid, std::move(thread), std::string(kind)});
  return id;
}

void TraceFile::span(TrackId track, std::string_view name, Femtoseconds start, Femtoseconds end,
                     std::string_view detail, std::string_view cause) {
  if (file_ == nullptr) return;
  AZULEJO_CHECK(start <= end, "a span ends before it starts");
  const Track& of = tracks_[track];
  begin_event();
  fmt::format_to(std::back_inserter(buffer_), "{{\"ph\":\"X\",\"pid\":{},\"tid\":{}", of.process, track + 1);
  append_time("ts", start);
  append_time("dur", end - start);
  append(",\"name\":");
  append_string(name);
  append(",\"cat\":");
  append_string(of.kind);
  if (!detail.empty() || !cause.empty()) {
    append(",\"args\":{");
    if (!detail.empty()) {
      append("\"detail\":");
      append_string(detail);
    }
    if (!cause.empty()) {
      append(detail.empty() ? "\"cause\":" : ",\"cause\":");
      append_string(cause);
    }
    append("}");
  }
  append("}");
  ++events_;
}

void TraceFile::counter(TrackId track, std::string_view name, Femtoseconds time, double value) {
  if (file_ == nullptr) return;
  const Track& of = tracks_[track];
  begin_event();
  fmt::format_to(std::back_inserter(buffer_), "{{\"ph\":\"C\",\"pid\":{},\"tid\":{}", of.process, track + 1);
  append_time("ts", time);
  append(",\"name\":");
  append_string(of.thread + ' ' + std::string(name));  // viewers tell counters of one process apart by name
  append(",\"args\":{\"value\":");
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(buffer_), "{}", value);
  } else {
    append("null");
  }
  append("}}");
  ++events_;
}

void TraceFile::close() {
  if (file_ == nullptr) return;
  append("\n]}\n");
  write_out();
  if (std::fclose(file_) != 0 && error_ == 0) error_ = errno;
  file_ = nullptr;
  if (error_ == 0 && !temporary_.empty() && std::rename(temporary_.c_str(), path_.c_str()) != 0) error_ = errno;
  if (error_ == 0) return;
  if (!temporary_.empty()) std::remove(temporary_.c_str());
  throw OutputError(path_ + ": not written: " + std::generic_category().message(error_));
}

void TraceFile::begin_event() {
  if (buffer_.size() >= kBufferBytes) write_out();
  append(first_ ? "\n" : ",\n");
  first_ = false;
}

void TraceFile::append_time(std::string_view key, Femtoseconds time) {
  fmt::format_to(std::back_inserter(buffer_), ",\"{}\":{}.{:09}", key, time / kFsPerMicrosecond,
                 time % kFsPerMicrosecond);
}

void TraceFile::append_string(std::string_view text) {
  buffer_.push_back('"');
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && text[plain] >= ' ' && text[plain] <= '~' && text[plain] != '"' && text[plain] != '\\')
      ++plain;
    append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      append("\\ufffd");  // the replacement character
    } else if (c == '"' || c == '\\') {
      buffer_.push_back('\\');
      buffer_.push_back(c);
    } else if (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)) {
      fmt::format_to(std::back_inserter(buffer_), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  buffer_.push_back('"');
}

void TraceFile::write_out() {
  if (error_ == 0 && std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size()) error_ = errno;
  buffer_.clear();
}

}  // namespace azulejo
