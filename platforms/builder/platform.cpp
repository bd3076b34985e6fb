// SPDX-License-Identifier: Apache-2.0
#include "platforms/builder/platform.h"

#include <fmt/format.h>

#include <algorithm>

namespace azulejo {
namespace {

// All cores, chip after chip.
std::vector<CorePlace> core_places(const PlatformConfig& config, std::uint64_t seed) {
  std::vector<CorePlace> cores;
  for (std::uint32_t c = 0; c < config.chips; ++c) {
    for (std::uint32_t i = 0; i < config.chip.cores; ++i) {
      cores.push_back({fmt::format("chip{}.nc{}", c, i), core_config(config, c, i)});
      // Every core draws other random numbers; the same platform and seed draw the same.
      cores.back().config.vector_engine.seed = seed + (std::uint64_t{c} << 32) + i;
    }
  }
  return cores;
}

}  // namespace

Platform::Platform(const PlatformConfig& config, const PlatformOptions& options)
    : Platform(config, options, core_places(config, options.seed)) {}

Platform::Platform(const PlatformConfig& config, const PlatformOptions& options, const std::vector<CorePlace>& places)
    : config_(config),
      keeps_data_(options.keep_data),
      twins_(options.keep_data ? places : std::vector<CorePlace>{}, options.twins) {
  for (std::uint32_t c = 0; c < config.chips; ++c) {
    std::vector<NeuronCoreConfig> cores;
    for (std::uint32_t i = 0; i < config.chip.cores; ++i) cores.push_back(places[c * config.chip.cores + i].config);
    std::vector<HbmConfig> stacks;
    for (std::uint32_t i = 0; i < config.chip.hbm_stacks; ++i) stacks.push_back(hbm_config(config, c, i));
    chips_.push_back(std::make_unique<Chip>(fmt::format("chip{}", c).c_str(), cores, stacks, options.keep_data,
                                            options.transactions));
    Chip& chip = *chips_.back();
    host.memory_initiator.bind(chip.interconnect.target);
    for (std::size_t i = 0; i < chip.cores(); ++i) {
      host.program_initiator.bind(chip.core(i).instr_target);
      chip.core(i).tensor_engine.inject(options.psum_bit_flip);
      if (options.keep_data) twins_.install(cores_.size(), chip.core(i));
      cores_.push_back(&chip.core(i));
    }
  }
}

bool Platform::finished() const {
  return std::all_of(cores_.begin(), cores_.end(), [](const NeuronCore* core) { return core->finished(); });
}

std::vector<std::string> Platform::waiting_for() const {
  std::vector<std::string> lines;
  for (const NeuronCore* core : cores_) {
    for (std::string& line : core->waiting_for()) lines.push_back(std::move(line));
  }
  return lines;
}

void Platform::attach(const Instruments& instruments) {
  for (auto& chip : chips_) chip->attach(instruments);
}

void Platform::finish_account(Femtoseconds end) {
  for (auto& chip : chips_) chip->finish_account(end);
}

}  // namespace azulejo
