#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants an error in each of several CUDA kernels, and checks that the emulated test finds it.

Each error is in a copy of the sources; its object is compiled as in the build, and all are linked into one program,
which is run once for each error, with the tests of an operator that uses the kernel and no other one with an error.

Usage: planted_errors.py SOURCE BUILD
"""
import dataclasses
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

TARGET = "kernels_cuda_emulated_test"
CUDA = "evenkeel/kernels/cuda/"


@dataclasses.dataclass
class Plant:
    """One error: in `file`, for the object of `kernel`."""
    name: str
    kernel: str
    file: str
    wanted: str  # the text that is replaced
    planted: str
    tests: str  # --gtest_filter
    message: str  # that the test prints, as a regular expression


PLANTS = [
    Plant("wrong index", "sum_totals.cu", "sum_totals.cu",
          "for (int other = 1; other < kTotalWarps; ++other)", "for (int other = 1; other <= kTotalWarps; ++other)",
          "*HasTheGradientOfItsFormula/bounded_tanh",
          r"sum_totals\.cu:\d+: column_totals_kernel, block .*: reads 8 bytes, \d+ bytes after the end of shared"),
    Plant("missing barrier", "expert_assignment.cu", "expert_assignment.cu",
          "  __syncthreads();\n", "",
          "*IsItsFormula/expert_assignment",
          r"expert_assignment\.cu:\d+: \w+_kernel, block .*: (reads|writes) shared \w+"),
    Plant("wrong lane", "qkv_norm_rope.cu", "row_tile.cuh",
          "value += __shfl_xor_sync(0xffffffffU, value, half);",
          "value += __shfl_xor_sync(0xffffffffU, value, half / 2);",
          "*RoundsOnceToFloat32AndBfloat16/qkv_norm_rope_qk_64", r"at flat index \d+: (?!-?nan).*, expected "),
    Plant("missing tail", "rms_norm.cu", "row_tile.cuh",
          "min((after - 1) / kWarpThreads + 1, kPacks)", "min(after / kWarpThreads, kPacks)",
          "*RoundsOnceToFloat32AndBfloat16/rms_norm_of_width_768", r"at flat index \d+: -?nan, expected "),
    Plant("race of two stages", "block_reduction.cu", "block_reduction.cu",
          "  if (threadIdx.x == 0) sums[blockIdx.x] = sum;\n}\n\n/// Four packs",
          "  if (threadIdx.x == 0) sums[blockIdx.x] = sum;\n"
          "  if (blockIdx.x == 0 && threadIdx.x == 0) sums[0] += sums[gridDim.x - 1];\n}\n\n/// Four packs",
          "*IsItsFormula/sum_of_squares_of_width_8200",
          r"block_reduction\.cu:\d+: squares_kernel, block .*: writes a tensor where another block of the launch has "
          r"read"),
]


def run(command, **options):
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    return result.returncode, result.stdout + result.stderr


def must(command, **options):
    code, text = run(command, **options)
    if code != 0:
        sys.exit(f"{shlex.join(command)}\n{text}\nplanted_errors.py: this command failed")
    return text


def planted_sources(plant, source, folder):
    """A copy of the kernels with the error."""
    shutil.copytree(source / "src" / CUDA, folder / "src" / CUDA)
    path = folder / "src" / CUDA / plant.file
    text = path.read_text()
    if text.count(plant.wanted) != 1:
        sys.exit(f"{plant.name}: {plant.file} must have this text once; adapt planted_errors.py:\n{plant.wanted}")
    path.write_text(text.replace(plant.wanted, plant.planted))


def compiled(plant, source, build, commands, folder):
    """(the object of the build, its replacement)."""
    planted_sources(plant, source, folder)
    rewriter = source / "tests/kernels/cuda_emulated/rewrite.py"
    name = CUDA + plant.kernel
    must([sys.executable, rewriter, folder / "src", folder, folder / "depfile", folder / "stamp", name])
    entry = next(each for each in commands if each["file"].endswith(name + ".cpp"))
    words = shlex.split(entry["command"])
    rewritten = pathlib.Path(entry["file"]).parents[len(pathlib.Path(name).parents) - 1]
    words = [str(folder / (name + ".cpp")) if word == entry["file"] else word for word in words]
    words = [f"-I{folder}" if word == f"-I{rewritten}" else word for word in words]
    place = words.index("-o") + 1
    original, words[place] = words[place], str(folder / "planted.o")
    for option in ("-MF", "-MT"):
        if option in words:
            words[words.index(option) + 1] = str(folder / "planted.d")
    must(words, cwd=build)
    return original, words[place]


def linked(build, replaced, program):
    """The test with other objects."""
    command = must(["ninja", "-C", str(build), "-t", "commands", TARGET]).strip().splitlines()[-1]
    for original, planted in replaced:
        if original not in command:
            sys.exit(f"planted_errors.py: {TARGET} is not linked with {original}")
        command = command.replace(original, planted)
    command = re.sub(rf"-o {TARGET}\b", f"-o {shlex.quote(str(program))}", command)
    must(["sh", "-c", command], cwd=build)


def main(source, build):
    source, build = pathlib.Path(source).resolve(), pathlib.Path(build).resolve()
    commands = json.loads((build / "compile_commands.json").read_text())
    missed = 0
    with tempfile.TemporaryDirectory(prefix="evenkeel-planted-") as folder:
        folder = pathlib.Path(folder)
        replaced = []
        for number, plant in enumerate(PLANTS):
            (folder / str(number)).mkdir()
            replaced.append(compiled(plant, source, build, commands, folder / str(number)))
        program = folder / TARGET
        linked(build, replaced, program)
        libraries = re.search(r"EVENKEEL_TORCH:PATH=(.*)", (build / "CMakeCache.txt").read_text())[1] + "/lib"
        for plant in PLANTS:
            code, text = run([str(program), f"--gtest_filter={plant.tests}"],
                             env={"LD_LIBRARY_PATH": libraries, "PATH": "/usr/bin:/bin"}, cwd=source)
            found = re.search(plant.message, text)
            print(f"{plant.name} in {plant.kernel}: {'found: ' + found[0] if code == 1 and found else 'MISSED'}")
            if code != 1 or not found:
                missed += 1
                print(text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
