// SPDX-License-Identifier: Apache-2.0
#include "tlm/numerics/simd.h"

#include <string_view>

#include "tlm/numerics/matmul.h"

namespace azulejo {
namespace {

bool host_has(SimdPath path) {
#if AZULEJO_HAS_X86_SIMD
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (path == SimdPath::Avx2) return avx2;
  if (path == SimdPath::Avx512) {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
#endif
  return path == SimdPath::Portable;
}

SimdPath fastest() {
  if (host_has(SimdPath::Avx512)) return SimdPath::Avx512;
  if (host_has(SimdPath::Avx2)) return SimdPath::Avx2;
  return SimdPath::Portable;
}

SimdPath& selected() {
  static SimdPath path = fastest();
  return path;
}

}  // namespace

SimdPath active_simd_path() { return selected(); }

std::string_view simd_path() {
  switch (selected()) {
    case SimdPath::Avx512:
      return "avx512";
    case SimdPath::Avx2:
      return "avx2";
    case SimdPath::Portable:
      break;
  }
  return "portable";
}

bool select_simd_path(std::string_view name) {
  SimdPath wanted;
  if (name == "avx512") {
    wanted = SimdPath::Avx512;
  } else if (name == "avx2") {
    wanted = SimdPath::Avx2;
  } else if (name == "portable") {
    wanted = SimdPath::Portable;
  } else {
    return false;
  }
  if (!host_has(wanted)) return false;
  selected() = wanted;
  return true;
}

}  // namespace azulejo
