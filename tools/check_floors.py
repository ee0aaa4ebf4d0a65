#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where the source tree breaks a rule of its layout.

1. A floor includes only itself and the floors and libraries on its line of FLOORS.
2. Files of src, tests, tools and bench have at most 350 lines.
3. Source files begin with the SPDX line, scripts carry it in their first lines.
4. Nobody includes <torch/torch.h>: it costs 12 seconds and a gigabyte for each file.
5. Nothing lies around: a source is named in the CMakeLists.txt of its folder or of one above it
   (CUDA sources are found by tools/check_cuda.sh), a header is included somewhere, a scheme or a study is in the
   program.
6. A floor uses every floor on its line of FLOORS.
7. CMake files have lines of at most 120 characters.
8. tools/unit_rules.py: hidden names are unique in a floor; chains of includes are short.
9. What has one function in base or config is called nowhere else in src: the parsers of JSON and TOML, which
   do not limit the depth of nesting, and output to a terminal, which does not escape control characters (DOORS).
10. A source X_PART.cpp of src has a header X.h or X_PART.h in its folder; only main.cpp has none.

Usage: tools/check_floors.py [ROOT]
"""
import pathlib
import re
import sys

import unit_rules

FLOORS = {  # from the lowest up; a floor lists every floor that it includes, all of them lower ones
    "base": [],
    "tokenizer": ["base", "icu", "pcre2", "sentencepiece"],
    "kernels": ["base"],
    "memory": ["torch"],
    "comm": ["base", "kernels", "torch"],
    "norm": ["base"],
    "ops": ["base", "kernels", "torch"],
    "config": ["base", "norm", "toml"],
    "store": ["base"],
    "tracking": ["base", "store"],
    "data": ["base", "config", "tokenizer"],
    "tasks": ["base", "data", "icu", "tokenizer"],
    "convert": ["base", "config", "data", "norm", "store", "tasks", "tokenizer", "yaml"],
    "report": ["base", "config", "norm", "store", "toml"],
    "nn": ["base", "kernels", "memory", "norm", "ops", "config", "torch"],
    "plan": ["base", "config", "nn", "norm", "ops", "toml", "torch"],
    "optim": ["base", "ops", "config", "nn", "torch"],
    "generate": ["base", "data", "norm", "nn", "torch"],
    "evaluate": ["base", "config", "data", "nn", "norm", "ops", "tasks", "torch"],
    "serve": ["base", "data", "norm", "tokenizer", "nn", "generate", "httplib", "torch"],
    "watch": ["base", "report", "store", "httplib"],
    "probe": ["base", "norm", "ops", "config", "data", "nn", "torch"],
    "train": ["base", "comm", "config", "data", "evaluate", "generate", "memory", "nn", "norm", "ops", "optim", "plan",
              "probe", "report", "store", "torch", "tracking"],
    "bench": ["base", "comm", "config", "data", "kernels", "nn", "norm", "ops", "plan", "report", "store", "torch",
              "train"],
    "study": ["base", "config", "norm", "store", "data", "report", "tasks"],
    "verify": ["base", "norm", "config", "toml", "store", "data", "nn", "optim", "train", "torch"],
    "cli": ["base", "bench", "comm", "config", "convert", "data", "evaluate", "generate", "memory", "nn", "norm", "ops",
            "plan", "probe", "report", "serve", "store", "study", "tasks", "tokenizer", "toml", "torch", "train", "verify",
            "watch"],
}

MAX_LINES = 350
MAX_CMAKE_COLUMNS = 120
SPDX = "SPDX-License-Identifier: Apache-2.0"
SOURCES = {".c", ".h", ".cpp", ".cu", ".cuh"}
SCRIPTS = {".py", ".sh"}
TOO_LARGE = {"torch/torch.h", "torch/all.h", "torch/extension.h", "torch/script.h"}
LIBRARIES = {"torch": ("torch/", "ATen/", "c10/"), "toml": ("toml++/",), "pcre2": ("pcre2.h",),
             "icu": ("unicode/",), "sentencepiece": ("sentencepiece_",), "httplib": ("httplib.h",),
             "yaml": ("yaml.h",)}
DOORS = [  # what a file of src may not call, the files that may, and what to call
    (re.compile(r"\b(?:nlohmann::(?:ordered_)?json|[jJ]son)::(?:parse|accept)\("), {"base/json_parser.cpp"},
     "parse_json() of base/json_parser.h"),
    (re.compile(r"\btoml::parse(?:_file)?\("), {"config/toml_parser.cpp"}, "parse_toml() of config/toml_parser.h"),
    (re.compile(r"\bstd::(?:printf|fprintf|puts|fputs|cout|cerr)\b"), {"base/print.cpp"},
     "print() or print_message() of base/print.h"),
]
VERB = re.compile(r"^\.?([a-z]+) ", re.MULTILINE)
NEEDS = re.compile(r"ek_floor\([^)]*?\bNEEDS\s([^)]*)\)")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')


def library_of(include):
    """The library that FLOORS names and this include belongs to, or None."""
    for name, folders in LIBRARIES.items():
        if include.startswith(folders):
            return name
    return None


def includes(text):
    """Pairs (line number, what is included)."""
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1]


def order_complaints(floors):
    """A floor includes lower floors only, so that none depends on itself."""
    names = list(floors)
    for floor, lower in floors.items():
        for each in lower:
            if each in names[names.index(floor):]:
                yield f"tools/check_floors.py: floor {floor} may not include {each}, which is no lower floor"


def floor_complaints(name, text):
    """Rule 1 for a file of src/evenkeel."""
    floor = pathlib.PurePath(name).parts[2]
    if floor not in FLOORS:
        yield f"{name}: no floor is named {floor}; tools/check_floors.py lists them"
        return
    for number, include in includes(text):
        if include.startswith("."):
            yield f"{name}:{number}: an include of ours begins with evenkeel/, but this one is {include}"
        ours = include.split("/")[1] if include.startswith("evenkeel/") else None
        target = ours or library_of(include)
        if target and target not in {floor, *FLOORS[floor]}:
            yield f"{name}:{number}: floor {floor} may not include {target}"


def door_complaints(name, text):
    """Rule 9 for a file of src/evenkeel."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, allowed, instead in DOORS:
            found = pattern.search(line)
            if found and name.removeprefix("src/evenkeel/") not in allowed:
                yield f"{name}:{number}: {found[0].rstrip('(')} is not allowed here; call {instead}"


def header_complaints(names):
    """Rule 10; only of a tree that has all floors. names: of all sources and headers."""
    if {name.split("/")[2] for name in names if name.startswith("src/evenkeel/")} != set(FLOORS):
        return
    for name in sorted(names):
        path = pathlib.PurePath(name)
        if not name.startswith("src/evenkeel/") or path.suffix != ".cpp" or path.name == "main.cpp":
            continue
        parts = path.stem.split("_")
        headers = {str(path.with_name("_".join(parts[:count]) + ".h")) for count in range(1, len(parts) + 1)}
        if not headers & names:
            yield f"{name}: no header has its name or the first words of it"


def file_complaints(name, text):
    """Rules 2, 3 and 4 for one file."""
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        yield f"{name}: {len(lines)} lines; split it by concept ({MAX_LINES} at most)"
    head = lines[:1] if pathlib.PurePath(name).suffix in SOURCES else lines[:3]
    if not any(SPDX in line for line in head):
        yield f'{name}: the top must say "{SPDX}"'
    for number, include in includes(text):
        if include in TOO_LARGE:
            yield f"{name}:{number}: <{include}> is too large to include; take the header of what is used"


def is_built(root, path):
    """Whether a CMakeLists.txt of the file's folder or of one above it names the file."""
    for folder in path.parents:
        listing = folder / "CMakeLists.txt"
        if listing.exists():
            name = re.escape(path.relative_to(folder).as_posix())
            verbs = folder / "verbs.txt"  # cli: a source verb_NAME.cpp for each name
            text = listing.read_text()
            if verbs.exists():
                text += "".join(f" verb_{verb}.cpp" for verb in VERB.findall(verbs.read_text()))
            if re.search(rf"(?<![\w/.]){name}(?![\w/.])", text):
                return True
        if folder == root:
            return False
    return False


def idle_complaints(root, texts):
    """Rule 5 for the whole tree."""
    included = {each for text in texts.values() for _, each in includes(text)}
    for path in texts:
        name = path.relative_to(root).as_posix()
        if path.suffix == ".cpp" and not path.stem.endswith("_cuda") and not is_built(root, path):
            yield f"{name}: no CMakeLists.txt builds it"
        # Included by its path, or by a bare name: then it replaces the compiler's header of that name.
        names = {name.split("/", 1)[1], path.name}
        # Headers of LibTorch include it, or sources that include LibTorch's header of that name.
        is_of_library = "/gloo_declared/" in name or "/cuda_emulated/c10/" in name
        by_compiler = (path.parent / "CMakeLists.txt").exists() and f"-include {name.split('/', 1)[1]}" in (
            path.parent / "CMakeLists.txt").read_text()
        if path.suffix in {".h", ".cuh"} and not is_of_library and not by_compiler and not names & included:
            yield f"{name}: nobody includes it"


def unused_complaints(texts):
    """Rule 6; only of a tree that has all floors."""
    used = {floor: set() for floor in FLOORS}
    present = set()
    for name, text in texts.items():
        parts = pathlib.PurePath(name).parts
        if name.startswith("src/evenkeel/") and parts[2] in FLOORS:
            present.add(parts[2])
            for _, include in includes(text):
                target = include.split("/")[1] if include.startswith("evenkeel/") else library_of(include)
                used[parts[2]].add(target)
    if present == set(FLOORS):
        for floor, allowed in FLOORS.items():
            for each in sorted({*allowed} - used[floor] - {floor}):
                yield f"tools/check_floors.py: floor {floor} may include {each}, but does not; take it out"


def needs_complaints(root):
    """Rule 7, floors: those after NEEDS are those that the floor includes."""
    for floor, allowed in FLOORS.items():
        listing = root / f"src/evenkeel/{floor}/CMakeLists.txt"
        found = NEEDS.search(listing.read_text()) if listing.exists() else None
        if found is None:
            continue
        needs = {word.removeprefix("ek_") for word in found[1].split()} & set(FLOORS)
        wanted = set(allowed) & set(FLOORS)
        if needs != wanted:
            yield (f"src/evenkeel/{floor}/CMakeLists.txt: NEEDS must name {' '.join(sorted(wanted)) or 'no floor'}, "
                   f"but names {' '.join(sorted(needs)) or 'none'}")


def cmake_complaints(root):
    """Rule 7, lines."""
    files = [*root.glob("CMakeLists.txt"), *root.glob("cmake/*.cmake"), *root.glob("src/**/CMakeLists.txt"),
             *root.glob("src/**/*.cmake"), *root.glob("tests/**/CMakeLists.txt")]
    for path in sorted(files):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > MAX_CMAKE_COLUMNS:
                name = path.relative_to(root).as_posix()
                yield f"{name}:{number}: {len(line)} characters ({MAX_CMAKE_COLUMNS} at most)"


def read(root, folders, suffixes):
    """Text by path, of all files with one of the suffixes."""
    files = (p for folder in folders for p in (root / folder).rglob("*"))
    return {p: p.read_text() for p in sorted(files) if p.suffix in suffixes and p.is_file()}


def catalogue_complaints(root):
    """Rule 5 for schemes and studies."""
    for folder, listing in (("schemes", "src/evenkeel/config/schemes.cmake"),
                            ("studies", "src/evenkeel/study/CMakeLists.txt")):
        for path in sorted(root.glob(f"{folder}/*.toml")):
            if not re.search(rf"\b{path.stem}\b", (root / listing).read_text()):
                yield f"{folder}/{path.name}: {listing} does not name it"


def complaints(root):
    """Everything that is wrong with the tree, as lines."""
    texts = read(root, ["src", "tests", "bench", "tools"], SOURCES | SCRIPTS)
    for path, text in texts.items():
        name = path.relative_to(root).as_posix()
        yield from file_complaints(name, text)
        if name.startswith("src/evenkeel/") and path.suffix in SOURCES:
            yield from floor_complaints(name, text)
            yield from door_complaints(name, text)
    sources = {path: text for path, text in texts.items() if path.suffix in SOURCES}
    yield from idle_complaints(root, sources)
    yield from catalogue_complaints(root)
    named = {path.relative_to(root).as_posix(): text for path, text in sources.items()}
    yield from unused_complaints(named)
    yield from header_complaints(named.keys())
    yield from cmake_complaints(root)
    yield from order_complaints(FLOORS)
    yield from needs_complaints(root)
    headers = unit_rules.by_floor(named, ".h")
    for floor, of_floor in unit_rules.by_floor(named, ".cpp").items():
        yield from unit_rules.unit_complaints(floor, of_floor, headers[floor])
    yield from unit_rules.chain_complaints({name.removeprefix("src/"): text for name, text in named.items()})
    if not sources:
        yield f"{root}: no sources here"


def main(arguments):
    root = pathlib.Path(*arguments).resolve()
    found = list(complaints(root))
    print("\n".join(found) or "every floor includes lower floors only, and every file is in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
