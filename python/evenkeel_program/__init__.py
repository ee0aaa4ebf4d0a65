# SPDX-License-Identifier: Apache-2.0
"""The command `evenkeel` of the wheel: becomes the program, which lies next to this file.

This package imports nothing of torch, so that the command starts at once. It only finds the folder of LibTorch.
"""
import importlib.metadata
import importlib.util
import os
import pathlib
import sys

WANTED_TORCH = "2.13"
USAGE_ERROR = 64


def program():
    """The path of the program."""
    return pathlib.Path(__file__).resolve().parent / "evenkeel"


def _refuse(message):
    print(f"evenkeel: {message}", file=sys.stderr)
    raise SystemExit(USAGE_ERROR)


def _libtorch():
    """The folder of LibTorch's libraries, of the torch that this Python imports."""
    install = f'run: pip install "torch=={WANTED_TORCH}.*"'
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        _refuse(f"wanted the package torch {WANTED_TORCH}, but found none; {install}")
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        version = "of an unknown version"
    if version.split(".")[:2] != WANTED_TORCH.split("."):
        _refuse(f"wanted torch {WANTED_TORCH}, but found torch {version}; {install}")
    return pathlib.Path(found.origin).parent / "lib"


def main():
    """Starts the program with the words of the command line, in this process."""
    libraries, path = _libtorch(), program()
    # The program looks in the package torch next to this one. A torch elsewhere is shown to it.
    if libraries.resolve() != path.parents[1] / "torch" / "lib":
        others = os.environ.get("LD_LIBRARY_PATH")
        os.environ["LD_LIBRARY_PATH"] = f"{libraries}:{others}" if others else str(libraries)
    os.execv(path, ["evenkeel", *sys.argv[1:]])
