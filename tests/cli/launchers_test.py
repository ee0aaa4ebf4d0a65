#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that --ranks, srun, mpirun or torchrun start: equal results, signals, losses, restarts.

srun is a stand-in: two processes with its variables. mpirun and torchrun are tested where they are installed.
"""
import importlib.util
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
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


def has_rank(pid, number):
    return f"RANK={number}".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")


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
        # SLURM_NTASKS_PER_NODE is the most that a machine may have: --ntasks=2 --ntasks-per-node=65536.
        common = {"SLURM_NTASKS": "2", "SLURM_NTASKS_PER_NODE": "65536", "SLURM_JOB_NODELIST": "localhost",
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
        return next(pid for pid in children(process.pid) if has_rank(pid, number))

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


class Agents(program.Case):
    """Two agents of torchrun, as on two machines. Each counts only the losses of its own ranks."""

    def begin(self, port, variables, arguments):
        command = [sys.executable, "-m", "torch.distributed.run", "--no-python", "--nnodes", "2", "--nproc-per-node",
                   "1", "--max-restarts", "3", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{port}", "--"]
        agent = subprocess.Popen([*command, program.PROGRAM, *arguments], cwd=self.folder,
                                 env=program.ENVIRONMENT | variables, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(agent.communicate)
        self.addCleanup(agent.terminate)  # ends its rank, too
        return agent

    def check_restart(self, **variables):
        """A killed rank: all ranks start again, and end with the bits of one rank."""
        if importlib.util.find_spec("torch") is None:
            self.skipTest(f"{sys.executable} has no torch, which torchrun is a part of")
        steps = 600
        values = SETTINGS | {"train_steps": steps, "checkpoint_every": 50, "log_every": 100,
                             "distributed_connect_timeout": 60}
        whole = self.train("one", **values)
        port = program.free_port()
        arguments = ["train", "--run", "run", *small(**values)]
        agents = [self.begin(port, variables, arguments) for _ in range(2)]
        self.until(lambda: len(program.saved_steps(self.folder / "run")) > 1, agents[0])
        ranks = [child for agent in agents for child in children(agent.pid)]
        os.kill(next(pid for pid in ranks if has_rank(pid, 1)), signal.SIGKILL)
        ends = [self.finish(agent) for agent in agents]
        self.assertEqual([code for code, _ in ends], [0, 0], ends)
        self.assertRegex(ends[0][1] + ends[1][1], rf"\nresumes from step \d+ of {steps} ")
        self.assertEqual(state(self.folder / "run", steps), state(whole, steps))

    def test_go_on_after_a_lost_rank(self):
        self.check_restart()

    def test_without_a_shared_store_go_on_after_a_lost_rank(self):
        self.check_restart(TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1")


if __name__ == "__main__":
    program.main()
