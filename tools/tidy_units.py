#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the units that clang-tidy reads, and prints a line "UNIT FLAG..." for each.

A unit includes all sources of some floors. The sources of kernels and base are read one by one: their hidden names
may be equal. Fails where a source belongs to no unit, or a named source does not exist.

Usage: tools/tidy_units.py BUILD [SOURCE...]     BUILD: a CMake folder; SOURCE: only these, as src/evenkeel/nn/model.cpp
"""
import json
import pathlib
import shlex
import sys

UNITS = [["ops", "nn", "optim", "memory", "comm"],
         ["plan", "generate", "evaluate", "serve", "probe", "train", "verify", "bench", "watch", "cli"],
         ["tokenizer", "norm", "config", "store", "tracking", "data", "tasks", "convert", "report", "study"]]
ALONE = ["kernels", "base"]


def sources_of(entries, root):
    """Paths and compile commands by floor, generated sources left out."""
    floors = {}
    for entry in entries:
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(root / "src/evenkeel"):
            floor = path.relative_to(root / "src/evenkeel").parts[0]
            floors.setdefault(floor, []).append((path, shlex.split(entry["command"])))
    return floors


def flags_of(floors):
    """Definitions and include folders of all floors together."""
    flags = {}
    for sources in floors.values():
        words = sources[0][1]
        for i, word in enumerate(words):
            if word == "-isystem":
                flags["-isystem", words[i + 1]] = True
            elif word.startswith(("-I", "-D")):
                flags[word,] = True
    return [word for flag in flags for word in flag]


def units_of(floors, chosen, root):
    """Lists of paths, one per unit. chosen: names below root, or none for all sources."""
    def wanted(floor):
        return [path for path, _ in floors.get(floor, []) if not chosen or str(path.relative_to(root)) in chosen]
    together = [[path for floor in unit for path in wanted(floor)] for unit in UNITS]
    return [unit for unit in together if unit] + [[path] for floor in ALONE for path in wanted(floor)]


def main(build, *chosen):
    root = pathlib.Path.cwd()
    floors = sources_of(json.loads(pathlib.Path(build, "compile_commands.json").read_text()), root)
    unknown = set(floors) - {floor for unit in UNITS for floor in unit} - set(ALONE)
    units = units_of(floors, chosen, root)
    read = {str(path.relative_to(root)) for unit in units for path in unit}
    if unknown or not units or set(chosen) - read:
        sys.exit(f"tidy_units: floors without a unit: {sorted(unknown)}; sources not found: {sorted(set(chosen) - read)}; "
                 f"units: {len(units)}")
    folder = pathlib.Path(build, "units")
    folder.mkdir(exist_ok=True)
    for number, unit in enumerate(units):
        name = folder / f"unit_{number}.cpp"
        name.write_text("".join(f'#include "{path}"\n' for path in unit))
        print(shlex.join([str(name), *flags_of(floors)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
