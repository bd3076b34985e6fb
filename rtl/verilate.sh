#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Verilates the units of rtl/ and compiles them into one shared library (tlm/cosim/rtl_abi.h). The build calls it for the
# shipped RTL, azulejo itself for other parameters or a PE of one's own.
#
#   rtl/verilate.sh --output LIB.so [--stages N] [--flush 0|1] [--faults | --coverage] [--pe DIR] [--pe-top MODULE]
#                   [--runtime DIR] [--cxx COMPILER] [--jobs N]
#
# --faults: seeded faults; --coverage: line and toggle coverage, without waveforms; both with assertions. A PE of one's own has
# its assertions always.
# --runtime: where libazulejo_verilator.so is.
set -euo pipefail

source_dir=$(cd -- "$(dirname -- "$(readlink -f -- "$0")")/.." && pwd)
output= stages=1 flush=0 faults=0 coverage=0 tile=4 pe= pe_top=pe runtime= cxx=${CXX:-g++} jobs=$(nproc)
while (($#)); do
  case $1 in
    --output) output=$2; shift 2 ;;
    --stages) stages=$2; shift 2 ;;
    --flush) flush=$2; shift 2 ;;
    --faults) faults=1; shift ;;
    --coverage) coverage=1 tile=2; shift ;;  # smaller tiles, since every toggle is counted
    --pe) pe=$2; shift 2 ;;
    --pe-top) pe_top=$2; shift 2 ;;
    --runtime) runtime=$2; shift 2 ;;
    --cxx) cxx=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    *) echo "verilate.sh: unknown option $1" >&2; exit 2 ;;
  esac
done
[[ -n $output ]] || { echo "verilate.sh: --output is missing" >&2; exit 2; }

mkdir -p -- "$(dirname -- "$output")"
output=$(cd -- "$(dirname -- "$output")" && pwd)/$(basename -- "$output")
work=$output.build
rm -rf -- "$work"
mkdir -p -- "$work"
trap 'rm -rf -- "$work"' EXIT

rtl=$source_dir/rtl
pe_sources=("$rtl/pe/pe.sv")
if [[ -n $pe ]]; then
  mapfile -t files < <(find "$pe" -maxdepth 1 \( -name '*.sv' -o -name '*.v' \) | sort)
  pe_sources=()
  for file in "${files[@]}"; do grep -qE '^[[:space:]]*package ' "$file" && pe_sources+=("$file"); done
  for file in "${files[@]}"; do grep -qE '^[[:space:]]*package ' "$file" || pe_sources+=("$file"); done
fi
packages=("$rtl/parameters.vlt" "$rtl/pkg/azulejo_pkg.sv" "$rtl/pkg/azulejo_fault_pkg.sv")
datapath=("$rtl/fp/azulejo_fp_pkg.sv" "$rtl/fp/fp_add.sv" "$rtl/fp/fp_decode.sv")
# A file of one's own replaces ours of the same name.
if [[ -n $pe ]]; then
  kept=()
  for file in "${datapath[@]}"; do
    own=$pe/$(basename -- "$file")
    if [[ -f $own ]]; then kept+=("$own"); else kept+=("$file"); fi
  done
  datapath=("${kept[@]}")
  own=("${pe_sources[@]}")
  pe_sources=()
  for file in "${own[@]}"; do [[ " ${kept[*]} " == *" $file "* ]] || pe_sources+=("$file"); done
fi
rounding=("$rtl/rounding/lfsr_source.sv" "$rtl/rounding/xorwow_source.sv" "$rtl/rounding/stochastic_rounding_unit.sv")

verilator_flags=(--cc --timescale-override 1fs/1fs --x-assign fast --x-initial fast -O3 -Wno-fatal -Wno-lint
                 -Wno-style -I"$rtl/pkg" +define+AZULEJO_PE="$pe_top")
if [[ -n $pe ]]; then verilator_flags+=(-I"$pe"); fi
compiler_flags=(-std=c++17 -fPIC -w -I"$source_dir" -I"$work" -isystem "${VERILATOR_ROOT:-/usr/share/verilator}/include"
                -isystem "${VERILATOR_ROOT:-/usr/share/verilator}/include/vltstd" -DVM_SC=0 -DVM_TRACE_FST=0)
if [[ -n $pe ]]; then verilator_flags+=(--assert); fi
if ((faults || coverage)); then
  verilator_flags+=(--assert)
  compiler_flags+=(-O1)
else
  compiler_flags+=(-O2)
fi
if ((coverage)); then
  compiler_flags+=(-DVM_TRACE=0 -DVM_TRACE_VCD=0)
else
  verilator_flags+=(--trace)
  compiler_flags+=(-DAZULEJO_RTL_TRACE -DVM_TRACE=1 -DVM_TRACE_VCD=1)
fi
if ((faults)); then
  verilator_flags+=(+define+AZULEJO_FAULTS)
  compiler_flags+=(-DAZULEJO_RTL_FAULTS)
fi
if ((coverage)); then verilator_flags+=(--coverage-line --coverage-toggle); fi
compiler_flags+=(-DVM_COVERAGE=$coverage)

# unit NAME TABLE TOP WRAPPER "PARAMETERS" SOURCES...: one translation unit of all that Verilator wrote and the wrapper.
unit() {
  local name=$1 table=$2 top=$3 wrapper=$4 parameters=$5
  shift 5
  local overrides=() parameter
  for parameter in $parameters; do overrides+=("-G$parameter"); done
  # shellcheck disable=SC2086
  verilator "${verilator_flags[@]}" --top-module "$top" --prefix "V$name" --Mdir "$work/$name" "${overrides[@]}" "$@" \
    >"$work/$name.log" 2>&1 || { cat "$work/$name.log" >&2; return 1; }
  {
    echo "#define UNIT_HEADER \"$name/V$name.h\""
    echo "#define UNIT_ROOT_HEADER \"$name/V${name}___024root.h\""
    echo "#define UNIT_CLASS ::V$name"
    echo "#define UNIT_TABLE $table"
    echo "#define UNIT_PARAMETER(name) V${name}___024root::${top}__DOT__##name"
    echo "#include \"tlm/cosim/units/$wrapper\""
    for file in "$work/$name"/*.cpp; do echo "#include \"$name/$(basename -- "$file")\""; done
  } >"$work/$name.cpp"
}

array="Rows=$tile Cols=$tile PipelineStages=$stages FlushDenormals=$flush"
unit pe pe_table "$pe_top" pe_unit.cpp "PipelineStages=$stages FlushDenormals=$flush" \
  "${packages[@]}" "${datapath[@]}" "${pe_sources[@]}"
unit pe_tile pe_tile_table pe_tile pe_tile_unit.cpp "$array" "${packages[@]}" "${datapath[@]}" "${pe_sources[@]}" \
  "$rtl/pe/pe_tile.sv"
unit west west_table pe_array_edge pe_array_edge_unit.cpp "Lanes=$tile LaneSkew=$stages TagWidth=1 FlushDenormals=$flush" \
  "${packages[@]}" "${datapath[@]}" "$rtl/pe/pe_array_edge.sv"
unit north north_table pe_array_edge pe_array_edge_unit.cpp "Lanes=$tile LaneSkew=1 TagWidth=7 FlushDenormals=$flush" \
  "${packages[@]}" "${datapath[@]}" "$rtl/pe/pe_array_edge.sv"
unit drain drain_table pe_array_drain pe_array_drain_unit.cpp "Lanes=$tile FlushDenormals=$flush" \
  "${packages[@]}" "${datapath[@]}" "$rtl/pe/pe_array_drain.sv"
unit pe_array pe_array_table pe_array pe_array_unit.cpp "$array" "${packages[@]}" "${datapath[@]}" \
  "${pe_sources[@]}" "$rtl"/pe/pe_tile.sv "$rtl"/pe/pe_array_edge.sv "$rtl"/pe/pe_array_drain.sv "$rtl"/pe/pe_array.sv
unit rounding_lfsr rounding_lfsr_table stochastic_rounding_unit rounding_unit.cpp "Xorwow=0 FlushDenormals=$flush" \
  "${packages[@]}" "$rtl/fp/fp_encode.sv" "${rounding[@]}"
unit rounding_xorwow rounding_xorwow_table stochastic_rounding_unit rounding_unit.cpp "Xorwow=1 FlushDenormals=$flush" \
  "${packages[@]}" "$rtl/fp/fp_encode.sv" "${rounding[@]}"
cp "$source_dir/tlm/cosim/units/library.cpp" "$work/library.cpp"

# The tile takes longest: first.
printf '%s\n' pe_tile pe_array drain pe west north rounding_lfsr rounding_xorwow library |
  xargs -P "$jobs" -I{} $cxx "${compiler_flags[@]}" -c "$work/{}.cpp" -o "$work/{}.o"
# shellcheck disable=SC2086
$cxx -shared -o "$work/library.so" "$work"/*.o ${runtime:+-L"$runtime" -lazulejo_verilator}
mv -- "$work/library.so" "$output"
