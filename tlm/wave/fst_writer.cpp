// SPDX-License-Identifier: Apache-2.0
#include "tlm/wave/fst_writer.h"

#include <gtkwave/fstapi.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "tlm/common/output_file.h"

namespace azulejo {

FstWriter::FstWriter(const std::string& path) : context_(fstWriterCreate(path.c_str(), 1)), path_(path) {
  if (context_ == nullptr) {
    throw OutputError(path + ": cannot be opened for writing: " + std::generic_category().message(errno));
  }
  fstWriterSetTimescale(context_, -15);
  fstWriterSetPackType(context_, FST_WR_PT_LZ4);
  fstWriterSetVersion(context_, "azulejo");
  fstWriterSetDate(context_, "");  // the same run makes the same file
}

FstWriter::~FstWriter() { close(); }

void FstWriter::scope_begins(std::string_view name) {
  fstWriterSetScope(context_, FST_ST_VCD_MODULE, std::string(name).c_str(), nullptr);
}

void FstWriter::scope_ends() { fstWriterSetUpscope(context_); }

void FstWriter::variable(const VcdVariable& variable) {
  if (handles_.size() <= variable.code) {
    handles_.resize(variable.code + 1, 0);
    bits_.resize(variable.code + 1, 0);
  }
  std::uint32_t& handle = handles_[variable.code];
  const std::string name = variable.range.empty() ? variable.name : variable.name + " " + variable.range;
  const fstHandle made =
      fstWriterCreateVar(context_, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, variable.bits, name.c_str(), handle);
  if (handle == 0) handle = made;
  bits_[variable.code] = variable.bits;
}

void FstWriter::time(std::uint64_t time) {
  time_ = time;
  time_pending_ = true;
}

// GTKWave's writer gets the times wrong when it flushes without a change of a value.
void FstWriter::emit_time() {
  if (time_pending_) fstWriterEmitTimeChange(context_, time_);
  time_pending_ = false;
}

void FstWriter::value(std::uint32_t code, std::string_view bits) {
  if (code >= handles_.size() || handles_[code] == 0 || bits.size() != bits_[code]) return;
  emit_time();
  fstWriterEmitValueChange(context_, handles_[code], bits.data());
  values_pending_ = true;
}

void FstWriter::flush() {
  if (values_pending_) fstWriterFlushContext(context_);
  values_pending_ = false;
}

std::uint64_t FstWriter::bytes() const {
  struct stat status {};
  return ::stat(path_.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

void FstWriter::close() {
  if (context_ == nullptr) return;
  if (values_pending_) emit_time();  // the end of the time axis
  fstWriterClose(context_);
  context_ = nullptr;
}

}  // namespace azulejo
