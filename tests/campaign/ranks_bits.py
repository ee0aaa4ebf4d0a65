# SPDX-License-Identifier: Apache-2.0
"""Numbers of ranks, ways to share, threads, and chains of ranks and kills, over precisions and models.

Weights, moments, metrics, health events and checkpoint files equal those of one rank, byte for byte.
"""
import itertools
import os
import pathlib
import signal

import harness
import program

JOBS = 1  # a run has up to 8 processes
SHARDS = 8
# 520,000 matrix values: eight blocks of 65,536, so that each of 8 shards owns a piece.
WIDE = {"model_width": 128, "model_heads": 4, "model_inner": 512, "model_layers": 2, "train_batch": SHARDS,
        "train_gradient_shards": SHARDS, "log_every": 1, "evaluate_every": 5, "evaluate_sequences": 7, "probe_every": 4}
MIXTURE = WIDE | {"model_inner": 128, "model_experts": "{count = 4, bias_rate = 0.01}"}
MODELS = {"dense": WIDE, "mixture": MIXTURE}
RANKS = [1, 2, 4, 8]
LIMIT = 600  # seconds of a run


def health_events(run):
    """health.jsonl without what depends on the machine."""
    return [line for line in program.lines_of(run / "health.jsonl") if line["event"] != "straggler"]


def differences(run, whole, step):
    """How a run on several ranks differs from that on one."""
    if step not in program.saved_steps(run):
        yield f"step {step} is not saved"
        return
    ours, theirs = program.files_at(run, step), program.files_at(whole, step)
    for name in sorted(set(ours) | set(theirs)):
        if ours.get(name) != theirs.get(name):
            yield f"{name} differs"
    if program.metrics(run) != program.metrics(whole):
        yield "metrics.jsonl differs"
    if health_events(run) != health_events(whole):
        yield "health.jsonl differs"


def train_on(context, ranks, run, changed, *more):
    return context.run("train", "--quiet", "--ranks", ranks, "--run", run, *context.settings(**changed), *more,
                       limit=LIMIT)


def whole_run(context, model, precision, steps):
    """The run on one rank, and its settings."""
    changed = MODELS[model] | {"train_precision": precision, "train_steps": steps, "checkpoint_every": max(1, steps // 3)}
    return context.whole(**changed), changed


def bits(context, model, precision, ranks, shard, threads, steps):
    """A trial of R1: one run on several ranks."""
    def trial(folder, _):
        whole, changed = whole_run(context, model, precision, steps)
        run = folder / "run"
        done = train_on(context, ranks, run, changed | {"train_threads": threads, "distributed_shard": shard})
        if done.code != 0:
            return [f"ends with {done.code}: {done.last_line()}"]
        return ["; ".join(found)] if (found := list(differences(run, whole, steps))) else []
    return trial


def ranks_of(process):
    """The processes that train: the launcher's children, or the program itself on one rank."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(child) for child in children] or [process.pid]


def killed(context, ranks, run, changed, step):
    """Trains on some ranks until the metrics have a step; then kills all of them, or one of them."""
    def reached():
        lines = program.lines_of(run / "metrics.jsonl")
        return max((line["step"] for line in lines), default=0) >= step
    process = context.start("train", "--quiet", "--ranks", ranks, "--run", run, *context.settings(**changed))
    harness.wait_until(reached, process, LIMIT)
    try:
        for rank in ranks_of(process):
            os.kill(rank, signal.SIGKILL)
    except (OSError, ValueError):
        pass  # it has ended
    return harness.reaped(process, LIMIT)


def chain(context, steps):
    """A trial of R2: random ranks, kills, and a last leg without one."""
    def trial(folder, chance):
        model, precision = chance.choice(list(MODELS)), chance.choice(["float32", "bfloat16"])
        whole, changed = whole_run(context, model, precision, steps)
        changed = changed | {"checkpoint_every": 1}
        run, legs, reached = folder / "run", [], 0
        for _ in range(chance.randint(1, 4)):
            reached = min(steps - 1, reached + chance.randint(1, 3))
            ranks = chance.choice(RANKS)
            legs.append(f"{ranks} to step {reached}")
            if killed(context, ranks, run, changed, reached) == "hang":
                return [f"{', '.join(legs)}: hangs after the kill"]
        ranks = chance.choice(RANKS)
        done = train_on(context, ranks, run, changed)
        if done.code != 0:
            return [f"{', '.join(legs)}, then {ranks} ranks: ends with {done.code}: {done.last_line()}"]
        found = list(differences(run, whole, steps))
        return [f"{', '.join(legs)}, then {ranks} ranks: {'; '.join(found)}"] if found else []
    return trial


def trials(context):
    steps = context.count(6, 60, 60)
    cases = [(model, precision, ranks, shard, threads)
             for model, precision, ranks, shard, threads in itertools.product(
                 MODELS, ("float32", "bfloat16"), RANKS, ("optimizer", "gradients"), (1, 2))
             if ranks > 1 or (shard == "optimizer" and threads == 2)]
    if context.level == "change":
        cases = [case for case in cases if case[2] > 1]
        cases = [next(case for case in cases if case[:2] == pair and case[2] == ranks and case[3] == shard)
                 for pair, ranks, shard in zip(itertools.product(MODELS, ("float32", "bfloat16")), (8, 4, 2, 4),
                                               ("optimizer", "gradients", "gradients", "optimizer"))]
    found = [(f"{model} {precision}, {ranks} ranks, {shard}, {threads} threads",
              bits(context, model, precision, ranks, shard, threads, steps))
             for model, precision, ranks, shard, threads in cases]
    return found + [(f"chain {number}", chain(context, 12)) for number in range(context.count(2, 40, 200))]
