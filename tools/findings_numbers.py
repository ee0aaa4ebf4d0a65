#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the numbers of docs/findings.md: every difference with an interval must come from a CSV file of
docs/experiments, unless it has a dagger.

Usage: tools/findings_numbers.py PROGRAM
A difference is one that `evenkeel study --from` computes, or a paired one of two arms of a file: Student's t, over all
seeds or over the seeds 4 to 12. Its sign may be that of either order. Exit code 1: one that no file has.
"""
import collections
import csv
import itertools
import json
import math
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = ROOT / "docs/experiments"
PAGE = ROOT / "docs/findings.md"
UNSEEN = {str(seed) for seed in range(4, 13)}  # of the confirmatory claims of study main
# The 97.5 % quantiles of Student's t with 1, 2, ... degrees of freedom.
T = [12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306, 2.26216, 2.22814, 2.20099, 2.17881]
NOT_MEASURED = {"name", "seed", "state", "why", "parameters", "tokens", "precision", "tuned", "folder", "study", "size"}
DECIMALS = (2, 3, 4)
TRIPLE = re.compile(r"([-+]?\d+\.\d+) \[([-+]?\d+\.\d+),\s([-+]?\d+\.\d+)\]( †)?")


def of_the_program(program, file):
    """(difference, low, high) of all claims and comparisons."""
    study, size = file.stem.split("-")[0], file.stem.split("-")[-1]
    done = subprocess.run([program, "study", study, "--size", size, "--from", file, "--json"], check=True,
                          capture_output=True, text=True)
    answer = json.loads(done.stdout)
    return [(each["difference"], each["low"], each["high"])
            for each in answer["verdicts"] + answer.get("comparisons", []) if each.get("low") is not None]


def paired(a, b):
    """(mean, low, high) of a - b over the seeds of both; None below two."""
    differences = [a[seed] - b[seed] for seed in a if seed in b]
    n = len(differences)
    if not 2 <= n <= len(T) + 1:
        return None
    mean = sum(differences) / n
    half = T[n - 2] * math.sqrt(sum((each - mean)**2 for each in differences) / (n - 1) / n)
    return mean, mean - half, mean + half


def of_pairs(file):
    """paired() of any two arms, in each measured column."""
    rows = list(csv.DictReader(file.open()))
    found = []
    for column in [name for name in rows[0] if name not in NOT_MEASURED]:
        arms = collections.defaultdict(dict)
        for row in rows:
            try:
                arms[row["name"]][row["seed"]] = float(row[column]) if row["state"] == "finished" else math.nan
            except ValueError:
                continue  # a label
        arms = {name: {seed: value for seed, value in arm.items() if math.isfinite(value)} for name, arm in arms.items()}
        for a, b in itertools.combinations(arms.values(), 2):
            for seeds in [set(a), UNSEEN & set(a)]:
                found.append(paired({seed: a[seed] for seed in seeds}, b))
    return [each for each in found if each is not None]


def rounded(numbers, decimals):
    return tuple(round(number, decimals) + 0.0 for number in numbers)  # no -0.0


def main(program):
    known = set()
    for file in sorted(DATA.glob("*.csv")):
        if file.stem.endswith("-searches"):
            continue
        pairs = [] if file.stem.startswith("rate_atlas") else of_pairs(file)  # 91 schemes: any number would be one
        for mean, low, high in of_the_program(program, file) + pairs:
            for decimals in DECIMALS:
                known.add((decimals, rounded((mean, low, high), decimals)))
                known.add((decimals, rounded((-mean, -high, -low), decimals)))
    page = PAGE.read_text()
    shown = list(TRIPLE.finditer(page))
    unknown = 0
    for each in shown:
        decimals = len(each[1].partition(".")[2])
        if each[4] or (decimals, rounded(map(float, each.groups()[:3]), decimals)) in known:
            continue
        unknown += 1
        line = page[:each.start()].count("\n") + 1
        print(f"docs/findings.md, line {line}: no CSV file of docs/experiments gives {each[0]}; correct it, or mark it †")
    marked = sum(1 for each in shown if each[4])
    print(f"of {len(shown)} differences of docs/findings.md {len(shown) - unknown - marked} are those of the CSV files, "
          f"{marked} are marked † as without a file")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
