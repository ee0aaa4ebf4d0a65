#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where a tracked text says what it should not, or the README leaves out a command.

1. No absolute path of somebody's machine, no host of a package registry.
2. No words for unfinished work.
3. README.md names every verb of ./ek.

Usage: tools/check_texts.py [ROOT]; 77 where ROOT is no git checkout.
"""
import pathlib
import re
import subprocess
import sys

# Each pattern holds a class or an escape, so that it does not find its own line.
RULES = [
    (re.compile(r"(^|[\s\"'=(:`])/(home|root|work|Users|mnt|workspace)[/](?!\s)"),
     "a path of somebody's machine"),
    (re.compile(r"\b(pypi|download\.pytorch|files\.pythonhosted|deb\.debian|archive\.ubuntu)"
                r"[.](org|com)\b"),
     "a registry's host"),
    (re.compile(r"\b(TO[D]O|FIX[M]E|XX[X]|HA[C]K)\b"), "a word for unfinished work"),
    (re.compile(r"\b(not [i]mplemented|place[h]older|coming [s]oon)\b", re.IGNORECASE),
     "a word for unfinished work"),
]
FREE = {"LICENSE"}  # a text that is not ours
COMMANDS = re.compile(r"^  ([a-z]+)  ", re.MULTILINE)


def tracked(root):
    """Names of the files that git tracks, or would (new and not ignored); None without git."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-coz", "--exclude-standard"],
                         check=False, capture_output=True, text=True)
    if git.returncode != 0:
        return None
    return sorted(name for name in git.stdout.split("\0") if name and (root / name).is_file())


def text_complaints(name, text):
    """Rules 1 and 2 for one file."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in RULES:
            match = pattern.search(line)
            if match:
                yield f"{name}:{number}: {what}: {match[0].strip()}"


def readme_complaints(readme, ek_help):
    """Rule 3."""
    for verb in COMMANDS.findall(ek_help):
        if f"./ek {verb}" not in readme:
            yield f"README.md: does not show ./ek {verb}"


def complaints(root, names):
    """Everything that is wrong with these files of the tree, as lines."""
    for name in names:
        data = (root / name).read_bytes()
        if name not in FREE and b"\0" not in data:
            yield from text_complaints(name, data.decode(errors="replace"))
    ek_help = subprocess.run([root / "ek"], check=True, capture_output=True, text=True).stdout
    yield from readme_complaints((root / "README.md").read_text(), ek_help)


def main(arguments):
    root = pathlib.Path(*arguments).resolve()
    names = tracked(root)
    if names is None:
        print(f"{root} is no git checkout; the texts were not checked")
        return 77
    found = list(complaints(root, names))
    print("\n".join(found) or "every text is fit to be read")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
