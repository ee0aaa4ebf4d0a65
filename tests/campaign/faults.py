# SPDX-License-Identifier: Apache-2.0
"""One file call fails, is short, or the program is killed at it, once or for good, in new and resumed runs.

The program ends with 0, 74 or 75, loses nothing that it acknowledged and no record in silence, and the next
call ends like an undisturbed run.
"""
import re
import shutil
import signal

import harness
import program
import reader

STEPS = 8
JOBS = 4  # many cases wait for space
KINDS = [("EIO", False), ("EIO", True), ("ENOSPC", False), ("ENOSPC", True), ("EINTR", False), ("short", False),
         ("short", True), ("kill", False)]
INTERRUPTIBLE = {"open_to_read", "open_to_write", "read", "write", "fallocate", "ftruncate", "lock"}
TRANSFERS = {"read", "write"}
PATIENCE = 6  # seconds until a program that waits for space gets SIGTERM
SETTINGS = {"train_steps": STEPS, "checkpoint_every": 2, "log_every": 1, "evaluate_every": 3, "probe_every": 3}
LOSSES = re.compile(r"records? (is|are|of)|lost|missing|not saved|not written|cannot", re.IGNORECASE)


def environment(context, folder, **values):
    library = context.shim("faults")
    return {"LD_PRELOAD": library, "FAULT_FOLDER": folder} | {f"FAULT_{name}": value for name, value in values.items()}


def arguments(context, run):
    return ["train", "--run", run, *context.settings(**SETTINGS)]


def normalized(path, folder):
    """A path in the run folder, without the number of the process."""
    name = re.sub(r"(\.(?:tmp|trash)-step-\d+)-[^/]*", r"\1-ID", path.removeprefix(str(folder)))
    name = re.sub(r"events\.out\.tfevents\.[^/]*?(\.new-\d+)?$", r"events.out.tfevents\1", name)
    return re.sub(r"\.new-\d+", ".new-N", name)


def calls_of(trace, run):
    """Reads and removes a trace: [(call, normalized path)]."""
    lines = [line.split(" ", 2) for line in trace.read_text().splitlines()]
    trace.unlink()
    return [(call, normalized(path, run)) for _, call, path in lines]


def traced(context, folder, run):
    """The calls of a run without a fault."""
    trace = folder / "trace"
    done = context.run(*arguments(context, run), env=environment(context, run, TRACE=trace))
    if done.code != 0:
        raise RuntimeError(f"the traced run ended with {done.code}: {done.err[-300:]}")
    return calls_of(trace, run)


def unfinished(context):
    """A run that was killed when it renamed the checkpoint of step 6."""
    def make():
        folder = context.folder / "unfinished"
        folder.mkdir()
        calls = traced(context, folder, folder / "traced")
        at = next(number for number, call in enumerate(calls, 1) if call == ("rename", "/checkpoints/step-00000006"))
        context.run(*arguments(context, folder / "run"), env=environment(context, folder / "run", AT=at, KIND="kill"))
        if not (folder / "run/checkpoints").is_dir():
            raise RuntimeError("the run was not killed in time")
        shutil.copytree(folder / "run", folder / "copy")
        resumed = traced(context, folder, folder / "copy")
        shutil.rmtree(folder / "copy")
        shutil.rmtree(folder / "traced")
        return folder / "run", {"new": calls, "resumed": resumed}
    return context.keep("unfinished", make)


def fits(kind, call):
    if kind == "EINTR":
        return call in INTERRUPTIBLE
    return kind != "short" or call in TRANSFERS


def points(context):
    """[(start, number of the call, kind, for good)], by the level."""
    every = []
    seen = {}
    for start, calls in unfinished(context)[1].items():
        for number, (call, path) in enumerate(calls, 1):
            for kind, for_good in KINDS:
                if fits(kind, call):
                    point = (start, number, kind, for_good)
                    every.append(point)
                    place = re.sub(r"step-\d+", "step-N", path)
                    seen.setdefault((start, call, place, kind, for_good), []).append(point)
    chance = context.random("faults", "points")
    distinct = [chance.choice(same) for same in seen.values()]
    if context.level == "release":
        return every
    if context.level == "nightly":
        return distinct
    locks = [point for key, same in seen.items() if key[1] == "lock" and key[3] == "EINTR" for point in same]
    return locks + chance.sample(distinct, min(60 - len(locks), len(distinct)))


def stopped_if_waiting(process, patience=PATIENCE):
    """SIGTERM for a program that waits for space. \param patience  seconds"""
    if not harness.wait_until(lambda: False, process, patience):
        harness.send(process, signal.SIGTERM)


def silent_losses(run, whole, done):
    """Complaints about a run that ended with 0, but lacks something that it does not mention."""
    if STEPS not in reader.intact_steps(run):
        yield f"exit code 0 without the last checkpoint: {done.last_line()}"
    if program.metrics(run) != program.metrics(whole) and not LOSSES.search(done.err):
        yield "metrics.jsonl lacks records, and standard error does not mention it"
    if not (run / "report.html").exists():
        yield "exit code 0 without report.html"


def fault(context, start, number, kind, for_good):
    """A trial: one fault, then a call without one."""
    def trial(folder, _):
        half, calls = unfinished(context)
        whole = context.whole(**SETTINGS)
        run = folder / "run"
        before = -1
        if start == "resumed":
            shutil.copytree(half, run)
            before = max(reader.intact_steps(run))
        trace = folder / "trace"
        values = {"AT": number, "KIND": kind, "TRACE": trace} | ({"FOR_GOOD": 1} if for_good else {})
        done = context.run(*arguments(context, run), env=environment(context, run, **values), act=stopped_if_waiting)
        call = " ".join(calls[start][number - 1])
        complaints = []
        if calls_of(trace, run)[:number] != calls[start][:number]:
            complaints.append("the run made other calls before the fault than the traced run")
        if not (kind == "kill" and done.code == -9):
            complaints += harness.complaints_of(done, {0, 74, 75}, one_line=False, waited=PATIENCE)
        complaints += harness.lost(run, reader.acknowledged(done.err, before))
        finished = "stopped" not in done.err and "go on with" not in done.err
        if done.code == 0 and kind != "kill" and finished:
            complaints += silent_losses(run, whole, done)
        complaints += after(context, run, whole, kind)
        return [f"{call}: {'; '.join(complaints)}"] if complaints else []
    return trial


def after(context, run, whole, kind):
    """Complaints about the next call, which meets no fault."""
    done = context.run(*arguments(context, run))
    if done.code != 0:
        yield f"the next call ends with {done.code}: {done.last_line()}"
        return
    if program.state_at(run, STEPS) != program.state_at(whole, STEPS):
        yield "the next call ends with another state than an undisturbed run"
    if kind == "kill" and program.metrics(run) != program.metrics(whole):
        yield "after the kill, metrics.jsonl differs from that of an undisturbed run"
    for name in harness.leftovers(run, done):
        yield f"left over: {name}"


def trials(context):
    context.whole(**SETTINGS)
    return [(f"{start} call {number} {kind}{' for good' if for_good else ''}",
             fault(context, start, number, kind, for_good))
            for start, number, kind, for_good in points(context)]
