// SPDX-License-Identifier: Apache-2.0
// An FST file of the parts of VCD text, by GTKWave's own writer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tlm/wave/vcd_stream.h"

namespace azulejo {

class FstWriter : public VcdHandler {
 public:
  // Throws OutputError if the file cannot be made.
  explicit FstWriter(const std::string& path);
  ~FstWriter() override;
  FstWriter(const FstWriter&) = delete;
  FstWriter& operator=(const FstWriter&) = delete;

  void scope_begins(std::string_view name) override;
  void scope_ends() override;
  void variable(const VcdVariable& variable) override;
  void time(std::uint64_t time) override;
  void value(std::uint32_t code, std::string_view bits) override;

  // Compresses what is in memory and writes it, with the next change of time.
  void flush();
  // Of what is written and, at most, of what is in memory.
  std::uint64_t bytes() const;
  void close();

 private:
  void emit_time();

  void* context_;
  std::uint64_t time_ = 0;              // the newest
  bool time_pending_ = false;           // not written: no value changed at it so far
  bool values_pending_ = false;         // since the last flush
  std::vector<std::uint32_t> handles_;  // by code; 0: none
  std::vector<std::uint32_t> bits_;     // by code
  std::string path_;
};

}  // namespace azulejo
