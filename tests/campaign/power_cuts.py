# SPDX-License-Identifier: Apache-2.0
"""Power cuts by the model of POSIX, at random calls of new and resumed runs.

In each state the acknowledged checkpoint is intact, the records up to it are complete, and a resumed run ends
like an undisturbed one. Two controls must lose data: a run whose fsync of files does nothing, and one whose
fsync of folders does nothing.
"""
import bisect
import shutil

import harness
import posix_model
import program
import reader

FILE_SYSTEM = "model of POSIX"
STEPS = 24
SETTINGS = {"train_steps": STEPS, "checkpoint_every": 2, "log_every": 1, "evaluate_every": 5, "probe_every": 10}
BATCH = 100  # states of one trial


def logged(context, name, swallow=None, start=None):
    """(calls, standard error) of a run under shims/write_log.c."""
    def make():
        folder = context.folder / f"logged-{name}"
        folder.mkdir()
        if start:
            shutil.copytree(start, folder / "run", dirs_exist_ok=True)
        log, env = context.folder / f"log-{name}", {"LD_PRELOAD": context.shim("write_log")}
        env |= {"WRITE_LOG_FOLDER": folder, "WRITE_LOG": log} | ({"WRITE_LOG_SWALLOW": swallow} if swallow else {})
        done = context.run("train", "--run", folder / "run", *context.settings(**SETTINGS), env=env)
        if done.code != 0:
            raise RuntimeError(f"the logged run ended with {done.code}: {done.err[-300:]}")
        calls = posix_model.read_log(log)
        log.unlink()
        disk = posix_model.Disk(folder, start and start.parent)
        for call in calls:
            disk.apply(call)
        differs = posix_model.same_as(disk.top, folder)
        if differs:
            raise RuntimeError(f"the log does not explain {differs}; a call is missing in shims/write_log.c")
        return folder, calls, done.err
    return context.keep(("logged", name), make)


def begun(context):
    """The run as it is when the checkpoint of a third of its steps gets its name, alone in its folder."""
    def make():
        root, calls, _ = logged(context, "new")
        disk = posix_model.Disk(root)
        for call in calls:
            disk.apply(call)
            if call.kind == "R" and call.second.endswith(f"step-{STEPS // 3:08d}"):
                break
        disk.write(context.folder / "begun", posix_model.POLICIES.index("all changes"), None)
        return context.folder / "begun/run"
    return context.keep("begun", make)


class Acknowledgements:
    """The last step that is acknowledged once standard error has so many bytes."""

    def __init__(self, text):
        self.ends, self.steps, self.size = [], [], 0
        for line in text.splitlines(keepends=True):
            self.size += len(line.encode())
            step = reader.acknowledged(line)
            if step >= 0:
                self.ends.append(self.size)
                self.steps.append(step)

    def after(self, size, before):
        index = bisect.bisect_right(self.ends, size)
        return self.steps[index - 1] if index else before


def defects(run, acknowledged):
    """What is wrong with the state after a power cut."""
    intact = reader.intact_steps(run)
    newest = max(intact, default=-1)
    if acknowledged > newest:
        yield f"step {acknowledged} was acknowledged, found {intact} of {reader.named_steps(run)}"
    if newest < 0:
        return
    yield from reader.record_defects(run, newest)
    if not (run / "run.toml").is_file():
        yield f"run.toml is missing, with a checkpoint of step {newest}"
    missing = reader.missing_records(run, newest)
    if missing:
        yield f"metrics.jsonl lacks {len(missing)} of the {newest} records before the checkpoint of step {newest}"


def resumed(context, run):
    """Complaints about the run that goes on from a state."""
    whole = context.whole(**SETTINGS)
    done = context.run("train", "--run", run, *context.settings(**SETTINGS))
    if done.code != 0:
        yield f"resume ends with {done.code}: {done.last_line()}"
        return
    if program.state_at(run, STEPS) != program.state_at(whole, STEPS):
        yield "the resumed run ends with another state than an undisturbed run"
    if program.metrics(run) != program.metrics(whole):
        yield "metrics.jsonl of the resumed run differs from an undisturbed run"


def cut(context, name, states, resumes, swallow=None, start=None):
    """A trial: many power cuts of one logged run."""
    def trial(folder, chance):
        root, calls, err = logged(context, name, swallow, start)
        acknowledgements = Acknowledgements(err)
        disk = posix_model.Disk(root, start and start.parent)
        before = max(reader.intact_steps(start)) if start else -1
        complaints, applied = [], 0
        instants = sorted(chance.randrange(1, len(calls) + 1) for _ in range(states))
        to_resume = set(chance.sample(range(states), resumes))
        for number, instant in enumerate(instants):
            for call in calls[applied:instant]:
                disk.apply(call)
            applied = instant
            reported = calls[instant].reported if instant < len(calls) else len(err.encode())
            policy = chance.randrange(4)
            disk.write(folder / "disk", policy, chance)
            run = folder / "disk/run"
            found = list(defects(run, acknowledgements.after(reported, before)))
            if number in to_resume and not found:
                found += resumed(context, run)
            if found:
                complaints.append(f"cut after call {instant} of {len(calls)}, {posix_model.POLICIES[policy]}: "
                                  + "; ".join(found))
        return harness.Cases(states, complaints)
    return trial


def control(context, swallow):
    """A trial: without fsync of files or of folders, power cuts must lose something."""
    def trial(folder, chance):
        result = cut(context, f"swallow-{swallow}", 60, 0, swallow)(folder, chance)
        lost = sum("was acknowledged" in complaint for complaint in result.complaints)
        complaints = [] if lost else [f"no cut lost anything without fsync of each {swallow}"]
        return harness.Cases(1, complaints, f"without fsync of each {swallow}: {lost} of 60 cuts lost a checkpoint")
    return trial


def trials(context):
    states, resumes = context.count(300, 5000, 5000), context.count(6, 100, 100)
    runs = [("new", None)]
    if context.level != "change":
        runs.append(("resumed", begun(context)))
    batches = states // BATCH
    listed = [(f"{name} {number}", cut(context, name, BATCH // len(runs), resumes // batches // len(runs), None, start))
              for name, start in runs for number in range(batches)]
    return listed + [(f"control {what}", control(context, what)) for what in ("file", "folder")]
