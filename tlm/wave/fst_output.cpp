// SPDX-License-Identifier: Apache-2.0
#include "tlm/wave/fst_output.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <optional>
#include <system_error>
#include <vector>

#include "tlm/common/output_file.h"
#include "tlm/wave/fst_writer.h"

namespace azulejo {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  // of text, that crosses to the other process at once
// Text that is compressed together: more makes the file smaller, less makes more of it readable while it grows.
constexpr std::uint64_t kLeastBlock = std::uint64_t{1} << 18;
constexpr std::uint64_t kMostBlock = std::uint64_t{1} << 25;
constexpr std::uint64_t kRoom = 256 << 10;  // that completing the file takes besides the names of its signals

// What both processes see.
struct Shared {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<bool> stopped{false};
  char error[256] = {};  // set before `stopped`
};

[[noreturn]] void fail(const std::string& path) {
  throw OutputError(path + ": cannot be written: " + std::generic_category().message(errno));
}

// The process that converts.
class Converter {
 public:
  Converter(const std::string& path, std::uint64_t block, int socket, Shared& shared)
      : path_(path), block_(block), socket_(socket), shared_(shared) {}

  // Until the other end of the socket closes.
  void run() {
    std::vector<char> piece(kPiece);
    while (true) {
      const ssize_t size = ::read(socket_, piece.data(), piece.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      convert({piece.data(), static_cast<std::size_t>(size)});
    }
    if (writer_) writer_->close();
    if (writer_) shared_.bytes = writer_->bytes();
  }

 private:
  // Counts the names, which FST keeps for the end.
  class Definitions : public FstWriter {
   public:
    using FstWriter::FstWriter;
    void definitions_end() override { defined = true; }
    bool defined = false;
  };

  void convert(std::string_view text) {
    if (!writer_) {
      writer_.emplace(path_);
      stream_.emplace(*writer_);
    }
    if (!writer_->defined) names_ += text.size();
    make_room(text.size());
    stream_->write(text);
    pending_ += text.size();
    if (pending_ >= block_) flush();
    shared_.bytes = writer_->bytes();
  }

  void flush() {
    writer_->flush();
    pending_ = 0;
  }

  // FST's writer does not notice that a write fails, so the file is completed while there is room for it: what is in
  // memory takes no more in the file than it did as text.
  void make_room(std::uint64_t more) {
    const std::uint64_t needed = names_ + kRoom + more;
    if (room() >= pending_ + needed) return;
    if (pending_ > kRoom) {
      flush();
      stream_->write("");  // it is written with the next change of time
      if (room() >= kRoom + needed) return;
    }
    writer_->close();
    if (!writer_->defined) ::unlink(path_.c_str());  // no reader opens a file without names
    throw std::system_error(ENOSPC, std::generic_category());
  }

  std::uint64_t room() const {
    std::uint64_t room = UINT64_MAX;
    struct statvfs disk {};
    if (::statvfs(path_.c_str(), &disk) == 0) room = std::uint64_t{disk.f_bavail} * disk.f_frsize;
    struct rlimit limit {};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
      const std::uint64_t size = writer_->bytes();
      room = std::min(room, limit.rlim_cur > size ? limit.rlim_cur - size : 0);
    }
    return room;
  }

  const std::string path_;
  const std::uint64_t block_;
  const int socket_;
  Shared& shared_;
  std::optional<Definitions> writer_;
  std::optional<VcdStream> stream_;
  std::uint64_t names_ = 0;    // bytes of the definitions as text
  std::uint64_t pending_ = 0;  // of text, in memory
};

[[noreturn]] void run_converter(const std::string& path, std::uint64_t block, int socket, Shared& shared) {
  // It outlives what ends this program, and keeps none of its files open.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGALRM}) std::signal(signal, SIG_DFL);
  ::setsid();
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (int standard = 0; standard <= 2; ++standard) ::dup2(nowhere, standard);
  ::dup2(socket, 3);
  ::close_range(4, ~0U, 0);
  std::string error;
  try {
    Converter(path, block, 3, shared).run();
  } catch (const std::system_error& failure) {
    error = failure.code().message();
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  if (!error.empty()) {
    error.resize(std::min(error.size(), sizeof shared.error - 1));
    std::memcpy(shared.error, error.data(), error.size());
    shared.stopped = true;
  }
  ::_exit(error.empty() ? 0 : 1);
}

class FstOutput final : public WaveOutput {
 public:
  FstOutput(const std::string& path, std::uint64_t block) : names_file_(path + ".hier") {
    void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail(path);
    shared_ = new (memory) Shared;
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) fail(path);
    const int size = kPiece;
    ::setsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    process_ = ::fork();
    if (process_ < 0) fail(path);
    if (process_ == 0) run_converter(path, block, sockets[1], *shared_);
    ::close(sockets[1]);
    socket_ = sockets[0];
  }

  ~FstOutput() override {
    FstOutput::close();
    ::munmap(shared_, sizeof(Shared));
  }

  void write(std::string_view text) override {
    while (!text.empty() && !shared_->stopped && !broken_) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        text.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno != EINTR) {
        broken_ = true;
      }
    }
  }

  void close() override {
    abandon();
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
    if (WIFSIGNALED(status_)) ::unlink(names_file_.c_str());  // where GTKWave's writer keeps the names meanwhile
  }

  // Only what a signal handler may do.
  void abandon() override {
    if (process_ <= 0) return;
    ::shutdown(socket_, SHUT_WR);
    while (::waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
  }

  std::uint64_t bytes() const override { return shared_->bytes; }

  std::string error() const override {
    if (shared_->stopped) return shared_->error;
    if (WIFSIGNALED(status_))
      return "the process that writes it was ended by signal " + std::to_string(WTERMSIG(status_));
    return broken_ ? "the process that writes it ended" : "";
  }

 private:
  const std::string names_file_;
  Shared* shared_ = nullptr;
  int socket_ = -1;
  pid_t process_ = -1;
  int status_ = 0;
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<WaveOutput> make_fst_output(const std::string& path, std::uint64_t limit_bytes) {
  return std::make_unique<FstOutput>(path, std::clamp(limit_bytes, kLeastBlock, kMostBlock));
}

}  // namespace azulejo
