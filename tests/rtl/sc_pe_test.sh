#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does the example of the PE as a SystemC module build, and give the right sums?
#
# usage: sc_pe_test.sh [--wave FILE.vcd] SOURCE_DIR SCRATCH_DIR
set -euo pipefail
wave=()
if [[ $1 == --wave ]]; then
  wave=("$(readlink -f -- "$2")")
  shift 2
fi
source_dir=$(readlink -f -- "$1")
mkdir -p -- "$2"
cd "$2"
export SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1

verilator --sc --pins-sc-uint --trace --timescale-override 1fs/1fs --exe --build -j 1 --Mdir sc_pe --prefix Vpe --top-module pe \
  -CFLAGS "-std=c++17 -O1" -I"$source_dir/rtl/pkg" \
  "$source_dir/rtl/pkg/azulejo_pkg.sv" "$source_dir/rtl/fp/azulejo_fp_pkg.sv" "$source_dir/rtl/pe/pe.sv" \
  "$source_dir/tests/rtl/sc_pe/sc_pe.cpp" > build.log 2>&1 || { cat build.log; exit 1; }
sc_pe/Vpe "${wave[@]}" || {
  if [[ -n ${AZULEJO_FAILED_WAVES:-} ]]; then
    mkdir -p -- "$AZULEJO_FAILED_WAVES"
    sc_pe/Vpe "$AZULEJO_FAILED_WAVES/rtl.sc_pe.vcd" > /dev/null || true
  fi
  exit 1
}
[[ ${#wave[@]} -eq 0 || -s ${wave[0]} ]] || { echo "FAIL: no wave ${wave[0]}"; exit 1; }
