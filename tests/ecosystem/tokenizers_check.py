#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares our tokenizers with the libraries that define them: ids, decoding, speed, trained vocabularies.

1. Ids of every tokenizer of tokenizer_cases.py are equal on fixed strings and on fresh random ones, with and
   without special tokens in text. Decoding gives the text back, unless the tokenizer normalizes it.
2. MB per CPU second of one thread, in turn with the other library.
3. Merges and vocabularies trained on tinyshakespeare are those of Hugging Face's BpeTrainer.

Usage: tests/ecosystem/tokenizers_check.py DRIVER [--speed] [--random N] [--seed N] [--only NAME]
DRIVER is the built tokenizer_driver. EVENKEEL_TEXT names tinyshakespeare.txt, EVENKEEL_TOKENIZERS the folder of
OLMo's tokenizers. Needs the packages of tools/ecosystem_requirements.txt.
"""
import argparse
import json
import os
import pathlib
import secrets
import subprocess
import sys
import sysconfig
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import tokenizers  # noqa: E402  (after the variable that it reads)
from tokenizers import Regex, models, pre_tokenizers, trainers  # noqa: E402

import tokenizer_cases  # noqa: E402
import tokenizer_texts  # noqa: E402

SIZES = (512, 4096, 16384)
SPEED_CASES = ("dolma2", "gpt-neox-olmo-dolma-v1_5", "o200k pattern, dolma2", "litellm: cl100k_base",
               "litellm: o200k_base", "mistral-common: tokenizer.model.v1", "Llama-2 fields, mistral v1")


class Driver:
    """Our program."""

    def __init__(self, program, work):
        self.program, self.work = program, work

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments], check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return float(done.stdout)

    def ids(self, case, special, strings):
        """(ids of each string, number of strings that decode to another text)."""
        out = self.work / "ids.bin"
        differ = self.run("ids", case.path, case.pattern, "special" if special else "plain", strings, out)
        return tokenizer_texts.read_ids(out), int(differ)


def compare(case, driver, strings, file):
    """The number of strings with other ids, and of strings that do not decode to themselves."""
    different = 0
    for special in (True, False):
        ours, undecoded = driver.ids(case, special, file)
        theirs = case.encode(strings, special)
        wrong = [at for at in range(len(strings)) if ours[at] != theirs[at]]
        different += len(wrong)
        for at in wrong[:3]:
            print(f"    {ascii(strings[at][:60])}: {case.library} {theirs[at][:12]}, ours {ours[at][:12]}")
    return different, undecoded if case.round_trip else 0


def compare_all(cases, driver, strings):
    file = driver.work / "strings.bin"
    tokenizer_texts.write_strings(file, strings)
    failed = 0
    for case in cases:
        try:
            different, undecoded = compare(case, driver, strings, file)
        except RuntimeError as error:
            print(f"{case.name}: refused: {error}")
            continue
        failed += different + undecoded
        decoding = f"{undecoded} do not decode to their text" if case.round_trip else "decoding not compared"
        print(f"{case.name}: {different} of {2 * len(strings)} differ from {case.library}, {decoding}", flush=True)
    return failed


def speed(cases, driver, english):
    """Prints a table: MB per CPU second, the best of three, in turn."""
    print("| tokenizer | text | ours | other | library | ratio |\n| --- | --- | --- | --- | --- | --- |")
    for case in (case for case in cases if case.name in SPEED_CASES):
        for name, text in tokenizer_texts.speed_texts(english).items():
            texts = tokenizer_texts.documents(text)
            file = driver.work / "speed.bin"
            tokenizer_texts.write_strings(file, texts)
            size = len(text.encode()) / 1e6
            ours = theirs = 0.0
            for _ in range(3):
                ours = max(ours, driver.run("speed", case.path, case.pattern, file))
                begin = time.process_time()
                case.encode(texts, False)
                theirs = max(theirs, size / (time.process_time() - begin))
            print(f"| {case.name} | {name} | {ours:.1f} | {theirs:.1f} | {case.library} | {ours / theirs:.1f} |", flush=True)


def trained(pattern, size, texts):
    """(vocabulary, merges, CPU seconds) of Hugging Face."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern == "gpt2")
    tokenizer.pre_tokenizer = level if pattern == "gpt2" else pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(tokenizer_cases.GPT4), "isolated"), level])
    begin = time.process_time()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, special_tokens=[tokenizer_cases.END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    seconds = time.process_time() - begin
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], model["merges"], seconds


def compare_training(driver, name, text):
    texts = tokenizer_texts.documents(text, 20000)
    file = driver.work / "train.bin"
    tokenizer_texts.write_strings(file, texts)
    failed = 0
    for pattern in ("gpt2", "gpt4"):
        for size in SIZES:
            out = driver.work / "trained.json"
            seconds = driver.run("train", pattern, str(size), file, out)
            ours = json.loads(out.read_text())["model"]
            vocab, merges, others = trained(pattern, size, texts)
            equal = ours["vocab"] == vocab and ours["merges"] == merges
            failed += not equal
            print(f"training, {name}, {pattern}, {size}: {'equal' if equal else 'DIFFERENT'}, {len(merges)} merges, "
                  f"{seconds:.2f} CPU seconds (tokenizers {others:.2f})", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("driver")
    parser.add_argument("--speed", action="store_true", help="also measure speed")
    parser.add_argument("--random", type=int, default=10000, help="number of fresh random strings")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    parser.add_argument("--only", default="", help="compare only tokenizers whose name has this text, and do not train")
    parser.add_argument("--packages", type=pathlib.Path, default=pathlib.Path(sysconfig.get_paths()["purelib"]),
                        help="folder of the installed packages")
    options = parser.parse_args()
    text = os.environ.get("EVENKEEL_TEXT")
    if not text:
        print("EVENKEEL_TEXT is not set: it must name tinyshakespeare.txt")
        return 77
    english = pathlib.Path(text).read_text()
    print(f"tokenizers {tokenizers.__version__}, seed {options.seed}")
    with tempfile.TemporaryDirectory() as folder:
        driver = Driver(options.driver, pathlib.Path(folder))
        cases = [case for case in tokenizer_cases.cases(options.packages, driver.work) if options.only in case.name]
        strings = tokenizer_texts.fixed_strings(english) + tokenizer_texts.random_strings(options.random, options.seed)
        failed = compare_all(cases, driver, strings)
        if not options.only:
            failed += compare_training(driver, "tinyshakespeare", english)
            failed += compare_training(driver, "code", tokenizer_texts.code_text(20000000))
        if options.speed:
            speed(cases, driver, english)
    print(f"{failed} differences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
