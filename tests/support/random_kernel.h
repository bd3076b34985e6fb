// SPDX-License-Identifier: Apache-2.0
// Random kernels of tiles with what they must compute: the builder records them, and a sequential interpretation of its
// own runs every operation at once on plain memory, in the order in which the kernel was written.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sw/nki/kernel.h"

namespace azulejo::test {

// What a kernel call did to SBUF or PSUM; bytes of `partitions` partitions from 0 on.
struct Touch {
  MemorySpace space = MemorySpace::Sbuf;
  std::uint32_t partitions = 0;
  std::uint32_t first_byte = 0;
  std::uint32_t last_byte = 0;  // one past
  bool write = false;
};

// One kernel call, in the order of the calls.
struct Call {
  EngineId engine = EngineId::Sync;
  bool dma = false;
  bool matmul = false;
  std::vector<Touch> touches;  // of a matmul: the stationary tile first
};

struct RandomKernel {
  static constexpr std::uint32_t kPartitionsUsed = 32;
  static constexpr std::uint64_t kInputBytes = 64 << 10;  // of HBM, from address 0 on
  static constexpr std::uint64_t kOutputAddress = 1 << 20;
  static constexpr std::uint64_t kOutputBytes = 512 << 10;

  Program program;
  std::vector<Call> calls;
  std::vector<std::uint8_t> input;   // HBM before the run, at 0
  std::vector<std::uint8_t> output;  // HBM after the run, at kOutputAddress
  // Memories after the run, [partition][byte].
  std::array<std::vector<std::uint8_t>, kPartitionsUsed> sbuf;
  std::array<std::vector<std::uint8_t>, kPartitionsUsed> psum;
};

RandomKernel random_kernel(std::uint64_t seed);

// The core that random kernels are written for.
nki::Target random_kernel_target();

}  // namespace azulejo::test
