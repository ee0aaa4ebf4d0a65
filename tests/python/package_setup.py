# SPDX-License-Identifier: Apache-2.0
"""What each check of the package `evenkeel` begins with. Import it before torch and evenkeel.

It finds the package in python/, and sets EVENKEEL_OPS to the first argument of the command (libevenkeel_ops.so), which
leaves sys.argv to unittest. It exits with 77 (skipped) where torch cannot be imported.
"""
import importlib
import multiprocessing
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def require(name):
    """Imports a module; the check is skipped where it is missing."""
    try:
        importlib.import_module(name)
    except ImportError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)


sys.path.insert(0, str(ROOT / "python"))
require("torch")
if multiprocessing.current_process().name == "MainProcess":  # others inherit EVENKEEL_OPS
    os.environ["EVENKEEL_OPS"] = sys.argv.pop(1)
