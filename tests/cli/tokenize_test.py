#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers, texts and mixtures on the command line."""
import json
import os
import signal
import subprocess

import program
from program import lines_of, metrics, settings, small, state_at

NOTES = {"a.md": "# Rivers\n\nThe river sees the moon. " * 40, "sub/b.md": "A cat follows the baker.\n" * 60,
         "cover.png": "no text"}


class Tokenize(program.Case):
    def prepare(self):
        for name, text in NOTES.items():
            (self.folder / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
            self.write(f"notes/{name}", text)

    def test_a_folder_of_notes_in_four_commands(self):
        out = self.succeed("tokenize", "notes", "--train-vocabulary", 280, "--output", "tok", "--quiet")[0]
        self.assertEqual(out, "tok/tokenizer.json: 280 tokens\n")
        self.train("run", data_train="notes", data_tokenizer="tok/tokenizer.json", train_steps=2)
        (self.folder / "tok/tokenizer.json").unlink()  # the run folder has a copy
        text = self.succeed("generate", "--run", "run", "--prompt", "The river", "--tokens", 20)[0]
        self.assertTrue(text.startswith("The river"), text)
        result = json.loads(self.succeed("eval", "--run", "run", "--json", "--quiet")[0])
        self.assertEqual(set(result) & {"val_loss", "val_bits_per_byte"}, {"val_loss", "val_bits_per_byte"})

    def test_shards_are_equal_for_any_number_of_threads(self):
        for threads in (1, 2, 3):
            self.succeed("tokenize", "notes", "--tokenizer", "bytes", "--output", f"t{threads}",
                         "--threads", threads, "--shard", "1kt", "--quiet")
        files = {path.name: path.read_bytes() for path in (self.folder / "t1").iterdir()}
        self.assertGreater(len(files), 4)
        for other in ("t2", "t3"):
            self.assertEqual({path.name: path.read_bytes() for path in (self.folder / other).iterdir()}, files)

    def test_every_format_gives_the_same_training(self):
        states = []
        for kind in ("olmo", "llm_c", "megatron", "nanogpt"):
            self.succeed("tokenize", "notes", "--tokenizer", "bytes", "--output", kind, "--format", kind, "--quiet")
            self.succeed("tokenize", "--check", kind, "--tokenizer", "bytes")
            states.append(state_at(self.train(f"run-{kind}", data_train=kind, train_steps=3), 3))
        for state in states[1:]:
            self.assertEqual(state, states[0])

    def test_a_damaged_shard_is_found(self):
        self.succeed("tokenize", "notes", "--tokenizer", "bytes", "--output", "tok", "--quiet")
        shard = self.folder / "tok/tokens-00000.npy"
        data = bytearray(shard.read_bytes())
        data[10] ^= 1
        shard.write_bytes(data)
        done = self.evenkeel("tokenize", "--check", "tok")
        self.assertEqual(done.returncode, 65)
        self.assertIn(b"tok/tokens-00000.npy: must have", done.stderr)

    def test_a_tokenizer_is_shown_with_the_ids_of_standard_input(self):
        out = json.loads(self.succeed("tokenize", "--show", "bytes", "--json", given=b"hi")[0])
        self.assertEqual(out["kind"], "bytes")
        self.assertEqual(out["vocabulary"], 257)
        self.assertEqual(out["ids"], [104, 105])

    def test_the_format_of_the_inputs_can_be_named(self):
        lines = "".join(json.dumps({"body": text}) + "\n" for text in ("one", "two"))
        (self.folder / "dump").mkdir()
        self.write("dump/a.json", lines)
        self.write("b.dump", lines)
        for name, kind in (("dump", "json"), ("b.dump", "jsonl")):
            out = json.loads(self.succeed("tokenize", name, "--data-format", kind, "--text-key", "body", "--tokenizer",
                                          "bytes", "--output", f"t-{kind}", "--json", "--quiet")[0])
            self.assertEqual((out["documents"], out["tokens"]), (2, 8))

    def test_what_is_missing_is_said(self):
        self.refuse(64, "tokenize needs an input: files, folders or patterns; see evenkeel tokenize --help", "tokenize")
        self.refuse(64, "--tokenizer is wanted: a tokenizer.json, .model or .tiktoken file, or bytes", "tokenize", "notes")
        self.refuse(65, f"none.txt: {program.MISSING}", "tokenize", "none.txt", "--tokenizer", "bytes", "--output", "tok")
        self.refuse(64, "--output is wanted: the folder of the shards", "tokenize", "notes", "--tokenizer", "bytes")
        self.refuse(64, '--shard must be a number of tokens, as 20000 or 100Mt, but is "x"', "tokenize", "notes",
                    "--tokenizer", "bytes", "--output", "tok", "--shard", "x", "--quiet")


class TextFiles(program.Case):
    def test_a_resumed_run_refuses_a_changed_validation_text_and_names_it(self):
        self.write("val.txt", program.BOOK)
        self.train("run", train_steps=1, data_validation="val.txt")
        self.write("val.txt", program.BOOK + "One more line.\n")
        done = self.evenkeel("train", "--quiet", "--run", "run", "--set", "train.steps=2")
        self.assertEqual(done.returncode, 78)
        self.assertIn(b"the digest of the validation text (val.txt) was ", done.stderr)
        self.assertNotIn(b"training text", done.stderr)
        self.succeed("train", "--quiet", "--run", "run", "--set", "train.steps=2", "--override", "data")

    def test_a_changed_text_is_not_evaluated_as_that_of_the_run(self):
        """Of a shorter text, eval has another loss than that of the run."""
        self.train("run", train_steps=1)
        self.write("book.txt", program.BOOK[:len(program.BOOK) // 2])
        for verb in ("eval", "probe"):
            done = self.evenkeel(verb, "--run", "run")
            self.assertEqual(done.returncode, 78, done.stderr)
            self.assertRegex(done.stderr.decode().splitlines()[-1],
                             r'^evenkeel: run: the digest of the text of data\.validation was "\w{32}" when the model '
                             r'was trained \(the last 11 % of book\.txt .*\), but is "\w{32}" now \(the last .* of '
                             r'book\.txt .*\); '
                             r"restore the text, or name the one to take with --set data\.validation=FILE$")
        for more in (("--set", "data.validation=book.txt"), ("--set", "data.train=book.txt")):
            self.succeed("eval", "--run", "run", "--quiet", *more)
        self.write("other.toml", '[data]\nvalidation = "book.txt"\n')
        self.succeed("eval", "--run", "run", "--quiet", "--config", "other.toml")
        done = self.evenkeel("eval", "--run", "run", "--set", "data.ood=book.txt")
        self.assertEqual(done.returncode, 78)
        self.succeed("generate", "--run", "run", "--tokens", 1)
        self.write("book.txt", program.BOOK)
        self.succeed("eval", "--run", "run", "--quiet")

    def test_a_changed_text_of_out_of_distribution_is_refused(self):
        self.write("ood.txt", "zzz " * 40)
        self.train("run", train_steps=1, data_ood="ood.txt")
        self.succeed("eval", "--run", "run", "--quiet")
        self.write("ood.txt", "zzz " * 20)
        done = self.evenkeel("eval", "--run", "run")
        self.assertEqual(done.returncode, 78)
        self.assertIn(b"run: the digest of the text of data.ood was ", done.stderr)

    def test_special_tokens_that_are_text_in_shards(self):
        self.succeed("tokenize", "book.txt", "--train-vocabulary", 280, "--output", "tok", "--quiet")
        self.write("special.txt", program.BOOK + "<|endoftext|>" + program.BOOK)
        tokens = {}
        for value in ("true", "false"):
            out = self.succeed("tokenize", "special.txt", "--tokenizer", "tok", "--output", f"shards-{value}",
                               "--special-in-text", value, "--json", "--quiet")[0]
            tokens[value] = json.loads(out)["tokens"]
            self.assertIs(json.loads((self.folder / f"shards-{value}/manifest.json").read_text())["special_in_text"],
                          value == "true")
            self.succeed("tokenize", "--check", f"shards-{value}", "--tokenizer", "tok")
        self.assertLess(tokens["true"], tokens["false"])
        self.refuse(65, "shards-true: the tokens were made with data.special_in_text = true, but it is false; set it "
                    "to that, or tokenize the text again with --special-in-text false", "train", "--quiet", "--run", "run",
                    *small(data_train="shards-true", data_tokenizer="tok", data_special_in_text="false"))
        self.train("run", data_train="shards-false", data_tokenizer="tok", data_special_in_text="false", train_steps=1)

    def test_null_and_lone_surrogates_in_json(self):
        self.write("a.jsonl", '{"text": null}\n{"text": "one \\ud83d"}\n{"text": null}\n')
        out, error = self.succeed("tokenize", "a.jsonl", "--tokenizer", "bytes", "--output", "tok", "--quiet", "--json")
        self.assertEqual(json.loads(out)["documents"], 1)
        self.assertEqual(error, "note: 2 null texts left out, 1 lone surrogate read as U+FFFD\n")
        ids = (self.folder / "tok/tokens-00000.npy").read_bytes()
        self.assertEqual(bytes(ids[:-2:2]).decode(), "one \ufffd")

    def test_invalid_lines_of_json_are_left_out_on_request(self):
        (self.folder / "all").mkdir()
        self.write("all/a.jsonl", '{"text": "one"}\n{oops}\n{"body": ""}\n{"text": "two"}\n')
        tokenize = ("--tokenizer", "bytes", "--output", "tok", "--quiet")
        message = "all/a.jsonl:2: must be JSON, but is not at column 2"
        self.refuse(65, f"{message}; mend or remove it", "tokenize", "all", *tokenize)
        out, error = self.succeed("tokenize", "all", *tokenize, "--skip-invalid", "--json")
        result = json.loads(out)
        self.assertEqual((result["documents"], result["invalid_lines"]), (2, 2))
        self.assertEqual(error, f"note: 2 invalid lines left out (the first: {message})\n")
        manifest = json.loads((self.folder / "tok/manifest.json").read_text())
        self.assertEqual((manifest["invalid_lines"], manifest["first_invalid_lines"]),
                         (2, [{"file": "all/a.jsonl", "line": line} for line in (2, 3)]))
        self.assertEqual(json.loads(self.succeed("tokenize", "--check", "tok", "--json")[0])["invalid_lines"], 2)
        self.refuse(65, 'no input has a text; the first invalid line: all/a.jsonl:1: no key "zzz"; known: text; set --text-key',
                    "tokenize", "all", "--tokenizer", "bytes", "--output", "none", "--quiet", "--skip-invalid",
                    "--text-key", "zzz")
        self.assertFalse((self.folder / "none/manifest.json").exists())
        self.write("array.json", '["one"]')
        for name in ("book.txt", "array.json"):
            self.refuse(64, "--skip-invalid has no effect without JSON lines (.jsonl, or .json that begins with {); "
                        "leave it out", "tokenize", name, "--tokenizer", "bytes", "--output", "none", "--skip-invalid")

    def test_a_resumed_run_has_its_own_copy_of_the_tokenizer(self):
        self.succeed("tokenize", "book.txt", "--train-vocabulary", 280, "--output", "tok", "--quiet")
        options = {"data_tokenizer": "tok/tokenizer.json", "schedule_steps": 4}
        whole = self.train("whole", train_steps=4, **options)
        run = self.train("run", train_steps=2, **options)
        (self.folder / "tok/tokenizer.json").unlink()
        self.succeed("train", "--quiet", "--run", "run", "--set", "train.steps=4")
        self.assertEqual(state_at(run, 4), state_at(whole, 4))

    def test_messages_of_tokenize_name_its_options(self):
        self.write("body.jsonl", json.dumps({"body": "a text"}) + "\n")
        self.write("bad.jsonl", "{\n")
        self.write("notes.xyz", "a text")
        self.write("ids.bin", "ids")
        tokenize = ("--tokenizer", "bytes", "--output", "tok", "--quiet")
        self.refuse_each([
            (65, 'body.jsonl:1: no key "text"; known: body; set --text-key', "tokenize", "body.jsonl", *tokenize),
            (65, "bad.jsonl:1: must be JSON, but is not at column 2; mend or remove it",
             "tokenize", "bad.jsonl", *tokenize),
            (64, "--text-key has no effect without files of JSON or parquet; leave it out", "tokenize", "book.txt",
             "--text-key", "body", *tokenize),
            (65, "ids.bin: must be text, but .bin is the ending of a file of token ids; name files of text",
             "tokenize", "ids.bin", *tokenize),
            (65, "none.json: must be a tokenizer (tokenizer.json, .model, .tiktoken) or a folder with one, but is "
             'missing; name one, or "bytes"', "tokenize", "book.txt", "--tokenizer", "none.json", "--output", "tok"),
        ])
        for options, name in ((("--train-vocabulary", 300, "--tokenizer", "bytes"), b"--tokenizer"),
                              (("--check", "tok", "--output", "x"), b"--output"),
                              (("--show", "bytes", "book.txt"), b"input"), (("--pattern", "gpt4"), b"--pattern")):
            done = self.evenkeel("tokenize", *options)
            self.assertEqual(done.returncode, 64, options)
            self.assertIn(name, done.stderr)
        done = self.evenkeel("tokenize", "notes.xyz", *tokenize)
        self.assertEqual(done.returncode, 65)
        self.assertIn(b"or set --data-format to text, jsonl, json or parquet", done.stderr)

    def test_options_without_effect_are_refused(self):
        of_shards = (("--format", "olmo"), ("--shard", 7), ("--name", "q"), ("--threads", 5), ("--end-of-text", 3),
                     ("--skip-invalid",))
        of_texts = (("--data-format", "text"), ("--text-key", "zz"))
        for mode, options in ((("--check", "x"), of_shards + of_texts), (("--show", "bytes"), of_shards + of_texts),
                              (("--train-vocabulary", 300), of_shards)):
            for option in options:
                done = self.evenkeel("tokenize", *mode, *option)
                self.assertEqual(done.returncode, 64, option)
                self.assertIn(done.stderr.decode().split(";")[0], (f"evenkeel: {mode[0]} excludes {option[0]}",
                                                                   f"evenkeel: {option[0]} excludes {mode[0]}"))
        self.refuse(64, "--special-in-text has no effect with --tokenizer bytes, which has no special token in a text; "
                    "leave it out", "tokenize", "book.txt", "--tokenizer", "bytes", "--output", "x",
                    "--special-in-text", "false")

    def test_a_vocabulary_is_not_trained_over_another(self):
        (self.folder / "tok").mkdir()
        train = ("tokenize", "book.txt", "--train-vocabulary", 280, "--output", "tok", "--quiet")
        self.succeed(*train)  # into a folder without a tokenizer
        before = (self.folder / "tok/tokenizer.json").read_bytes()
        self.refuse(65, "tok/tokenizer.json: exists already; name another folder, or remove it", *train)
        self.assertEqual((self.folder / "tok/tokenizer.json").read_bytes(), before)

    def test_a_signal_while_the_text_is_encoded_leaves_no_half_cache(self):
        self.succeed("tokenize", "book.txt", "--train-vocabulary", 280, "--output", "tok", "--quiet")
        line = json.dumps({"text": program.BOOK * 20}) + "\n"
        self.write("large.jsonl", line * (64 * 2**20 // len(line)))
        cache = self.folder / ".evenkeel-cache"
        for stop in (signal.SIGINT, signal.SIGTERM):
            process = self.start("train", "--run", "run", *small(data_train="large.jsonl", data_tokenizer="tok"))
            self.until(lambda: list(cache.glob("*.part-*")), process)
            process.send_signal(stop)
            code, error = self.finish(process)
            self.assertEqual(code, 130, error)
            self.assertEqual(error.splitlines()[-1], "evenkeel: stopped by a signal while the text was encoded; "
                             "nothing was saved; run again")
            self.assertEqual(list(cache.iterdir()), [])
            self.assertFalse((self.folder / "run").exists())

    def test_a_killed_process_leaves_nothing_for_the_next(self):
        self.write("large.txt", "a line\n" * (17 * 2**20 // 7))
        self.train("run", data_train="large.txt", train_steps=1)
        key, = (self.folder / ".evenkeel-cache").iterdir()
        gone = subprocess.Popen(["true"])
        gone.wait()
        part = key.with_name(f"{key.name}.part-{gone.pid}")
        key.rename(part)
        for each in [*part.iterdir(), part]:  # a folder without the name of a machine stays for a day
            os.utime(each, (0, 0))
        self.train("again", data_train="large.txt", train_steps=1)
        self.assertEqual(list((self.folder / ".evenkeel-cache").iterdir()), [key])

    def test_a_resumed_run_refuses_a_changed_text_and_names_it(self):
        self.train("run", train_steps=1)
        self.write("book.txt", program.BOOK + "One more line.\n")
        done = self.evenkeel("train", "--quiet", "--run", "run", "--set", "train.steps=2")
        self.assertEqual(done.returncode, 78)
        self.assertIn(b"text (book.txt) was ", done.stderr)


class Mixture(program.Case):
    SOURCES = '[{ path = "book.txt", weight = 3 }, { path = "other.txt", weight = 1 }]'

    def prepare(self):
        self.write("other.txt", "zebra xylophone quartz " * 100)

    def test_counts_and_losses_are_by_source(self):
        run = self.train("run", data_train=self.SOURCES, train_steps=4, train_batch=3, log_every=1)
        lines = lines_of(run / "metrics.jsonl")
        steps = [line for line in lines if "source_tokens" in line]
        self.assertEqual([sum(line["source_tokens"].values()) for line in steps], [96, 192, 288, 384])
        self.assertEqual(steps[-1]["source_tokens"], {"book.txt": 9 * 32, "other.txt": 3 * 32})
        loss = lines[-1]["val_loss_by_source"]
        page = (run / "report.html").read_text()
        self.assertIn("<h2>Sources</h2>", page)
        self.assertIn("other.txt", page)
        self.assertIn("Validation loss by source", page)
        self.assertAlmostEqual(lines[-1]["val_loss"], 0.75 * loss["book.txt"] + 0.25 * loss["other.txt"], places=12)

    def test_a_resumed_run_is_equal_bit_for_bit(self):
        whole = self.train("whole", data_train=self.SOURCES, train_steps=6, schedule_steps=3)
        run = self.train("run", data_train=self.SOURCES, train_steps=3)
        self.train("run", data_train=self.SOURCES, train_steps=6)
        self.assertEqual(state_at(run, 6), state_at(whole, 6))
        self.assertEqual(metrics(run)[-1], metrics(whole)[-1])

    def test_plan_has_the_epochs_of_each_source(self):
        plan = json.loads(self.succeed("plan", "--json", *small(data_train=self.SOURCES, train_steps=4000))[0])
        book, other = plan["text"]
        self.assertEqual((book["name"], book["share"], other["share"]), ("book.txt", 0.75, 0.25))
        self.assertAlmostEqual(book["epochs"], 4000 * 2 * 32 * 0.75 / book["tokens"])
        error = self.succeed("plan", *small(data_train=self.SOURCES, train_steps=400000))[1]
        self.assertRegex(error, r"^warning: the run reads book\.txt [\d,]+ times; ")

    def test_an_order_of_chunks_takes_no_weights(self):
        self.refuse(64, 'data.order must be "shuffled" or "file" for sources with weights, but is "olmo"; list '
                    "the files without weights", "config", *settings({"data.train": self.SOURCES, "data.order": "olmo"}))


class Plan(program.Case):
    def test_a_missing_text_is_an_error(self):
        self.refuse(65, f"none.txt: {program.MISSING}", "plan",
                    *small(data_train="none.txt"))

    def test_the_time_follows_from_a_speed(self):
        plan = json.loads(self.succeed("plan", "--json", "--tokens-per-second", 100, *small(train_steps=10))[0])
        self.assertEqual(plan["seconds"], 10 * 2 * 32 / 100)


class Generate(program.Case):
    def prepare(self):
        self.train("run", train_steps=1)

    def text(self, *arguments):
        return self.evenkeel("generate", "--run", "run", "--prompt", "The", *arguments).stdout

    def test_raw_bytes_are_written_only_on_request(self):
        self.text("--tokens", 200).decode()  # valid UTF-8
        raw = self.text("--tokens", 200, "--raw")
        with self.assertRaises(UnicodeDecodeError):
            raw.decode()

    def test_a_stop_string_ends_the_text_before_it(self):
        raw = self.text("--tokens", 200, "--raw")
        stop = raw[40:42].decode("latin-1")
        printable = next((chr(byte) for byte in raw[4:] if 32 < byte < 127), None)
        self.assertIsNotNone(printable, stop)
        out = self.text("--tokens", 200, "--raw", "--stop", printable)
        self.assertEqual(out, raw[:raw.index(printable.encode(), 3)] + b"\n")

    def test_a_prompt_is_utf8(self):
        done = self.evenkeel("generate", "--run", "run", given=b"\xff\xfe")
        self.assertEqual((done.returncode, done.stderr),
                         (65, b"evenkeel: standard input: a prompt must be UTF-8, but byte 0 is not; convert it\n"))


if __name__ == "__main__":
    program.main()
