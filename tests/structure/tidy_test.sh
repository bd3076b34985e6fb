#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy with the checks of .clang-tidy: over tlm/numerics and tlm/isa, and with AZULEJO_LONG=1 over every source of ours.
# Usage: tidy_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
cd -- "$1"
folders=(tlm/numerics tlm/isa)
if [[ ${AZULEJO_LONG:-} == 1 ]]; then folders=(tlm sw platforms); fi
find "${folders[@]}" -name '*.cpp' -print0 | xargs -0 -n 4 -P "$(nproc)" clang-tidy-14 -p "$2" --quiet 2> /dev/null
