// SPDX-License-Identifier: Apache-2.0
// What makes a platform unbuildable, with the key at fault kept apart so that the reader of a file can add its place.
#pragma once

#include <vector>

#include "platforms/config/platform_config.h"
#include "tlm/common/config_reader.h"

namespace azulejo {

// Those of overrides carry the override's place, those of types none.
std::vector<ConfigProblem> check_platform(const PlatformConfig& config);

}  // namespace azulejo
