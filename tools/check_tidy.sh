#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# clang-tidy over src: names, functions of at most 40 lines, bugprone and performance checks (.clang-tidy).
#
#   tools/check_tidy.sh [TORCH [SOURCE...]]     TORCH: a LibTorch folder; SOURCE: only these, as src/evenkeel/nn/model.cpp
#
# Most floors are read in three units (tools/tidy_units.py), because each unit reads LibTorch's headers.
# The version is that of tools/tidy_requirements.txt, which goes into .deps/tidy. Exits with 77 (skipped) where it cannot
# be fetched.
set -euo pipefail
cd "$(dirname "$0")/.."

torch=$(realpath "${1:-.deps/torch-2.13.0/torch}")
shift || :
build=build/tidy
log=build/log/tidy.log
mkdir -p build/log

# A stamp says which requirements are complete there.
locked=tools/tidy_requirements.txt
if ! cmp -s "$locked" .deps/tidy/complete; then
  rm -rf .deps/tidy
  .deps/python/bin/python -I -m pip install --quiet --require-hashes --no-deps --only-binary=:all: --no-compile \
    --target .deps/tidy -r "$locked" >"$log" 2>&1 || {
    echo "clang-tidy cannot be fetched ($log): names and sizes were not checked"
    exit 77
  }
  cp "$locked" .deps/tidy/complete
fi
tidy=$PWD/.deps/tidy/clang_tidy/data/bin/clang-tidy

# clang's own headers lack omp.h; GCC's folder has it next to headers that are not for clang.
mkdir -p "$build/openmp"
ln -sfn "$(gcc -print-file-name=include/omp.h)" "$build/openmp/omp.h"
export tidy openmp=$PWD/$build/openmp
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DEK_TESTS=OFF -DEK_PRECOMPILED=OFF -DEK_UNITY=OFF \
  -DEVENKEEL_TORCH="$torch" >"$log" 2>&1 &&
  ninja -C "$build" ek_commit >>"$log" 2>&1 || { tail -n 15 "$log"; exit 1; }
python3 tools/tidy_units.py "$build" "$@" >"$build/units.txt"

# Complaints of one unit. clang-tidy's own failure is one, too; that of a unit with complaints is no news.
check() {
  local unit=$1 out code=0
  shift
  out=$("$tidy" --quiet "$unit" -- -std=c++20 -x c++ -isystem "$openmp" "$@" 2>"$unit.log") || code=$?
  if ! grep -E '(warning|error):' <<<"$out" && [ "$code" != 0 ]; then
    echo "error: clang-tidy ended with exit code $code on $(head -n 1 "$unit"): $(tail -n 1 "$unit.log")"
  fi
}
export -f check
xargs -a "$build/units.txt" -P "$(nproc)" -L 1 bash -c 'check "$@"' check >"$build/complaints.txt"
if sed "s|^$PWD/||" "$build/complaints.txt" | grep -v "^$build" | sort -u | grep .; then
  echo "clang-tidy: see above"
  exit 1
fi
echo "clang-tidy has no complaint about $(wc -l <"$build/units.txt") units"
