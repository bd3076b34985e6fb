// SPDX-License-Identifier: Apache-2.0
// Files that a run writes: found writable before the simulation starts, and never left half written.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace azulejo {

// Output that could not be completed, such as on a full disk: not the configuration's fault.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws ConfigError, with what to do about it, if a file could not be written at `path` now. Changes nothing there.
void check_writable(const std::string& path);

// Writes a temporary file beside `path` and renames it, so that `path` holds its old or its new content, never part of
// it. Permissions of an existing file are kept, a symbolic link is followed. Devices and pipes are written directly.
// Throws OutputError.
void write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace azulejo
