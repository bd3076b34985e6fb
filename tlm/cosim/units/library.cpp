// SPDX-License-Identifier: Apache-2.0
// The library's one symbol: all tables together.
#include "tlm/cosim/rtl_abi.h"

namespace azulejo::rtl {

extern const PeAbi pe_table;
extern const PeTileAbi pe_tile_table;
extern const EdgeAbi west_table, north_table;
extern const DrainAbi drain_table;
extern const PeArrayAbi pe_array_table;
extern const RoundingUnitAbi rounding_lfsr_table, rounding_xorwow_table;

}  // namespace azulejo::rtl

const azulejo::rtl::LibraryAbi* azulejo_rtl_library() {
  using namespace azulejo::rtl;
  static const LibraryAbi library = {kAbiVersion,          pe_table,    pe_tile_table,  west_table,
                                     north_table,          drain_table, pe_array_table, rounding_lfsr_table,
                                     rounding_xorwow_table};
  return &library;
}
