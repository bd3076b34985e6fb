#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Do the DPI-C functions give the bits of the RTL, and does their bench notice when the RTL is wrong?
#
# usage: dpi_test.sh [--wave FILE.vcd] SOURCE_DIR SCRATCH_DIR [LIBRARY]      LIBRARY: libazulejo_dpi.so; built here if absent
# The wave is of a short run of the bench, a few elements a unit.
set -euo pipefail
wave=
if [[ $1 == --wave ]]; then
  wave=$(readlink -f -- "$2")
  shift 2
fi
source_dir=$(readlink -f -- "$1")
mkdir -p -- "$2"
scratch=$(readlink -f -- "$2")
cd "$scratch"

cxx=(g++ -std=c++17 -O1 -ffp-contract=off -fPIC -I"$source_dir")
if [[ $# -ge 3 ]]; then
  library=$(readlink -f -- "$3")
else
  library=$scratch/libazulejo_dpi.so
  for file in "$source_dir"/tlm/numerics/*.cpp; do "${cxx[@]}" -c "$file" -o "$(basename "$file" .cpp).o"; done
  rm -f libazulejo_numerics.a
  ar rc libazulejo_numerics.a ./*.o
  "${cxx[@]}" -shared "$source_dir/rtl/dpi/azulejo_dpi.cpp" libazulejo_numerics.a -o "$library" \
    -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--no-undefined
fi

# The library shows what the header declares, and nothing else.
nm -D --defined-only "$library" | awk '{ print $3 }' | sort > exported
grep -o 'azulejo_[a-z_]*(' "$source_dir/rtl/dpi/azulejo_dpi.h" | tr -d '(' | sort > declared
diff exported declared || { echo "FAIL: the library's symbols (<) are not those of its header (>)"; exit 1; }

build() {   # DIRECTORY OPTION...
  local directory=$1
  shift
  # WIDTH: a format_e passed as int unsigned widens. One unsplit file compiles in half the time.
  verilator --cc --exe --main --timing --top-module dpi_test --Mdir "$directory" --output-split 0 -Wno-WIDTH "$@" \
    -I"$source_dir/rtl/pkg" -I"$source_dir/rtl/fp" -I"$source_dir/rtl/pe" -I"$source_dir/rtl/rounding" \
    "$source_dir/rtl/pkg/azulejo_pkg.sv" "$source_dir/rtl/pkg/azulejo_fault_pkg.sv" "$source_dir/rtl/fp/azulejo_fp_pkg.sv" \
    "$source_dir/rtl/dpi/azulejo_dpi_pkg.sv" "$source_dir/tests/rtl/dpi_test.sv" \
    "$library" -LDFLAGS "-Wl,-rpath,$(dirname "$library")" > "$directory.log" 2>&1 || { cat "$directory.log"; exit 1; }
  [[ $directory == plain ]] || cp plain/verilated*.o "$directory"   # Verilator's own part is the same
  make -C "$directory" -j 1 -f Vdpi_test.mk OPT_FAST=-O1 OPT_GLOBAL=-O1 >> "$directory.log" 2>&1 ||
    { cat "$directory.log"; exit 1; }
}

# As the RTL is
trace=()
[[ -z $wave ]] || trace=(--trace --timescale-override 1fs/1fs)
build plain --assert "${trace[@]}"
# The package's declarations, as the simulator reads them, and the header agree.
g++ -fsyntax-only -x c++ -I"$(verilator --getenv VERILATOR_ROOT)/include/vltstd" -include plain/Vdpi_test__Dpi.h \
  "$source_dir/rtl/dpi/azulejo_dpi.h"
plain/Vdpi_test | tee plain.out || true
if ! grep -q '^PASS' plain.out; then
  if [[ -n ${AZULEJO_FAILED_WAVES:-} ]]; then   # the beginning of it, with a wave
    mkdir -p -- "$AZULEJO_FAILED_WAVES"
    build plain --assert --trace --timescale-override 1fs/1fs
    plain/Vdpi_test +n=50 +codes=100 "+wave=$AZULEJO_FAILED_WAVES/rtl.dpi.vcd" > /dev/null || true
  fi
  exit 1
fi
if [[ -n $wave ]]; then
  plain/Vdpi_test +n=50 +codes=100 "+wave=$wave" > wave.out
  grep -q '^PASS' wave.out || { cat wave.out; echo "FAIL: the run with a wave differs"; exit 1; }
  [[ -s $wave ]] || { echo "FAIL: no wave $wave"; exit 1; }
  echo "wave: $wave"
fi

# With a fault in each unit
build faults -DAZULEJO_FAULTS
faults/Vdpi_test +n=20000 +fault=0 > faults.out
grep -q '^PASS' faults.out || { cat faults.out; echo "FAIL: the build with faults differs without one"; exit 1; }
for name in DecodeSubnormalAsNormal MultiplySignOr AddStickyDropped RoundTieAway PeStaleWeight EncodeTieAway \
            LfsrTapWrong XorwowShiftWrong UnitOldWord UnitWordOfFirstLane; do
  number=$(sed -n "s/^ *$name *= 8'd\([0-9]*\).*/\1/p" "$source_dir/rtl/pkg/azulejo_fault_pkg.sv")
  faults/Vdpi_test +n=20000 "+fault=$number" > faults.out
  grep -qx "fault $name" faults.out || { cat faults.out; echo "FAIL: no fault $name"; exit 1; }
  grep -q '^FAIL' faults.out || { cat faults.out; echo "FAIL: fault $name was not noticed"; exit 1; }
  echo "noticed: fault $name"
done
echo "PASS the DPI-C functions and the RTL agree, and faults are noticed"
