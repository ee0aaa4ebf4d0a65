#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs tests with sanitizers for addresses and undefined behaviour, after `./ek test` has built them without: of
# the floors that compute (cmake/Sanitized.cmake), of kernels whose instructions are emulated (tests/kernels/emulated),
# and of the floors without torch, which the fuzz targets share.
# What only counts and simulates is left to `./ek test`. So are pointers that are null and wrong types in the floors
# without torch, and undefined behaviour in operators, which would take longer to compile than all else.
set -uo pipefail
cd "$(dirname "$0")/.."

if ! command -v clang++-19 >/dev/null; then
  echo "skipped: no clang++-19; ./ek test --campaign installs it"
  exit 77
fi
floors=(base norm config store tokenizer data tasks convert report study)
code=0

# build NAME COMMAND...: says the end of build/log/NAME.log if it fails.
build() {
  local log=build/log/$1.log
  shift
  "$@" >"$log" 2>&1 || { tail -n 15 "$log"; return 1; }
}

run() {
  OMP_WAIT_POLICY=passive ctest --test-dir "$@" -j 4 --output-on-failure --no-tests=error || code=1
}

if build sanitized ninja -C build/release -j "$(nproc)" sanitized; then
  run build/release -C sanitized -R '_sanitized|^kernels_(emulated|wide)'
else
  code=1
fi
if build fuzz cmake --preset fuzz &&
  build fuzz ninja -C build/fuzz -j "$(nproc)" "${floors[@]/%/_test}"; then
  names=$(IFS='|'; echo "${floors[*]}")
  GTEST_FILTER="-Additions.*:*EqualArms*" run build/fuzz -R "^($names)\$"
else
  code=1
fi
exit $code
