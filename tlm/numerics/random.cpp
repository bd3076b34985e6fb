// SPDX-License-Identifier: Apache-2.0
// Sources: S. Vigna, "splitmix64" (public description of the mixer of Steele, Lea and Flood, OOPSLA 2014);
// G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003, section 3.1 (xorwow).
#include "tlm/numerics/random.h"

#include <cstddef>

namespace azulejo {
namespace {

constexpr std::uint32_t kLfsrTaps = 0x80200003;  // x^32 + x^22 + x^2 + x + 1, shifted right

constexpr std::uint32_t lfsr_steps(std::uint32_t state, int count) {
  for (int i = 0; i < count; ++i) state = (state >> 1) ^ ((state & 1U) != 0 ? kLfsrTaps : 0U);
  return state;
}

// The LFSR is linear over GF(2), so eight steps of a state are its upper bytes shifted down, plus eight steps of its
// low byte, which the table holds.
constexpr std::array<std::uint32_t, 256> make_lfsr_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) table[i] = lfsr_steps(i, 8);
  return table;
}
constexpr std::array<std::uint32_t, 256> kLfsrEightSteps = make_lfsr_table();

// Replacements of an all-zero state: 1, and the initial values of Marsaglia's paper.
constexpr std::uint32_t kLfsrFallback = 1;
constexpr std::array<std::uint32_t, 5> kXorwowFallback = {123456789, 362436069, 521288629, 88675123, 5783321};
constexpr std::uint32_t kXorwowIncrement = 362437;

}  // namespace

std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

RandomLane::RandomLane(RandomSource source, std::uint64_t seed, std::uint32_t engine, std::uint32_t lane)
    : source_(source) {
  std::uint64_t mixer = seed;
  mixer = splitmix64(mixer) ^ (std::uint64_t{engine} << 32 | lane);
  std::array<std::uint32_t, 6> words{};
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::uint64_t pair = splitmix64(mixer);
    words[i] = static_cast<std::uint32_t>(pair);
    words[i + 1] = static_cast<std::uint32_t>(pair >> 32);
  }
  if (source_ == RandomSource::Lfsr) words = {words[0], 0, 0, 0, 0, 0};
  set_state(words);
}

void RandomLane::set_state(const std::array<std::uint32_t, 6>& state) {
  state_ = state;
  if (source_ == RandomSource::Lfsr) {
    if (state_[0] == 0) state_[0] = kLfsrFallback;
    return;
  }
  if ((state_[0] | state_[1] | state_[2] | state_[3] | state_[4]) == 0) {
    for (std::size_t i = 0; i < kXorwowFallback.size(); ++i) state_[i] = kXorwowFallback[i];
  }
}

std::uint32_t RandomLane::next() {
  if (source_ == RandomSource::Lfsr) {
    std::uint32_t word = state_[0];
    for (int i = 0; i < 4; ++i) word = (word >> 8) ^ kLfsrEightSteps[word & 0xFF];
    state_[0] = word;
    return word;
  }
  const std::uint32_t mixed = state_[0] ^ (state_[0] >> 2);
  for (std::size_t i = 0; i < 4; ++i) state_[i] = state_[i + 1];
  state_[4] = (state_[4] ^ (state_[4] << 4)) ^ (mixed ^ (mixed << 1));
  state_[5] += kXorwowIncrement;
  return state_[5] + state_[4];
}

}  // namespace azulejo
