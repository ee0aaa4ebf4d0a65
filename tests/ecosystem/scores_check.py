#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `evenkeel eval --task` with the scores of the package ai2-olmo-eval on the same model.

Usage: tests/ecosystem/scores_check.py PROGRAM FOLDER [DOCUMENTS [LABEL...]]

Trains a small model, scores the labels with PROGRAM, and with the package's own classes on the logits of
reference_model.py. FOLDER has the package's oe_eval_tasks and hf_datasets. The first DOCUMENTS documents of each task
are compared (default 40): log-probabilities of rows within 1e-4, and all metrics of both rules. Prints a line per
label; the exit code is 1 if a label differs.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CACHE = tempfile.TemporaryDirectory()
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": CACHE.name}

import olmo_eval.tasks  # noqa: E402
import olmo_eval.util  # noqa: E402
import torch  # noqa: E402
from olmo_eval.metrics import ICLMetric  # noqa: E402
from reference_model import ReferenceModel  # noqa: E402

LABELS = [
    "arc_easy_rc_0shot", "arc_challenge_rc_0shot", "copa", "piqa_rc_0shot", "hellaswag_rc_0shot",
    "hellaswag_rc_5shot", "boolq_rc_0shot", "sciq_rc_0shot", "winogrande_rc_0shot", "winogrande", "openbookqa_rc_0shot",
    "csqa_rc_0shot", "socialiqa_rc_0shot", "basic_arithmetic", "mmlu_stem_var", "mmlu_stem_mc_5shot",
    "arc_easy_rc_0shot_bpb", "arc_easy_ppl", "mrpc",
]  # fmt: skip
CONTEXT = 2048
ROW_LIMIT = 1e-4  # absolute, of a log-probability
METRIC_LIMIT = 1e-5  # absolute and relative


class Bytes:
    """The program's tokenizer "bytes", without a begin token."""
    bos_token_id = None
    pad_token_id = eos_token_id = 256

    def encode(self, text, add_special_tokens=False):
        assert not add_special_tokens
        return list(text.encode())


def reference(model, label, documents):
    """({(document, choice): log-probability}, metrics) of the package's classes."""
    task = olmo_eval.tasks.build_task(label, Bytes(), model_ctx_len=CONTEXT)
    metric = ICLMetric(task.metric_type)
    known = sorted({sample["doc_id"] for sample in task.samples})[:documents]
    rows = {}
    for sample in (each for each in task.samples if each["doc_id"] in set(known)):
        batch = task.collate_fn([sample])
        with torch.no_grad():
            logits = model(batch["input_ids"])
        metric.update(batch, logits)
        scored = logits[0, sample["ctx_len"] - 1 : sample["ctx_len"] + sample["cont_len"] - 1]
        targets = torch.tensor(sample["continuation"])
        rows[sample["doc_id"], sample["cont_id"]] = -torch.nn.functional.cross_entropy(
            scored.double(), targets, reduction="sum").item()
    return rows, {name: float(value) for name, value in metric.compute().items()}


def ours(program, run, folder, label, documents, rule):
    """The same of the program."""
    with tempfile.TemporaryDirectory() as scratch:
        rows = f"{scratch}/rows.jsonl"
        done = subprocess.run(
            [program, "eval", "--run", run, "--task", label, "--rows", rows, "--json", "--set", "data.begin=false",
             "--set", f"evaluate.rule={rule}", "--set", f"evaluate.max_context={CONTEXT}",
             "--set", f"evaluate.task_documents={documents}", "--set", f"evaluate.task_folder={folder}"],
            capture_output=True, check=False, encoding="utf-8")
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        lines = [json.loads(line) for line in open(rows, encoding="utf-8")]
    return ({(row["document"], row["choice"]): row["log_probability"] for row in lines},
            {line["metric"]: line["value"] for line in json.loads(done.stdout)["tasks"]})


def near_ties(rows, limit):
    """Documents whose two best choices are closer than the limit of rounding."""
    by_document = {}
    for (document, _), value in rows.items():
        by_document.setdefault(document, []).append(value)
    return sum(1 for values in by_document.values() if len(values) > 1 and sorted(values)[-1] - sorted(values)[-2] < limit)


def metric_differences(metrics, expected, version, allowed):
    """Metrics that differ. `allowed`: documents that may be selected otherwise."""
    wrong = []
    for name, value in metrics.items():
        theirs = expected.get(f"{name}_{version}")
        # The package computes len_norm_v1 from the lengths of v2, and names acc as its label does.
        if theirs is None or (name == "len_norm" and version == "v1"):
            continue
        limit = METRIC_LIMIT * max(1, abs(theirs)) + (allowed if name in ("acc", "len_norm", "f1") else 0)
        if not abs(value - theirs) <= limit:
            wrong.append(f"{name}_{version} {value} in place of {theirs}")
    return wrong


def compare(program, run, folder, model, label, documents):
    """(summary, what differs)."""
    expected_rows, expected = reference(model, label, documents)
    wrong, largest, compared = [], 0.0, 0
    for rule, version in (("olmo", "v1"), ("olmo_v2", "v2")):
        rows, metrics = ours(program, run, folder, label, documents, rule)
        if set(rows) != set(expected_rows):
            return "", f"{len(rows)} rows in place of {len(expected_rows)}"
        largest = max(largest, *(abs(rows[key] - expected_rows[key]) for key in rows))
        count = len({document for document, _ in rows})
        wrong += metric_differences(metrics, expected, version, near_ties(rows, 2 * ROW_LIMIT) / count)
        compared += sum(1 for name in metrics if f"{name}_{version}" in expected)
    if largest > ROW_LIMIT:
        wrong.append(f"a log-probability differs by {largest:.2g}")
    return f"{len(expected_rows)} rows within {largest:.1e}, {compared} metrics", "; ".join(wrong)


def main(program, folder, documents="40", *labels):
    root = pathlib.Path(folder)
    olmo_eval.util._get_data_traversable = lambda path: root / path
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        run = f"{scratch}/run"
        subprocess.run([program, "train", "--run", run, "--quiet", "--set", "train.steps=60"], check=True)
        model = ReferenceModel(run, torch.float64)
        for label in labels or LABELS:
            summary, wrong = compare(program, run, folder, model, label, int(documents))
            print(f"{'DIFFERENT' if wrong else 'same'}: {label}: {summary}{': ' if wrong else ''}{wrong}", flush=True)
            failed += [label] if wrong else []
    print(f"{len(labels or LABELS) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
