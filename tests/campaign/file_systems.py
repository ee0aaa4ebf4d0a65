# SPDX-License-Identifier: Apache-2.0
"""Power cuts on real file systems: the disk image is cloned at a random instant, and the clone is mounted.

An ext4, xfs or btrfs image lies on an xfs with reflinks, so that a clone is atomic. Needs root.
"""
import os
import shutil
import time

import harness
import power_cuts
import program
import reader

FILE_SYSTEM = "ext4, xfs, btrfs"
JOBS = 1
STEPS = 400
SETTINGS = {"train_steps": STEPS, "checkpoint_every": 10, "log_every": 1}
MAKE = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"], "btrfs": ["mkfs.btrfs", "-q", "-f"]}
MEGABYTES = {"ext4": 128, "xfs": 320, "btrfs": 256}
OPTIONS = {"ext4": "loop", "xfs": "loop,nouuid", "btrfs": "loop"}
CUTS = {"ext4": (0, 60, 1000), "xfs": (0, 60, 200), "btrfs": (0, 60, 200)}


def host(context):
    """A folder on an xfs with reflinks."""
    image, folder = context.folder / "host.img", context.folder / "host"
    folder.mkdir()
    harness.called("truncate", "-s", "2G", image)
    harness.called("mkfs.xfs", "-q", "-f", "-m", "reflink=1", image)
    harness.called("mount", "-o", "loop", image, folder)
    return folder


def cut(context, kind, host_folder):
    """A trial: one power cut."""
    def trial(folder, chance):
        image, clone = host_folder / "image", host_folder / "clone"
        before, after = folder / "before", folder / "after"
        before.mkdir()
        after.mkdir()
        for path in (image, clone):
            path.unlink(missing_ok=True)
        harness.called("truncate", "-s", f"{MEGABYTES[kind]}M", image)
        harness.called(*MAKE[kind], image)
        harness.called("mount", "-o", OPTIONS[kind], image, before)
        try:
            acknowledged = cut_short(context, before / "run", image, clone, folder / "err", chance)
        finally:
            harness.called("umount", before)
        harness.called("mount", "-o", OPTIONS[kind], clone, after)
        try:
            run = after / "run"
            if run.is_dir():
                yield from power_cuts.defects(run, acknowledged)
                if chance.random() < 1 / 3:
                    yield from resumed(context, run)
            elif acknowledged >= 0:
                yield f"step {acknowledged} was acknowledged, and the folder is missing"
        finally:
            harness.called("umount", after)
    return trial


def cut_short(context, run, image, clone, log, chance):
    """Starts a run and clones its disk at a random instant; the step that was acknowledged before."""
    with log.open("wb") as err:
        process = context.start("train", "--run", run, *context.settings(**SETTINGS), err=err)
        time.sleep(chance.uniform(0.3, 2))
        acknowledged = reader.acknowledged(log.read_text(errors="replace"))
        try:
            harness.called("cp", "--reflink=always", image, clone)
        finally:
            process.kill()
            process.wait()
    return acknowledged


def resumed(context, run):
    """Complaints about the run that goes on after the power cut."""
    whole = context.whole(**SETTINGS)
    done = context.run("train", "--run", run, *context.settings(**SETTINGS))
    if done.code != 0:
        yield f"resume ends with {done.code}: {done.last_line()}"
    elif program.state_at(run, STEPS) != program.state_at(whole, STEPS):
        yield "the resumed run ends with another state than an undisturbed run"
    elif program.metrics(run) != program.metrics(whole):
        yield "metrics.jsonl of the resumed run differs from an undisturbed run"


def trials(context):
    counts = {kind: cuts[harness.LEVELS.index(context.level)] for kind, cuts in CUTS.items()}
    if not any(counts.values()):
        raise harness.Skip("levels nightly and release only")
    if os.geteuid() != 0:
        raise harness.Skip("needs root, to mount disk images")
    if not shutil.which("mkfs.xfs"):
        raise harness.Skip("mkfs.xfs is missing; install xfsprogs")
    try:
        folder = host(context)
    except RuntimeError as error:
        raise harness.Skip(f"an xfs with reflinks cannot be mounted: {error}") from None
    context.at_end(lambda: harness.called("umount", folder))
    for kind in MAKE:
        if not shutil.which(MAKE[kind][0]):
            print(f"file_systems: {kind} skipped: {MAKE[kind][0]} is missing")
            counts[kind] = 0
    context.whole(**SETTINGS)
    return [(f"{kind} {number}", cut(context, kind, folder)) for number in range(max(counts.values()))
            for kind in MAKE if number < counts[kind]]
