// SPDX-License-Identifier: Apache-2.0
// Address map of a chip as its DMA engines and the host see it.
//
// Source: aws-neuron-driver v2/address_map.h: HBM and TPB (NeuronCore) bases, the semaphore block's offset. The
// position of PSUM inside a core's window and the strides between partitions are assumed.
#pragma once

#include <cstdint>

namespace azulejo::address_map {

inline constexpr std::uint64_t kHbmStride = 0x10'0000'0000;      // stack s starts at s * 64 GiB; v2/address_map.h
inline constexpr std::uint64_t kCoreBase = 0xFFF'C000'0000;      // core 0; v2/address_map.h
inline constexpr std::uint64_t kCoreStride = 0x400'0000;         // 64 MiB a core; v2/address_map.h
inline constexpr std::uint64_t kSbufOffset = 0;                  // 32 MiB window; v2/address_map.h
inline constexpr std::uint64_t kSbufPartitionStride = 0x4'0000;  // 256 KiB: 32 MiB / 128 partitions (assumed)
inline constexpr std::uint64_t kPsumOffset = 0x200'0000;         // assumed
inline constexpr std::uint64_t kPsumPartitionStride = 0x4000;    // 16 KiB (assumed)
inline constexpr std::uint64_t kEventOffset = 0x270'0000;        // v2/address_map.h
inline constexpr std::uint64_t kSemaphoreReadOffset = kEventOffset + 0x1000;
inline constexpr std::uint64_t kSemaphoreSetOffset = kEventOffset + 0x1400;
inline constexpr std::uint64_t kSemaphoreIncrementOffset = kEventOffset + 0x1800;
inline constexpr std::uint64_t kSemaphoreDecrementOffset = kEventOffset + 0x1C00;
inline constexpr std::uint64_t kSemaphoreBlockEnd = kEventOffset + 0x2000;
// What the text form of programs writes by name; anything else is a plain address.
inline constexpr std::uint32_t kNamedStacks = 16;
inline constexpr std::uint32_t kNamedCores = 8;  // ends below the UDMA registers, 0xFFF'F000'0000

constexpr std::uint64_t core_base(std::uint32_t core) { return kCoreBase + core * kCoreStride; }
constexpr std::uint64_t sbuf(std::uint32_t core, std::uint32_t partition, std::uint64_t offset) {
  return core_base(core) + kSbufOffset + partition * kSbufPartitionStride + offset;
}
constexpr std::uint64_t psum(std::uint32_t core, std::uint32_t partition, std::uint64_t offset) {
  return core_base(core) + kPsumOffset + partition * kPsumPartitionStride + offset;
}
constexpr bool is_semaphore(std::uint64_t address) {
  const std::uint64_t offset = (address - kCoreBase) % kCoreStride;
  return address >= kCoreBase && offset >= kSemaphoreReadOffset && offset < kSemaphoreBlockEnd;
}
constexpr std::uint64_t hbm(std::uint32_t stack, std::uint64_t offset) { return stack * kHbmStride + offset; }

}  // namespace azulejo::address_map
