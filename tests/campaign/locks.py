# SPDX-License-Identifier: Apache-2.0
"""Several processes on one run folder, and folders that are moved or removed under a run.

One process trains, each other one ends with 75 at once. A run whose folder was moved or removed ends with 74
and writes nothing into a new folder of the same name.
"""
import os
import shutil
import signal
import subprocess
import time

import harness
import program
import reader

STEPS = 300
ENDLESS = 10**7  # steps


def race(context, processes):
    """A trial: some processes start on one folder at once."""
    def trial(folder, _):
        run = folder / "run"
        settings = context.settings(train_steps=STEPS, checkpoint_every=100, log_every=1)
        started = [context.start("train", "--quiet", "--run", run, *settings, err=subprocess.PIPE)
                   for _ in range(processes)]
        ends = [(process.communicate(timeout=harness.HANG)[1].decode(), process.returncode) for process in started]
        for error, code in ends:
            if code not in (0, 75):
                yield f"exit code {code}, wanted 0 or 75: {error.strip()[-200:]}"
            elif code == 75 and len(error.splitlines()) != 1:
                yield f"{len(error.splitlines())} lines from a process without the lock: {error[:200]!r}"
        if not any(code == 0 for _, code in ends):
            yield "no process finished the run"
        steps = [record["step"] for record in program.lines_of(run / "metrics.jsonl") if "loss" in record]
        if steps != list(range(1, STEPS + 1)):
            yield f"metrics.jsonl has {len(steps)} records of training, wanted {STEPS}"
    return trial


def endless(context, run, seed, every):
    """Starts a run that would never end."""
    log = run.parent / f"error-{seed}"
    with log.open("wb") as err:
        settings = context.settings(train_steps=ENDLESS, checkpoint_every=every, log_every=50, seed=seed)
        return context.start("train", "--run", run, *settings, err=err), log


def seeds_in(run):
    """The seeds of the runs whose checkpoints lie in a folder."""
    found = set()
    for step in reader.named_steps(run):
        try:
            config = reader.manifest(run, step)["config"]
        except (OSError, ValueError):
            continue  # it is being removed
        found |= {line for line in config.splitlines() if line.startswith("seed = ")}
    return found


def watched(run, process, enough):
    """The seeds that appear in a folder until a process ends, or `enough` seconds have passed."""
    seen, end = set(), time.monotonic() + enough
    while harness.is_running(process) and time.monotonic() < end:
        seen |= seeds_in(run)
        time.sleep(0.01)
    return seen | seeds_in(run)


def displaced(context, act, succeeds):
    """A trial: process A trains, its folder is moved or removed, and process B starts there.

    \\param act       takes the run folder away
    \\param succeeds  whether B starts
    """
    def trial(folder, chance):
        run, processes = folder / "run", []
        try:
            first, log = endless(context, run, 1, 40)
            processes.append(first)
            harness.wait_until(lambda: len(reader.named_steps(run)) >= 2, first)
            time.sleep(chance.uniform(0, 0.2))
            act(run)
            if succeeds:
                processes.append(endless(context, run, 2, ENDLESS)[0])
            seen = watched(run, first, harness.MOST_SECONDS)
            if harness.is_running(first):
                yield f"the run whose folder was taken away goes on after {harness.MOST_SECONDS} s"
                harness.send(first, signal.SIGKILL)
            code = harness.reaped(first)
            if code not in (74, -9):
                yield f"exit code {code}, wanted 74: {log.read_text(errors='replace').strip()[-200:]}"
            if "seed = 1" in seen | seeds_in(run):
                yield "a checkpoint of the displaced run is in the new folder"
            if succeeds and not harness.is_running(processes[-1]):
                yield "the run in the new folder ended"
        finally:
            for process in processes:
                process.kill()
                process.wait()
    return trial


def move(run):
    os.rename(run, run.parent / "elsewhere")


def remove(run):
    shutil.rmtree(run, ignore_errors=True)
    shutil.rmtree(run, ignore_errors=True)  # what was written in between


def failed_start(context):
    """A trial: a start that fails removes its lock file while another process is about to lock it."""
    def trial(folder, _):
        run = folder / "run"
        run.mkdir()
        missing = context.settings(train_steps=ENDLESS, data_train=folder / "missing.txt")
        failing = context.start("train", "--run", run, *missing)
        env = {"LD_PRELOAD": context.shim("faults"), "FAULT_FOLDER": run, "FAULT_LOCK_DELAY": 1500}
        settings = context.settings(train_steps=ENDLESS, checkpoint_every=ENDLESS)
        slow = context.start("train", "--run", run, *settings, env=env)
        harness.reaped(failing)
        time.sleep(2.5)
        third = context.start("train", "--run", run, *settings)
        try:
            harness.wait_until((run / "run.toml").exists, slow)
            owners, end = 2, time.monotonic() + 20  # the one that is refused may start slowly
            while owners > 1 and time.monotonic() < end:
                time.sleep(1)
                owners = sum(harness.is_running(process) for process in (slow, third))
            if owners != 1:
                yield f"{owners} processes train in one folder, wanted 1"
        finally:
            for process in (slow, third):
                process.kill()
                process.wait()
    return trial


def trials(context):
    races, processes = context.count(6, 200, 200), context.count(3, 8, 8)
    moves = context.count(1, 20, 20)
    listed = [(f"race {number}", race(context, processes)) for number in range(races)]
    for number in range(moves):
        listed += [(f"moved {number}", displaced(context, move, False)),
                   (f"moved, another run starts {number}", displaced(context, move, True)),
                   (f"removed, another run starts {number}", displaced(context, remove, True))]
    return listed + [(f"failed start {number}", failed_start(context)) for number in range(moves)]
