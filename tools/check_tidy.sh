#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# clang-tidy 19 over src: names, functions of at most 40 lines, bugprone and performance checks (.clang-tidy).
#
#   tools/check_tidy.sh [TORCH [SOURCE...]]     TORCH: a LibTorch folder; SOURCE: only these, as src/evenkeel/nn/model.cpp
#
# Most floors are read in three units (tools/tidy_units.py), because clang-tidy walks through LibTorch's headers once
# per unit, which takes half a minute. Exits with 77 (skipped) where there is no clang-tidy-19.
set -euo pipefail
cd "$(dirname "$0")/.."

torch=$(realpath "${1:-.deps/torch-2.13.0/torch}")
shift || :
command -v clang-tidy-19 >/dev/null || { echo "no clang-tidy-19 here: names and sizes were not checked"; exit 77; }

build=build/tidy
log=build/log/tidy.log
mkdir -p build/log
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DEK_TESTS=OFF -DEK_PRECOMPILED=OFF -DEK_UNITY=OFF \
  -DEVENKEEL_TORCH="$torch" >"$log" 2>&1 &&
  ninja -C "$build" ek_commit >>"$log" 2>&1 || { tail -n 15 "$log"; exit 1; }
python3 tools/tidy_units.py "$build" "$@" >"$build/units.txt"

# Complaints of one unit. clang-tidy's own failure is one, too; that of a unit with complaints is no news.
check() {
  local unit=$1 out code=0
  shift
  out=$(clang-tidy-19 --quiet "$unit" -- -std=c++20 -x c++ "$@" 2>"$unit.log") || code=$?
  if ! grep -E '(warning|error):' <<<"$out" && [ "$code" != 0 ]; then
    echo "error: clang-tidy-19 ended with exit code $code on $(head -n 1 "$unit"): $(tail -n 1 "$unit.log")"
  fi
}
export -f check
xargs -a "$build/units.txt" -P "$(nproc)" -L 1 bash -c 'check "$@"' check >"$build/complaints.txt"
if sed "s|^$PWD/||" "$build/complaints.txt" | grep -v "^$build" | sort -u | grep .; then
  echo "clang-tidy: see above"
  exit 1
fi
echo "clang-tidy has no complaint about $(wc -l <"$build/units.txt") units"
