// SPDX-License-Identifier: Apache-2.0
// Which of the code paths is in use. Internal to the library; the public face is simd_path() in matmul.h.
#pragma once

#include <cstdint>

namespace azulejo {

enum class SimdPath : std::uint8_t { Portable, Avx2, Avx512 };

SimdPath active_simd_path();

}  // namespace azulejo

// Functions compiled for more than the base instruction set, called only after a check at run time.
#if defined(__x86_64__)
#define AZULEJO_HAS_X86_SIMD 1
#define AZULEJO_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define AZULEJO_TARGET_AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define AZULEJO_HAS_X86_SIMD 0
#endif
