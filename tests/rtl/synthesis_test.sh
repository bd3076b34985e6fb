#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Yosys reads, elaborates and maps to gates: the PE in all its variants, the decoder, PSUM's adder, the encoder and the rounding
# unit with both random sources. Fails on a latch, on a problem that `check` finds, and on a unit without cells or with
# flip-flops where none belong. Not pe_tile and pe_array*: Yosys 0.23 cannot read their unpacked array ports.
# Usage: synthesis_test.sh SOURCE_DIR
set -euo pipefail
rtl=$1/rtl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "synthesis_test: $1"
  tail -n 20 "$work/log"
  exit 1
}

# synthesize TOP combinational|sequential [PARAMETER VALUE]...
synthesize() {
  local top=$1 kind=$2 parameters="" name
  shift 2
  name="$top $*"
  while (($#)); do
    parameters+=" -chparam $1 $2"
    shift 2
  done
  rm -f "$work/stat"
  cat > "$work/script" <<YOSYS
read_verilog -sv -DSYNTHESIS -I$rtl/pkg $rtl/pkg/azulejo_pkg.sv $(echo "$rtl"/fp/*.sv) $rtl/pe/pe.sv $(echo "$rtl"/rounding/*.sv)
hierarchy -check -top $top$parameters
proc
check -assert
synth -flatten
check -assert
select -assert-none t:\$dlatch* t:\$adlatch* t:\$_DLATCH* t:\$sr t:\$_SR_*
tee -o $work/stat stat
YOSYS
  local accepted=yes
  yosys -s "$work/script" > "$work/log" 2>&1 || accepted=no
  if grep -q 'Latch inferred' "$work/log"; then
    grep 'Latch inferred' "$work/log"
    fail "$name: inferred latch"
  fi
  [[ $accepted == yes ]] || fail "$name: Yosys finds a problem, see its last lines"

  local cells flops
  cells=$(awk '/Number of cells:/ {print $4}' "$work/stat")
  flops=$(awk '$1 ~ /DFF/ {sum += $2} END {print sum + 0}' "$work/stat")
  ((cells > 0)) || fail "$name: no cells"
  if [[ $kind == combinational ]]; then
    ((flops == 0)) || fail "$name: $flops flip-flops in a combinational unit"
  else
    ((flops > 0)) || fail "$name: no flip-flops"
  fi
  printf '%-64s %7d %7d\n' "$name" "$cells" "$flops"
}

printf '%-64s %7s %7s\n' unit cells flops
for flush in 0 1; do
  for stages in 1 2 3; do synthesize pe sequential PipelineStages $stages FlushDenormals "1'b$flush"; done
done
synthesize fp_decode combinational
synthesize fp_add combinational
synthesize fp_encode combinational
for xorwow in 0 1; do
  for lanes in 1 2; do synthesize stochastic_rounding_unit sequential Lanes $lanes Xorwow "1'b$xorwow"; done
done
