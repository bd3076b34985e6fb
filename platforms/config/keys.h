// SPDX-License-Identifier: Apache-2.0
// The keys of a struct as a table, and what a person's short form of one means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "platforms/config/platform_config.h"

namespace azulejo {

struct KeyTable {
  std::vector<KeyInfo> leaves;      // in the order of the description
  std::vector<std::string> groups;  // paths of maps of keys
};

const KeyTable& platform_keys();     // from the platform down: "chip.hbm.bandwidth"
const KeyTable& neuron_core_keys();  // below one core: "tensor_engine.clock"
const KeyTable& hbm_keys();          // below one stack: "bandwidth"

struct ResolvedKey {
  std::string path;  // empty if there is an error
  std::string error;
};

// The one leaf that is `key` or ends in ".key".
ResolvedKey resolve_key(const KeyTable& keys, std::string_view key);

}  // namespace azulejo
