# SPDX-License-Identifier: Apache-2.0
"""Limits of memory, descriptors and threads, and allocations that fail.

The program ends with 0, 74 or 75 and one line, and an interrupted run can be completed.
"""
import shutil

import harness
import program

STEPS = 6
SETTINGS = {"train_steps": STEPS, "checkpoint_every": 2, "log_every": 1}
CODES = {0, 74, 75}
WHILE_RECORDS_ARE_READ = range(180, 240)  # allocations of report


def unfinished(context):
    """A run whose last checkpoint is missing."""
    def make():
        run = context.folder / "interrupted"
        shutil.copytree(context.whole(**SETTINGS), run)
        shutil.rmtree(program.folder_of(run, STEPS))
        status = run / "status.json"
        status.write_text(status.read_text().replace("finished", "training"))
        return run
    return context.keep("interrupted", make)


def calls(run):
    """Command lines that read or continue a run."""
    return {"train": ["train", "--quiet", "--run", run], "report": ["report", run],
            "config": ["config", "--check", "--config", run / "run.toml"],
            "eval": ["eval", "--quiet", "--run", run], "runs": ["runs", run.parent]}


def completed(context, run):
    """Complaints about the run that goes on without a limit."""
    done = context.run("train", "--quiet", "--run", run)
    if done.code != 0:
        yield f"the next call ends with {done.code}: {done.last_line()}"
    elif program.state_at(run, STEPS) != program.state_at(context.whole(**SETTINGS), STEPS):
        yield "the next call ends with another state than an undisturbed run"


def trial_of(context, verb, limits="", env=None, more=()):
    """A trial: one call under a limit."""
    def trial(folder, _):
        run = folder / "runs/run"
        shutil.copytree(unfinished(context), run)
        done = context.run(*calls(run)[verb], *more, limits=limits, env=env)
        yield from harness.complaints_of(done, CODES)
        if verb == "train":
            yield from completed(context, run)
    return trial


def allocations(context, verb):
    """The number of allocations of a call, from the first file of the run on."""
    def make():
        with harness.fresh(context.folder / f"count-{verb}") as folder:
            run, count = folder / "runs/run", folder / "count"
            shutil.copytree(unfinished(context), run)
            env = {"LD_PRELOAD": context.shim("allocations"), "ALLOCATION_MARK": "/runs/", "ALLOCATION_COUNT": count}
            context.run(*calls(run)[verb], env=env)
            found = int(count.read_text())
            if found == 0:
                raise RuntimeError(f"{verb}: no allocation was counted")
            return found
    return context.keep(("allocations", verb), make)


def failing_allocation(context, verb, at):
    env = {"LD_PRELOAD": context.shim("allocations"), "ALLOCATION_MARK": "/runs/", "ALLOCATION_AT": at}
    return trial_of(context, verb, env=env)


def failing_allocations(context, number):
    """Trials in which one allocation fails."""
    chance = context.random("limits", "allocations")
    for index in range(number):
        verb = ["train", "report", "config", "eval", "runs"][index % 5]
        most = allocations(context, verb)
        at = int(chance.choice([chance.uniform(1, most), most ** chance.random()]))
        yield f"{verb} allocation {at} of {most} fails {index}", failing_allocation(context, verb, at)
    for at in WHILE_RECORDS_ARE_READ:
        yield f"report allocation {at} fails", failing_allocation(context, "report", at)


def trials(context):
    number, chance = context.count(10, 200, 1000), context.random("limits")
    listed = list(failing_allocations(context, number))
    for index in range(number):
        verb = chance.choice(["train", "report", "eval", "runs"])
        kind = index % 3
        if kind == 0:
            files = chance.randrange(4, 40)
            listed.append((f"{verb} {files} descriptors {index}", trial_of(context, verb, f"ulimit -n {files}")))
        elif kind == 1:
            megabytes = chance.randrange(1000, 4000)
            listed.append((f"{verb} {megabytes} MB {index}", trial_of(context, verb, f"ulimit -v {megabytes * 1024}")))
        else:
            thread = chance.randrange(1, 4)
            env = {"LD_PRELOAD": context.shim("faults"), "FAULT_THREAD": thread}
            more = ["--set", "train.threads=4"]
            listed.append((f"thread {thread} fails {index}", trial_of(context, "train", env=env, more=more)))
    return listed
