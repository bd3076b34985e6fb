#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does the launcher install, build and run what is asked for, from anywhere, and only what is needed?
#
# usage: launcher_test.sh LAUNCHER
#
# Runs the launcher in a copy of the project that holds one tiny program, with dpkg-query, apt-get, sudo and id replaced by
# scripts that write down how they were called. Nothing is installed and nothing is downloaded. Needs cmake, ninja, g++ and
# util-linux' script.
set -euo pipefail

source_root=$(cd -- "$(dirname -- "$(readlink -f -- "$1")")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CI AZULEJO_YES AZULEJO_SKIP_PACKAGES AZULEJO_LONG

failures=0
checks=0

check() {   # TEXT COMMAND...
  local text=$1
  shift
  checks=$((checks + 1))
  if ! "$@"; then
    failures=$((failures + 1))
    printf 'FAILED: %s\n--- standard output\n%s\n--- standard error\n%s\n---\n' "$text" "$(cat "$work/out")" "$(cat "$work/err")"
  fi
}

call() {   # COMMAND...: sets `status`; output in $work/out, $work/err
  status=0
  "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

status_is() { [[ $status == "$1" ]]; }
out_has() { grep -qF -- "$1" "$work/out"; }
err_has() { grep -qF -- "$1" "$work/err"; }
err_lacks() { ! grep -qF -- "$1" "$work/err"; }
calls_have() { grep -qF -- "$1" "$work/calls"; }
calls_lack() { ! grep -qF -- "$1" "$work/calls"; }

# --- the fake machine: $work/installed lists the packages, $work/calls the calls ------------------------------------

mkdir "$work/fake"
cat >"$work/fake/dpkg-query" <<'SH'
#!/bin/sh
echo "dpkg-query" >>"$FAKE/calls"
status=0
for name; do
  case $name in -*|'$'*) continue ;; esac
  if grep -qx -- "$name" "$FAKE/installed"; then echo "$name installed"; else status=1; fi
done
exit $status
SH
cat >"$work/fake/apt-get" <<'SH'
#!/bin/sh
echo "apt-get $*" >>"$FAKE/calls"
case " $* " in
  *" install "*)
    if [ -e "$FAKE/apt-fails-once" ]; then rm "$FAKE/apt-fails-once"; echo "E: 404 Not Found"; exit 100; fi
    for name; do
      case $name in -*|install) ;; *) echo "$name" >>"$FAKE/installed" ;; esac
    done ;;
esac
SH
cat >"$work/fake/sudo" <<'SH'
#!/bin/sh
echo "sudo $*" >>"$FAKE/calls"
[ "$1" = -n ] && shift
exec "$@"
SH
cat >"$work/fake/id" <<'SH'
#!/bin/sh
cat "$FAKE/uid"
SH
chmod +x "$work"/fake/*
export FAKE=$work PATH=$work/fake:$PATH
: >"$work/calls"
: >"$work/out"
: >"$work/err"
echo 0 >"$work/uid"

# --- the tiny project -----------------------------------------------------------------------------------------------

project="$work/a project"
mkdir -p "$project/cmake" "$project/tlm" "$project/platforms/cli"
cp "$source_root/azulejo" "$source_root/CMakePresets.json" "$project/"
cp "$source_root/cmake/packages.txt" "$project/cmake/"
cat >"$project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES CXX)
add_subdirectory(platforms/cli)
if(AZULEJO_TESTS)
  enable_testing()
  add_custom_target(azulejo_unit_tests DEPENDS azulejo)
  add_test(NAME Tiny.Passes COMMAND azulejo)
  add_test(NAME Tiny.LongOnly COMMAND sh -c "test \"$AZULEJO_LONG\" = 1 || exit 77")
  set_tests_properties(Tiny.Passes PROPERTIES LABELS unit)
  set_tests_properties(Tiny.LongOnly PROPERTIES SKIP_RETURN_CODE 77)
endif()
CMAKE
echo 'add_executable(azulejo main.cpp)' >"$project/platforms/cli/CMakeLists.txt"
cat >"$project/platforms/cli/main.cpp" <<'CPP'
#include <cstdio>
#include <cstring>
#include <fstream>
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) std::printf("argument %s\n", argv[i]);
  if (argc > 2 && std::strcmp(argv[1], "asm") == 0) return std::ifstream(argv[2]) ? 0 : 2;
  return argc > 1 && std::strcmp(argv[1], "fail") == 0 ? 7 : 0;
}
CPP

# --- packages -------------------------------------------------------------------------------------------------------

: >"$work/installed"
call "$project/azulejo" --help
check "help without packages says what there is" out_has "./azulejo run PLATFORM WORKLOAD"
check "help without packages succeeds" status_is 0
check "help installs nothing" calls_lack "apt-get"

echo 1000 >"$work/uid"
call "$project/azulejo" run trn1.2xlarge
check "missing packages, neither root nor terminal: status 2" status_is 2
check "it names a missing package" err_has "libsystemc-dev"
check "it prints the line to type" err_has "sudo apt-get install --no-install-recommends g++ cmake"
check "it does not ask for test packages" err_lacks "libgtest-dev"
check "it installs nothing" calls_lack "apt-get"

call script -qec "'$project/azulejo' run trn1.2xlarge" /dev/null   # a terminal that answers nothing
check "end of input at the question means no" calls_lack "apt-get"
status=0
printf 'n\n' | script -qec "'$project/azulejo' run trn1.2xlarge" /dev/null >"$work/out" 2>"$work/err" || status=$?
check "a terminal is asked" out_has "install them now? [Y/n]"
check "no means status 2" status_is 2
check "no means no" calls_lack "apt-get"

mv "$work/fake/dpkg-query" "$work/dpkg-query"
mkdir "$work/bare"
for tool in bash readlink dirname grep cut tr cat env mkdir flock; do ln -s "$(command -v "$tool")" "$work/bare/$tool"; done
call env PATH="$work/bare" "$project/azulejo" run trn1.2xlarge
check "no Debian: status 2" status_is 2
check "no Debian: says so and what is needed" err_has "AZULEJO_SKIP_PACKAGES=1"
call env PATH="$work/bare" "$project/azulejo"
check "no Debian: help is there" out_has "./azulejo test"
mv "$work/dpkg-query" "$work/fake/dpkg-query"

touch "$work/apt-fails-once"
call env AZULEJO_YES=1 "$project/azulejo" run 'two words'
check "AZULEJO_YES=1 installs, builds and runs" status_is 0
check "through sudo" calls_have "sudo -n env DEBIAN_FRONTEND=noninteractive apt-get"
check "without recommended packages" calls_have "install -y --no-install-recommends g++ cmake"
check "and reads the lists anew when a file is gone" calls_have "apt-get -o DPkg::Lock::Timeout=300 update"
check "arguments arrive unchanged" out_has "argument two words"
check "progress is on standard error" err_has "building release"

# --- running --------------------------------------------------------------------------------------------------------

: >"$work/calls"
best=999999   # of five, as the machine may be busy
for _ in 1 2 3 4 5; do
  start=$(date +%s%N)
  call "$project/azulejo" run
  milliseconds=$((($(date +%s%N) - start) / 1000000))
  if ((milliseconds < best)); then best=$milliseconds; fi
done
check "the second call says nothing" test ! -s "$work/err"
check "the second call looks for no package" test ! -s "$work/calls"
check "the second call starts in less than 0.3 s (took $best ms)" test "$best" -lt 300

call "$project/azulejo" fail
check "the program's exit status is the launcher's" status_is 7

mkdir "$work/elsewhere"
echo >"$work/elsewhere/program.asm"
ln -s "$project/azulejo" "$work/elsewhere/a link"
cd "$work/elsewhere"
call "./a link" asm program.asm
check "a relative file is relative to where the user is, through a link with spaces" status_is 0
check "and is handed over as given" out_has "argument program.asm"

sleep 0.01
touch "$project/platforms/cli/main.cpp"
call "$project/azulejo" run
check "a newer source is built" err_has "building release"
check "without configuring again" err_lacks "configuring"

echo 'int broken(' >"$project/tlm/unused.cpp"
echo 'target_sources(azulejo PRIVATE ../../tlm/unused.cpp)' >>"$project/platforms/cli/CMakeLists.txt"
call "$project/azulejo" run
check "a build that fails is status 3" status_is 3
check "and shows the end of the log" err_has "unused.cpp"
echo >"$project/tlm/unused.cpp"
call "$project/azulejo" run
check "a repaired source is built" status_is 0

sleep 0.01
touch "$project/platforms/cli/main.cpp"
"$project/azulejo" run >"$work/out1" 2>"$work/err1" </dev/null &
call "$project/azulejo" run
wait $!
check "two calls at once: one builds" test "$(cat "$work/err" "$work/err1" | grep -c 'building release.*done')" = 1

mv "$project" "$work/moved"
project=$work/moved
call "$project/azulejo" run
check "a tree that was moved is built anew" err_has "configuring release"
check "and runs" status_is 0

# --- tests ----------------------------------------------------------------------------------------------------------

echo 0 >"$work/uid"
: >"$work/calls"
call "$project/azulejo" test
check "test, as root in a pipe, installs its packages" calls_have "libgtest-dev"
check "but not those that are there" calls_lack "libsystemc-dev"
check "a skipped test without a reason fails" status_is 1
check "and is named" err_has "Tiny.LongOnly"

mkdir -p "$project/tests"
echo 'Tiny.LongOnly : runs with --long only' >"$project/tests/skipped.txt"
call "$project/azulejo" test
check "a skipped test with a reason does not" status_is 0

call "$project/azulejo" test --long
check "--long reaches the tests" status_is 0
check "ctest's summary is there" out_has "100% tests passed, 0 tests failed out of 2"
check "ctest's summary ends the output" grep -qE '^Total Test time|did not run|Skipped' <(tail -n 3 "$work/out")

call "$project/azulejo" test --filter Passes
check "--filter selects" out_has "0 tests failed out of 1"
call "$project/azulejo" test --filter NoSuchTest
check "no test at all is a failure" status_is 1
call "$project/azulejo" test --preset nonsense
check "an unknown preset is status 2" status_is 2
call env CI=true "$project/azulejo" test
check "continuous integration succeeds" status_is 0
check "continuous integration runs the sanitizers too" test "$(grep -c 'tests failed out of' "$work/out")" = 2
check "and the release suite last" grep -q 'out of 2' <(grep 'tests failed out of' "$work/out" | tail -n 1)

printf '%d checks, %d failed\n' "$checks" "$failures"
((failures == 0))
