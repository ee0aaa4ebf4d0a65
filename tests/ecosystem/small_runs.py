# SPDX-License-Identifier: Apache-2.0
"""Small runs of a few seconds, and their losses, for scripts that compare exported models with other programs."""
import json
import pathlib
import random
import subprocess
import sys

EXPERTS = {"model.experts.count": 4, "model.experts.active": 2}
SMALL = {"model.layers": 2, "model.width": 32, "model.heads": 4, "model.inner": 48, "model.context": 64}
END_OF_TEXT = 256  # of the tokenizer `bytes`
PROGRAM = ""  # set by main()


def run(*arguments):
    """The standard output of evenkeel; ends the script where it fails."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def settings(values):
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def words(seed, count):
    known = "the a baker cat river house two dogs street moon sees paints follows sells empty red old nobody".split()
    pick = random.Random(seed)
    return "".join(" ".join(pick.choice(known) for _ in range(8)) + ".\n" for _ in range(count))


def write_texts():
    """book.txt to train on and val.txt, which train() and loss_of_run() read."""
    pathlib.Path("book.txt").write_text(words(1, 2000))
    pathlib.Path("val.txt").write_text(words(2, 120))


def train(folder, scheme, keys):
    values = {"data.train": "book.txt", "data.validation": "val.txt", "train.steps": 40, "train.batch": 4,
              "train.precision": "float32", "evaluate.every": 0, "evaluate.sequences": 1, "schedule.warmup": 2,
              "schedule.peak": 0.01}
    run("train", "--run", folder, "--quiet", *settings({"scheme": scheme} | values | keys))


def loss_of_run(folder, *more, text="val.txt"):
    return json.loads(run("eval", "--run", folder, "--json", "--set", f"data.validation={text}", *more))["val_loss"]


def windows(text, context):
    """The token windows that `evenkeel eval` has, each with the target of its last position."""
    ids = [END_OF_TEXT, *pathlib.Path(text).read_bytes(), END_OF_TEXT]
    return [ids[begin : begin + context + 1] for begin in range(0, len(ids) - 1, context)]
