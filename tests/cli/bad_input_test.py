#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every mistake gets one line that says where, what is wanted and what was found, and its exit code
(docs/exit_codes.md). No message may change unseen: they stand here word for word.
"""
import json
import resource
import subprocess

import program
from program import ENDINGS, settings, small

KINDS = ", ".join(sorted([*program.NORM_KINDS, "none", "norm"]))
PRESETS = "1.2b, 1.2b_code, 151m, 285m, 543m_29l, 550m, 7b, moe_1b_7b, moe_tiny, nano, tiny"
SLOTS = ("angle_decay, branch_scale, context, input, k, output, q, residual, score_scale, skip, "
         "skip_scale, softcap, update, v")


class CommandLine(program.Case):
    def test_a_verb_is_wanted(self):
        self.refuse(64, "A subcommand is required; see `evenkeel --help`")

    def test_an_unknown_verb(self):
        self.refuse(64, f'no verb is named "trian"; did you mean "train"? known: {", ".join(program.VERBS)}', "trian")

    def test_arguments_that_no_option_takes(self):
        end = "see `evenkeel train --help`"
        self.refuse_each([(64, f"train{what}; {hint}{end}", "train", *given) for what, hint, *given in [
            (" has no option --sett", 'did you mean "--set"? ', "--sett", "train.steps=3"),
            (" has no option --zoom", "", "--zoom", 6),
            (': unexpected argument "data.train=x"', "did you mean --set data.train=x? ", "data.train=x")]])

    def test_a_device_that_this_build_lacks(self):
        self.refuse(64, "--device cuda: this program was built without CUDA; docs/gpu.md says how to build it with CUDA, "
                    "or leave --device out", "train", "--device", "cuda")
        self.refuse(64, "--device gpu: must be auto, cpu, cuda or cuda:N, with a number N", "train", "--device", "gpu")

    def test_a_verb_that_needs_a_run(self):
        self.refuse(64, "--run is wanted: the folder of a trained model; `evenkeel runs` lists them",
                    "generate")
        self.refuse(64, "--serve needs one checkpoint, but --checkpoint is all; name a step",
                    "eval", "--serve", "0", "--checkpoint", "all")

    def test_a_folder_that_is_no_run(self):
        self.refuse(77, "none: not a run folder (no run.toml); `evenkeel runs` lists them",
                    "eval", "--run", "none")
        self.refuse(77, "none: not a run folder (no run.toml, no metrics.jsonl); name a folder under "
                    "runs/", "report", "none")

    def test_report_wants_runs(self):
        self.refuse(64, "report: name one or more run folders; `evenkeel runs` lists them", "report")

    def test_schemes_show_wants_a_name(self):
        self.refuse(64, "scheme is required; see `evenkeel schemes show --help`", "schemes", "show")

    def test_options_without_effect(self):
        for verb, options in [
                ("runs", ["--preset", "--config", "--scheme", "--set", "--run", "--device", "--quiet"]),
                ("schemes", ["--preset", "--config", "--scheme", "--set", "--run", "--device"]),
                ("report", ["--preset", "--config", "--scheme", "--set", "--run", "--device"]),
                ("config", ["--device", "--quiet"]), ("plan", ["--quiet"]),
                ("eval", ["--preset", "--scheme"]), ("generate", ["--preset", "--scheme", "--quiet"])]:
            with self.subTest(verb=verb):
                for option in options:
                    done = self.evenkeel(verb, f"{option}=x")
                    self.assertEqual(done.returncode, 64)
                    self.assertRegex(done.stderr.decode(), rf"^evenkeel: {verb} has no option {option}; "
                                     rf".*see `evenkeel {verb} --help`\n$")

    def test_values_without_effect(self):
        self.write("book.txt", "once upon a time\n" * 99)
        self.refuse_each([
            (64, "--tokens-per-second must be a number > 0, but is 0", "plan", "--tokens-per-second", 0),
            (64, "--tokens-per-second must be a number > 0, but is nan", "plan", "--tokens-per-second", "nan"),
            (64, "--tokens-per-second has no effect with --ranks; leave it out",
             "plan", "--tokens-per-second", 9, "--ranks", 2),
            *((64, f"--set {key} has no effect with --task, which scores its tasks only; leave one of them out",
               "eval", "--run", "none", "--task", "q.jsonl", "--set", f"{key}={value}")
              for key, value in (("evaluate.texts", '{v="/nonexistent.txt"}'), ("data.validation", "x.txt"),
                                 ("data.ood", "x.txt"), ("evaluate.tasks", '["core"]'))),
            (64, "--what router_entropy: is measured in a mixture of experts, but model.experts.count is 0",
             "probe", "--what", "router_entropy"),
            (64, '--set evaluate.texts={ "a b" = "x" }: evaluate.texts: a name must have letters, digits, \'_\' and \'-\' '
             'only, but is "a b"', "config", "--set", 'evaluate.texts={ "a b" = "x" }'),
            (64, '--set data.train=[{pth="x"}]: data.train[0].pth: unknown key; did you mean "path"? known: path, weight',
             "config", "--set", 'data.train=[{pth="x"}]'),
            (65, 'book.txt: must be a tokenizer (tokenizer.json, .model, .tiktoken), but is another file; name one, or '
             '"bytes"', "tokenize", "book.txt", "--tokenizer", "book.txt", "--output", "x"),
        ])

    def test_a_run_without_a_name(self):
        self.refuse_each([(64, f"--run: must be a path, but is empty; see `evenkeel {verb} --help`", verb, "--run", "")
                          for verb in ("train", "generate", "eval", "plan", "config")])

    def test_a_run_whose_configuration_is_wanted(self):
        self.refuse_each([(77, "none: not a run folder (no run.toml); `evenkeel runs` lists them",
                           verb, "--run", "none") for verb in ("plan", "config")])

    def test_an_override_of_no_key(self):
        self.refuse(64, '--override nothing.here: must be a key, a table or "numerics"; '
                    "docs/configuration.md lists them", "train", "--override", "nothing.here")
        self.refuse(64, '--override train.stesp: must be a key, a table or "numerics"; did you mean '
                    '"train.steps"? docs/configuration.md lists them',
                    "train", "--override", "train.stesp")

    def test_values_that_sampling_cannot_have(self):
        self.refuse_each([(64, message, "generate", *arguments) for arguments, message in [
            (("--temperature", "-1"), "--temperature must be 0 (the likeliest token) or more, but is -1"),
            (("--top-k", "-1"), "--top-k must be 0 (all tokens) or more, but is -1"),
            (("--top-p", "0"), "--top-p must be above 0 and at most 1, but is 0"),
            (("--tokens", "0"), "--tokens must be at least 1, but is 0"),
            (("--count", "0"), "--count must be at least 1, but is 0"),
            (("--seed", "-1"), "--seed must be 0 or more, but is -1")]])


class Configuration(program.Case):
    def refuse_config(self, message, *arguments):
        self.refuse(64, message, "config", "--check", *arguments)

    def test_a_misspelt_key_in_a_file(self):
        self.write("mine.toml", "seed = 2\n[train]\nstesp = 4\n")
        self.refuse_config('mine.toml:3: train.stesp: unknown key; did you mean "steps"? known: '
                           + self.train_keys(), "--config", "mine.toml")

    def test_a_key_of_too_many_parts(self):
        self.write("mine.toml", "seed = 1\n" + ".".join("a" * 50000) + " = 1\n")
        self.refuse_config("mine.toml:2: tables, lists and dotted keys must be nested at most 64 deep, but "
                           "are deeper", "--config", "mine.toml")

    def test_a_number_that_float32_has_not(self):
        fits = " that fits in float32 (1.2e-38 to 3.4e38)"
        self.refuse_each([
            (64, f"--set optimizer.clip={value}: optimizer.clip must be a number >= 0{wanted}, but is "
             f"{written}", "config", "--check", "--set", f"optimizer.clip={value}")
            for value, written, wanted in (("1e39", "1e+39", fits), ("inf", "inf", fits),
                                           ("1e-46", "1e-46", fits), ("1e-320", "1e-320", fits),
                                           ("-1e39", "-1e+39", ""))])

    def test_a_misspelt_key_of_a_setting(self):
        self.refuse_config('--set train.stesp=3: train.stesp: unknown key; did you mean "steps"? '
                           "known: " + self.train_keys(), "--set", "train.stesp=3")

    def test_a_file_that_is_not_toml(self):
        self.write("mine.toml", "seed = \n")
        self.refuse_config("mine.toml:1: not TOML: Error while parsing key-value pair: expected "
                           r"value, saw '\n'", "--config", "mine.toml")

    def test_a_file_that_is_missing(self):
        self.refuse(74, "none.toml: cannot open: No such file or directory",
                    "config", "--config", "none.toml")

    def test_a_preset_that_does_not_exist(self):
        self.refuse_config('--preset: no preset is named "tinny"; did you mean "tiny"? known: '
                           + PRESETS, "--preset", "tinny")

    def test_a_wrong_type(self):
        self.refuse_config("--set train.steps=many: train.steps must be an integer >= 1, but is the "
                           'string "many"', "--set", "train.steps=many")

    def test_heads_that_do_not_divide_the_width(self):
        self.refuse_config("model.heads must divide model.width, but 3 does not divide 128",
                           "--set", "model.heads=3", "--set", "model.width=128")

    def test_key_heads_that_do_not_divide_the_heads(self):
        self.refuse_config("model.kv_heads must divide model.heads, but 3 does not divide 4",
                           "--set", "model.kv_heads=3", "--set", "model.heads=4")

    def test_parts_of_a_schedule_that_its_kind_does_not_read(self):
        self.refuse_config("--set schedule.floor=0.1: schedule.floor has no effect where schedule.kind "
                           'is "constant"; leave it out', "--set", "schedule.kind=constant",
                           "--set", "schedule.floor=0.1")

    def test_a_size_beyond_all_machines(self):
        self.refuse_config("--set model.width=1000000000: model.width must be an integer <= 16777216, "
                           "but is 1000000000", "--set", "model.width=1000000000")

    def test_an_odd_head_width(self):
        self.refuse_config("model.width / model.heads must be even for the rotary embedding, but "
                           "12 / 4 is 3", "--set", "model.width=12", "--set", "model.heads=4")

    def test_a_head_that_contradicts_the_scheme(self):
        self.refuse_config("model.tied must be true or left out, because the scheme gemma2 says so, "
                           "but is false", "--scheme", "gemma2", "--set", "model.tied=false")


class Scheme(program.Case):
    def refuse_scheme(self, message, *arguments):
        self.refuse(64, message, "config", "--check", *arguments)

    def refuse_file(self, message, content):
        self.write("mine.toml", content)
        self.refuse_scheme(message, "--scheme", "mine.toml")

    def test_a_name_that_the_catalogue_lacks(self):
        self.refuse_scheme('the catalogue has no scheme "hybrid_nrom"; a file is named '
                           'by its path, which ends in .toml; did you mean "hybrid_norm"? '
                           "`evenkeel schemes` lists all", "--scheme", "hybrid_nrom")

    def test_a_kind_that_does_not_exist(self):
        self.refuse_scheme('scheme hybrid_norm_star+rmsnorm, norm: unknown_kind: no norm kind is named '
                           '"rmsnorm"; did you mean "rms_norm"? known: ' + KINDS, "--set", "scheme.norm=rmsnorm")
        self.refuse_file('mine.toml:2, norm: unknown_kind: no norm kind is named "rmsnorm"; did you '
                         'mean "rms_norm"? known: ' + KINDS,
                         'extends = "hybrid_norm"\nnorm = "rmsnorm"\n')

    def test_a_slot_that_does_not_exist(self):
        self.refuse_file('mine.toml:3, attention: unknown_key: there is no key "imput" here; did you '
                         'mean "input"? known: ' + SLOTS,
                         'extends = "hybrid_norm"\n[attention]\nimput = "norm"\n')

    def test_a_rule_that_is_broken_is_named_with_its_place(self):
        self.refuse_file('scheme mine, block 1, feed_forward.skip: normed_without_input: "normed" is '
                         "what the input norm gives, but feed_forward.input is empty here; fill it, "
                         'or take "stream"',
                         'extends = "hybrid_norm"\n[feed_forward]\ninput = "none"\nskip = "normed"\n')

    def test_statistics_over_tokens_without_a_permit(self):
        self.refuse_file('scheme mine, block 1, attention.input: leaky_statistics: a batch_norm makes a '
                         "token depend on other tokens, also later ones; if that is intended, write "
                         '{ kind = "batch_norm", allow_leakage = true }',
                         'extends = "pre_norm"\nattention = { input = "batch_norm" }\n')


class Text(program.Case):
    def refuse_text(self, message, name, **changed):
        self.refuse(65, message, "train", "--quiet", *small(data_train=name, **changed))

    def test_a_missing_file(self):
        self.refuse_text(f"none.txt: {program.MISSING}", "none.txt")

    def test_an_empty_file(self):
        self.write("empty.txt", "")
        self.refuse_text("empty.txt: must hold text, but is empty", "empty.txt")

    def test_an_empty_folder(self):
        (self.folder / "texts").mkdir()
        self.refuse_text(f"texts: must hold files that end in {ENDINGS}, but holds none", "texts")

    def test_a_file_that_cannot_be_read(self):
        (self.folder / "texts").mkdir()
        (self.folder / "texts" / "inner.txt").symlink_to("none")
        self.refuse_text("texts/inner.txt: cannot open: No such file or directory", "texts")

    def test_bytes_that_are_not_utf8(self):
        self.write("bad.txt", b"ab\xff cd")
        self.refuse_text("bad.txt: must be UTF-8, but byte 2 is 0xff; convert it, for example with "
                         "iconv", "bad.txt")

    def test_a_file_that_is_gzip_by_name_only(self):
        self.write("book.txt.gz", "plain text")
        self.refuse_text("book.txt.gz: must be gzip, as its name says, but does not begin as gzip does; "
                         "copy it again, or name it without .gz", "book.txt.gz")

    def test_an_unknown_ending(self):
        self.write("book.pdf", "text")
        self.refuse_text(f'book.pdf: must end in one of {ENDINGS}, but ends in ".pdf"; or set data.format '
                         "to text, jsonl, json or parquet", "book.pdf")

    def test_too_little_for_one_window(self):
        self.write("short.txt", "short\n")
        self.refuse_text("data.train: one window needs 33 tokens, but the text has 7; add text or "
                         "lower model.context", "short.txt")

    def test_a_builtin_that_does_not_exist(self):
        self.refuse_text('data.train: no builtin text is named "sentence"; did you mean '
                         '"sentences"? known: addition, addition_longer, sentences',
                         "builtin:sentence")

    def test_a_run_that_never_began_leaves_nothing_behind(self):
        self.refuse_text(f"none.txt: {program.MISSING}", "none.txt")
        self.assertEqual(list(self.folder.glob("runs/*")), [])


class Golden(program.Case):
    def test_a_file_that_lacks_its_configuration(self):
        header = b'{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  '
        self.write("x.safetensors", len(header).to_bytes(8, "little") + header + bytes(4))
        self.refuse(65, 'x.safetensors: wants its configuration, as metadata "config" or in x.json '
                    "in the same folder, but has neither", "verify", "x.safetensors")

    def test_a_file_of_another_kind(self):
        self.write("x.json", '{"config": {"layers": 4}}')
        self.refuse(65, "x.json: must be a .safetensors file, but does not begin with the size of its "
                    "header", "verify", "x.json")


class Output(program.Case):
    """A result that cannot be written is no success."""

    def test_a_full_standard_output(self):
        run = self.train("run", train_steps=1)
        for arguments in (["--help"], ["config"], ["plan"], ["schemes"], ["eval", "--run", run, "--quiet"],
                      ["eval", "--run", run, "--quiet", "--json"], ["generate", "--run", run]):
            with self.subTest(arguments=arguments), open("/dev/full", "wb") as full:
                done = subprocess.run([program.PROGRAM, *arguments], cwd=self.folder, stdout=full,
                                      stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                      env=program.ENVIRONMENT, check=False)
                self.assertEqual((done.returncode, done.stderr.decode()),
                                 (74, "evenkeel: standard output: cannot be written completely: the disk is full; "
                                      "free space there and run again\n"))


class Memory(program.Case):
    def test_too_little_for_the_model(self):
        limit = 2 << 30  # of addresses; the first large matrix needs 2 GiB alone
        done = self.evenkeel(
            "train", "--quiet", *small(model_width=8192, model_inner=32768),
            before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        stderr_lines = done.stderr.decode().splitlines()  # before it, perhaps, that little memory is free
        self.assertEqual((done.returncode, stderr_lines[-1]),
                         (75, "evenkeel: out of memory; `evenkeel plan` shows what a configuration "
                              "needs"))
        self.assertLessEqual(len(stderr_lines), 2)

    def test_more_than_any_machine_has(self):
        done = self.evenkeel("train", "--quiet", *small(model_width=1 << 24, model_layers=4096))
        self.assertEqual(done.returncode, 75)
        self.assertRegex(done.stderr.decode(), r"^evenkeel: this would take about \d+\.\d TiB of "
                         r"memory, but the machine has [\d.]+ .iB; `evenkeel plan` shows the parts, "
                         r"and what to change\n$")
        self.assertEqual(list((self.folder / "runs").glob("*")), [])


class Names(program.Case):
    def test_a_scheme_file_whose_name_no_run_can_have(self):
        stems = ("y" * 120, "a\nb", b"\xff".decode(errors="surrogateescape"))
        for stem in stems:
            self.write(f"{stem}.toml", 'extends = "pre_norm"\n')
        self.refuse_each([(64, "scheme: the file's name without .toml must be a string of at most 100 "
                           "bytes of UTF-8 without / and control characters, since runs are named "
                           "after it; rename it", "train", *small(), "--scheme", f"{stem}.toml")
                          for stem in stems])

    def test_a_loop_of_links(self):
        (self.folder / "one").symlink_to("two")
        (self.folder / "two").symlink_to("one")
        for arguments in (["eval", "--run", "one"], ["plan", "--run", "one"], ["config", "--scheme", "one"]):
            with self.subTest(arguments=arguments):
                done = self.evenkeel(*arguments)
                self.assertIn(done.returncode, (64, 74, 77))
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_a_run_whose_name_is_not_utf8(self):
        name = b"r\xff".decode(errors="surrogateescape")
        out = self.succeed("train", "--quiet", "--json", "--run", name, *small(train_steps=1))[0]
        self.assertEqual(json.loads(out)["run"], "r\ufffd")


if __name__ == "__main__":
    program.main()
