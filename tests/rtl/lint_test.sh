#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every unit of rtl/ is free of Verilator's warnings as a top, in each of its variants, without and with the seeded faults.
# Usage: lint_test.sh SOURCE_DIR
set -euo pipefail
rtl=$1/rtl
log=$(mktemp)
trap 'rm -f "$log"' EXIT
checked=0
shopt -s nullglob
packages=("$rtl"/pkg/*_pkg.sv "$rtl"/fp/*_pkg.sv)
shopt -u nullglob

# lint TOP [PARAMETER=VALUE]...
lint() {
  local top=$1 faults parameter
  shift
  local options=()
  for parameter in "$@"; do options+=("-G$parameter"); done
  for faults in "" -DAZULEJO_FAULTS; do
    if ! verilator --lint-only -Wall $faults -I"$rtl/pkg" -I"$rtl/fp" -I"$rtl/pe" -I"$rtl/rounding" --top-module "$top" \
         "${options[@]}" "$rtl/lint/waivers.vlt" "${packages[@]}" "$rtl"/*/"$top.sv" > "$log" 2>&1 || [[ -s $log ]]; then
      echo "lint_test: warnings in $top $* $faults"
      cat "$log"
      exit 1
    fi
    checked=$((checked + 1))
  done
  echo "clean: $top $*"
}

for flush in "FlushDenormals=1'b0" "FlushDenormals=1'b1"; do
  for top in fp_decode fp_encode fp_add pe_array_edge pe_array_drain; do lint "$top" "$flush"; done
  for top in pe pe_tile pe_array; do
    for stages in 1 2 3; do lint "$top" "PipelineStages=$stages" "$flush"; done
  done
  for xorwow in "Xorwow=1'b0" "Xorwow=1'b1"; do
    for lanes in 1 4; do lint stochastic_rounding_unit "$xorwow" "Lanes=$lanes" "$flush"; done
  done
done
echo "$checked runs of Verilator without a warning"
