# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random instants of starts, steps, saves and resumes.

No checkpoint that was acknowledged is lost, no damaged one has a final name, and the run that is resumed to
its end equals an undisturbed run: state, metrics, probes, sample.
"""
import shutil
import signal

import harness
import reader

EVERY = [1, 5, 20]  # steps between checkpoints
KILLS = 4  # of one run
STEPS = 240


def changed(every):
    return {"train_steps": STEPS, "checkpoint_every": every, "log_every": 1, "evaluate_every": 50,
            "probe_every": 100}


def whole(context):
    """An undisturbed run, and the seconds that it takes with these intervals."""
    def seconds(every):
        folder = context.folder / f"timed-{every}"
        done = context.run("train", "--run", folder, *context.settings(**changed(every)))
        shutil.rmtree(folder)
        return done.seconds
    return context.whole(**changed(20)), context.keep("times", lambda: {every: seconds(every) for every in EVERY})


def attempt(context, run, every, wait):
    """Starts or resumes the run, kills it after `wait` seconds (None: not at all)."""
    def kill(process):
        if wait is not None:
            harness.wait_until(lambda: False, process, wait)
            harness.send(process, signal.SIGKILL)
    return context.run("train", "--run", run, *context.settings(**changed(every)), act=kill)


def killed_chain(context, every):
    """A trial: a run is killed some times, then finished."""
    def trial(folder, chance):
        undisturbed, times = whole(context)
        run, acknowledged, kills = folder / "run", -1, 0
        for _ in range(4 * KILLS):
            done = attempt(context, run, every, chance.uniform(0, times[every]))
            acknowledged = reader.acknowledged(done.err, acknowledged)
            complaints = list(harness.lost(run, acknowledged))
            if "skipped" in done.err:
                complaints.append(f"a checkpoint was rejected: {done.last_line()}")
            if complaints:
                return harness.Cases(kills + 1, complaints)
            kills += done.code == -9
            if done.code not in (0, -9):
                return harness.Cases(kills + 1, [f"ended with {done.code} before the kill: {done.last_line()}"])
            if kills == KILLS:
                break
            if done.code == 0:  # it ended before the kill: the next kill needs a new run
                shutil.rmtree(run)
                acknowledged = -1
        done = attempt(context, run, every, None)
        complaints = list(harness.complaints_of(done, {0}, one_line=False))
        complaints += harness.differences(run, undisturbed, STEPS)
        complaints += [f"left over: {name}" for name in harness.leftovers(run, done)]
        if kills == 0:
            complaints.append("the run ended before each kill")
        return harness.Cases(kills, complaints)
    return trial


def trials(context):
    whole(context)
    number = context.count(20, 200, 1000) // KILLS
    return [(f"{index} every {EVERY[index % 3]}", killed_chain(context, EVERY[index % 3])) for index in range(number)]
