# SPDX-License-Identifier: Apache-2.0
"""The disk fills up at a random instant, and is freed again or not.

As root on a small tmpfs, else with a limit of file sizes. If the disk is freed, the run completes, also after its
last step; else it ends with 0 or 74 after SIGTERM. It loses no acknowledged checkpoint and no record in silence,
and the next call completes the run.
"""
import os
import subprocess

import faults
import harness
import program
import reader

FILE_SYSTEM = "tmpfs of 24 MiB"
STEPS = 600
SETTINGS = {"train_steps": STEPS, "checkpoint_every": 20, "log_every": 1}
LEFT = [0, 4096, 40960, 200_000, 1 << 20, 15 << 20, (16 << 20) + 50_000]  # bytes
BLOCKS = [1, 8, 20, 64, 128]  # of 512 bytes, for the limit of file sizes


def mounted(folder):
    """Whether a small tmpfs could be mounted there."""
    folder.mkdir(exist_ok=True)
    return subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24M", "campaign", folder], capture_output=True,
                          check=False).returncode == 0


def unmount(folder):
    subprocess.run(["umount", folder], check=True)


def fill(disk, left):
    """Fills a file system up to `left` bytes."""
    status = os.statvfs(disk)
    size = status.f_bavail * status.f_frsize - left
    try:
        with open(disk / "filler", "wb") as filler:
            while size > 0:
                filler.write(bytes(min(size, 1 << 20)))
                filler.flush()
                size -= 1 << 20
    except OSError:
        pass  # it is as full as it gets


def filled_run(context, disk, chance):
    """The end of a run whose disk fills up."""
    begin, left = chance.uniform(0.2, 1.2), chance.choice(LEFT)
    freed = chance.choice([None, chance.uniform(0.05, 0.5), chance.uniform(2, 3)])

    def act(process):
        harness.wait_until(lambda: False, process, begin)
        fill(disk, left)
        if freed is not None:
            harness.wait_until(lambda: False, process, freed)
            (disk / "filler").unlink(missing_ok=True)
        faults.stopped_if_waiting(process, faults.PATIENCE if freed is None else harness.HANG / 2)
    done = context.run("train", "--run", disk / "run", *context.settings(**SETTINGS), act=act)
    return done, freed is not None


def judged(context, run, done):
    """Complaints about a run that met a full disk."""
    yield from harness.complaints_of(done, {0, 74}, one_line=False, waited=harness.HANG)
    yield from harness.lost(run, reader.acknowledged(done.err))
    if done.code == 0 and STEPS in program.saved_steps(run):
        records = program.metrics(run) == program.metrics(context.whole(**SETTINGS))
        if not records and not faults.LOSSES.search(done.err):
            yield "metrics.jsonl lacks records, and standard error does not mention it"


def completed(context, run):
    """Complaints about the next call, with space."""
    done = context.run("train", "--run", run, *context.settings(**SETTINGS))
    if done.code != 0:
        yield f"the next call ends with {done.code}: {done.last_line()}"
        return
    if program.state_at(run, STEPS) != program.state_at(context.whole(**SETTINGS), STEPS):
        yield "the next call ends with another state than an undisturbed run"
    if f"step {STEPS}: saved" not in (run / "log.txt").read_text(errors="replace"):
        yield "log.txt lacks the end of the run"
    for name in harness.leftovers(run, done):
        yield f"left over: {name}"


def full(context):
    """A trial on a small tmpfs."""
    def trial(folder, chance):
        disk = folder / "disk"
        if not mounted(disk):
            raise RuntimeError("tmpfs cannot be mounted")
        try:
            done, freed = filled_run(context, disk, chance)
            yield from judged(context, disk / "run", done)
            if freed and reader.acknowledged(done.err) >= 0 and STEPS not in program.saved_steps(disk / "run"):
                yield f"the disk was freed, and the run ended with {done.code} before its last step: {done.last_line()}"
            (disk / "filler").unlink(missing_ok=True)
            yield from completed(context, disk / "run")
        finally:
            unmount(disk)
    return trial


def limited(context):
    """A trial with a limit of file sizes."""
    def trial(folder, chance):
        run = folder / "run"
        limits = f"trap '' XFSZ; ulimit -f {chance.choice(BLOCKS)}"
        done = context.run("train", "--run", run, *context.settings(**SETTINGS), limits=limits,
                           act=faults.stopped_if_waiting)
        yield from judged(context, run, done)
        yield from completed(context, run)
    return trial


def trials(context):
    context.whole(**SETTINGS)
    probe = context.folder / "probe"
    kind = limited
    if mounted(probe):
        unmount(probe)
        kind = full
    return [(f"{number} {kind.__name__}", kind(context)) for number in range(context.count(10, 200, 1000))]
