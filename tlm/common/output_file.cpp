// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "tlm/common/error.h"

namespace azulejo {

namespace {

namespace fs = std::filesystem;

std::string reason(int error) { return std::generic_category().message(error); }

// The file itself where `path` is a symbolic link, even one to a file that does not exist yet.
std::string follow_links(const std::string& path) {
  fs::path target = path;
  for (int i = 0; i < 32; ++i) {
    std::error_code error;
    const fs::path next = fs::read_symlink(target, error);
    if (error) break;
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return target.string();
}

// A device, a pipe or a socket: something that must not be replaced by a file.
bool is_special(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

// Unique among the processes and threads that write beside `path`.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return path + ".tmp" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
}

int open_new(const std::string& path) { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }

// 0, or errno.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

int write_and_close(int file, std::string_view bytes) {
  const int error = write_all(file, bytes);
  const int close_error = ::close(file) == 0 ? 0 : errno;
  return error != 0 ? error : close_error;
}

[[noreturn]] void fail(const std::string& path, int error) {
  throw OutputError(path + ": cannot be written: " + reason(error));
}

}  // namespace

void check_writable(const std::string& path) {
  if (path.empty()) throw ConfigError("an empty name is given for an output file");
  const std::string target = follow_links(path);
  std::error_code ignored;
  if (fs::is_directory(target, ignored) || path.back() == '/') {
    throw ConfigError(path + ": is a directory; a file name is expected, such as " + (fs::path(path) / "out").string());
  }
  if (is_special(target)) {
    if (::access(target.c_str(), W_OK) != 0) throw ConfigError(path + ": cannot be written: " + reason(errno));
    return;
  }
  const fs::path directory = fs::path(target).parent_path();
  if (!directory.empty() && !fs::is_directory(directory, ignored)) {
    throw ConfigError(path + ": there is no directory " + directory.string() + "; create it first (mkdir -p)");
  }
  if (fs::exists(target, ignored) && ::access(target.c_str(), W_OK) != 0) {
    throw ConfigError(path + ": cannot be written: " + reason(errno));
  }
  const std::string temporary = temporary_name(target);
  const int file = open_new(temporary);
  if (file < 0) throw ConfigError(path + ": cannot be written: " + reason(errno));
  ::close(file);
  ::unlink(temporary.c_str());
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  const std::string target = follow_links(path);
  if (is_special(target)) {
    const int file = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) fail(path, errno);
    if (const int error = write_and_close(file, bytes)) fail(path, error);
    return;
  }
  const std::string temporary = temporary_name(target);
  const int file = open_new(temporary);
  if (file < 0) fail(path, errno);
  struct stat present {};
  if (::stat(target.c_str(), &present) == 0) {
    // Best effort: a file system without permissions is no reason to fail.
    if (::fchmod(file, present.st_mode & 07777U) != 0) errno = 0;
  }
  int error = write_and_close(file, bytes);
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail(path, error);
  }
}

}  // namespace azulejo
