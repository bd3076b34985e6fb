// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "tlm/wave/wave_output.h"

namespace azulejo {
namespace {

class VcdOutput final : public WaveOutput {
 public:
  explicit VcdOutput(std::string path) : path_(std::move(path)) {}

  ~VcdOutput() override { VcdOutput::close(); }

  void write(std::string_view text) override {
    if (descriptor_ < 0 && error_ == 0) {
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
      if (descriptor_ < 0) error_ = errno;
    }
    while (!text.empty() && error_ == 0) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written >= 0) {
        const std::string_view done = text.substr(0, static_cast<std::size_t>(written));
        const std::size_t line = done.rfind('\n');
        if (line != std::string_view::npos) complete_ = bytes_ + line + 1;
        bytes_ += done.size();
        text.remove_prefix(done.size());
      } else if (errno != EINTR) {
        error_ = errno;
        cut();
      }
    }
  }

  void close() override {
    if (descriptor_ >= 0 && ::close(descriptor_) != 0 && error_ == 0) error_ = errno;
    descriptor_ = -1;
  }

  std::uint64_t bytes() const override { return bytes_; }
  std::string error() const override { return error_ == 0 ? std::string() : std::generic_category().message(error_); }

 private:
  // A device or a pipe cannot be cut, and is left as it is.
  void cut() {
    if (::ftruncate(descriptor_, static_cast<off_t>(complete_)) == 0) bytes_ = complete_;
  }

  const std::string path_;
  int descriptor_ = -1;
  int error_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t complete_ = 0;  // up to the last end of a line
};

}  // namespace

std::unique_ptr<WaveOutput> make_vcd_output(const std::string& path) { return std::make_unique<VcdOutput>(path); }

}  // namespace azulejo
