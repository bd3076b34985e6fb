#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the pictures of this directory again:  take_pictures.sh TOOL [DIRECTORY]
# TOOL is the azulejo program; the pictures go to DIRECTORY, by default here. Needs no display.
# Debian packages: gtkwave xvfb imagemagick fonts-dejavu-core. For the timeline also chromium and golang-1.19-src, or
# AZULEJO_TRACE_VIEWER=DIRECTORY as take_trace_picture.py says; without them it is left out.
set -eu

[ $# -ge 1 ] && [ -x "$1" ] || { echo "usage: $0 TOOL [DIRECTORY]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
tool=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
out=$(cd "${2:-$here}" && pwd)
work=$(mktemp -d)
xvfb=
viewer=
clean() {
  [ -z "$viewer" ] || kill "$viewer" 2>/dev/null || true
  [ -z "$xvfb" ] || kill "$xvfb" 2>/dev/null || true
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM

HOME=$work   # no settings of the user's
export HOME
cat > "$work/gtkwaverc" <<END
fontname_signals Monospace 8
fontname_waves Monospace 8
END

# A free display: the server writes its number.
Xvfb -displayfd 3 -screen 0 1600x900x24 -nolisten tcp 3> "$work/display" 2> "$work/xvfb.log" &
xvfb=$!
for _ in $(seq 100); do
  [ -s "$work/display" ] && break
  sleep 0.1
done
[ -s "$work/display" ] || { cat "$work/xvfb.log" >&2; exit 1; }
DISPLAY=:$(cat "$work/display")
export DISPLAY

# picture NAME WAVE VIEW: what GTKWave shows, once it no longer changes
picture() {
  gtkwave --nomenus --rcfile "$work/gtkwaverc" "$2" "$3" > "$work/gtkwave.log" 2>&1 &
  viewer=$!
  last=
  for _ in $(seq 30); do
    sleep 1
    import -silent -window root "$work/shot.png"
    colours=$(identify -format '%k' "$work/shot.png")
    now=$(convert "$work/shot.png" rgb:- | cksum)
    [ "$colours" -gt 8 ] && [ "$now" = "$last" ] && break
    last=$now
  done
  kill "$viewer"
  wait "$viewer" 2>/dev/null || true
  viewer=
  # No complaint: the banner, the times of the start and the end of a VCD, and what is loaded of an FST.
  if grep -v -e '^$' -e '^GTKWave Analyzer' -e '^\[[0-9]*\] \(start\|end\) time\.$' -e '^FSTLOAD | ' "$work/gtkwave.log" >&2; then
    echo "$1: GTKWave complains" >&2
    exit 1
  fi
  convert "$work/shot.png" -strip +dither -colors 64 -define png:compression-level=9 "$out/$1.png"
  echo "$out/$1.png"
}

# part NAME WAVE VIEW OPTION...: the same of a view that make_views.py makes with these options
part() {
  name=$1
  wave=$2
  shift 2
  "$here/make_views.py" "$@" --out part.gtkw
  picture "$name" "$wave" part.gtkw
}

# Faults are found: these runs fail.
failing() {
  "$tool" "$@" --quiet > failing.log && { cat failing.log >&2; exit 1; }
  [ $? -eq 1 ] || { cat failing.log >&2; exit 1; }
}

cd "$work"
gemm='gemm --m 256 --k 1024 --n 1024'
fault=multiply_exponent_off_by_one@pe_3_17
"$tool" run trn1.2xlarge $gemm --wave trn1.vcd --trace trn1_gemm.json --quiet
"$tool" run trn1.2xlarge gemm --m 1024 --k 128 --n 1024 --wave psum.vcd --quiet
"$tool" run trn2.3xlarge $gemm --cores 2 --wave trn2.vcd --quiet
"$tool" run trn2.3xlarge $gemm --cores 2 --set hbm.bandwidth='150 GB/s' --wave hbm.vcd --quiet
"$tool" run trn1.2xlarge gemm --m 256 --k 256 --n 1024 --pe lockstep --wave lockstep.fst --quiet
failing run trn1.2xlarge gemm --m 256 --k 256 --n 1024 --pe lockstep --rtl-fault $fault --stop-on never \
  --wave mismatch.fst --wave-trigger mismatch
failing cosim pe --format bf16 --rtl-fault round_truncates --wave pe.vcd --wave-trigger mismatch
"$tool" cosim array --rows 8 --cols 8 --n 32 --format bf16 --wave array.vcd --wave-window 2.9us:3us --quiet > /dev/null
"$tool" cosim array --rows 8 --cols 8 --n 32 --format bf16 --wave matmul.vcd --wave-window 16.7us: --quiet > /dev/null
failing cosim rounding --format bf16 --rtl-fault encode_threshold_inclusive --wave rounding.vcd --wave-trigger mismatch

picture trn1.2xlarge trn1.vcd "$here/trn1.2xlarge.gtkw"
part trn1.2xlarge_dma trn1.vcd trn1.2xlarge --from 1.2us --to 4.2us
part trn1.2xlarge_matmuls trn1.vcd trn1.2xlarge --from 19.5us --to 23.5us
part trn1.2xlarge_psum psum.vcd trn1.2xlarge --from 4us --to 11us
picture trn2.3xlarge trn2.vcd "$here/trn2.3xlarge.gtkw"
part trn2.3xlarge_hbm hbm.vcd trn2.3xlarge --from 0us --to 12us --mark 3.162us --mark 5.366us
picture lockstep lockstep.fst "$here/lockstep.gtkw"
picture systolic lockstep.fst "$here/systolic.gtkw"
part mismatch mismatch.fst mismatch --mark 3946.428571ns --mark 3991.785714ns --mark 4030.357142ns
part mismatch_pe mismatch.fst mismatch --from 3944.5ns --to 3950.5ns
picture cosim_pe pe.vcd "$here/cosim_pe.gtkw"
picture cosim_array array.vcd "$here/cosim_array.gtkw"
part cosim_array_matmul matmul.vcd cosim_array --from 16767ns --to 16781ns
picture cosim_rounding rounding.vcd "$here/cosim_rounding.gtkw"

trace_viewer=${AZULEJO_TRACE_VIEWER:-/usr/share/go-1.19/src/cmd/trace/static}
if [ -d "$trace_viewer" ] && command -v chromium > /dev/null; then
  "$here/take_trace_picture.py" --viewer "$trace_viewer" trn1_gemm.json trace.png
  convert trace.png -strip +dither -colors 64 -define png:compression-level=9 "$out/trace_trn1_gemm.png"
  echo "$out/trace_trn1_gemm.png"
else
  echo "trace_trn1_gemm.png is left out: no chromium, or no trace viewer in $trace_viewer" >&2
fi
