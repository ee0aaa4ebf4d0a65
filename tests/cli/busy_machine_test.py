#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training on a busy machine waits shortly at barriers, and computes the same bits. `bench step` judges nothing."""
import contextlib
import os
import pathlib
import subprocess
import sys

import program
from program import small, state_at

WITHOUT_WAIT_POLICY = {key: value for key, value in program.ENVIRONMENT.items()
                       if key not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
STEPS = 2000  # some seconds
SETTINGS = {"train_threads": 2, "train_steps": STEPS, "log_every": 100, "checkpoint_every": 0}


def names_of_threads(process):
    """Without threads that end meanwhile."""
    names = []
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        with contextlib.suppress(OSError):
            names.append((task / "comm").read_text().strip())
    return names


class BusyMachine(program.Case):
    def start_loops(self):
        """Keeps all processors busy."""
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
        for loop in loops:
            self.addCleanup(loop.wait)
            self.addCleanup(loop.kill)
        return loops

    def test_idle_threads_make_waits_short_and_change_no_bit(self):
        quiet = self.train("quiet", **SETTINGS)
        loops = self.start_loops()
        process = self.start("train", "--run", "run", *small(**SETTINGS), env=WITHOUT_WAIT_POLICY)
        self.until(lambda: names_of_threads(process).count("short-waits") >= 2, process)
        for loop in loops:
            loop.kill()
        code, error = self.finish(process)
        self.assertEqual(code, 0, error)
        self.assertEqual(state_at(quiet, STEPS), state_at(self.folder / "run", STEPS))

    def test_serial_shares_are_not_printed(self):
        """They are times in which threads sleep: other processes make them larger than the step."""
        self.start_loops()
        done = subprocess.run([program.PROGRAM, "bench", "step", *map(str, small(train_threads=2)), "--schemes",
                               "pre_norm", "--rounds", "3"], cwd=self.folder, capture_output=True, check=False,
                              timeout=program.LIMIT, env=WITHOUT_WAIT_POLICY | {"EVENKEEL_BENCH_SMALL": "1"})
        self.assertEqual(done.returncode, 75, done)  # not judged
        table = done.stdout.decode().partition("\nserial share: ")[2]
        shares = [line.split() for line in table.splitlines() if line.startswith("pre_norm ")]
        self.assertEqual(shares, [["pre_norm", *["-"] * 9]])


if __name__ == "__main__":
    program.main()
