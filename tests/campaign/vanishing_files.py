# SPDX-License-Identifier: Apache-2.0
"""Files of a run vanish, or become folders, links or pipes, while it trains.

The program ends with 0 or 74, follows no link, and changes nothing outside its folder.
"""
import contextlib
import os
import shutil

import faults
import harness
import reader

STEPS = 600
SETTINGS = {"train_steps": STEPS, "checkpoint_every": 50, "log_every": 1}
PRECIOUS = b"a file of the user\n"
RECORDS = ["metrics.jsonl", "status.json", "log.txt", "report.html", "sample.txt", "health.jsonl", "run.toml",
           "provenance.json", "probes.jsonl"]


def removed(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def vanish(path, _):
    removed(path)


def replaced(path, make):
    """Removes the path and calls make(), again if the program creates the file in between."""
    for _ in range(1000):
        removed(path)
        with contextlib.suppress(FileExistsError):
            make()
            return
    raise RuntimeError(f"{path} came back 1,000 times")


def become_folder(path, _):
    replaced(path, path.mkdir)


def become_link(path, victim):
    replaced(path, lambda: os.symlink(victim, path))


def become_pipe(path, _):
    replaced(path, lambda: os.mkfifo(path))


def become_linked_folder(path, victim):
    os.rename(path, elsewhere(victim))
    os.symlink(elsewhere(victim), path)


def elsewhere(victim):
    """Where the folder of checkpoints goes."""
    return victim.parent / "elsewhere"


def saved_through_link(victim, before):
    """Complaints about checkpoints that came after the folder became a link; a save that had begun may end."""
    if elsewhere(victim).is_dir():
        after = reader.NAMED.findall(" ".join(os.listdir(elsewhere(victim))))
        more = [step for step in map(int, after) if step > before + SETTINGS["checkpoint_every"]]
        if more:
            yield f"checkpoints were saved through a link: steps {more} after step {before}"


def trial_of(context, name, act):
    """A trial: one file changes its kind once the run has saved a checkpoint."""
    def trial(folder, chance):
        run, victim = folder / "run", folder / "victim"
        victim.write_bytes(PRECIOUS)
        steps = [0]  # saved when the file changes

        def disturb(process):
            harness.wait_until(lambda: max(reader.named_steps(run), default=-1) >= 50, process)
            harness.wait_until(lambda: False, process, chance.uniform(0, 0.2))
            act(run / name, victim)
            steps.extend(reader.named_steps(run))
            faults.stopped_if_waiting(process)
        done = context.run("train", "--run", run, *context.settings(**SETTINGS), act=disturb)
        yield from harness.complaints_of(done, {0, 74}, one_line=False, waited=faults.PATIENCE)
        if victim.read_bytes() != PRECIOUS:
            yield f"the file that {name} links to was changed"
        yield from saved_through_link(victim, max(steps))
        if name != "checkpoints" and act is not vanish:
            yield from harness.lost(run, reader.acknowledged(done.err))
    return trial


def linked_before(context, name):
    """A trial: a finished run of somebody else has a link in place of a file."""
    def trial(folder, _):
        run, victim = folder / "run", folder / "victim"
        shutil.copytree(context.whole(**SETTINGS), run)
        victim.write_bytes(PRECIOUS)
        become_link(run / name, victim)
        for arguments in (["train", "--quiet", "--run", run, "--set", f"train.steps={STEPS + 10}"], ["report", run]):
            done = context.run(*arguments)
            yield from harness.complaints_of(done, {0, 65, 74, 77, 78}, one_line=False)
            if victim.read_bytes() != PRECIOUS:
                yield f"{arguments[0]}: the file that {name} links to was changed"
                victim.write_bytes(PRECIOUS)
    return trial


def trials(context):
    context.whole(**SETTINGS)
    cases = [(name, act) for name in RECORDS for act in (vanish, become_folder, become_link, become_pipe)]
    cases += [("checkpoints", vanish), ("checkpoints", become_linked_folder), ("lock", vanish)]
    listed = [(f"{name} {act.__name__}", trial_of(context, name, act)) for name, act in cases]
    listed += [(f"{name} is a link", linked_before(context, name)) for name in RECORDS]
    if context.level == "change":
        return context.random("vanishing").sample(listed, 10)
    times = context.count(0, 5, 20)
    return [(f"{label} {number}", trial) for number in range(times) for label, trial in listed]
