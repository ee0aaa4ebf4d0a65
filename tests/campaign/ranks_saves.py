# SPDX-License-Identifier: Apache-2.0
"""One file call of one of 4 ranks fails, is short, or the rank is killed at it, once or for good, during a save.

The program ends with 0, 74 or 75, loses nothing that it acknowledged, and the next call, on another number of
ranks, ends like an undisturbed run.
"""
import re

import faults
import harness
import program
import ranks_bits
import reader

JOBS = 4  # a run has 4 processes, which wait most of the time
RANKS = 4
STEPS = 4
SETTINGS = ranks_bits.WIDE | {"train_steps": STEPS, "checkpoint_every": 2, "evaluate_every": 0, "probe_every": 0,
                              "train_gradient_shards": RANKS, "distributed_heartbeat_timeout": 3}
LIMIT = 120


def arguments(context, run, background):
    return ["train", "--ranks", RANKS, "--run", run, *context.settings(**SETTINGS, checkpoint_background=background)]


def traced(context, background):
    """The calls of each rank in a run without a fault: [[(call, path)]]."""
    def make():
        folder = context.folder / f"traced-{background}"
        folder.mkdir()
        run = folder / "run"
        env = faults.environment(context, run, TRACE=folder / "trace")
        done = context.run(*arguments(context, run, background), env=env, limit=LIMIT)
        if done.code != 0:
            raise RuntimeError(f"the traced run ended with {done.code}: {done.err[-300:]}")
        return [faults.calls_of(folder / f"trace.{rank}", run) for rank in range(RANKS)]
    return context.keep(("ranks_saves", background), make)


def after(context, run, whole):
    """Complaints about the next call, on 2 ranks, which meets no fault."""
    done = context.run("train", "--ranks", 2, "--run", run, *context.settings(**SETTINGS), limit=LIMIT)
    if done.code != 0:
        yield f"the next call ends with {done.code}: {done.last_line()}"
        return
    if program.files_at(run, STEPS) != program.files_at(whole, STEPS):
        yield "the next call ends with another state than an undisturbed run"
    for name in harness.leftovers(run, done):
        yield f"left over: {name}"


def fault(context, rank, number, kind, for_good, background):
    """A trial: one fault at one rank, then a call without one."""
    def trial(folder, _):
        run, trace = folder / "run", folder / "trace"
        values = {"AT": number, "KIND": kind, "TRACE": trace, "RANK": rank} | ({"FOR_GOOD": 1} if for_good else {})
        done = context.run(*arguments(context, run, background), env=faults.environment(context, run, **values),
                           act=lambda process: faults.stopped_if_waiting(process, 20), limit=LIMIT)
        complaints = list(harness.complaints_of(done, {0, 74, 75}, one_line=False, waited=LIMIT))
        complaints += harness.lost(run, reader.acknowledged(done.err, -1))
        complaints += after(context, run, context.whole(**SETTINGS))
        return ["; ".join(complaints)] if complaints else []
    return trial


def points(context):
    """[(rank, number of the call, kind, for good, background)]: calls on checkpoints, by the level."""
    seen = {}
    for background in ("false", "true"):
        for rank, calls in enumerate(traced(context, background)):
            for number, (call, path) in enumerate(calls, 1):
                if "/checkpoints" not in path:
                    continue
                for kind, for_good in faults.KINDS:
                    if faults.fits(kind, call):
                        place = (rank, call, re.sub(r"step-\d+", "step-N", path), kind, for_good, background)
                        seen.setdefault(place, []).append((rank, number, kind, for_good, background))
    chance = context.random("ranks_saves", "points")
    distinct = [chance.choice(same) for same in seen.values()]
    return distinct if context.level == "release" else chance.sample(
        distinct, min(context.count(8, 200, 0), len(distinct)))


def trials(context):
    context.whole(**SETTINGS)
    return [(f"rank {rank} call {number} {kind}{' for good' if for_good else ''}, background = {background}",
             fault(context, rank, number, kind, for_good, background))
            for rank, number, kind, for_good, background in points(context)]
