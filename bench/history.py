#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps, and appends the figures to docs/performance/history.csv: one row per case and scheme.

    bench/history.py PROGRAM [HISTORY.csv]

Prints each row, with the change of its time over the floor since the last row of the same case, scheme, processor
and number of threads. Exit code 1: one is more than 5 % slower, and its lower quartile is above the last upper one.
Exit code 75: the machine was busy, and nothing was appended.
"""
import csv
import json
import pathlib
import statistics
import subprocess
import sys

SCHEMES = ["pre_norm", "hybrid_norm"]
OF_98M = ["--preset", "151m", "--set", "model.vocabulary=32000", "model.context=1024", "train.batch=4", "--rounds", "5"]
CASES = {"default": [], "98.9M, 4 x 1,024 tokens": OF_98M}
PRECISIONS = ["float32", "bfloat16"]
COLUMNS = ["date", "commit", "processor", "isa", "threads", "case", "precision", "scheme", "median_ms",
           "lower_quartile_ms", "upper_quartile_ms", "floor_ms"]
SAME = ("processor", "isa", "threads", "case", "precision", "scheme")
SLOWER = 1.05
BUSY = 75


def measured(program, case, precision):
    """Rows of one run of `bench step`; None on a busy machine."""
    done = subprocess.run([program, "bench", "step", *CASES[case], "--set", f"train.precision={precision}", "--schemes",
                           *SCHEMES, "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode == BUSY:
        return None
    if done.returncode != 0:
        sys.exit(done.returncode)
    return [row_of(case, precision, record) for record in json.loads(done.stdout)]


def row_of(case, precision, record):
    machine = record["machine"]
    lower, median, upper = statistics.quantiles(record["round_seconds"], n=4)
    row = {"date": record["date"][:10], "commit": machine["commit"], "processor": machine["processor"],
           "isa": machine["isa"], "threads": machine["threads"], "case": case, "precision": precision,
           "scheme": record["scheme"]}
    times = {"median_ms": median, "lower_quartile_ms": lower, "upper_quartile_ms": upper,
             "floor_ms": record["floor_seconds"]}
    return row | {name: f"{1e3 * seconds:.4g}" for name, seconds in times.items()}


def over_floor(row, column="median_ms"):
    return float(row[column]) / float(row["floor_ms"])


def is_slower(before, after):
    """More than SLOWER, by the medians and beyond the quartiles of both rows."""
    return (over_floor(after) > SLOWER * over_floor(before) and
            over_floor(after, "lower_quartile_ms") > over_floor(before, "upper_quartile_ms"))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.strip())
    file = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else
                        pathlib.Path(__file__).parent.parent / "docs/performance/history.csv")
    history = list(csv.DictReader(file.open())) if file.exists() else []
    rows = []
    for case in CASES:
        for precision in PRECISIONS:
            found = measured(sys.argv[1], case, precision)
            if found is None:
                sys.exit(BUSY)
            rows += found
    slower = False
    for row in rows:
        same = [old for old in history if all(old[column] == str(row[column]) for column in SAME)]
        change = f"{over_floor(row) / over_floor(same[-1]):.3f} of {same[-1]['commit']}" if same else "first"
        slower = slower or bool(same) and is_slower(same[-1], row)
        print(f"{row['case']:26} {row['precision']:9} {row['scheme']:12} {row['median_ms']:>8} ms  "
              f"{over_floor(row):.2f} of the floor  {change}", flush=True)
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(history + rows)
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
