#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the catalogue in docs/schemes.md current: the text below the page's mark is what
`evenkeel schemes --markdown` prints. The text above the mark is written by hand.

Usage: tools/schemes_page.py PROGRAM [--check]
With --check nothing is written; the exit code is 1 where the page is out of date.
"""
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "schemes.md"
MARK = "<!-- Below: made from schemes/*.toml by tools/schemes_page.py. Above: written by hand. -->\n"


def renewed(page, catalogue):
    """The page with the catalogue below its mark."""
    above, mark, _ = page.partition(MARK)
    if not mark:
        raise SystemExit(f"{PAGE.name}: must hold the line {MARK.strip()}")
    return f"{above}{mark}\n{catalogue}"


def first_difference(old, new):
    """The first line, by number, in which two texts differ."""
    old_lines, new_lines = old.splitlines(), new.splitlines()
    for number, (before, after) in enumerate(zip(old_lines, new_lines), 1):
        if before != after:
            return f"line {number} should be\n  {after}\nbut is\n  {before}"
    return f"it should have {len(new_lines)} lines, but has {len(old_lines)}"


def main(program, *options):
    catalogue = subprocess.run([program, "schemes", "--markdown"], check=True,
                               capture_output=True, text=True).stdout
    page = PAGE.read_text()
    new = renewed(page, catalogue)
    if page == new:
        print("docs/schemes.md is current")
        return 0
    if "--check" not in options:
        PAGE.write_text(new)
        print("docs/schemes.md is written anew")
        return 0
    print(f"docs/schemes.md is out of date: {first_difference(page, new)}\n"
          f"to renew it: python3 tools/schemes_page.py {program}")
    return 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    sys.exit(main(*sys.argv[1:]))
