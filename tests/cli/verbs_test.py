#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each verb prints, for a person and for a program."""
import json
import os
import pathlib
import re

import program
from program import metrics, small

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERBS = re.findall(r"^([a-z]+) ", (ROOT / "src/evenkeel/cli/verbs.txt").read_text(), re.MULTILINE)
SCREEN = (45, 100)  # lines, columns


class Help(program.Case):
    def check_fits(self, text):
        lines = text.splitlines()
        self.assertLessEqual(len(lines), SCREEN[0])
        self.assertEqual([line for line in lines if len(line) > SCREEN[1]], [])

    def test_of_the_program_names_every_verb_and_what_it_does(self):
        out, error = self.succeed("--help")
        self.check_fits(out)
        self.assertEqual(error, "")
        for verb in VERBS:
            self.assertRegex(out, rf"\n  {verb} +\w.+\n")
        self.assertEqual(len(re.findall(r"^  [a-z]+ +\w", out[out.index("\nSubcommands:"):out.index("\nStart with:")],
                                        re.MULTILINE)), len(VERBS))

    def test_of_each_verb_fits_a_screen_and_has_examples(self):
        for verb, (out, _) in zip(VERBS, self.each(lambda verb: self.succeed(verb, "--help"), VERBS)):
            with self.subTest(verb=verb):
                self.check_fits(out)
                self.assertRegex(out, rf"\nExamples:\n  evenkeel {verb}")

    def test_of_each_command_has_the_options_of_the_table(self):
        """docs/decisions/0005-options-by-verb.md; an "x" stands for all options of the column's head."""
        page = (ROOT / "docs/decisions/0005-options-by-verb.md").read_text()
        head, _, *rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| ")]
        wanted = {}
        for first, *cells in rows:
            options = [option for cell, column in zip(cells, head[1:], strict=True)
                       for option in re.findall(r"--[\w-]+", column if cell.strip() == "x" else cell)]
            for command in re.findall(r"`([a-z]+(?: [a-z]+)*)", first):
                wanted[command] = sorted(options)
        self.assertEqual({command.split()[0] for command in wanted} - {"completion", "man"}, set(VERBS))
        for command, (out, _) in zip(wanted, self.each(lambda each: self.succeed(*each.split(), "--help"), wanted)):
            found = re.findall(r"^ +(?:-\w,)?(--[\w-]+)", out, re.MULTILINE)
            self.assertEqual(sorted(set(found) - {"--help"}), wanted[command], command)

    def test_version(self):
        self.assertRegex(self.succeed("--version")[0], r"^evenkeel \d+\.\d+\.\d+ \(\S+\)\n$")


class Config(program.Case):
    def check_feeds_back(self, *arguments):
        text = self.succeed("config", *arguments)[0]
        self.write("again.toml", text)
        self.assertEqual(self.succeed("config", "--config", "again.toml")[0], text)
        return text

    def test_its_output_fed_back_gives_the_same(self):
        self.check_feeds_back()
        self.check_feeds_back("--preset", "151m", *small(schedule_warmup='"5%"'))
        self.assertIn("layer_norm", self.check_feeds_back("--set", "scheme.norm=layer_norm"))

    def test_json_holds_every_key(self):
        arguments = ["config", "--set", "train.tokens=1kt", "--set", "optimizer.betas=[0.5, 0.25]"]
        result = json.loads(self.succeed(*arguments, "--json")[0])
        self.assertEqual((result["preset"], result["seed"], result["train"]["tokens"]), ("tiny", 1, 1000))
        self.assertEqual(result["optimizer"]["betas"], [0.5, 0.25])
        keys = re.findall(r"^(\w+) = ", self.succeed(*arguments)[0], re.MULTILINE)

        def leaves(table):
            for key, value in table.items():
                yield from leaves(value) if isinstance(value, dict) else [key]

        self.assertEqual(sorted(leaves(result)), sorted(keys))

    def test_check_prints_nothing(self):
        self.assertEqual(self.succeed("config", "--check", "--preset", "7b"), ("", ""))


class Schemes(program.Case):
    def test_the_list_holds_what_the_json_holds(self):
        names = [scheme["name"] for scheme in json.loads(self.succeed("schemes", "--json")[0])]
        self.assertIn("hybrid_norm_star", names)
        out = self.succeed("schemes")[0]
        self.assertEqual(sorted(re.findall(r"^  (\w+) +\S", out, re.MULTILINE)), sorted(names))
        self.assertRegex(out, rf"\n{len(names)} schemes; ")

    def test_show_draws_a_scheme_block_by_block(self):
        out = self.succeed("schemes", "show", "hybrid_norm_star")[0]
        self.assertRegex(out, r"^scheme +hybrid_norm_star: HybridNorm\*")
        self.assertRegex(out, r"\nsource +.*arXiv 2503\.04598")
        self.assertRegex(out, r"\nblock 1 +attention +rms_norm -> q, k, v: rms_norm per head -> "
                         r"attention -> \+ stream\n")
        self.assertRegex(out, r"\nnorms +[\d,]+ of [\d,]+ parameters \(preset tiny: ")

    def test_show_as_json(self):
        for arguments in (["show", "hybrid_norm_star", "--json"], ["--json", "show", "hybrid_norm_star"]):
            result = json.loads(self.succeed("schemes", *arguments)[0])
            self.assertEqual((result["name"], result["layers"]), ("hybrid_norm_star", 4))
            self.assertIn("block 1 ", result["diagram"])

    def test_show_of_a_changed_scheme_names_parent_and_change(self):
        out = self.succeed("schemes", "show", "hybrid_norm_star", "--set", "scheme.norm=layer_norm")[0]
        self.assertRegex(out, r"^scheme +hybrid_norm_star\+layer_norm: HybridNorm\*")

    def test_show_of_a_file(self):
        self.write("mine.toml", 'extends = "pre_norm"\ntitle = "Mine"\n')
        self.assertRegex(self.succeed("schemes", "show", "mine.toml")[0], "^scheme +mine: Mine\n")


class Plan(program.Case):
    def test_it_names_the_parameters(self):
        calls = [["plan", "--preset", preset, *more] for preset in ("tiny", "151m")
                 for more in ([], ["--json"])]
        for call, (out, _) in zip(calls, self.each(lambda call: self.succeed(*call), calls)):
            with self.subTest(call):
                if "--json" in call:
                    self.assertIsInstance(json.loads(out), dict)
                else:
                    self.assertRegex(out, r"(?m)^parameters +\d")

    def test_it_names_what_of_a_mixture_works_on_a_token(self):
        result = json.loads(self.succeed("plan", "--preset", "moe_1b_7b", "--json")[0])
        self.assertAlmostEqual(result["parameters"] / 1e6, 6919, delta=0.5)
        self.assertAlmostEqual(result["active_parameters"] / 1e6, 1281.9, delta=0.1)
        self.assertRegex(self.succeed("plan", "--preset", "moe_1b_7b")[0],
                         r"(?m)^  active +1,281,\d+,\d+  per token: 8 of 64 experts$")
        huge = ["--set", "model.experts.count=65536", "--set", "model.inner=16777216"]
        self.refuse(64, "model.experts.count: 65536 experts of 4 layers of this size are beyond all "
                    "machines; take fewer or smaller ones",
                    "plan", *huge, "--set", "model.width=1048576")

    def test_it_plans_a_run(self):
        run = self.train("run", train_steps=7)
        result = json.loads(self.succeed("plan", "--run", run, "--json")[0])
        self.assertEqual((result["steps"], result["tokens"]), (7, 7 * 2 * 32))
        for number in (result["tokens"], result["available_bytes"], *result["memory_bytes"].values()):
            self.assertIsInstance(number, int)

    def test_it_names_what_would_help(self):
        huge = ["--set", "model.layers=4096", "--set", "model.width=65536", "--set", "train.batch=1"]
        self.assertIn("\nit does not fit, whatever the batch: only a smaller model would",
                      self.succeed("plan", *huge)[0])
        for batch, recompute, advice in (
                (1, "block", "a shorter context (model.context)"),
                (1, "none", "activation checkpointing (model.recompute=block), a shorter"),
                (2, "none", "fewer sequences at once (train.micro_batch), activation")):
            out = self.succeed("plan", *small(model_context=1 << 24), "--set", f"train.batch={batch}",
                               "--set", f"train.micro_batch={batch}", "--set", "model.layers=1000",
                               "--set", f"model.recompute={recompute}")[0]
            self.assertIn(f"\nit does not fit: {advice} ", out)

    def test_the_largest_model_has_a_count(self):
        sizes = {"model.layers": 4096, "model.width": 1 << 24, "model.heads": 2, "model.kv_heads": 2,
                 "model.inner": 1 << 24, "model.vocabulary": 1 << 24, "model.tied": "false",
                 "train.tokens": 10**15}
        result = json.loads(self.succeed("plan", "--json", *program.settings(sizes))[0])
        self.assertEqual(result["parameters"] - result["norm_parameters"], (7 * 4096 + 2) << 48)


class Builtin(program.Case):
    def test_the_gap_to_the_entropy_is_recorded_where_documents_fit(self):
        run = self.train("run", data_train="builtin:sentences", model_context=512, train_steps=2)
        last = metrics(run)[-1]
        self.assertAlmostEqual(last["val_floor"] + last["val_gap"],
                               last["val_bits_per_byte"] * 0.6931471805599453, delta=1e-9)


class Runs(program.Case):
    def states(self):
        runs = json.loads(self.succeed("runs", ".", "--json")[0])
        return {run["run"]: run["state"] for run in runs}

    def test_states(self):
        self.train("a-finished", train_steps=2)
        self.stop(self.start_training("b-stopped"))
        process = self.start_training("c-interrupted")
        process.kill()
        process.wait()
        running = self.start_training("d-training")
        names = ["finished", "stopped", "interrupted", "training"]
        self.assertEqual(list(self.states().values()), names)
        table = self.succeed("runs", ".")[0].splitlines()
        self.assertEqual([line.split()[1] for line in table], ["state", *names])
        self.stop(running)
        self.assertEqual(list(self.states().values())[-1], "stopped")

    def test_none_yet(self):
        self.assertEqual(self.succeed("runs")[0], "no runs in runs yet; `evenkeel train` makes one\n")
        self.assertEqual(json.loads(self.succeed("runs", "--json")[0]), [])

    def test_a_run_is_listed_itself(self):
        self.train("good", train_steps=2)
        listed = json.loads(self.succeed("runs", "good", "--json")[0])
        self.assertEqual([(run["run"], run["step"]) for run in listed], [("good", 2)])
        self.assertEqual(self.succeed("runs", "good")[0].splitlines()[1].split()[:3], ["good", "finished", "2/2"])

    def test_a_missing_folder(self):
        self.refuse(65, "none: must be a folder, but is missing; name a folder with runs", "runs", "none")
        self.refuse(65, "book.txt: must be a folder, but is a file; name a folder with runs", "runs", "book.txt")

    def test_nested_runs_in_orders(self):
        for run, seed in (("deep/study/b", 1), ("a", 2), ("deep/c", 3)):
            self.train(run, train_steps=2, seed=seed, evaluate_every=1)
        (self.folder / ".hidden").mkdir()
        (self.folder / "a").rename(self.folder / ".hidden" / "a")
        self.train("a", train_steps=3, log_every=1)
        listed = json.loads(self.succeed("runs", ".", "--json")[0])
        self.assertEqual([run["run"] for run in listed], ["./a", "./deep/c", "./deep/study/b"])
        for run in listed:
            lines = metrics(self.folder / run["run"])
            self.assertEqual(run["best_val_loss"], min(line["val_loss"] for line in lines if "val_loss" in line))
            self.assertEqual(run["tokens"], 64 * run["step"])
            self.assertGreater(run["parameters"], 5000)
            self.assertGreater(run["tokens_per_s"], 0)
        by_loss = json.loads(self.succeed("runs", ".", "--json", "--sort", "loss")[0])
        losses = [run["best_val_loss"] for run in by_loss]
        self.assertEqual(losses, sorted(losses))
        for age, run in enumerate(("deep/c", "a", "deep/study/b")):
            os.utime(self.folder / run / "metrics.jsonl", times=(0, 10**9 - 100 * age))
        by_age = json.loads(self.succeed("runs", ".", "--json", "--sort", "age")[0])
        self.assertEqual([run["run"] for run in by_age], ["./deep/c", "./a", "./deep/study/b"])
        table = self.succeed("runs", ".", "--sort", "loss")[0].splitlines()
        self.assertEqual(table[0].split(), "run state step scheme preset parameters tokens best val loss tok/s age".split())
        self.assertEqual([line.split()[0] for line in table[1:]], [run["run"] for run in by_loss])


class Report(program.Case):
    def prepare(self):
        self.train("one", train_steps=2)

    def test_of_two(self):
        self.train("two", "--scheme", "pre_norm", train_steps=2)
        self.assertEqual(self.succeed("report", "one", "two", "--output", "both.html")[0], "both.html\n")
        page = (self.folder / "both.html").read_text()
        for word in ("one", "two", "hybrid_norm_star", "pre_norm"):
            self.assertIn(word, page)
        self.assertNotRegex(page, r"(src|href)=.https?:")
        out = self.succeed("report", "one", "--json")[0]
        self.assertEqual(json.loads(out), {"report": "one/report.html"})

    def test_of_one_that_is_named_twice(self):
        os.symlink("one", self.folder / "link")
        for again in ("one", "one/", "link"):
            (self.folder / "one/report.html").unlink(missing_ok=True)
            out = self.succeed("report", "one", again, "--json")[0]
            self.assertEqual(json.loads(out), {"report": "one/report.html"})
            self.assertTrue((self.folder / "one/report.html").exists())
        self.assertFalse((self.folder / "report.html").exists())

    def test_into_a_device(self):
        device = self.folder / "full"
        os.symlink("/dev/stdout", device)
        self.assertIn("<html", self.succeed("report", "one", "--output", device)[0])
        self.assertTrue(device.is_symlink())


class Notes(program.Case):
    """What a user may not expect of a scheme is said once, when a run begins."""

    def notes(self, scheme, **changed):
        error = self.succeed("train", "--run", scheme, "--scheme", scheme,
                             *small(train_steps=1, **changed))[1]
        return re.findall(r"^note   (.*)\n", error, re.MULTILINE)

    def test_norms_that_see_other_tokens(self):
        for scheme in ("batch_norm", "batch_renorm"):
            leak = (f"{scheme} in attention.input, feed_forward.input, final: in training a token depends "
                    "on other tokens, also later ones; evaluation uses running values and is causal")
            self.assertEqual(self.notes(scheme), [leak])
            self.assertEqual(json.loads((self.folder / scheme / "provenance.json").read_text())["leaks"],
                             [leak])
        self.assertEqual(self.notes("instance_norm"),
                         ["instance_norm in attention.input, feed_forward.input, final: in training and "
                          "in evaluation a token depends on later tokens, so no loss here is that of a "
                          "causal model"])

    def test_attention_that_cannot_be_flash(self):
        note = ("scores are capped, which LibTorch's flash attention cannot do: attention is computed "
                "explicitly")
        self.assertEqual(self.notes("gemma2", kernels_attention="flash"), [note])
        self.assertEqual(self.notes("rybakov_soft_cap"), [])
        self.assertEqual(self.notes("rybakov_qk_norm_cap", kernels_attention="explicit"), [])
        self.assertEqual(self.notes("pre_norm", kernels_attention="flash"), [])

    def test_generate_without_later_tokens_takes_no_cache(self):
        self.train("run", train_steps=2, scheme="instance_norm")
        arguments = ["generate", "--run", "run", "--tokens", 12, "--temperature", 0]
        self.assertEqual(self.succeed(*arguments)[0], self.succeed(*arguments, "--no-cache")[0])


class Verify(program.Case):
    GOLDEN = str(ROOT / "tests/golden/schemes/deep_norm.safetensors")

    def test_has_a_verdict_of_each_file(self):
        self.assertEqual(self.succeed("verify", self.GOLDEN, "--quiet")[0], "")
        done = self.evenkeel("verify", self.GOLDEN, self.GOLDEN, "--tolerance", "1e-30")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue(done.stdout.decode().endswith("2 files: 0 held, 2 refuted, 0 not judged\n"), done.stdout)

    def test_computes_as_it_is_asked_to(self):
        results = {more: self.succeed("verify", self.GOLDEN, "--json", *more)[0]
                   for more in ((), ("--precision", "float32"), ("--formulas",), ("--attention", "explicit"))}
        self.assertEqual(len(set(results.values())), len(results))


class UnknownOption(program.Case):
    def test_suggests_a_near_option_only(self):
        self.refuse_each([(64, f"{verb} has no option {given}; {hint}see `evenkeel {verb} --help`", verb, given)
                          for verb, given, hint in [
                              ("generate", "--quiet", ""), ("eval", "--text", ""),
                              ("generate", "--sett", 'did you mean "--set"? '),
                              ("generate", "--temprature", 'did you mean "--temperature"? '),
                              ("generate", "--temp", 'did you mean "--temperature"? ')]])


class OwnScheme(program.Case):
    def test_a_file_trains_without_a_rebuild(self):
        self.write("mine.toml", 'title = "HybridNorm, two norms more"\nextends = "hybrid_norm"\n'
                   'norm_parameters = "N*(3*dk + 2*d) + 2*d"\n'
                   '[embedding]\nnorm = "norm"\n[attention]\noutput = "layer_norm"\n'
                   .replace("2*d) + 2*d", "3*d) + 2*d"))
        run = self.train("run", "--scheme", "mine.toml", train_steps=3)
        self.assertIn("layer_norm -> + stream", (run / "scheme.txt").read_text())
        (self.folder / "mine.toml").unlink()  # the run folder needs it no more
        self.succeed("train", "--quiet", "--run", "run", "--set", "train.steps=5")
        self.assertEqual(metrics(run)[-1]["step"], 5)

    def test_the_kind_is_a_dial_of_its_own(self):
        run = self.train("run", "--set", "scheme.norm=layer_norm", train_steps=2)
        text = (run / "scheme.txt").read_text()
        self.assertIn("layer_norm", text)
        self.assertNotIn("rms_norm", text)

    def test_a_changed_scheme_names_its_run_folder(self):
        self.succeed("train", "--quiet", *small(train_steps=1), "--set", "scheme.norm=layer_norm")
        self.assertEqual([run.name for run in (self.folder / "runs").iterdir()],
                         ["hybrid_norm_star+layer_norm-tiny-1"])


if __name__ == "__main__":
    program.main()
