# SPDX-License-Identifier: Apache-2.0
"""Runs the program as a user does: by its command line, in an empty folder.

Used by the tests of this folder, each of which is started as `NAME_test.py PATH_OF_EVENKEEL`.
"""
import errno
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import fork_server

SKIPPED = 77  # for ctest: all tests skipped themselves
LIMIT = 300  # seconds; only a program that hangs takes so long
NIGHTLY = os.environ.get("EVENKEEL_NIGHTLY") == "1"
STATE_FILES = ["model.safetensors", "optimizer.safetensors", "state.json"]
OF_THIS_MACHINE = {"tokens_per_s", "step_s", "memory_bytes", "faults",  # differ from run to run
                   "exchange_s", "slowest_rank", "waited_s"}

# The names of the norm kinds: one row each in the table of the source.
NORM_KINDS = sorted(re.findall(r'\.name = "(\w+)"', (pathlib.Path(__file__).parents[2] /
                                                     "src/evenkeel/norm/kinds.cpp").read_text()))

# The commands of the program, in alphabetical order.
VERBS = sorted(re.findall(r"^([a-z]+) ", (pathlib.Path(__file__).parents[2] /
                                          "src/evenkeel/cli/verbs.txt").read_text(), re.MULTILINE))

# The endings of texts, as messages list them.
ENDINGS = " ".join(re.findall(r'\{"(\.\w+)", TextKind::', (
    pathlib.Path(__file__).parents[2] / "src/evenkeel/data/text_files.cpp").read_text())) + " (also .gz, .zst)"

# What a message says of a relative path to nothing. refuse() puts the folder of the test in place of PWD.
MISSING = "must be a file or a folder, but is missing; relative paths begin in the current folder (PWD)"
MISSING_OF_RUN = MISSING + "; name a text of the run with --set data.validation=PATH or --set data.train=PATH"


def ports_of_no_connection():
    """Ports that Linux does not choose for outgoing connections: below the first of those, else above the last."""
    file = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
    low, high = map(int, file.read_text().split()) if file.exists() else (32768, 60999)
    return (max(1024, low - 12768), low) if low > 4096 else (min(high, 65000) + 1, 65536)


PORTS = ports_of_no_connection()
HELD_PORTS = []  # sockets of free_port()

SERVER = None  # runs short commands; set by main()

# Threads that wait for one another by spinning take seconds per step on a machine with other work.
ENVIRONMENT = os.environ | {"OMP_WAIT_POLICY": "passive"}

# About 7,000 parameters: a step takes a millisecond, starting the program most of the time.
SMALL = {"model.layers": 1, "model.width": 16, "model.heads": 2, "model.kv_heads": 1,
         "model.inner": 24, "model.context": 32, "data.train": "book.txt", "train.batch": 2,
         "train.threads": 1, "train.precision": "float32", "evaluate.every": 0,
         "evaluate.sequences": 2}

BOOK = "".join(f"{a} {b} {c}.\n" for a in ["The old baker", "A cat", "Nobody", "My neighbour"]
               for b in ["sees", "remembers", "paints", "follows", "sells"]
               for c in ["the river", "a red house", "two dogs", "an empty street", "the moon"])


def settings(values):
    """{"train.steps": 3} as arguments of a command line."""
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def small(**changed):
    """The arguments for a small run; `train_steps=3` stands for train.steps=3."""
    return settings(SMALL | {key.replace("_", ".", 1): value for key, value in changed.items()})


def free_port():
    """A port of a training. No other test in this network namespace gets it before this process ends.

    The kernel gives a free port of its own range to the next program that asks, such as a training of another test.
    So the port is outside of that range, and a socket with its number in the name holds it.
    """
    for port in random.Random().sample(range(*PORTS), len(range(*PORTS))):
        held = socket.socket(socket.AF_UNIX)
        try:
            held.bind(f"\0evenkeel-test-port-{port}")
            with socket.socket() as one:
                one.bind(("", port))
        except OSError as error:
            held.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            continue
        HELD_PORTS.append(held)
        return port
    raise RuntimeError(f"no port from {PORTS[0]} to {PORTS[1] - 1} is free")


def lines_of(file):
    """The whole lines of a file of JSON lines; none while it is missing."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines(keepends=True)
            if line.endswith("\n")]


def metrics(run):
    """metrics.jsonl without what belongs to this machine and this moment."""
    return [{key: value for key, value in line.items() if key not in OF_THIS_MACHINE}
            for line in lines_of(run / "metrics.jsonl")]


def folder_of(run, step):
    return run / "checkpoints" / f"step-{step:08d}"


def saved_steps(run):
    """Steps with a checkpoint of final name: these count as announced."""
    return sorted(int(folder.name[5:]) for folder in run.glob("checkpoints/step-*"))


def state_at(run, step):
    """Everything that training goes on from: weights, moments, counters."""
    return {name: (folder_of(run, step) / name).read_bytes() for name in STATE_FILES}


def files_at(run, step):
    """state_at() of a run with any number of gradient shards: all files but the manifest."""
    return {file.name: file.read_bytes() for file in folder_of(run, step).iterdir()
            if file.name != "MANIFEST.json"}


def empty_folder():
    return pathlib.Path(tempfile.mkdtemp(prefix="evenkeel-"))


class Case(unittest.TestCase):
    """A test with a folder of its own, where book.txt lies and the program runs.

    A class with prepare() runs it once; each of its tests gets a copy of the folder that it left.
    """
    prepare = None
    prepared = None  # that folder
    forks = True  # False: every run is a process of its own, with an address layout of its own
    errors = {}  # what processes that run have written to standard error, by number

    def setUp(self):
        self.folder = empty_folder()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        if self.prepared:
            shutil.copytree(self.prepared, self.folder, symlinks=True, dirs_exist_ok=True)
            return
        self.write("book.txt", BOOK)
        if self.prepare:
            self.prepare()
            type(self).prepared = shutil.copytree(self.folder, empty_folder(), symlinks=True,
                                                  dirs_exist_ok=True)
            self.addClassCleanup(shutil.rmtree, self.prepared, ignore_errors=True)

    @staticmethod
    def each(function, values):
        """What the function gives for each value, two at a time."""
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(function, values))

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def evenkeel(self, *arguments, given=b"", before=None):
        """Runs the program to its end. \\param before  is called in the new process first"""
        is_short = not before and len(given) <= fork_server.PIPE_BYTES
        if SERVER and is_short and self.forks and not fork_server.starts_itself(arguments):
            return SERVER.run([*map(str, arguments)], self.folder, given, LIMIT)[0]
        return subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, env=ENVIRONMENT,
                              input=given, capture_output=True, timeout=LIMIT, preexec_fn=before,
                              check=False)

    def succeed(self, *arguments, **options):
        """Standard output and standard error of a run that must end with 0."""
        done = self.evenkeel(*arguments, **options)
        error = done.stderr.decode()
        self.assertEqual(done.returncode, 0, error)
        return done.stdout.decode(errors="replace"), error

    def train_keys(self):
        """The keys of [train], as messages list them; its steps and tokens exclude each other."""
        table = json.loads(self.succeed("config", "--json")[0])["train"]
        return ", ".join(sorted([*table, "tokens"]))

    def refuse(self, code, message, *arguments, **options):
        """The program must end with this code and say this one line, and nothing else."""
        message = message.replace("(PWD)", f"({self.folder.resolve()})")
        done = self.evenkeel(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr.decode(), done.stdout),
                         (code, f"evenkeel: {message}\n", b""))

    def refuse_each(self, refusals):
        """refuse() with each tuple of arguments, two at a time; all failures are reported."""
        def refused(arguments):
            try:
                self.refuse(*arguments)
            except AssertionError as failure:
                return failure
            return None
        for arguments, failure in zip(refusals, self.each(refused, refusals)):
            with self.subTest(arguments=arguments):
                if failure:
                    raise failure

    def train(self, run, *arguments, **changed):
        """A small run to its end; returns its folder."""
        self.succeed("train", "--quiet", "--run", run, *small(**changed), *arguments)
        return self.folder / run

    def start(self, *arguments, **options):
        """Starts the program and leaves it running."""
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   **({"env": ENVIRONMENT} | options))
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_training(self, run, **changed):
        """Starts a small run that would never end, and waits until it has taken some steps."""
        values = {"train_steps": 10**9, "checkpoint_every": 0, "log_every": 1} | changed
        process = self.start("train", "--run", run, *small(**values))
        self.wait_for_steps(process, run, 3)
        return process

    def wait_for_steps(self, process, run, more):
        """Until so many more steps are in the metrics."""
        def step():
            return max((line["step"] for line in lines_of(self.folder / run / "metrics.jsonl")),
                       default=0)
        before = step()
        self.until(lambda: step() >= before + more, process)

    def until(self, holds, process):
        """Waits for something that the running process will do."""
        end = time.monotonic() + LIMIT
        while not holds():
            ended = process.poll() is not None
            error = self.read_error(process)
            if ended and not holds():
                self.fail(f"ended with {process.returncode}: {error.decode()}")
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.002)

    def read_error(self, process):
        """All that the process has written to standard error: a full pipe would stop it."""
        said = self.errors.get(process.pid, b"")
        if not process.stderr.closed:
            os.set_blocking(process.stderr.fileno(), False)
            said += process.stderr.read() or b""
            os.set_blocking(process.stderr.fileno(), True)
        self.errors[process.pid] = said
        return said

    def finish(self, process):
        """Waits for the end; exit code and standard error."""
        rest = process.communicate(timeout=LIMIT)[1]
        return process.returncode, (self.errors.pop(process.pid, b"") + rest).decode()

    def stop(self, process):
        """Ends a run that start_training() began, in good order."""
        process.send_signal(signal.SIGTERM)
        code, error = self.finish(process)
        self.assertEqual(code, 0, error)
        return error


def main():
    global PROGRAM, SERVER
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    library = os.environ.get("EVENKEEL_FORK_SERVER")  # set by ctest
    if library and not NIGHTLY:
        SERVER = fork_server.ForkServer(PROGRAM, library, ENVIRONMENT)
    tests = unittest.main(module="__main__", exit=False).result
    if not tests.wasSuccessful():
        sys.exit(1)
    if tests.testsRun and tests.testsRun == len(tests.skipped):
        sys.exit(SKIPPED)
