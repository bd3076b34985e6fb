// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/pe_sources.h"

#include <fmt/format.h>

#include <filesystem>

#include "tlm/isa/text.h"

namespace azulejo::cli {

PeSources read_pe_sources(const std::string& text, std::vector<std::string>& problems) {
  PeSources sources;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || text.substr(0, equals) != "pe") {
    problems.push_back(fmt::format(
        "--rtl: {} is not of the form pe=DIR or pe=DIR:TOP, DIR with the SystemVerilog of a PE", quote_word(text)));
    return sources;
  }
  std::string directory = text.substr(equals + 1);
  const std::size_t colon = directory.rfind(':');
  if (colon != std::string::npos) {
    sources.top = directory.substr(colon + 1);
    directory.resize(colon);
  }
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored)) {
    problems.push_back(
        fmt::format("--rtl: {} is no directory; give the one with the SystemVerilog of the PE", quote_word(directory)));
    return sources;
  }
  sources.directory = std::filesystem::absolute(directory, ignored).lexically_normal().string();
  return sources;
}

}  // namespace azulejo::cli
