#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command that a page of the documentation shows runs, made small, in a folder of the page.

A command that this test neither runs nor lists in NOT_RUN is a failure. Files and runs that a command
names are made first; a TOML file has the text that the page shows for it.
"""
import pathlib
import re
import shutil
import sys
import unittest

import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import doc_commands
import doc_markdown

# Verbs of ./ek that are no verbs of the program, and why a page's command is not run.
NOT_RUN = [
    (r"^test\b", "these are the tests"),
    (r"^wheel\b", "tests/frame/ek_wheel_test.py runs it with stand-ins, tests/ecosystem/wheel_check.py for real"),
    (r"^watch\b", "it runs until a signal; tests/cli/watch_test.py does it"),
    (r"^python\b", "tests/python runs scripts with torch; here only the script's name is checked"),
    (r" --device cuda", "it needs a GPU; tools/gpu_check.sh tests one"),
    (r" --serve ", "it runs until a signal; tests/cli/serve_test.py does it"),
    (r"^report .*\.jsonl\b", "it reads the output of a bench"),
    (r"\$", "it holds a variable of the shell"),
]
# (pattern, exit code) of commands whose page says that they fail; every other one must give 0.
CODES = []

SIZES = {key: value for key, value in program.SMALL.items() if key.startswith("model.")}
SHORT = {key: value for key, value in program.SMALL.items()
         if not key.startswith("model.") and key != "data.train"}
STUDY = """title = "A study"
question = "Which is lower?"
source = "none"
baseline = { scheme = "pre_norm" }
[grid]
scheme = ["pre_norm", "hybrid_norm"]
[[claims]]
says = "HybridNorm ends lower"
of = { scheme = "hybrid_norm" }
than = { scheme = "pre_norm" }
source = "none"
[sizes.smoke]
settings.train.steps = 2
"""
QUIZ = "".join(f'{{"doc_id": 0, "idx": {i}, "label": 1, "request": {{"context": "2 + 2 =", "continuation": " {i + 3}"}}}}\n'
               for i in range(2))
EXAMPLES = {"FOLDER": "run", "RUN": "run", "NAME": "pre_norm", "FILE": "book.txt", "VERB": "train",
                "STUDY": "placement", "SIZE": "smoke", "KEY=VALUE": "seed=2", "TEXT": "The"}


def filled_in(word):
    """A word with an example in place of a name in capitals: FILE, or data.train=FILE."""
    key, equals, value = word.rpartition("=")
    return EXAMPLES.get(word, key + equals + EXAMPLES.get(value, value))


def toml_blocks(text):
    """{"mine.toml": content} of the code blocks whose first line is "# mine.toml"."""
    code = {line.number: line.text for line in doc_markdown.lines_of(text) if line.kind == "code"}
    out, name = {}, None
    for number, line in code.items():
        begins = re.match(r"# ([\w./-]+\.toml)\b", line)
        if line.startswith("```") or number - 1 not in code:
            name = None
        if begins:
            name = begins[1]
            out[name] = ""
        if name:
            out[name] += line + "\n"
    return out


def settings_in(arguments):
    """The keys that --set names."""
    return [after.split("=")[0] for word, after in zip(arguments, arguments[1:]) if word == "--set"]


def value_of(option, arguments):
    """The word after an option, or None."""
    return arguments[arguments.index(option) + 1] if option in arguments[:-1] else None


def made_small(arguments):
    """The arguments of a command that takes a moment."""
    verb, rest = arguments[0], arguments[1:]
    if verb == "train":
        small = SIZES | SHORT | {"train.steps": 2}
        if "--ranks" in arguments:
            small["train.batch"] = 4
        if "train.tokens" in settings_in(arguments):
            small["train.tokens"] = small.pop("train.steps") * 64
        return arguments + program.settings(small)
    if verb == "probe" and rest[:1] not in (["theory"], ["invariance"]) and "--run" not in arguments:
        return arguments + program.settings(SIZES)
    if verb == "generate":
        return arguments + ["--tokens", "4"]
    if verb == "eval":
        fewer = [] if "--task" in arguments else ["--sequences", "2"]
        return arguments + fewer + ["--set", "evaluate.max_context=32"]
    if verb == "study" and rest and not rest[0].startswith("-") and not {"--dry-run", "--from", "--slurm"} & set(arguments):
        return [each for each in arguments if each not in ("--workers", "--strict")] + ["--dry-run"]
    if verb == "bench":
        return arguments[:2] + ["--help"]
    return arguments


class Documentation(program.Case):
    def make(self, arguments, blocks):
        """Makes what the command reads: texts, TOML files, runs."""
        new = arguments[:2] == ["schemes", "new"]
        named = re.findall(r'"([\w./-]+\.(?:txt|jsonl))"', " ".join(arguments))  # in a TOML value
        for word in [] if new else arguments[1:] + named:
            name = word.split("=", 1)[1] if word.startswith("data.") and "=" in word else word
            if (self.folder / name).exists() or "/" in name and not name.startswith("runs/"):
                continue
            if name == "quiz.jsonl":
                self.write(name, QUIZ)
            elif name.endswith((".txt", ".jsonl")) and arguments[0] != "report":
                line = '{"text": "The old baker sees the river."}\n' * 50
                self.write(name, line if name.endswith(".jsonl") else program.BOOK)
            elif name == "runs.csv":
                shutil.copy(ROOT / "docs/experiments/main-shakespeare-desk.csv", self.folder / name)
            elif name == "notes":
                (self.folder / name).mkdir()
                self.write("notes/a.md", program.BOOK)
            elif name.endswith(".toml") and arguments[0] != "import":
                usual = 'seed = 2\n' if value_of("--config", arguments) == name else 'extends = "pre_norm"\n'
                self.write(name, blocks.get(name, STUDY if arguments[0] == "study" else usual))
        goes_on = arguments[0] != "train" or "--override" in arguments or arguments[1:2] == ["--run"] and len(arguments) == 3
        runs = [value_of("--run", arguments)] if goes_on else []
        if arguments[0] == "report":
            runs += [word for word in arguments[1:] if not word.startswith("-") and "." not in word]
        for run in runs:
            if run and not (self.folder / run).exists():
                scheme = ["--scheme", "pre_norm"] if arguments[0] == "export" else []
                self.train(run, *scheme, train_steps=3, checkpoint_every=1, checkpoint_keep=4)
        if arguments[0] == "import" and arguments[1].endswith(".yaml"):
            self.write(arguments[1], (ROOT / "tests/golden/olmo/dense.yaml").read_text())
        elif arguments[0] == "import" and not (self.folder / arguments[1]).exists():
            self.train("imported", "--scheme", "pre_norm", train_steps=1)
            self.succeed("export", "--run", "imported", "--output", arguments[1])

    def check(self, command, blocks):
        """Runs one command, or finds it among those that are not run."""
        arguments = [filled_in(word) for word in command.words] or ["--help"]  # ./ek alone gives its help
        line = " ".join(arguments)
        if any(re.search(pattern, line) for pattern, _ in NOT_RUN):
            if arguments[:1] == ["python"] and "/" in arguments[1]:
                self.assertTrue((ROOT / arguments[1]).is_file(), f"{arguments[1]} does not exist")
            return
        code = next((code for pattern, code in CODES if re.search(pattern, line)), 0)
        if not arguments[0].startswith("-"):
            self.make(arguments, blocks)
            arguments = made_small(arguments)
        done = self.evenkeel(*(ROOT / word if "/" in word and (ROOT / word).exists() else word
                               for word in arguments))
        self.assertEqual(done.returncode, code, f"{line}\n{done.stderr.decode()}")

    def check_page(self, page):
        text, done = page.read_text(), set()
        for command in doc_commands.commands_of(str(page.relative_to(ROOT)), text):
            if command.text in done:  # the page shows it twice
                continue
            done.add(command.text)
            with self.subTest(f"{command.page}:{command.line}: {command.text}"):
                self.check(command, toml_blocks(text))

    def test_wrong_commands_fail(self):
        blocks = {"wrong.toml": "extends = \"pre_norm\"\nnorm_parameters = \"7\"\n"}
        for line in ("train --quite", "fly", "schemes show pre_norn", "schemes check wrong.toml",
                     "config --set train.stesp=3", "python examples/none.py", "verify none/none.safetensors"):
            with self.subTest(line), self.assertRaises(AssertionError):
                self.check(doc_commands.Command("page.md", 1, line, line.split()), blocks)


def test_of(page):
    return lambda self: self.check_page(page)


for each in doc_commands.pages(ROOT):
    stem = str(each.relative_to(ROOT).with_suffix("")).replace("/", "_").lower()
    setattr(Documentation, f"test_{stem}", test_of(each))


class Rules(unittest.TestCase):
    """What this test does to the commands."""

    def test_a_toml_block_is_found_by_its_first_line(self):
        self.assertEqual(toml_blocks("```toml\n# a.toml: arguments\nb = 1\n```\n\n```\nc\n```\n"),
                         {"a.toml": "# a.toml: arguments\nb = 1\n"})

    def test_a_run_is_made_small_in_the_unit_of_its_command(self):
        self.assertIn("train.steps=2", made_small(["train"]))
        tokens = made_small(["train", "--set", "train.tokens=100Mt"])
        self.assertIn("train.tokens=128", tokens)
        self.assertNotIn("train.steps=2", tokens)

    def test_a_study_and_a_bench_are_not_really_run(self):
        self.assertEqual(made_small(["study", "depth"]), ["study", "depth", "--dry-run"])
        self.assertEqual(made_small(["study", "depth", "--workers"]), ["study", "depth", "--dry-run"])
        self.assertEqual(made_small(["study"]), ["study"])
        self.assertEqual(made_small(["bench", "step", "--rounds", "9"]), ["bench", "step", "--help"])


if __name__ == "__main__":
    program.main()
