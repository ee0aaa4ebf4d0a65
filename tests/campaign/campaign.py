#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks the program: kills, failing calls, power cuts, damage, fuzzing. docs/reliability.md explains it.

Usage: campaign.py EVENKEEL [--level change|nightly|release] [--part NAME]... [--seed S] [--hours H]
                            [--jobs N] [--folder DIR] [--table FILE]

The seed determines every choice; the instants of kills and signals also depend on the machine's speed.
Exit codes: 0 nothing failed; 1 something failed; 64 usage; 77 every part was skipped.
"""
import argparse
import importlib
import os
import pathlib
import shutil
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import harness
import table

PARTS = ["kills", "faults", "power_cuts", "file_systems", "disk_full", "vanishing_files", "limits", "locks",
         "flips", "resume", "http_requests", "signals", "keys", "crashes", "ranks", "ranks_bits", "ranks_saves",
         "ranks_network", "fuzzing"]
MOST_SHOWN = 40  # failures of one part


@dataclass
class Row:
    """The result of one part."""
    part: str
    what: str = ""
    wanted: int = 0
    tried: int = 0
    failures: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    seconds: float = 0
    file_system: str = ""
    skipped: str = ""


def judge(context, part, label, trial):
    """Runs one trial in a folder of its own; (cases, complaints, note)."""
    folder = context.folder / f"{part}-{label}".replace("/", "_").replace(" ", "_")
    try:
        with harness.fresh(folder):
            result = trial(folder, context.random(part, label))
            if isinstance(result, harness.Cases):
                return result
            complaints = list(result or [])
            return harness.Cases(1, ["; ".join(complaints)] if complaints else [])
    except Exception as error:  # noqa: BLE001  a trial that cannot run is a failure, and the next one runs
        where = traceback.extract_tb(error.__traceback__)[-1]
        return harness.Cases(1, [f"{type(error).__name__} in {where.name}: {error}"])


def run_part(context, name, deadline):
    """All trials of a part, some at a time; none is started after the deadline."""
    module = importlib.import_module(name)
    row = Row(name, module.__doc__.split("\n")[0].rstrip("."), file_system=table.file_system(context.folder))
    begun, context.deadline = time.monotonic(), deadline

    def one(labelled):
        if time.monotonic() > deadline:
            return None
        return labelled[0], judge(context, name, *labelled)
    try:
        trials = list(module.trials(context))
        row.wanted = len(trials)
        if not trials:
            row.failures.append("has no cases")
        with ThreadPoolExecutor(getattr(module, "JOBS", None) or context.jobs) as pool:
            for result in filter(None, pool.map(one, trials)):
                label, cases = result
                row.tried += cases.tried
                row.failures += [f"{label}: {complaint}" for complaint in cases.complaints]
                row.notes += [cases.note] if cases.note else []
                row.wanted += cases.tried - 1
    except harness.Skip as reason:
        row.skipped = str(reason)
    except Exception as error:  # noqa: BLE001  the other parts can still run
        row.failures.append(f"cannot begin: {type(error).__name__}: {error}")
    finally:
        context.end_part()
    row.file_system = getattr(module, "FILE_SYSTEM", row.file_system)
    row.seconds = time.monotonic() - begun
    return row


def show(row):
    """One line for a part, and its failures."""
    if row.skipped:
        print(f"{row.part}: skipped: {row.skipped}", flush=True)
        return
    lack = "" if row.tried >= row.wanted else f" of {row.wanted}"
    note = f" ({'; '.join(dict.fromkeys(row.notes))})" if row.notes else ""
    print(f"{row.part}: {row.tried:,}{lack} cases, {len(row.failures)} failed, {row.seconds:.0f} s{note}", flush=True)
    for failure in row.failures[:MOST_SHOWN]:
        print(f"  FAILED {failure}", flush=True)
    if len(row.failures) > MOST_SHOWN:
        print(f"  and {len(row.failures) - MOST_SHOWN} more", flush=True)


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("evenkeel", type=pathlib.Path, help="the program under test")
    parser.add_argument("--level", choices=harness.LEVELS, default="change", help="number of cases (change)")
    parser.add_argument("--part", choices=PARTS, action="append", help="this part only; may be repeated")
    parser.add_argument("--seed", type=int, default=1, help="determines every choice (1)")
    parser.add_argument("--hours", type=float, help="no case starts after this time; parts share it equally")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cases at a time (number of processors)")
    parser.add_argument("--folder", type=pathlib.Path, help="where runs are written (memory, else TMPDIR)")
    parser.add_argument("--table", type=pathlib.Path, help="writes the rows into the table of this page")
    try:
        options = parser.parse_args(arguments)
        if options.table and not options.table.is_file():
            parser.error(f"--table {options.table}: no such page; name one with the table of a campaign")
        return options
    except SystemExit as end:
        sys.exit(64 if end.code else 0)


def main(arguments):
    options = parsed(arguments)
    base = options.folder or pathlib.Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="evenkeel-campaign-", dir=base))
    context = harness.Context(options.evenkeel, folder, options.level, options.seed, options.jobs)
    print(f"campaign: level {options.level}, seed {options.seed}, {options.jobs} at a time, "
          f"on {table.file_system(folder)}", flush=True)
    names = options.part or PARTS
    begun = time.monotonic()
    rows = []
    if "fuzzing" in names:
        importlib.import_module("fuzzing").building()
    for number, name in enumerate(names):
        deadline = float("inf")
        if options.hours:
            left = begun + options.hours * 3600 - time.monotonic()
            deadline = time.monotonic() + left / (len(names) - number)
        rows.append(run_part(context, name, deadline))
        show(rows[-1])
    shutil.rmtree(folder, ignore_errors=True)
    print(table.text(rows, table.version_of(context)))
    if options.table:
        table.write(options.table, rows, context, PARTS)
    failed = sum(len(row.failures) for row in rows)
    print(f"campaign: {sum(row.tried for row in rows):,} cases, {failed} failed, "
          f"{time.monotonic() - begun:.0f} s; seed {options.seed}")
    if all(row.skipped for row in rows):
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
