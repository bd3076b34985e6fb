// SPDX-License-Identifier: Apache-2.0
#include "tlm/hbm/config.h"

#include "tlm/common/error.h"
#include "tlm/common/units.h"

namespace azulejo {

namespace {

constexpr std::uint64_t kMinAccess = 8;
constexpr std::uint64_t kMaxAccess = 4096;
constexpr std::uint64_t kMaxCapacity = 1ULL << 50;

}  // namespace

std::vector<std::string> validate(const HbmConfig& config) {
  std::vector<std::string> problems;
  check_range(problems, "capacity", Quantity::Size, config.capacity, 1, kMaxCapacity);
  check_range(problems, "bandwidth", Quantity::Bandwidth, config.bandwidth, 1, kMaxBandwidth);
  check_range(problems, "access_size", Quantity::Size, config.access_size, kMinAccess, kMaxAccess);
  check_range(problems, "latency", Quantity::Time, config.latency, 0, kMaxLatency);
  if ((config.access_size & (config.access_size - 1)) != 0) {
    problems.push_back("access_size: " + format_quantity(Quantity::Size, config.access_size) +
                       " is not a power of two");
  } else if (config.access_size != 0 && config.capacity % config.access_size != 0) {
    problems.push_back("capacity: " + format_quantity(Quantity::Size, config.capacity) + " is not a multiple of the " +
                       format_quantity(Quantity::Size, config.access_size) + " access_size");
  }
  return problems;
}

}  // namespace azulejo
