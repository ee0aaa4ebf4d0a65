#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares exported GGUF files, as llama.cpp computes them, with the runs.

Usage: tests/ecosystem/llama_cpp_check.py PROGRAM

Trains a small model of each architecture that `export --as gguf` writes, tied and untied. llama.cpp loads each file
on the CPU with a key/value cache in float32: its loss and that of `evenkeel eval` differ by at most 1e-6 for files in
float32 and by 2e-3 for bfloat16 and float16, its greedy text is that of `evenkeel generate --temperature 0`, and its
token ids are those of `evenkeel tokenize`. Prints a line per case; the exit code is 1 if a case differs.
"""
import array
import itertools
import os
import pathlib
import sys
import tempfile

import llama_cpp
import numpy

import small_runs
from small_runs import EXPERTS, SMALL, loss_of_run, run, train, windows

CASES = {  # name -> scheme, architecture, more keys
    "pre_norm": ("pre_norm", "llama", {}),
    "pre_qk": ("pre_qk", "qwen3", {}),
    "pre_qk, experts": ("pre_qk", "qwen3moe", EXPERTS | {"model.experts.renormalize": "true"}),
    "olmo2": ("olmo2", "olmo2", {}),
    "pre_norm_layer_norm": ("pre_norm_layer_norm", "stablelm", {}),
}
LIMITS = {"float32": 1e-6, "bfloat16": 2e-3, "float16": 2e-3}  # nats per token
F32 = 0  # llama.cpp's identity of float32, for the cache
TEXT = "The old baker's cat sees 12345 rivers,\n\n  and TWO dogs\tdon't. \u00e9\u4e2d \U0001f600 "


def load(folder, context):
    return llama_cpp.Llama(f"{folder}/model.gguf", n_ctx=context, n_batch=context, n_ubatch=context, logits_all=True,
                           n_gpu_layers=0, flash_attn=False, type_k=F32, type_v=F32, verbose=False)


def loss_of_file(model, context):
    """The mean loss over the windows that `evenkeel eval` has."""
    total, scored = 0.0, 0
    for window in windows("val.txt", context):
        model.reset()
        model.eval(window[:-1])
        logits = numpy.asarray(model.scores[: len(window) - 1], dtype=numpy.float64)
        peak = logits.max(1, keepdims=True)
        log_sums = numpy.log(numpy.exp(logits - peak).sum(1)) + peak[:, 0]
        total += float((log_sums - logits[numpy.arange(len(window) - 1), window[1:]]).sum())
        scored += len(window) - 1
    return total / scored


def greedy_text(model, prompt, count):
    model.reset()
    ids = model.tokenize(prompt.encode(), add_bos=True)
    model.eval(ids)
    for _ in range(count):
        best = int(numpy.argmax(model.scores[model.n_tokens - 1]))
        if best == small_runs.END_OF_TEXT:
            break
        ids.append(best)
        model.eval([best])
    return bytes(ids[1:]).decode(errors="replace")


def check_case(name, scheme, architecture, keys):
    stem = name.replace(", ", "-")
    folder, wrong, differences = f"run-{stem}", [], []
    keys = SMALL | {"model.kv_heads": 2} | keys
    train(folder, scheme, keys)
    own, context = loss_of_run(folder), keys["model.context"]
    for dtype, limit in LIMITS.items():
        run("export", "--run", folder, "--output", f"{folder}-{dtype}", "--as", "gguf", "--dtype", dtype)
        model = load(f"{folder}-{dtype}", context)
        if model.metadata["general.architecture"] != architecture:
            wrong.append(f"architecture {model.metadata['general.architecture']}")
        differences.append(abs(loss_of_file(model, context) - own))
        if not differences[-1] <= limit:
            wrong.append(f"{dtype} loss")
        if dtype == "float32":
            text = greedy_text(model, "the ", 24)
            wanted = run("generate", "--run", folder, "--prompt", "the ", "--tokens", 24, "--temperature", 0)
            if text.strip() != wanted.strip():
                wrong.append(f"text {text!r}, not {wanted!r}")
    print(f"| {name} | {architecture} | {own:.8f} | {' | '.join(f'{each:.1e}' for each in differences)} | "
          f"{'differs: ' + ', '.join(wrong) if wrong else 'equal text'} |", flush=True)
    return bool(wrong)


def check_tokens(pattern):
    """Token ids of a trained byte-level BPE, and of the bytes."""
    tokenizer = "bytes"
    if pattern != "bytes":
        run("tokenize", "book.txt", "val.txt", "sample.txt", "--train-vocabulary", 400, "--pattern", pattern, "--output",
            f"vocabulary-{pattern}", "--quiet")
        tokenizer = f"vocabulary-{pattern}/tokenizer.json"
    run("tokenize", "sample.txt", "--tokenizer", tokenizer, "--output", f"tokens-{pattern}", "--format", "nanogpt", "--quiet")
    wanted = array.array("H", next(pathlib.Path(f"tokens-{pattern}").glob("*.bin")).read_bytes()).tolist()
    train(f"run-{pattern}", "pre_norm", SMALL | {"data.tokenizer": tokenizer, "train.steps": 1})
    run("export", "--run", f"run-{pattern}", "--output", f"model-{pattern}", "--as", "gguf")
    model = load(f"model-{pattern}", 64)
    found = model.tokenize(TEXT.encode(), add_bos=False)
    good = found == [each for each in wanted if each != model.token_eos()]
    good &= model.detokenize(found) == TEXT.encode()
    print(f"| tokenizer {pattern} | {len(found)} ids | {'equal' if good else f'differs: {found} {wanted}'} |")
    return not good


def main(program):
    small_runs.PROGRAM = str(pathlib.Path(program).resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        small_runs.write_texts()
        pathlib.Path("sample.txt").write_text(TEXT)
        failed = False
        for (name, (scheme, architecture, keys)), tied in itertools.product(CASES.items(), ("true", "false")):
            failed |= check_case(f"{name}, {'tied' if tied == 'true' else 'untied'}", scheme, architecture,
                                 keys | {"model.tied": tied})
        for pattern in ("bytes", "gpt2", "gpt4"):
            failed |= check_tokens(pattern)
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
