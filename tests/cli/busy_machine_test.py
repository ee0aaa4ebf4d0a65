#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training on a busy machine waits shortly at barriers, and computes the same bits."""
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


if __name__ == "__main__":
    program.main()
