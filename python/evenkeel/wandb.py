# SPDX-License-Identifier: Apache-2.0
"""Sends the metrics of runs to Weights & Biases, or to trackio:

    python -m evenkeel.wandb RUN... [--project P] [--follow] [--to wandb|trackio]

Each run folder becomes a run with its name, its configuration and one record for each step of metrics.jsonl.
`WANDB_MODE=offline` writes files alone.
"""
import argparse
import fcntl
import importlib
import json
import os
import pathlib
import struct
import sys
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .runs import read_records

PAUSE_S = 2.0
FLOCK = struct.Struct("hhqqi0q")  # struct flock: l_type, l_whence, l_start, l_len, l_pid
USAGE_ERROR, DATA_ERROR = 64, 65


def configuration(run: pathlib.Path) -> Dict[str, Any]:
    """The keys of run.toml, such as "schedule.peak"; nothing before Python 3.11, which has no reader of TOML."""
    path = run / "run.toml"
    if sys.version_info < (3, 11) or not path.is_file():
        return {}
    import tomllib

    def flat(table: Dict[str, Any], prefix: str = "") -> Iterator[Tuple[str, Any]]:
        for key, value in table.items():
            if isinstance(value, dict):
                yield from flat(value, f"{prefix}{key}.")
            else:
                yield prefix + key, value
    return dict(flat(tomllib.loads(path.read_text(encoding="utf-8"))))


def is_locked(run: pathlib.Path) -> bool:
    """Whether a process holds the lock of the run, that of an open file description on the whole file `lock`."""
    try:
        file = os.open(run / "lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        lock = FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
        return FLOCK.unpack(fcntl.fcntl(file, fcntl.F_OFD_GETLK, lock))[0] != fcntl.F_UNLCK
    except OSError:
        return False
    finally:
        os.close(file)


def trains(run: pathlib.Path) -> bool:
    """Whether a process trains the run: status.json says so, and a process holds the lock."""
    try:
        status = json.loads((run / "status.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(status, dict) and status.get("state") == "training" and is_locked(run)


def numbers(record: Dict[str, Any]) -> Dict[str, float]:
    """The numbers of a record, those of nested objects as "object/name"."""
    out: Dict[str, float] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            out.update({f"{name}/{key}": each for key, each in numbers(value).items()})
        elif isinstance(value, (int, float)) and name != "step":
            out[name] = float(value) if isinstance(value, bool) else value
    return out


def steps(run: pathlib.Path) -> List[Tuple[int, Dict[str, float]]]:
    """(step, numbers), the records of a step together: a training step and its evaluation are two lines.

    `FileNotFoundError` or `ValueError` as read_records(); `ValueError` for a line without a step.
    """
    joined: Dict[int, Dict[str, float]] = {}
    for line, record in enumerate(read_records(run), 1):
        step = record.get("step")
        if not isinstance(step, int) or isinstance(step, bool):
            found = f"found {json.dumps(step)[:40]}" if "step" in record else "it has none"
            raise ValueError(f"{run / 'metrics.jsonl'}:{line}: wanted an integer \"step\", but {found}")
        joined.setdefault(step, {}).update(numbers(record))
    return list(joined.items())


def send(run: pathlib.Path, service: Any, project: str, follow: bool) -> int:
    """Sends one run, which main() has checked; with `follow`, until it trains no more. Returns the number of steps."""
    remote = service.init(project=project, name=run.resolve().name, config=configuration(run))
    log = remote.log if remote is not None and hasattr(remote, "log") else service.log
    last, count = -1, 0
    try:
        while True:
            ends = not follow or not trains(run)
            rows = [row for row in steps(run) if row[0] > last]
            # While a run trains, its newest step may still get an evaluation.
            for step, values in rows if ends else rows[:-1]:
                log(values, step=step)
                last, count = step, count + 1
            if ends:
                return count
            time.sleep(PAUSE_S)
    finally:
        service.finish()


def main(words: Optional[List[str]] = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m evenkeel.wandb", description="Sends metrics of runs.")
    parser.add_argument("runs", nargs="+", type=pathlib.Path, metavar="RUN", help="a run folder")
    parser.add_argument("--project", default="evenkeel", help="name of the project (default: evenkeel)")
    parser.add_argument("--follow", action="store_true",
                        help="go on until the run trains no more, then take the next run")
    parser.add_argument("--to", choices=["wandb", "trackio"], default="wandb", help="the service (default: wandb)")
    options = parser.parse_args(words)
    known = options.runs[:1] if options.follow else options.runs  # followed: the next run may start later
    try:
        for run in known:  # a wrong path is reported before a package that is not installed
            steps(run)
    except (OSError, ValueError) as error:
        print(f"evenkeel.wandb: {error}", file=sys.stderr)
        return DATA_ERROR
    try:
        service = importlib.import_module(options.to)
    except ImportError as error:
        print(f"evenkeel.wandb: wanted the package {options.to}, but importing it failed: {error}; "
              f"run: {sys.executable} -m pip install {options.to}", file=sys.stderr)
        return USAGE_ERROR
    for run in options.runs:
        try:
            steps(run)  # before the service gets a run without steps
            print(f"{run}: {send(run, service, options.project, options.follow)} steps")
        except (OSError, ValueError) as error:
            print(f"evenkeel.wandb: {error}", file=sys.stderr)
            return DATA_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main())
