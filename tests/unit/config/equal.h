// SPDX-License-Identifier: Apache-2.0
// Field-wise equality of configurations. Each struct is taken apart by a structured binding, so that a new field does
// not compile until it is compared here. Where an override was said does not count.
#pragma once

#include "platforms/config/platform_config.h"

namespace azulejo {

inline bool equal(const TensorEngineConfig& x, const TensorEngineConfig& y) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k] = x;
  const auto& [l, m, n, o, p, q, r, s, t, u, v] = y;
  return a == l && b == m && c == n && d == o && e == p && f == q && g == r && h == s && i == t && j == u && k == v;
}

inline bool equal(const VectorEngineConfig& x, const VectorEngineConfig& y) {
  const auto& [a, b, c, d, e, f, g, h, i] = x;
  const auto& [j, k, l, m, n, o, p, q, r] = y;
  return a == j && b == k && c == l && d == m && e == n && f == o && g == p && h == q && i == r;
}

inline bool equal(const SyncEngineConfig& x, const SyncEngineConfig& y) {
  const auto& [a, b] = x;
  const auto& [c, d] = y;
  return a == c && b == d;
}

inline bool equal(const PartitionedMemoryConfig& x, const PartitionedMemoryConfig& y) {
  const auto& [a, b, c, d] = x;
  const auto& [e, f, g, h] = y;
  return a == e && b == f && c == g && d == h;
}

inline bool equal(const DmaConfig& x, const DmaConfig& y) {
  const auto& [a, b, c, d, e, f, g, h] = x;
  const auto& [i, j, k, l, m, n, o, p] = y;
  return a == i && b == j && c == k && d == l && e == m && f == n && g == o && h == p;
}

inline bool equal(const HbmConfig& x, const HbmConfig& y) {
  const auto& [a, b, c, d] = x;
  const auto& [e, f, g, h] = y;
  return a == e && b == f && c == g && d == h;
}

inline bool equal(const NeuronCoreConfig& x, const NeuronCoreConfig& y) {
  const auto& [generation1, flush1, tensor1, vector1, scalar1, gpsimd1, sync1, sbuf1, psum1, dma1] = x;
  const auto& [generation2, flush2, tensor2, vector2, scalar2, gpsimd2, sync2, sbuf2, psum2, dma2] = y;
  return generation1 == generation2 && flush1 == flush2 && equal(tensor1, tensor2) && equal(vector1, vector2) &&
         equal(scalar1, scalar2) && equal(gpsimd1, gpsimd2) && equal(sync1, sync2) && equal(sbuf1, sbuf2) &&
         equal(psum1, psum2) && equal(dma1, dma2);
}

inline bool equal(const ChipConfig& x, const ChipConfig& y) {
  const auto& [cores1, stacks1, nc1, hbm1] = x;
  const auto& [cores2, stacks2, nc2, hbm2] = y;
  return cores1 == cores2 && stacks1 == stacks2 && equal(nc1, nc2) && equal(hbm1, hbm2);
}

inline bool equal(const InstanceOverride& x, const InstanceOverride& y) {
  const auto& [path1, key1, value1, place1] = x;
  const auto& [path2, key2, value2, place2] = y;
  static_cast<void>(place1);
  static_cast<void>(place2);
  return path1 == path2 && key1 == key2 && value1 == value2;
}

inline bool equal(const PlatformConfig& x, const PlatformConfig& y) {
  const auto& [name1, description1, chips1, chip1, overrides1] = x;
  const auto& [name2, description2, chips2, chip2, overrides2] = y;
  if (overrides1.size() != overrides2.size()) return false;
  for (std::size_t i = 0; i < overrides1.size(); ++i) {
    if (!equal(overrides1[i], overrides2[i])) return false;
  }
  return name1 == name2 && description1 == description2 && chips1 == chips2 && equal(chip1, chip2);
}

}  // namespace azulejo
