#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares an unpacked LibTorch with the lists in its wheels.

A wheel lists the SHA-256 of each of its files in NAME.dist-info/RECORD. This script reads the lists of all
wheels in FOLDER and compares what compiler, linker and loader read: torch/include, torch/lib, nvidia and
include, which has the headers of cudnn_frontend.
It prints the first file that is changed, missing or not listed, and exits with 1.

Usage: tools/check_torch.py FOLDER
"""
import base64
import csv
import hashlib
import os
import pathlib
import sys

CHECKED = ("torch/include/", "torch/lib/", "nvidia/", "include/")


def listed(folder):
    """SHA-256 (as in RECORD: base64 without padding) by path, of the files under CHECKED."""
    digests = {}
    for record in sorted(folder.glob("*.dist-info/RECORD")):
        with record.open(newline="", encoding="utf-8") as rows:
            for path, digest, _ in csv.reader(rows):
                if path.startswith(CHECKED):
                    digests[path] = digest.removeprefix("sha256=")
    return digests


def present(folder, inside):
    """Paths of everything under folder/inside that is not a folder; links are not followed."""
    if not (folder / inside).is_dir():
        return
    with os.scandir(folder / inside) as entries:
        for entry in entries:
            path = f"{inside}{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                yield path
            elif entry.name != "__pycache__":
                yield from present(folder, path + "/")


def digest_of(path):
    """The SHA-256 of a file as RECORD writes it; none of a link or a special file."""
    if path.is_symlink() or not path.is_file():
        return None
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()


def complaints(folder):
    wanted = listed(folder)
    found = {path for inside in CHECKED for path in present(folder, inside)}
    if not wanted:
        yield "no list of files (*.dist-info/RECORD)"
    for path in sorted(found - set(wanted)):
        yield f"{path} is not in the wheel"
    for path in sorted(set(wanted) - found):
        yield f"{path} is missing"
    for path in sorted(found & set(wanted)):
        if digest_of(folder / path) != wanted[path]:
            yield f"{path} differs from the wheel"


def main(arguments):
    if len(arguments) != 1:
        sys.exit("usage: tools/check_torch.py FOLDER")
    first = next(complaints(pathlib.Path(arguments[0])), None)
    if first:
        print(first)
    return 1 if first else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
