#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Token files, tokenizers and mixtures on the command line."""
import array
import json
import pathlib
import signal
import subprocess
import unittest

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
        self.refuse(64, '--tokenizer must name a tokenizer, or be "bytes"', "tokenize", "notes")
        self.refuse(64, "--output must name a folder for the shards", "tokenize", "notes", "--tokenizer", "bytes")
        self.refuse(64, '--shard must be a number of tokens, as 20000 or 100Mt, but is "x"', "tokenize", "notes",
                    "--tokenizer", "bytes", "--output", "tok", "--shard", "x", "--quiet")


class TokenFiles(program.Case):
    def ids(self, name, values):
        return self.write(name, array.array("H", values).tobytes())

    def test_a_resumed_run_refuses_a_changed_shard_and_names_it(self):
        self.ids("a-0.bin", [i % 250 for i in range(400)])
        self.ids("a-1.bin", [i % 200 for i in range(400)])
        run = self.train("run", data_train="a-*.bin", train_steps=2)
        whole = self.train("whole", data_train="a-*.bin", train_steps=4, schedule_steps=2)
        self.train("run", data_train="a-*.bin", train_steps=4)
        self.assertEqual(state_at(run, 4), state_at(whole, 4))
        self.ids("a-1.bin", [(i + 1) % 200 for i in range(400)])
        done = self.evenkeel("train", "--quiet", "--run", "run", *small(data_train="a-*.bin", train_steps=5))
        self.assertEqual(done.returncode, 78)
        self.assertIn(b"the digest of the training text (a-1.bin) was ", done.stderr)
        self.succeed("train", "--quiet", "--run", "run", "--override", "data",
                     *small(data_train="a-*.bin", train_steps=5))

    def test_ids_outside_of_the_vocabulary_end_before_the_first_step(self):
        self.ids("a.bin", [1, 2, 3, 50000])
        self.refuse(65, "a.bin: token ids must be 0 to 256, but token 3 is 50000; set model.vocabulary, or "
                    "data.token_type if the type is not uint16", "train", "--run", "run", *small(data_train="a.bin"))
        self.assertFalse((self.folder / "run").exists())

    def test_a_run_without_a_tokenizer_has_no_bits_per_byte(self):
        self.ids("a.bin", [i % 300 for i in range(800)])
        run = self.train("run", data_train="a.bin", train_steps=1, model_vocabulary=300)
        last = lines_of(run / "metrics.jsonl")[-1]
        self.assertIn("val_loss", last)
        self.assertNotIn("val_bits_per_byte", last)
        self.assertRegex((run / "sample.txt").read_text(), r"^\d+( \d+)*$")
        self.refuse(64, "the model was trained on token files, and its tokenizer is unknown; name it with "
                    "--set data.tokenizer=tokenizer.json", "generate", "--run", "run", "--prompt", "x")


    def test_keys_without_effect_are_refused(self):
        self.ids("a.bin", [i % 250 for i in range(800)])
        for key, value, why in (("text_key", "body", "without files of JSON or parquet"),
                                ("begin", "true", "for token files without data.tokenizer")):
            for command in ("train", "plan"):
                self.refuse(64, f"data.{key} has no effect {why}; leave it out", command,
                            *small(data_train="a.bin", **{f"data_{key}": value}))
        self.refuse(64, "data.token_type has no effect without token files; leave it out", "train",
                    *small(data_token_type="uint16"))
        self.refuse(64, "data.text_key has no effect without files of JSON or parquet; leave it out", "train",
                    *small(data_text_key="body"))
        self.train("run", data_train="a.bin", data_token_type="uint16", train_steps=1)

    def test_uint32_ids_without_a_header_are_not_read_as_uint16(self):
        self.write("a.npy", array.array("I", [i % 250 for i in range(800)]).tobytes())
        for command in ("train", "plan"):
            self.refuse(65, "a.npy: has no header and is read as uint16, but every second one of its ids would be 0 "
                        "or nearly so, as if they were uint32; set data.token_type to uint32, or to uint16 if that "
                        "is right", command, *small(data_train="a.npy"))
        self.train("run", data_train="a.npy", data_token_type="uint32", train_steps=1)

    def test_a_vocabulary_without_a_tokenizer_may_be_smaller_than_that_of_bytes(self):
        self.ids("a.bin", [i % 65 for i in range(800)])
        self.train("run", data_train="a.bin", train_steps=2, model_vocabulary=65)
        self.assertRegex((self.folder / "run/sample.txt").read_text(), r"^\d+( \d+)*$")
        self.succeed("eval", "--run", "run", "--quiet")
        self.succeed("plan", *small(data_train="a.bin", model_vocabulary=65))
        unknown = "its tokenizer is unknown; name it with --set data.tokenizer=tokenizer.json"
        self.refuse(64, f"the model was trained on token files, and {unknown}", "generate", "--run", "run",
                    "--prompt", "x")
        self.write("quiz.jsonl", json.dumps({"doc_id": 0, "idx": 0, "label": 0, "request": {
            "context": "a", "continuation": " b"}}))
        self.refuse(65, "evaluate.tasks: text needs the tokenizer that made the token files of data.train; set "
                    "data.tokenizer", "eval", "--run", "run", "--task", "quiz.jsonl")
        for command in ("train", "plan", "config"):
            self.refuse(64, "model.vocabulary must be at least 257, the tokenizer's, but is 65", command,
                        *small(model_vocabulary=65))


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
            (65, "bad.jsonl:1: must be JSON, but is not at column 2; mend it, or set --data-format to text",
             "tokenize", "bad.jsonl", *tokenize),
            (64, "--text-key has no effect without files of JSON or parquet; leave it out", "tokenize", "book.txt",
             "--text-key", "body", *tokenize),
            (65, "ids.bin: must be text, but .bin is the ending of a file of token ids; name files of text",
             "tokenize", "ids.bin", *tokenize),
            (65, "none.json: must be a tokenizer (tokenizer.json, .model, .tiktoken) or a folder with one, but is "
             'missing; name one, or "bytes"', "tokenize", "book.txt", "--tokenizer", "none.json", "--output", "tok"),
        ])
        done = self.evenkeel("tokenize", "notes.xyz", *tokenize)
        self.assertEqual(done.returncode, 65)
        self.assertIn(b"or set --data-format to text, jsonl, json or parquet", done.stderr)

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
        self.refuse(65, "none.txt: must be a file or a folder, but is missing", "plan",
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
