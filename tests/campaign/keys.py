# SPDX-License-Identifier: Apache-2.0
"""Each key of run.toml is changed on resume.

A key that determines the weights is refused with 78, or with 64 where no other value fits the rest of the
configuration; the message names the key. A free key is accepted, and the run ends with the weights of an undisturbed
run.
"""
import shutil
import tomllib

import harness
import program

STEPS = 6
SETTINGS = {"train_steps": STEPS, "checkpoint_every": 2, "log_every": 1}
FREE = ("evaluate", "checkpoint", "probe", "log", "train.threads", "train.cuda_graphs", "model.recompute",
        "distributed.shard", "distributed.connect_timeout", "distributed.heartbeat_timeout",
        "distributed.collective_timeout", "distributed.interface", "distributed.backend")
WORDS = {"train.gradient_shards": "2", "scheme": '"pre_norm"', "model.init": '"megatron"', "train.precision": '"bfloat16"',
         "schedule.kind": '"constant"', "optimizer.kind": '"sgd"', "health.on_spike": '"stop"',
         "health.on_nonfinite": '"stop"', "kernels.attention": '"explicit"', "data.format": '"jsonl"',
         "data.text_key": '"other"', "model.recompute": '"block"', "model.width": "32", "model.heads": "4",
         "model.kv_heads": "2", "model.vocabulary": "300", "train.micro_batch": "1", "probe.what": '"grad_norm"',
         "evaluate.rule": '"lm_eval"', "evaluate.score_precision": '"bfloat16"', "evaluate.task_folder": '"tasks"',
         "distributed.shard": '"none"', "distributed.exchange": '"fast"', "distributed.interface": '"lo"',
         "distributed.backend": '"gloo"', "data.order": '"file"', "data.token_type": '"uint16"', "data.begin": "true",
         "data.tokenizer": '"other.json"', "train.from": '"other"', "data.ood": '["other.txt"]'}
UNFIT = ("data.special_in_text", "distributed.exchange", "optimizer.kind", "schedule.decay")  # no other value fits the rest
OTHER_TEXT = ("data.train", "data.validation")


def keys_of(table, prefix=""):
    """[(dotted key, value)] of a TOML table."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from keys_of(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def changed(context, key, value):
    """Another value, as TOML."""
    if key in OTHER_TEXT:
        return f'"{context.keep("other text", lambda: other_text(context))}"'
    if isinstance(value, bool):
        return str(not value).lower()
    if isinstance(value, int) and key not in WORDS:
        return str(2 * value + 2)
    if isinstance(value, float):
        return str(0.5 * value + 0.25)
    if isinstance(value, (str, int)) or key in WORDS:
        return WORDS.get(key, "5")
    return "[0.5, 0.5]" if key.endswith("betas") else "[1]"


def other_text(context):
    file = context.folder / "other.txt"
    file.write_text(program.BOOK.upper())
    return file


def weights(run):
    return program.state_at(run, STEPS)["model.safetensors"]


def source(context):
    return context.whole(**SETTINGS)


def trial_of(context, key, value):
    """A trial: a resume with another value of one key."""
    def trial(folder, _):
        run, whole = folder / "run", source(context)
        shutil.copytree(whole, run)
        shutil.rmtree(program.folder_of(run, STEPS))  # so that the run goes on from an earlier step
        done = context.run("train", "--quiet", "--run", run, "--set", f"{key}={changed(context, key, value)}")
        free = any(key == name or key.startswith(name + ".") for name in FREE)
        unfit = key in UNFIT or key.startswith("model.experts.") and key != "model.experts.count"
        codes = {0} if free or key == "train.steps" else {64} if unfit else {78}
        yield from harness.complaints_of(done, codes)
        if done.code != 0 and key not in done.err:
            yield f"the message does not name the key: {done.last_line()}"
        if done.code == 0 and key != "train.steps" and weights(run) != weights(whole):
            yield f"accepted, but the weights of step {STEPS} differ from an undisturbed run"
    return trial


def trials(context):
    table = tomllib.loads((source(context) / "run.toml").read_text())
    return [(key, trial_of(context, key, value)) for key, value in keys_of(table) if key != "preset"]
