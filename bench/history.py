#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps, and appends the figures to docs/performance/history.csv: one row per case and scheme.

    bench/history.py PROGRAM [HISTORY.csv]

A row is compared with the last five of the same case, scheme, processor and number of threads, as time over the floor.
It is slower if its lower quartile is above the median of their upper quartiles, and its median more than 5 % above
theirs.

Exit codes: 1, a row is slower; 70, the program failed, and nothing was appended; 75, the machine was busy, and nothing
was appended.
"""
import csv
import json
import pathlib
import re
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
RECENT = 5  # rows
SLOWER = 1.05
SLOWER_EXIT, FAILED_EXIT, BUSY_EXIT = 1, 70, 75


def measured(program, case, precision):
    """Rows of one run of `bench step`. Ends the program if the machine is busy, or the run fails."""
    command = [program, "bench", "step", *CASES[case], "--set", f"train.precision={precision}", "--schemes", *SCHEMES,
               "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode == BUSY_EXIT:
        sys.exit(BUSY_EXIT)
    if done.returncode != 0:
        print(f"{' '.join(command)}: exit code {done.returncode}", file=sys.stderr)
        sys.exit(FAILED_EXIT)
    return [row_of(case, precision, record) for record in json.loads(done.stdout)]


def name_of(processor, cpuinfo):
    """The name of a processor with family and model: "AMD EPYC" is several generations."""
    facts = dict(re.findall(r"^(cpu family|model)\s*: (\d+)$", cpuinfo, re.MULTILINE))
    return f"{processor}, family {facts['cpu family']} model {facts['model']}" if len(facts) == 2 else processor


def row_of(case, precision, record):
    machine = record["machine"]
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    processor = name_of(machine["processor"], cpuinfo.read_text() if cpuinfo.exists() else "")
    lower, median, upper = statistics.quantiles(record["round_seconds"], n=4)
    row = {"date": record["date"][:10], "commit": machine["commit"], "processor": processor,
           "isa": machine["isa"], "threads": str(machine["threads"]), "case": case, "precision": precision,
           "scheme": record["scheme"]}
    times = {"median_ms": median, "lower_quartile_ms": lower, "upper_quartile_ms": upper,
             "floor_ms": record["floor_seconds"]}
    return row | {name: f"{1e3 * seconds:.4g}" for name, seconds in times.items()}


def over_floor(row, column="median_ms"):
    return float(row[column]) / float(row["floor_ms"])


def change(recent, row):
    """The median of a row over that of recent rows, and whether the row is slower."""
    ratio = over_floor(row) / statistics.median(map(over_floor, recent))
    usual = statistics.median(over_floor(old, "upper_quartile_ms") for old in recent)
    return ratio, ratio > SLOWER and over_floor(row, "lower_quartile_ms") > usual


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.strip())
    file = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else
                        pathlib.Path(__file__).parent.parent / "docs/performance/history.csv")
    history = list(csv.DictReader(file.open())) if file.exists() else []
    rows = [row for case in CASES for precision in PRECISIONS for row in measured(sys.argv[1], case, precision)]
    any_slower = False
    for row in rows:
        recent = [old for old in history if all(old[column] == row[column] for column in SAME)][-RECENT:]
        ratio, slower = change(recent, row) if recent else (None, False)
        any_slower = any_slower or slower
        note = f"{ratio:.3f} of the last {len(recent)}{', SLOWER' if slower else ''}" if recent else "first"
        print(f"{row['case']:26} {row['precision']:9} {row['scheme']:12} {row['median_ms']:>8} ms  "
              f"{over_floor(row):.2f} of the floor  {note}", flush=True)
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(history + rows)
    sys.exit(SLOWER_EXIT if any_slower else 0)


if __name__ == "__main__":
    main()
