# SPDX-License-Identifier: Apache-2.0
"""Runs the program under test, and judges how it ended; used by every part of the campaign."""
import contextlib
import hashlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tests/cli"))

import fork_server  # noqa: E402  tests/cli/fork_server.py: many runs, loaded once
import program  # noqa: E402  tests/cli/program.py: the small run and its files
import reader  # noqa: E402

LEVELS = ["change", "nightly", "release"]
MOST_SECONDS = 10  # of a call that refuses its input
MOST_MEGABYTES = 4096
HANG = 60  # seconds after which any call is ended

CODE = re.compile(r"^\| (\d+) \|", re.MULTILINE)
DOCUMENTED = {int(code) for code in CODE.findall((ROOT / "docs/exit_codes.md").read_text())}
INTERNAL = 70

# Bytes that may act on a terminal: C0 without tab and line feed, DEL, C1 in UTF-8, invalid UTF-8.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd\u202a-\u202e\u2066-\u2069]")


class Skip(Exception):
    """A part cannot run on this machine; the message says what is missing."""


@dataclass
class Done:
    """A call of the program that has ended. \\param code  negative: the signal that ended it"""
    code: int
    out: bytes
    err: str
    seconds: float
    megabytes: float
    hung: bool = False

    def last_line(self):
        lines = self.err.strip().splitlines()
        return lines[-1][:240] if lines else ""


@dataclass
class Cases:
    """The result of a trial that has many cases."""
    tried: int
    complaints: list = field(default_factory=list)
    note: str = ""


def control_bytes(text):
    """The first control character, as an escape; '' if there is none."""
    found = CONTROL.search(text)
    return ascii(found[0]) if found else ""


def complaints_of(done, codes, one_line=True, waited=0):
    """What is wrong with the end of a call that had bad input or a failing machine.

    \\param codes     exit codes that fit; others are complaints even where they are documented
    \\param one_line  standard error must have at most one line if the call failed
    """
    if done.hung:
        yield f"was ended after {done.seconds:.0f} s: {done.last_line()}"
        return
    if done.code < 0:
        yield f"ended by signal {-done.code}: {done.last_line()}"
    elif done.code == INTERNAL:
        yield f"exit code {INTERNAL}: {done.last_line()}"
    elif done.code not in DOCUMENTED:
        yield f"undocumented exit code {done.code}: {done.last_line()}"
    elif done.code not in codes:
        yield f"exit code {done.code}, wanted {sorted(codes)}: {done.last_line()}"
    if done.seconds > MOST_SECONDS + waited:
        yield f"took {done.seconds:.0f} s"
    if done.megabytes > MOST_MEGABYTES:
        yield f"took {done.megabytes:.0f} MB"
    if one_line and done.code not in (0, 1) and len(done.err.splitlines()) != 1:
        yield f"{len(done.err.splitlines())} lines, wanted 1: {done.err[:300]!r}"
    if control_bytes(done.err):
        yield f"control character {control_bytes(done.err)} on standard error"


class Context:
    """What a part needs: the program, a folder, the level, and numbers that depend on the seed."""

    def __init__(self, evenkeel, folder, level, seed, jobs):
        self.evenkeel = str(pathlib.Path(evenkeel).resolve())
        self.build = pathlib.Path(self.evenkeel).parent
        self.folder = pathlib.Path(folder)
        self.level, self.seed, self.jobs = level, seed, jobs
        self.book = self.folder / "book.txt"
        self.book.write_text(program.BOOK)
        self.lock = threading.RLock()
        self.kept = {}
        self.endings = []
        library = self.build / "libek_fork_server.so"
        self.server = None
        if level == "change" and library.exists():
            self.server = fork_server.ForkServer(self.evenkeel, library, program.ENVIRONMENT)
        self.deadline = float("inf")  # of the part, as time.monotonic()

    def at_end(self, act):
        """Calls act() after all trials of the part."""
        self.endings.append(act)

    def end_part(self):
        while self.endings:
            self.endings.pop()()

    def seconds_left(self):
        return max(self.deadline - time.monotonic(), 1)

    def count(self, change, nightly, release):
        return {"change": change, "nightly": nightly, "release": release}[self.level]

    def random(self, *names):
        """Random numbers that depend on the seed and these names only."""
        return random.Random("/".join(map(str, (self.seed, *names))))

    def settings(self, **changed):
        return program.small(**({"data_train": self.book} | changed))

    def environment(self, extra=None):
        return program.ENVIRONMENT | {name: str(value) for name, value in (extra or {}).items()}

    def start(self, *arguments, env=None, err=subprocess.DEVNULL, out=subprocess.DEVNULL, limits=""):
        """Starts the program. \\param limits  shell commands before it, such as "ulimit -n 20" """
        command = [self.evenkeel, *map(str, arguments)]
        if limits:
            command = ["/bin/sh", "-c", f'{limits}; exec "$@"', "sh", *command]
        return subprocess.Popen(command, cwd=self.folder, env=self.environment(env),
                                stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def run(self, *arguments, env=None, limits="", limit=HANG, act=None):
        """Runs the program to its end. \\param act  called with the running process"""
        if self.server and not (env or limits or act) and not fork_server.starts_itself(arguments):
            return self.forked(arguments, limit)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            begun = time.monotonic()
            process = self.start(*arguments, env=env, err=err, out=out, limits=limits)
            if act:
                act(process)
            usage, hung = ended(process, limit)
            out.seek(0)
            err.seek(0)
            return Done(process.returncode, out.read(), err.read().decode(errors="replace"),
                        time.monotonic() - begun, usage.ru_maxrss / 1024, hung)

    def forked(self, arguments, limit):
        """run() by the fork server."""
        begun = time.monotonic()
        try:
            done, megabytes = self.server.run([*map(str, arguments)], self.folder, b"", limit)
        except subprocess.TimeoutExpired as over:
            return Done(-signal.SIGKILL, over.output, over.stderr.decode(errors="replace"), time.monotonic() - begun, 0,
                        True)
        return Done(done.returncode, done.stdout, done.stderr.decode(errors="replace"), time.monotonic() - begun,
                    megabytes)

    def train(self, run, *arguments, env=None, **changed):
        """A small run that must succeed; returns its folder."""
        done = self.run("train", "--run", run, *self.settings(**changed), *arguments, env=env)
        if done.code != 0:
            raise RuntimeError(f"a run without a fault ended with {done.code}: {done.err[-300:]}")
        return pathlib.Path(run)

    def keep(self, name, make):
        """What make() gives, once for all trials."""
        with self.lock:
            if name not in self.kept:
                self.kept[name] = make()
            return self.kept[name]

    def whole(self, **changed):
        """The folder of an undisturbed run with these settings."""
        name = hashlib.sha256(repr(sorted(changed.items())).encode()).hexdigest()[:16]
        return self.keep(("whole", name), lambda: self.train(self.folder / f"whole-{name}", **changed))

    def shim(self, name):
        """The path of a library for LD_PRELOAD, compiled from shims/NAME.c."""
        def make():
            library = self.folder / f"{name}.so"
            subprocess.run(["cc", "-O2", "-Wall", "-shared", "-fPIC", HERE / f"shims/{name}.c", "-o", library,
                            "-ldl"], check=True)
            return library
        return self.keep(("shim", name), make)


def called(*command):
    """Runs a command that must succeed."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


def is_running(process):
    """Whether the process has not ended; does not collect its status, which Popen.poll() would."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def send(process, number):
    """Sends a signal to a process whose status is not collected yet."""
    os.kill(process.pid, number)


def ended(process, limit):
    """Waits for the process, and ends it after `limit` seconds; its use of resources, and whether it hung."""
    over = threading.Event()

    def end():
        over.set()
        send(process, signal.SIGKILL)
    timer = threading.Timer(limit, end)
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage, over.is_set()


def reaped(process, limit=HANG):
    """Waits for the end; the exit code, or "hang" after ending it."""
    try:
        return process.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return "hang"


def wait_until(holds, process, limit=60):
    """Until holds() or the process has ended; False after `limit` seconds."""
    end = time.monotonic() + limit
    while not holds() and is_running(process):
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def differences(run, whole, step):
    """How a finished run differs from the undisturbed one: state, records, sample."""
    if step not in program.saved_steps(run):
        yield f"step {step} is not saved"
        return
    ours, theirs = program.state_at(run, step), program.state_at(whole, step)
    for name in program.STATE_FILES:
        if ours[name] != theirs[name]:
            yield f"{name} of step {step} differs from an undisturbed run"
    if program.metrics(run) != program.metrics(whole):
        yield "metrics.jsonl differs from an undisturbed run"
    for name in ("probes.jsonl", "sample.txt"):
        one, other = run / name, whole / name
        if one.exists() != other.exists() or (one.exists() and one.read_bytes() != other.read_bytes()):
            yield f"{name} differs from an undisturbed run"


def lost(run, acknowledged):
    """Complaints if a checkpoint that was acknowledged is not found by the independent reader."""
    if run.exists():
        intact = reader.intact_steps(run)
    else:
        intact = []
    if acknowledged > max(intact, default=-1):
        yield f"step {acknowledged} was acknowledged, found {intact}"
    damaged = sorted(set(reader.named_steps(run)) - set(intact)) if run.exists() else []
    for step in damaged:
        yield f"checkpoint of step {step}: {reader.defect(reader.folder_of(run, step), step)}"


def leftovers(run, done):
    """Files that an interrupted call left and that the next call did not remove; a call that saves nothing
    leaves old parts of checkpoints."""
    saves = "saved" in done.err
    return [name for name in reader.leftovers(run) if saves or not name.startswith("checkpoints/")]


@contextlib.contextmanager
def fresh(folder):
    """An empty folder that is removed afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
