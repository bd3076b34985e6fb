// SPDX-License-Identifier: Apache-2.0
// Random sources of stochastic rounding and of the `rng` instruction, one state per lane (partition).
#pragma once

#include <array>
#include <cstdint>

namespace azulejo {

enum class RandomSource : std::uint8_t {
  Lfsr,    // NeuronCore-v2: 32-bit Galois, taps 0x80200003, 32 steps a word
  Xorwow,  // NeuronCore-v3 and -v4: Marsaglia's xorwow, 5 words and the Weyl counter
};

// The next output of the splitmix64 generator at `state`, which moves on.
std::uint64_t splitmix64(std::uint64_t& state);

// One lane of one engine's source. Value type: the state is readable and settable.
class RandomLane {
 public:
  // With s = the first output of splitmix64 started at `seed`: a second splitmix64 is started at s ^ (engine << 32 |
  // lane), and its outputs fill words 0..5, two an output, the low half first. Lfsr keeps word 0 of them.
  RandomLane(RandomSource source, std::uint64_t seed, std::uint32_t engine, std::uint32_t lane);

  // The next 32-bit word.
  std::uint32_t next();

  RandomSource source() const { return source_; }
  // Lfsr uses word 0; Xorwow words 0..4 and the counter in word 5.
  const std::array<std::uint32_t, 6>& state() const { return state_; }
  // An all-zero generator state (word 0; words 0..4) is replaced by a fixed constant.
  void set_state(const std::array<std::uint32_t, 6>& state);

 private:
  RandomSource source_;
  std::array<std::uint32_t, 6> state_{};
};

}  // namespace azulejo
