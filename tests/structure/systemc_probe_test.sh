#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configuring against a SystemC library of another C++ standard explains it in words, before any compiler or linker error.
# Usage: systemc_probe_test.sh SOURCE_DIR
set -euo pipefail
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/fake.cpp" <<'CPP'
namespace sc_core { extern int sc_api_version_2_3_4_cxx201402L; int sc_api_version_2_3_4_cxx201402L = 0; }
CPP
g++ -shared -fPIC -o "$work/libsystemc.so" "$work/fake.cpp"
if cmake -S "$source_dir" -B "$work/build" -G Ninja -DSYSTEMC_LIBRARY="$work/libsystemc.so" > "$work/log" 2>&1; then
  echo "configuring against a C++14 SystemC succeeded"; exit 1
fi
# CMake wraps its messages: compare without line breaks.
tr -s '[:space:]' ' ' < "$work/log" > "$work/flat"
for part in "was built for C++ standard 2014" "azulejo is C++17" "apt-get install libsystemc-dev"; do
  grep -qF "$part" "$work/flat" || { echo "missing in the message: $part"; cat "$work/log"; exit 1; }
done
echo "the probe explains a C++14 SystemC"
