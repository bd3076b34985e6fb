// SPDX-License-Identifier: Apache-2.0
// A whole platform from its configuration: host and chips, bound in the order of the data path.
#pragma once

#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "platforms/builder/twins.h"
#include "platforms/config/platform_config.h"
#include "tlm/chiplet/chip.h"
#include "tlm/host/host.h"

namespace azulejo {

struct PlatformOptions {
  bool keep_data = true;      // false: --data none
  std::uint64_t seed = 0;     // of every random source
  PsumBitFlip psum_bit_flip;  // injected into every tensor engine
  bool transactions = false;  // the wave shows those at the sockets (TransactionProbe); costs time
  TwinOptions twins;          // of units in RTL; without data none is loaded, as nothing would enter it
};

// Not a module itself: its chips are at the top of the hierarchy, so that their names are those that users address
// ("chip0.nc0.tensor_engine").
class Platform {
 public:
  // REQUIRES: validate(config) is empty; one platform per process (SystemC elaborates once). Throws ConfigError: see
  // Twins.
  Platform(const PlatformConfig& config, const PlatformOptions& options);

  const PlatformConfig& config() const { return config_; }
  std::size_t chips() const { return chips_.size(); }
  Chip& chip(std::size_t index) { return *chips_[index]; }
  const Chip& chip(std::size_t index) const { return *chips_[index]; }
  // Core `index` counted over all chips.
  NeuronCore& core(std::size_t index) { return *cores_[index]; }
  std::size_t cores() const { return cores_.size(); }

  const Twins& twins() const { return twins_; }
  bool keeps_data() const { return keeps_data_; }
  // Every core with a program has run it to its end.
  bool finished() const;
  std::vector<std::string> waiting_for() const;
  void attach(const Instruments& instruments);
  void finish_account(Femtoseconds end);

  Host host{"host"};

 private:
  Platform(const PlatformConfig& config, const PlatformOptions& options, const std::vector<CorePlace>& places);

  const PlatformConfig config_;
  const bool keeps_data_;
  Twins twins_;  // what the engines contain of it refers to it
  std::vector<std::unique_ptr<Chip>> chips_;
  std::vector<NeuronCore*> cores_;
};

}  // namespace azulejo
