#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# clang-tidy 19 over src: names, functions of at most 40 lines, bugprone and performance checks (.clang-tidy).
#
#   tools/check_tidy.sh [TORCH [SOURCE...]]     TORCH: a LibTorch folder; SOURCE: only these, as src/evenkeel/nn/model.cpp
#
# Floors are read in three units, because clang-tidy walks through LibTorch's headers once a unit, which takes half a
# minute. Exits with 77 (skipped) where there is no clang-tidy-19.
set -euo pipefail
cd "$(dirname "$0")/.."

torch=$(realpath "${1:-.deps/torch-2.13.0/torch}")
shift || :
command -v clang-tidy-19 >/dev/null || { echo "no clang-tidy-19 here: names and sizes were not checked"; exit 77; }

build=build/tidy
mkdir -p build/log
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DEK_TESTS=OFF -DEK_PRECOMPILED=OFF -DEK_UNITY=OFF \
  -DEVENKEEL_TORCH="$torch" >build/log/tidy.log 2>&1 &&
  ninja -C "$build" ek_commit >>build/log/tidy.log 2>&1 || { tail -n 15 build/log/tidy.log; exit 1; }

# Writes the units and prints one line "UNIT FLAG..." for each: the largest ones first.
units() {
  python3 - "$build" "$@" <<'PYTHON'
import json, pathlib, shlex, sys
build, *chosen = sys.argv[1:]
UNITS = [["ops", "nn", "optim", "memory"],
         ["plan", "generate", "evaluate", "probe", "train", "verify", "bench", "cli"],
         ["norm", "config", "store", "data", "report", "study"]]
flags, sources = {}, {}
root = pathlib.Path.cwd()
for entry in json.load(open(f"{build}/compile_commands.json")):
    path = pathlib.Path(entry["file"])
    if not path.is_relative_to(root / "src/evenkeel"):
        continue  # generated
    floor = path.relative_to(root / "src/evenkeel").parts[0]
    words = [word for word in shlex.split(entry["command"])[1:] if word[:2] in ("-I", "-D", "-s", "-i", "/") or word[0] == "/"]
    flags[floor] = [word for word in words if not word.endswith((".cpp", ".o"))]
    if not chosen or str(path.relative_to(root)) in chosen:
        sources.setdefault(floor, []).append(path)
alone = [[path] for floor in ("kernels", "base") for path in sources.get(floor, [])]
together = [[path for floor in unit for path in sources.get(floor, [])] for unit in UNITS]
of_all = list(dict.fromkeys(word for floor in flags for word in flags[floor] if word != "-isystem" and word[0] != "/"))
systems = list(dict.fromkeys(words[i + 1] for words in flags.values() for i, word in enumerate(words) if word == "-isystem"))
words = of_all + [each for system in systems for each in ("-isystem", system)]
folder = pathlib.Path(build, "units")
folder.mkdir(exist_ok=True)
for number, unit in enumerate(unit for unit in together + alone if unit):
    name = folder / f"unit_{number}.cpp"
    name.write_text("".join(f'#include "{path}"\n' for path in unit))
    print(shlex.join([str(name), *words]))
PYTHON
}

check() {
  local unit=$1
  shift
  clang-tidy-19 --quiet "$unit" -- -std=c++20 -x c++ "$@" 2>/dev/null | sed "s|^$PWD/||"
}
export -f check
if units "$@" | xargs -P "$(nproc)" -L 1 bash -c 'check "$@"' check | grep -E '(warning|error):' | grep -v "^$build" | sort -u; then
  echo "clang-tidy: see above"
  exit 1
fi
echo "clang-tidy has no complaint"
