#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# clang-tidy 19 over src: names, functions of at most 40 lines, bugprone and performance checks (.clang-tidy).
#
#   tools/check_tidy.sh [TORCH] [FLOOR...]     TORCH: a LibTorch folder; no FLOOR: all
#
# Eight sources are read as one unit, so that LibTorch's headers are read once for them. Exits with 77 (skipped) where
# there is no clang-tidy-19.
set -euo pipefail
cd "$(dirname "$0")/.."

torch=$(realpath "${1:-.deps/torch-2.13.0/torch}")
shift || :
command -v clang-tidy-19 >/dev/null || { echo "no clang-tidy-19 here: names and sizes were not checked"; exit 77; }

build=build/tidy
mkdir -p build/log
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DEK_TESTS=OFF -DEK_PRECOMPILED=OFF -DEK_UNITY=ON \
  -DEVENKEEL_TORCH="$torch" >build/log/tidy.log 2>&1 &&
  ninja -C "$build" ek_commit >>build/log/tidy.log 2>&1 || { tail -n 15 build/log/tidy.log; exit 1; }

# The units, without what is generated; floors by name if any are given.
units() {
  python3 - "$build" "$@" <<'PYTHON'
import json, pathlib, sys
build, *floors = sys.argv[1:]
for entry in json.load(open(f"{build}/compile_commands.json")):
    path = pathlib.Path(entry["file"])
    floor = path.parts[path.parts.index("evenkeel") + 1] if "evenkeel" in path.parts else ""
    if floor and (not floors or floor in floors) and not path.name.startswith("embedded_"):
        print(path)
PYTHON
}

# -fno-openmp: clang's own omp.h is another package.
check() {
  clang-tidy-19 -p "$1" --quiet --extra-arg=-fno-openmp --extra-arg=-Wno-unknown-warning-option "$2" 2>/dev/null |
    sed "s|^$PWD/||"
}
export -f check
if units "$@" | xargs -P "$(nproc)" -I{} bash -c 'check "$0" "$1"' "$build" {} | grep -E 'warning:|error:' | sort -u; then
  echo "clang-tidy: see above"
  exit 1
fi
echo "clang-tidy has no complaint"
