// SPDX-License-Identifier: Apache-2.0
// The one table of the number formats, constexpr so that the row conversions can be specialised by it.
// Users of the library read it through spec().
//
// Sources: IEEE 754-2019 (FP16, FP32); OCP 8-bit Floating Point Specification 1.0 (E4M3FN, E5M2); OCP Microscaling
// Formats 1.0 (E8M0, E2M1). E4M3 and E3M4 are IEEE-like; for E3M4 that is assumed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tlm/numerics/format.h"

namespace azulejo {

// In the order of enum Format. Columns: name, storage, sign, exponent, mantissa, bias, Inf, NaN codes, canonical NaN,
// max finite, integer bits.
inline constexpr std::array<FormatSpec, 16> kFormatTable = {{
    {"fp32", 32, 1, 8, 23, 127, true, NanCodes::Ieee, 0x7FC00000, 0x7F7FFFFF, 0},
    {"tf32", 32, 1, 8, 10, 127, true, NanCodes::Ieee, 0x7FC00000, 0x7F7FE000, 0},
    {"bf16", 16, 1, 8, 7, 127, true, NanCodes::Ieee, 0x7FC0, 0x7F7F, 0},
    {"fp16", 16, 1, 5, 10, 15, true, NanCodes::Ieee, 0x7E00, 0x7BFF, 0},
    {"e4m3", 8, 1, 4, 3, 7, true, NanCodes::Ieee, 0x7C, 0x77, 0},
    {"e4m3fn", 8, 1, 4, 3, 7, false, NanCodes::AllOnes, 0x7F, 0x7E, 0},
    {"e5m2", 8, 1, 5, 2, 15, true, NanCodes::Ieee, 0x7E, 0x7B, 0},
    {"e3m4", 8, 1, 3, 4, 3, true, NanCodes::Ieee, 0x78, 0x6F, 0},
    {"e8m0", 8, 0, 8, 0, 127, false, NanCodes::AllOnes, 0xFF, 0xFE, 0},
    {"e2m1", 4, 1, 2, 1, 1, false, NanCodes::None, 0, 0x7, 0},
    {"int8", 8, 1, 0, 0, 0, false, NanCodes::None, 0, 0x7F, 8},
    {"uint8", 8, 0, 0, 0, 0, false, NanCodes::None, 0, 0xFF, 8},
    {"int16", 16, 1, 0, 0, 0, false, NanCodes::None, 0, 0x7FFF, 16},
    {"uint16", 16, 0, 0, 0, 0, false, NanCodes::None, 0, 0xFFFF, 16},
    {"int32", 32, 1, 0, 0, 0, false, NanCodes::None, 0, 0x7FFFFFFF, 32},
    {"uint32", 32, 0, 0, 0, 0, false, NanCodes::None, 0, 0xFFFFFFFF, 32},
}};

constexpr const FormatSpec& table_row(Format format) { return kFormatTable[static_cast<std::size_t>(format)]; }

}  // namespace azulejo
