// SPDX-License-Identifier: Apache-2.0
// --rtl pe=DIR[:TOP]: where a PE of one's own is.
#pragma once

#include <string>
#include <vector>

namespace azulejo::cli {

struct PeSources {
  std::string directory;  // absolute, since a reproducer holds it and is replayed from anywhere; empty after a problem
  std::string top = "pe";
};

PeSources read_pe_sources(const std::string& text, std::vector<std::string>& problems);

}  // namespace azulejo::cli
