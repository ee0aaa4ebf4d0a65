#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`eval --serve` with the clients that it is for: lm-evaluation-harness (local-completions) and openai.

1. A local multiple-choice task runs in lm-evaluation-harness with token ids, with texts, and in batches: its
   log-likelihoods, greedy flags and accuracies are those of the endpoint's own sums.
2. A local generation task has the endpoint's own texts.
3. `eval --task` with evaluate.rule = "lm_eval" has lm-evaluation-harness's log-likelihoods, acc and acc_norm.
4. The openai package completes a text: at once, as a stream, with log-probabilities, and reports refusals.

Usage: tests/ecosystem/serve_check.py EVENKEEL
The packages are those of tools/ecosystem_lm_eval_requirements.txt. Prints one line per case; the exit code is 1 if a
case fails.
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

import openai

from lm_eval_task import CHOICE_TASK, OFFLINE

TOLERANCE = 1e-4  # of a sum: batches of another size round differently in float32
SUBJECTS = ["The old baker", "A cat", "Nobody", "My neighbour", "The dog of the farmer", "She"]
VERBS = ["sees", "remembers", "paints", "sells"]
OBJECTS = ["the river", "a red house", "two dogs and a bird", "an empty street", "the moon", "café"]

TEXT_TASK = """task: texts
dataset_path: json
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{context}}}}"
doc_to_target: "{{{{choices[0]}}}}"
generation_kwargs: {{until: [".", "zz"], max_gen_toks: 20, temperature: 0}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""


def rows():
    """Self-written documents: a context, 2 to 4 choices, a label."""
    out = []
    for i, subject in enumerate(SUBJECTS):
        for j, verb in enumerate(VERBS):
            choices = [OBJECTS[(i + j + k) % len(OBJECTS)] for k in range(2 + (i + j) % 3)]
            out.append({"context": f"{subject} {verb}", "choices": choices, "label": (i * j) % len(choices)})
    return out


class Check:
    """Counts what fails."""
    failed = 0

    def say(self, case, good):
        print(f"{'same' if good else 'DIFFERENT'}: {case}", flush=True)
        self.failed += not good


class Endpoint:
    """Requests without a client library."""

    def __init__(self, url):
        self.url = url

    def complete(self, **fields):
        request = urllib.request.Request(f"{self.url}/completions", json.dumps(fields).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["choices"][0]

    def sum(self, prompt, start):
        """Log-likelihood of the tokens from `start` on, and whether each is the most probable one."""
        logprobs = self.complete(prompt=prompt, max_tokens=0, logprobs=1, echo=True)["logprobs"]
        scored = logprobs["token_logprobs"][start:]
        greedy = all(logprob == max(top.values()) for logprob, top in zip(scored, logprobs["top_logprobs"][start:]))
        return sum(scored), greedy


@contextlib.contextmanager
def served(program, folder):
    """The URL of a small model, trained for this."""
    settings = ["train.steps=40", "model.context=128", "train.precision=float32", "evaluate.every=0"]
    sets = [word for setting in settings for word in ("--set", setting)]
    subprocess.run([program, "train", "--quiet", "--preset", "tiny", "--run", folder / "run", *sets], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process = subprocess.Popen([program, "eval", "--run", folder / "run", "--serve", "0", "--quiet"],
                               stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        yield re.search(r"http://\S+", process.stdout.readline())[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def lm_eval(url, folder, task, batch_size=1, **model_args):
    """Metrics and samples of a task."""
    out = pathlib.Path(tempfile.mkdtemp(dir=folder))
    arguments = {"model": "m", "base_url": f"{url}/completions", "max_length": 128} | model_args
    done = subprocess.run(
        [sys.executable, "-m", "lm_eval", "run", "--model", "local-completions", "--model_args",
         ",".join(f"{key}={value}" for key, value in arguments.items()), "--tasks", task, "--batch_size",
         str(batch_size), "--include_path", str(folder / "tasks"), "--output_path", str(out), "--log_samples"],
        env=os.environ | OFFLINE | {"HF_HOME": str(folder / "hf"), "OPENAI_API_KEY": "none"}, capture_output=True,
        text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"lm_eval ended with {done.returncode}: {done.stderr[-2000:]}")
    results = json.loads(next(out.rglob("results_*.json")).read_text())["results"][task]
    samples = [json.loads(line) for line in next(out.rglob("samples_*.jsonl")).read_text().splitlines()]
    return results, sorted(samples, key=lambda sample: sample["doc_id"])


def scores_of(endpoint, documents, as_text):
    """(sum, greedy) of each choice of each document, from the endpoint alone."""
    def score(context, choice):
        ids, start = list(f"{context} {choice}".encode()), len(context.encode())
        return endpoint.sum(bytes(ids).decode() if as_text else ids, start)
    return [[score(each["context"], choice) for choice in each["choices"]] for each in documents]


def accuracies(documents, scores):
    """acc and acc_norm of lm-evaluation-harness."""
    def hits(divisor):
        count = 0
        for document, choices in zip(documents, scores):
            values = [value / divisor(text) for (value, _), text in zip(choices, document["choices"])]
            count += values.index(max(values)) == document["label"]
        return count / len(documents)
    return hits(lambda text: 1), hits(len)


def check_choices(check, endpoint, url, folder, documents):
    for name, as_text, options in [("token ids", False, {}), ("batches of 7", False, {"batch_size": 7}),
                                   ("4 requests at once", False, {"num_concurrent": 4}),
                                   ("texts", True, {"tokenized_requests": False})]:
        results, samples = lm_eval(url, folder, "choices", **options)
        wanted = scores_of(endpoint, documents, as_text)
        found = [[(float(value), str(greedy) == "True") for value, greedy in sample["filtered_resps"]]
                 for sample in samples]
        largest = max(abs(a - b) for x, y in zip(wanted, found) for (a, _), (b, _) in zip(x, y))
        check.say(f"lm_eval with {name}: {sum(map(len, found))} log-likelihoods, largest difference {largest:.1e}",
                  [len(x) for x in found] == [len(x) for x in wanted] and largest < TOLERANCE)
        check.say(f"lm_eval with {name}: greedy flags",
                  [[g for _, g in x] for x in found] == [[g for _, g in x] for x in wanted])
        acc, acc_norm = accuracies(documents, wanted)
        check.say(f"lm_eval with {name}: acc {results['acc,none']:.4f}, acc_norm {results['acc_norm,none']:.4f}",
                  abs(results["acc,none"] - acc) < 1e-9 and abs(results["acc_norm,none"] - acc_norm) < 1e-9)


def check_eval(check, program, url, folder, documents):
    requests = folder / "requests.jsonl"
    requests.write_text("".join(
        json.dumps({"doc_id": number, "idx": idx, "label": each["label"],
                    "request": {"context": each["context"], "continuation": f" {choice}"}}) + "\n"
        for number, each in enumerate(documents) for idx, choice in enumerate(each["choices"])))
    done = subprocess.run(
        [program, "eval", "--run", folder / "run", "--task", requests, "--rows", folder / "scores.jsonl", "--json",
         "--set", "evaluate.rule=lm_eval", "--set", "data.begin=false"], check=True, capture_output=True, text=True)
    ours = {line["metric"]: line["value"] for line in json.loads(done.stdout)["tasks"]}
    rows_of_ours = [json.loads(line) for line in (folder / "scores.jsonl").read_text().splitlines()]
    results, samples = lm_eval(url, folder, "choices")
    theirs = [float(value) for sample in samples for value, _ in sample["filtered_resps"]]
    largest = max(abs(row["log_probability"] - value) for row, value in zip(rows_of_ours, theirs, strict=True))
    check.say(f"eval --task: {len(theirs)} log-likelihoods of lm_eval, largest difference {largest:.1e}", largest < TOLERANCE)
    for name in ("acc", "acc_norm"):
        check.say(f"eval --task: {name} {ours[name]:.4f}", abs(ours[name] - results[f"{name},none"]) < 1e-9)


def check_texts(check, endpoint, url, folder, documents):
    _, samples = lm_eval(url, folder, "texts", tokenized_requests=False)
    found = [sample["resps"][0][0] for sample in samples]
    wanted = [endpoint.complete(prompt=each["context"], max_tokens=20, temperature=0, stop=[".", "zz"], seed=1234)["text"]
              for each in documents]
    check.say(f"lm_eval generates {len(found)} texts", found == wanted)


def check_openai(check, endpoint, url):
    client = openai.OpenAI(base_url=url, api_key="none")
    model = client.models.list().data[0].id
    fields = {"prompt": "The old baker", "max_tokens": 12, "seed": 5}
    wanted = endpoint.complete(**fields)
    whole = client.completions.create(model=model, **fields)
    check.say("openai: a completion", whole.choices[0].text == wanted["text"] and whole.usage.completion_tokens == 12)
    parts = list(client.completions.create(model=model, stream=True, stream_options={"include_usage": True}, **fields))
    text = "".join(choice.text for part in parts for choice in part.choices)
    check.say(f"openai: a stream of {len(parts)} events", text == wanted["text"] and parts[-1].usage.completion_tokens == 12)
    logprobs = client.completions.create(model=model, logprobs=3, echo=True, **fields).choices[0].logprobs
    other = endpoint.complete(logprobs=3, echo=True, **fields)["logprobs"]
    check.say("openai: log-probabilities", (logprobs.tokens, logprobs.token_logprobs, logprobs.text_offset) ==
              (other["tokens"], other["token_logprobs"], other["text_offset"]))
    try:
        client.completions.create(model=model, prompt="a" * 200)
        check.say("openai: a refusal", False)
    except openai.BadRequestError as error:
        check.say(f"openai: a refusal: {error.body['message']}", error.body["code"] == "context_length_exceeded")


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    check = Check()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "tasks").mkdir()
        documents = rows()
        (folder / "rows.jsonl").write_text("".join(json.dumps(each) + "\n" for each in documents))
        for stem, task in (("choices", CHOICE_TASK), ("texts", TEXT_TASK)):
            (folder / "tasks" / f"{stem}.yaml").write_text(task.format(name=stem, rows=folder / "rows.jsonl"))
        with served(program, folder) as url:
            endpoint = Endpoint(url)
            check_openai(check, endpoint, url)
            check_choices(check, endpoint, url, folder, documents)
            check_texts(check, endpoint, url, folder, documents)
            check_eval(check, program, url, folder, documents)
    print(f"{check.failed} cases differ" if check.failed else "every case is the same")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
