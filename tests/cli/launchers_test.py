#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that --ranks, srun, mpirun or torchrun start: equal results, signals, losses, restarts.

srun is a stand-in: two processes with its variables. mpirun and torchrun are tested where they are installed.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

import program
from program import small

STEPS = 12
SETTINGS = {"train_steps": STEPS, "train_gradient_shards": 2, "checkpoint_every": 4, "log_every": 1,
            "log_tensorboard": "false", "distributed_heartbeat_timeout": 2}


def state(run, step=STEPS):
    """The files of a checkpoint that do not name the machine."""
    folder = program.folder_of(run, step)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "MANIFEST.json"}


def children(process):
    """The processes that a process started."""
    done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [int(word) for word in done.stdout.split()]


class Launchers(program.Case):
    def one_rank(self):
        return self.train("one", **SETTINGS)

    def check(self, run):
        whole = self.one_rank()
        self.assertEqual(state(self.folder / run), state(whole))

    def arguments(self, run, **changed):
        return ["train", "--quiet", "--run", run, *small(**(SETTINGS | changed))]

    def test_ranks_give_the_bits_of_one_rank(self):
        self.succeed(*self.arguments("run"), "--ranks", 2)
        self.check("run")

    def test_srun(self):
        common = {"SLURM_NTASKS": "2", "SLURM_NTASKS_PER_NODE": "2", "SLURM_JOB_NODELIST": "localhost",
                  "SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_ID": "0"}
        both = [subprocess.Popen([program.PROGRAM, *self.arguments("run")], cwd=self.folder,
                                 env=program.ENVIRONMENT | common | {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)},
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(2)]
        ends = [process.communicate(timeout=program.LIMIT) for process in both]
        self.assertEqual([process.returncode for process in both], [0, 0], ends)
        self.check("run")

    def launched(self, *command):
        done = subprocess.run([*command, program.PROGRAM, *self.arguments("run")], cwd=self.folder,
                              env=program.ENVIRONMENT, capture_output=True, timeout=program.LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.check("run")

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_mpirun(self):
        self.launched("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2")

    @unittest.skipUnless(shutil.which("torchrun"), "torchrun is not installed")
    def test_torchrun(self):
        self.launched("torchrun", "--no-python", "--nproc-per-node", "2", "--")  # torchrun has options like --run


class Ends(program.Case):
    LONG = SETTINGS | {"train_steps": 10**6}

    def begin(self, *more, **changed):
        return self.start("train", "--run", "run", *small(**(self.LONG | changed)), "--ranks", 2, *more)

    def steps(self):
        return max((line["step"] for line in program.lines_of(self.folder / "run/metrics.jsonl")), default=0)

    def rank(self, process, number):
        """The process of a rank."""
        def environment(pid):
            return pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return next(pid for pid in children(process.pid) if f"RANK={number}".encode() in environment(pid))

    def gone(self, pids):
        """None of the processes runs; they may need an instant to vanish."""
        end = time.monotonic() + 2
        while any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual([pid for pid in pids if pathlib.Path(f"/proc/{pid}").exists()], [])

    def test_a_signal_saves_and_ends_all(self):
        process = self.begin()
        self.until(lambda: self.steps() > 3, process)
        pids = children(process.pid)
        process.send_signal(signal.SIGTERM)
        code, said = self.finish(process)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"saved at step \d+; go on with: evenkeel train --ranks [24] --run run\n$")
        self.gone(pids)

    def test_a_killed_rank_ends_all(self):
        process = self.begin()
        self.until(lambda: self.steps() > 5, process)
        pids = children(process.pid)
        os.kill(self.rank(process, 1), signal.SIGKILL)
        code, said = self.finish(process)
        self.assertEqual(code, 75, said)
        self.assertRegex(said, r"evenkeel: rank 1 \(process \d+\) was ended by signal 9 \(Killed\)\n")
        self.assertRegex(said, r"evenkeel: rank 1 \(.*\) is lost: not heard of for \d\.\d s, was at step \d+; the last "
                         r"checkpoint is step \d+; go on with: evenkeel train --ranks 2 --run run\n")
        self.gone(pids)

    def test_a_killed_launcher_ends_all(self):
        process = self.begin()
        self.until(lambda: self.steps() > 3, process)
        pids = children(process.pid)
        process.kill()
        process.wait()
        end = time.monotonic() + 30
        while any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < end:
            time.sleep(0.05)
        self.gone(pids)

    def check_restart(self, rank, how):
        """A rank is lost: all start again once, and end with the bits of one rank."""
        whole = self.train("one", **SETTINGS | {"train_steps": 200})
        process = self.begin("--restarts", 2, train_steps=200)
        self.until(lambda: program.saved_steps(self.folder / "run"), process)
        os.kill(self.rank(process, rank), how)
        code, said = self.finish(process)
        self.assertEqual(code, 0, said)
        self.assertIn("evenkeel: all ranks start again from the last checkpoint in 1 s: restart 1 of 2\n", said)
        self.assertEqual(state(self.folder / "run", 200), state(whole, 200))
        self.assertIsNone(re.search("restart 2", said))

    def test_restarts_go_on_from_the_last_checkpoint(self):
        self.check_restart(0, signal.SIGKILL)

    def test_a_stopped_rank_is_a_loss_too(self):
        self.check_restart(1, signal.SIGSTOP)

    def test_a_signal_ends_the_pause_before_a_restart(self):
        process = self.begin("--restarts", 2)
        self.until(lambda: self.steps() > 3, process)
        os.kill(self.rank(process, 0), signal.SIGKILL)
        self.until(lambda: not children(process.pid), process)
        process.send_signal(signal.SIGTERM)
        code, said = self.finish(process)
        self.assertEqual(code, 75, said)
        self.assertTrue(said.endswith(": restart 1 of 2\n"), said)

    def test_missing_memory_is_no_loss(self):
        done = self.evenkeel("train", "--quiet", "--ranks", 2, "--restarts", 2, "--run", "run",
                             *small(model_width=1 << 24, model_layers=4096))
        said = done.stderr.decode()
        self.assertEqual(done.returncode, 75, said)
        self.assertRegex(said, r"^evenkeel: this would take about .*\n$")


if __name__ == "__main__":
    program.main()
