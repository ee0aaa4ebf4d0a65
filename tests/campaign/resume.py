# SPDX-License-Identifier: Apache-2.0
"""Numbers of threads, and resumes from each step, over schemes and precisions.

A run has equal bits for 1, 2, 3, 4 and 8 threads, and equal bits after a resume from any checkpoint.
"""
import shutil

import harness
import program

THREADS = [2, 3, 4, 8]
STEPS = 6
LONG = 60  # steps of the level "release"
WIDTHS = [24, 40, 56, 100]  # of the feed-forward network
EXPERTS = 4  # of a mixture: one in three schemes


def changed(steps, precision, width, experts):
    """Settings of a run. \param experts  of each feed-forward network; 0: dense"""
    mixture = {"model_experts.count": experts, "model_experts.active": 2} if experts else {}
    return mixture | {"train_steps": steps, "checkpoint_every": 1, "checkpoint_keep": steps + 1, "log_every": 1, "train_batch": 4,
            "model_layers": 2, "model_inner": width, "train_precision": precision}


def state_differences(run, whole, step, what):
    """A complaint about another state than that of one thread without a resume, or none."""
    ours, theirs = program.state_at(run, step), program.state_at(whole, step)
    differing = [name for name, content in theirs.items() if ours[name] != content]
    return [f"{what}: {', '.join(differing)} of step {step} differ"] if differing else []


def resumed(context, arguments, whole, folder, step, steps):
    """Complaints about a run that goes on from a step of the whole run."""
    run = folder / f"from-{step}"
    shutil.copytree(whole, run)
    for later in range(step + 1, steps + 1):
        shutil.rmtree(program.folder_of(run, later))
    done = context.run("train", "--quiet", "--run", run, *arguments)
    if done.code != 0:
        yield f"resume from step {step} ends with {done.code}: {done.last_line()}"
        return
    found = state_differences(run, whole, steps, f"resume from step {step}")
    if program.metrics(run) != program.metrics(whole):
        found.append(f"resume from step {step}: metrics.jsonl differs")
    if found:
        yield "; ".join(found)
    shutil.rmtree(run)


def trial_of(context, scheme, precision, width, experts):
    """A trial: a run of one thread, then the numbers of threads, then resumes."""
    def trial(folder, chance):
        steps = context.count(STEPS, STEPS, LONG)
        arguments = [*context.settings(**changed(steps, precision, width, experts)), "--scheme", scheme]
        whole, cases, complaints = folder / "whole", 0, []
        done = context.run("train", "--quiet", "--run", whole, *arguments)
        if done.code != 0:
            return harness.Cases(1, [f"ends with {done.code}: {done.last_line()}"])
        for threads in THREADS:
            run = folder / f"threads-{threads}"
            done = context.run("train", "--quiet", "--run", run, *arguments, "--set", f"train.threads={threads}")
            cases += 1
            if done.code != 0:
                complaints.append(f"{threads} threads: ends with {done.code}: {done.last_line()}")
            else:
                complaints += state_differences(run, whole, steps, f"{threads} threads, FFN width {width}")
            shutil.rmtree(run, ignore_errors=True)
        every = range(steps)
        for step in chance.sample(every, context.count(1, 2, len(every))):
            cases += 1
            complaints += resumed(context, arguments, whole, folder, step, steps)
        return harness.Cases(cases, complaints)
    return trial


def trials(context):
    schemes = sorted(path.stem for path in (harness.ROOT / "schemes").glob("*.toml"))
    chance = context.random("resume")
    if context.level == "change":
        return [(f"{scheme} float32 {width} {experts} experts", trial_of(context, scheme, "float32", width, experts))
                for scheme, width, experts in zip(chance.sample(schemes, 2), chance.sample(WIDTHS, 2), (0, EXPERTS))]
    listed = []
    for number, scheme in enumerate(chance.sample(schemes, min(77, len(schemes)))):
        experts = EXPERTS if number % 3 == 0 else 0
        listed += [(f"{scheme} {precision} {experts} experts",
                    trial_of(context, scheme, precision, chance.choice(WIDTHS), experts))
                   for precision in ("float32", "bfloat16")]
    return listed
