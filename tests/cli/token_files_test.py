#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Token files on the command line."""
import array
import json
import pathlib
import shutil

import program
from program import lines_of, small, state_at


def change_beginning(path):
    """Gives a tokenizer.json another post-processor, order of keys and white space: its ids stay."""
    first = {"post_processor": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}}
    rest = {key: value for key, value in json.loads(path.read_text()).items() if key not in first}
    path.write_text(json.dumps(first | rest, indent=1))


def remove_merge(path):
    """Removes the last merge of a tokenizer.json: some of its ids change."""
    content = json.loads(path.read_text())
    content["model"]["merges"].pop()
    path.write_text(json.dumps(content))


class TokenFiles(program.Case):
    def ids(self, name, values):
        return self.write(name, array.array("H", values).tobytes())

    def test_a_resumed_run_refuses_a_changed_shard_and_names_it(self):
        self.ids("a-0.bin", [i % 250 for i in range(400)])
        self.ids("a-1.bin", [i % 200 for i in range(400)])
        run = self.train("run", data_train="a-*.bin", model_vocabulary=257, train_steps=2)
        whole = self.train("whole", data_train="a-*.bin", model_vocabulary=257, train_steps=4, schedule_steps=2)
        self.train("run", data_train="a-*.bin", model_vocabulary=257, train_steps=4)
        self.assertEqual(state_at(run, 4), state_at(whole, 4))
        self.ids("a-1.bin", [(i + 1) % 200 for i in range(400)])
        done = self.evenkeel("train", "--quiet", "--run", "run", *small(data_train="a-*.bin", model_vocabulary=257, train_steps=5))
        self.assertEqual(done.returncode, 78)
        self.assertIn(b"the digest of the training text (a-1.bin) was ", done.stderr)
        self.succeed("train", "--quiet", "--run", "run", "--override", "data",
                     *small(data_train="a-*.bin", model_vocabulary=257, train_steps=5))

    def test_a_sentencepiece_model_says_what_it_changes_in_a_text(self):
        model = pathlib.Path(__file__).parents[1] / "golden/tokenizers/sentencepiece.model"
        changes = "replaces characters (nmt_nfkc) and removes extra spaces"
        self.write("a.txt", "The \ufb01rst  ship.\n" * 400)
        error = self.succeed("tokenize", "a.txt", "--tokenizer", model, "--output", "tok", "--quiet")[1]
        self.assertEqual(error, f"note: {model} {changes}, as the package sentencepiece does: the shards have the "
                         "changed text\n")
        shown = json.loads(self.succeed("tokenize", "--show", model, "--json", given=b"")[0])
        self.assertEqual(shown["normalizer"], changes)
        self.assertNotIn("normalizer", json.loads(self.succeed("tokenize", "--show", "bytes", "--json", given=b"")[0]))
        error = self.succeed("train", "--run", "run", *small(data_train="a.txt", data_tokenizer=model, train_steps=1))[1]
        self.assertIn(f"\nnote   the tokenizer {changes}, as the package sentencepiece does: the model learns the "
                      "changed text\n", error)

    def test_ids_outside_of_the_vocabulary_end_before_the_first_step(self):
        self.ids("a.bin", [1, 2, 3, 50000])
        self.refuse(65, "a.bin: token ids must be 0 to 256, but token 3 is 50000; set model.vocabulary, or "
                    "data.token_type if the type is not uint16", "train", "--run", "run", *small(data_train="a.bin", model_vocabulary=257))
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
                                ("begin", "true", "for token files without a tokenizer file in data.tokenizer")):
            for command in ("train", "plan"):
                self.refuse(64, f"data.{key} has no effect {why}; leave it out", command,
                            *small(data_train="a.bin", model_vocabulary=257, **{f"data_{key}": value}))
        self.refuse(64, "data.token_type has no effect without token files that have no header; leave it out", "train",
                    *small(data_token_type="uint16"))
        self.refuse(64, "data.text_key has no effect without files of JSON or parquet; leave it out", "train",
                    *small(data_text_key="body"))
        builtin = small(data_train="builtin:addition", data_format="text", model_context=64, train_steps=1)
        self.refuse(64, "data.format has no effect on built-in texts; leave it out, or set it to \"auto\"", "train", *builtin)
        self.succeed("train", "--quiet", "--run", "texts", *builtin, "--set", 'evaluate.texts={ book = "book.txt" }')
        self.train("run", data_train="a.bin", data_token_type="uint16", train_steps=1, model_vocabulary=257)

    def test_keys_of_one_source_of_a_mixture_are_accepted(self):
        self.ids("a.bin", [i % 250 for i in range(800)])
        self.write("a.txt", "A plain text of some length. " * 40)
        self.write("c.jsonl", '{"body": "A text in a field of some length."}\n' * 40)
        for other, key, value in (("c.jsonl", "text_key", "body"), ("a.bin", "token_type", "uint16")):
            mixture = f"[{{ path = 'a.txt', weight = 0.5 }}, {{ path = '{other}', weight = 0.5 }}]"
            keys = small(**{f"data_{key}": value}, model_vocabulary=257, model_context=16)
            self.succeed("plan", *keys, "--set", f"data.train={mixture}")

    def test_uint32_ids_without_a_header_are_not_read_as_uint16(self):
        self.write("a.npy", array.array("I", [i % 250 for i in range(800)]).tobytes())
        for command in ("train", "plan"):
            self.refuse(65, "a.npy: has no header and is read as uint16, but every second one of its ids would be 0 "
                        "or nearly so, as if they were uint32; set data.token_type to uint32, or to uint16 if that "
                        "is right", command, *small(data_train="a.npy", model_vocabulary=300))
        self.train("run", data_train="a.npy", data_token_type="uint32", train_steps=1, model_vocabulary=300)

    def test_ids_of_which_nothing_says_what_they_are(self):
        self.ids("a.bin", [i % 65 for i in range(800)])
        for command in ("train", "plan"):
            self.refuse(65, "a.bin: token ids need the tokenizer that made them or the number of ids; set "
                        "data.tokenizer or model.vocabulary (257 for bytes)", command, *small(data_train="a.bin"))

    def test_shards_are_known_by_the_manifest_beside_them(self):
        (self.folder / "notes").mkdir()
        self.write("notes/a.md", program.BOOK)
        self.succeed("tokenize", "notes", "--train-vocabulary", 280, "--output", "tok", "--quiet")
        self.succeed("tokenize", "notes", "--tokenizer", "bytes", "--output", "tokens", "--quiet")
        shard = self.folder / "tokens/tokens-00000.npy"
        for inputs in ("tokens", "tokens/tokens-00000.npy", "tokens/*.npy"):
            self.train("run-" + inputs.replace("/", "-").replace("*", "x"), data_train=inputs, train_steps=1)
            self.refuse(65, f"{inputs}: the tokens were made with another tokenizer than data.tokenizer; name that "
                        "tokenizer, or tokenize the text again", "train", "--run", "other",
                        *small(data_train=inputs, data_tokenizer="tok"))
        self.write("tokens/tokens-00001.npy", shard.read_bytes())
        self.refuse(65, "tokens/tokens-00001.npy: must be listed in manifest.json, but is not; remove the file, or "
                    "name a pattern in place of the folder", "train", "--run", "other", *small(data_train="tokens"))
        (self.folder / "tokens/tokens-00001.npy").unlink()
        data = bytearray(shard.read_bytes())
        data[10] ^= 1
        shard.write_bytes(data)
        done = self.evenkeel("train", "--run", "other", *small(data_train="tokens"))
        self.assertEqual(done.returncode, 65)
        self.assertIn(b"tokens-00000.npy: must have the XXH3 digest ", done.stderr)

    def test_two_folders_of_shards_are_concatenated(self):
        for name, text in (("a", program.BOOK), ("b", program.BOOK.upper())):
            self.write(f"{name}.md", text)
            self.succeed("tokenize", f"{name}.md", "--tokenizer", "bytes", "--output", name, "--quiet")
        for files in ('["a", "b"]', '["a/tokens-00000.npy", "b/tokens-00000.npy"]'):
            run = self.train(f"run-{len(files)}", data_train=files, train_steps=1)
            self.assertIn("val_bits_per_byte", lines_of(run / "metrics.jsonl")[-1])

    def test_every_folder_of_shards_is_checked(self):
        for name, tokenizer in (("one", "bytes"), ("two", "bytes"), ("other", "tok")):
            (self.folder / f"text-{name}").mkdir()
            self.write(f"text-{name}/a.md", program.BOOK)
        self.succeed("tokenize", "text-one", "--train-vocabulary", 280, "--output", "tok", "--quiet")
        for name, tokenizer in (("one", "bytes"), ("two", "bytes"), ("other", "tok/tokenizer.json")):
            self.succeed("tokenize", f"text-{name}", "--tokenizer", tokenizer, "--output", name, "--format", "llm_c", "--quiet")
        refused = ["train", "--run", "refused"]
        self.refuse(65, "other: the tokens must be of the tokenizer of one, but manifest.json names another tokenizer; "
                    "tokenize both texts with one", *refused, *small(data_train='["one", "other"]'))
        self.write("raw.bin", array.array("I", [i % 250 for i in range(800)]).tobytes())
        self.refuse(65, "raw.bin: has no header and is read as uint16, but every second one of its ids would be 0 or "
                    "nearly so, as if they were uint32; set data.token_type to uint32, or to uint16 if that is right",
                    *refused, *small(data_train='["one", "raw.bin"]', model_vocabulary=300))
        shard = self.folder / "two/tokens-00000.bin"
        data = bytearray(shard.read_bytes())
        data[1100] ^= 1
        shard.write_bytes(data)
        done = self.evenkeel(*refused, *small(data_train='["one", "two"]'))
        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertIn(b"two/tokens-00000.bin: must have the XXH3 digest ", done.stderr)

    def train_on_token_files(self):
        """The run "run" on shards of a tokenizer, and "unknown" on ids of which nothing says what made them."""
        self.write("a.md", program.BOOK)
        self.succeed("tokenize", "a.md", "--train-vocabulary", 280, "--output", "tok", "--quiet")
        self.succeed("tokenize", "a.md", "--tokenizer", "tok/tokenizer.json", "--output", "tokens", "--quiet")
        self.ids("raw.bin", [i % 300 for i in range(800)])
        self.train("run", data_train="tokens", data_tokenizer="tok/tokenizer.json", train_steps=1)
        self.train("unknown", data_train="raw.bin", model_vocabulary=300, train_steps=1)

    def remove_token_files(self):
        shutil.rmtree(self.folder / "tokens")
        (self.folder / "raw.bin").unlink()

    def test_a_trained_model_is_the_same_from_every_folder(self):
        """Its training text is named from the folder of the training, and may be gone."""
        self.train_on_token_files()
        task = {"request_type": "loglikelihood", "doc": {}, "doc_id": 0, "idx": 0, "label": 0,
                "request": {"context": "The old", "continuation": " baker"}}
        self.write("task.jsonl", json.dumps(task) + "\n")
        wanted = self.succeed("eval", "--run", "run", "--task", "task.jsonl", "--json")[0]
        unknown = self.evenkeel("eval", "--run", "unknown", "--task", "task.jsonl")
        self.assertEqual(unknown.returncode, 65)
        self.remove_token_files()
        self.assertEqual(self.succeed("eval", "--run", "run", "--task", "task.jsonl", "--json")[0], wanted)
        again = self.evenkeel("eval", "--run", "unknown", "--task", "task.jsonl")
        self.assertEqual((again.returncode, again.stderr), (65, unknown.stderr))

    def test_an_export_keeps_what_is_known_of_the_token_files(self):
        """Prompts of a run on token files begin without end-of-text, in the exported model and its import, too."""
        self.train_on_token_files()
        for run, tokenizer in (("run", "tokenizer.json"), ("unknown", "unknown")):
            self.succeed("export", "--run", run, "--output", f"{run}-out", "--quiet")
            out = self.succeed("import", f"{run}-out", "--output", f"{run}-again")[0]
            self.assertIn(f", tokenizer {tokenizer}\n", out)
        self.assertIs(json.loads((self.folder / "run-out/tokenizer_config.json").read_text())["add_bos_token"], False)
        self.assertEqual((self.folder / "run-out/tokenizer.json").read_bytes(),
                         (self.folder / "tok/tokenizer.json").read_bytes())
        self.remove_token_files()
        text = ("--prompt", "The old", "--tokens", 8, "--temperature", 0)
        wanted = self.succeed("generate", "--run", "run", *text)[0]
        self.assertEqual(self.succeed("generate", "--run", "run-again", *text)[0], wanted)
        self.refuse(64, "the model was trained on token files, and its tokenizer is unknown; name it with --set "
                    "data.tokenizer=tokenizer.json", "generate", "--run", "unknown-again", *text)

    def test_an_imported_model_trains_on_the_shards_of_its_export(self):
        """The exported tokenizer.json begins texts with end-of-text, the original one does not."""
        self.write("a.md", program.BOOK)
        self.succeed("tokenize", "a.md", "--train-vocabulary", 280, "--output", "tok", "--quiet")
        self.succeed("tokenize", "a.md", "--tokenizer", "tok/tokenizer.json", "--output", "tokens", "--quiet")
        self.train("run", data_train="tokens", data_tokenizer="tok/tokenizer.json", data_begin="true", train_steps=1)
        self.succeed("export", "--run", "run", "--output", "out", "--quiet")
        self.succeed("import", "out", "--output", "again")
        copy = self.folder / "again/tokenizer.json"
        self.assertNotEqual(copy.read_bytes(), (self.folder / "tok/tokenizer.json").read_bytes())
        self.succeed("train", "--quiet", "--config", "again/run.toml", "--set", "train.from=again", "--run", "tuned")
        remove_merge(copy)
        self.refuse(65, "tokens: the tokens were made with another tokenizer than data.tokenizer; name that tokenizer, or "
                    "tokenize the text again", "train", "--run", "other",
                    *small(data_train="tokens", data_tokenizer="again/tokenizer.json"))
        done = self.evenkeel("generate", "--run", "again", "--tokens", 1)
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn(b"evenkeel: again/tokenizer.json: the digest of the tokenizer was ", done.stderr)
        self.succeed("generate", "--run", "again", "--tokens", 1, "--set", "data.tokenizer=again/tokenizer.json")

    def test_a_resume_takes_a_tokenizer_of_equal_ids(self):
        self.succeed("tokenize", "book.txt", "--train-vocabulary", 280, "--output", "tok", "--quiet")
        file, options = self.folder / "tok/tokenizer.json", {"data_tokenizer": "tok/tokenizer.json", "schedule_steps": 4}
        whole = self.train("whole", train_steps=4, **options)
        run = self.train("run", train_steps=2, **options)
        change_beginning(file)
        self.train("run", train_steps=4, **options)
        self.assertEqual(state_at(run, 4), state_at(whole, 4))
        changes = json.loads((run / "provenance.json").read_text()).get("changes", [])
        self.assertNotIn("tokenizer", json.dumps(changes))
        self.assertEqual((run / "tokenizer.json").read_bytes(), file.read_bytes())
        remove_merge(file)
        longer = ["train", "--quiet", "--run", "run", *small(train_steps=5, **options)]
        done = self.evenkeel(*longer)
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn(b"run: the digest of the tokenizer was ", done.stderr)
        self.assertNotEqual((run / "tokenizer.json").read_bytes(), file.read_bytes())
        self.succeed(*longer, "--override", "data")
        self.assertEqual((run / "tokenizer.json").read_bytes(), file.read_bytes())
        self.succeed("generate", "--run", "run", "--tokens", 1)

    def test_a_changed_tokenizer_of_a_run_is_refused(self):
        self.succeed("tokenize", "book.txt", "--train-vocabulary", 280, "--output", "tok", "--quiet")
        copy = self.train("run", data_tokenizer="tok/tokenizer.json", train_steps=1) / "tokenizer.json"
        text = ("generate", "--run", "run", "--prompt", "The old", "--tokens", 8, "--temperature", 0)
        wanted = self.succeed(*text)[0]
        change_beginning(copy)
        self.assertEqual(self.succeed(*text)[0], wanted)
        remove_merge(copy)

        def digest_of(name):
            return json.loads(self.succeed("tokenize", "--show", name, "--json", given=b"")[0])["digest"]
        message = (f'run/tokenizer.json: the digest of the tokenizer was "{digest_of("tok")}" when the checkpoint was '
                   f'written, but is "{digest_of("run/tokenizer.json")}" now; copy the tokenizer with the earlier digest '
                   "to run/tokenizer.json (`evenkeel tokenize --show FILE` prints the digest of a file)")
        named = message + ", or name the tokenizer to take with --set data.tokenizer=FILE"
        for arguments in (text, ("eval", "--run", "run"), ("eval", "--run", "run", "--serve", 0), ("probe", "--run", "run")):
            with self.subTest(arguments=arguments):
                self.refuse(78, named, *arguments)
        self.refuse(78, message + "; a changed tokenizer belongs in the exported folder",
                    "export", "--run", "run", "--output", "out", "--quiet")
        self.assertFalse((self.folder / "out").exists())
        self.assertEqual(self.succeed(*text, "--set", "data.tokenizer=tok/tokenizer.json")[0], wanted)
        self.succeed(*text, "--set", "data.tokenizer=run/tokenizer.json")
        shutil.copy(self.folder / "tok/tokenizer.json", copy)
        self.assertEqual(self.succeed(*text)[0], wanted)
        self.succeed("export", "--run", "run", "--output", "out", "--quiet")

    def test_a_named_tokenizer_that_is_not_the_model_s_is_reported(self):
        self.succeed("tokenize", "book.txt", "--train-vocabulary", 280, "--output", "tok", "--quiet")
        shutil.copytree(self.folder / "tok", self.folder / "other")
        remove_merge(self.folder / "other/tokenizer.json")
        self.train("run", data_tokenizer="tok/tokenizer.json", train_steps=1, model_pad_vocabulary_to=1)
        warning = ("warning: data.tokenizer: other/tokenizer.json is not the tokenizer that the model was trained with "
                   "(tok/tokenizer.json), so that texts and losses may be wrong; leave data.tokenizer out")
        for command in (("generate", "--run", "run", "--tokens", 1), ("eval", "--run", "run")):
            with self.subTest(command=command):
                error = self.succeed(*command, "--set", "data.tokenizer=other/tokenizer.json")[1]
                self.assertIn(warning, error.splitlines())
                self.assertNotIn("warning", self.succeed(*command, "--set", "data.tokenizer=tok/tokenizer.json")[1])
                done = self.evenkeel(*command, "--set", "data.tokenizer=bytes")
                self.assertEqual((done.returncode, done.stderr.decode().splitlines()[-1]), (
                    78, "evenkeel: data.tokenizer: bytes has 257 tokens, which need an embedding of 257 rows, but that "
                    "of the model has 280; leave data.tokenizer out, or name the tokenizer of the training"))
        self.train("two", data_tokenizer="tok/tokenizer.json", train_steps=2, checkpoint_every=1, model_pad_vocabulary_to=1)
        error = self.succeed("eval", "--run", "two", "--checkpoint", "all", "--set",
                             "data.tokenizer=other/tokenizer.json")[1]
        self.assertEqual(error.splitlines().count(warning), 1, error)
        self.train("plain", train_steps=1)  # of bytes, with an embedding of 320 rows
        error = self.succeed("generate", "--run", "plain", "--tokens", 1, "--set", "data.tokenizer=other/tokenizer.json")[1]
        self.assertIn(warning.replace("tok/tokenizer.json", "bytes"), error.splitlines())

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


if __name__ == "__main__":
    program.main()
