#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the numbers of docs/findings.md: every interval must come from a CSV file of docs/experiments.

Usage: tools/findings_numbers.py PROGRAM
An interval belongs to the sections that its paragraph or its row links, or to the section that it is in, and must be in
one of the files of these sections (FILES). It is there if `evenkeel study --from` computes it for a claim or a
comparison, or if it is the paired difference of two arms in one column: Student's t, over all seeds or over seeds 4 to
12, in either order of the arms. A dagger after the interval, in the first cell of its row or in the head of its table
says that no file has it. Exit code 1: an interval that no file has, a check that also accepts wrong numbers, or
fewer than LEAST_CHECKED intervals.
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
MAIN, DEPTH = ["main-shakespeare-desk"], ["depth-desk", "depth-desk_one_rate", "depth-fresh-desk_one_rate",
                                          "depth-shakespeare-desk_one_rate"]
PLACEMENT, RATES = ["placement-desk", "placement-shakespeare-desk"], ["learning_rate-desk", "learning_rate-shakespeare-desk"]
FLOW = ["gradient_flow-desk", "gradient_flow-shakespeare-desk"]
FILES = {1: MAIN, 2: MAIN, 3: DEPTH, 4: MAIN, 5: MAIN, 6: MAIN + FLOW + DEPTH + PLACEMENT, 7: MAIN + ["init-shakespeare-desk"], 8: PLACEMENT,
         9: PLACEMENT, 10: PLACEMENT, 11: FLOW, 12: FLOW, 13: DEPTH, 14: DEPTH, 15: DEPTH, 16: RATES, 17: RATES, 18: RATES,
         19: ["gradient_start-desk"], 20: ["scaled_weight-desk"], 21: ["jacobian-desk"], 22: ["initial_gains-desk"],
         23: ["detach-desk"], 24: ["shift-desk"], 25: ["effective_rate-desk"], 26: ["batch_norm-desk"],
         27: ["rate_atlas-desk"], 28: ["lead-desk"], 29: ["beats_both-desk"], 30: ["first_block-desk"], 31: ["attention_norms-desk"], 32: ["norm_kind-desk"],
         33: ["overhead-desk"], 34: ["leakage-desk"], 35: ["signal-desk"], 36: ["no_norm-desk"], 37: ["core-desk"],
         38: ["attention_gradients-desk"], 39: ["confirm-shakespeare-desk"], 40: ["batch_size-desk"],
         41: ["addition-desk"]}
WITHOUT_PAIRS = {"rate_atlas-desk", "gradient_start-desk"}  # hundreds of arms: some pair has any number
OF_TIMES = {"overhead-desk"}  # differences of logarithms, which the page has in per cent
UNSEEN = {str(seed) for seed in range(4, 13)}  # of the confirmatory claims of study main
# The 97.5 % quantiles of Student's t with 1, 2, ... degrees of freedom.
T = [12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306, 2.26216, 2.22814, 2.20099, 2.17881]
NOT_MEASURED = {"name", "seed", "state", "why", "parameters", "tokens", "precision", "tuned", "folder", "study", "size"}
LEAST_CHECKED = 200  # intervals; of fewer, the page is not the one that this check reads
NUMBER = r"[-+]?\d+\.\d+"
INTERVAL = re.compile(rf"(?:({NUMBER})(?:\s+nats per byte)?\s+)?\[({NUMBER}),\s+({NUMBER})\](\s†)?")
LINK = re.compile(r"\(#(\d+)-")


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


def is_in(shown, numbers):
    """Whether printed numbers, of which the first may be missing, are these, in either order of the arms."""
    mean, low, high = numbers
    decimals = len(shown[1].partition(".")[2])
    for values in [(mean, low, high), (-mean, -high, -low)]:
        if all(text is None or float(text) == round(value, decimals) for text, value in zip(shown, values)):
            return True
    return False


class Shown:
    """An interval of the page."""

    def __init__(self, found, line, sections, dagger):
        self.text, self.numbers, self.line = " ".join(found[0].split()), found.groups()[:3], line
        self.sections, self.dagger = sections, dagger or bool(found[4])


def intervals(page):
    """The intervals of the page."""
    shown, section, row_sections, head = [], [], [], ""
    line = 1
    for block in page.split("\n\n"):
        if title := re.match(r"\n*## (\d+)\. ", block):
            section = [int(title[1])]
        elif block.lstrip("\n").startswith("## "):
            section = []
        lines = block.split("\n")
        is_table = any(each.startswith("|") for each in lines)
        head = next((each for each in lines if each.startswith("|")), "")
        at = line
        for part in (lines if is_table else re.split(r"\n(?=- )", block)):
            row_sections = [int(each) for each in LINK.findall(part)] or (row_sections if is_table else [])
            label = part.split("|")[1] if part.startswith("|") else ""
            for found in INTERVAL.finditer(part):
                shown.append(Shown(found, at + part[:found.start()].count("\n"), row_sections + section,
                                   "†" in label or is_table and "†" in head))
            at += part.count("\n") + 1
        line += block.count("\n") + 2
    return shown


def main(program):
    known = {}
    for name in sorted(set(sum(FILES.values(), []))):
        file = DATA / f"{name}.csv"
        known[name] = of_the_program(program, file)
        if name in OF_TIMES:
            known[name] = [tuple(100 * math.expm1(each) for each in numbers) for numbers in known[name]]
        elif name not in WITHOUT_PAIRS:
            known[name] += of_pairs(file)

    def is_known(sections, numbers):
        return any(is_in(numbers, of) for each in sections for name in FILES[each] for of in known[name])

    shown = intervals(PAGE.read_text())
    checked = [each for each in shown if not each.dagger]
    unknown = [each for each in checked if not is_known(each.sections, each.numbers)]
    for each in unknown:
        print(f"docs/findings.md, line {each.line}: no CSV file of section {each.sections} has {each.text}; correct it, or "
              "mark it †")
    # The check must refuse wrong numbers: those whose upper bound is three units of its last digit higher.
    decimals = [len(each.numbers[2].partition(".")[2]) for each in checked]
    wrong = [each.numbers[:2] + (f"{float(each.numbers[2]) + 3 * 10**-digits:.{digits}f}",)
             for each, digits in zip(checked, decimals)]
    accepted = sum(is_known(each.sections, numbers) for each, numbers in zip(checked, wrong))
    print(f"{len(checked) - len(unknown)} of {len(checked)} intervals of docs/findings.md are those of the CSV files; "
          f"{len(shown) - len(checked)} more are marked † as without a file; of {len(wrong)} wrong ones {accepted} would pass")
    if len(checked) < LEAST_CHECKED:
        print(f"docs/findings.md: must have at least {LEAST_CHECKED} intervals to check, but has {len(checked)}; "
              "correct intervals() if the page writes them in another form")
        return 1
    return 1 if unknown or accepted > len(wrong) / 10 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
