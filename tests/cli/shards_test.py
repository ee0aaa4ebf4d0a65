#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shards of `tokenize`: their tokenizers, what they leave out, a stop; names and starts of texts."""
import json
import pathlib
import signal

import program
from program import metrics, settings, small

NEOX = pathlib.Path(__file__).parents[1] / "golden/tokenizers/neox.json"  # its normalizer composes characters
REMOVED = pathlib.Path(__file__).parents[1] / "golden/tokenizers/removed.json"  # its pre-tokenizer removes white space


class Shards(program.Case):
    def prepare(self):
        self.succeed("tokenize", "book.txt", "--train-vocabulary", 280, "--output", "tok", "--quiet")
        self.write("upper.txt", program.BOOK.upper())
        self.succeed("tokenize", "upper.txt", "--train-vocabulary", 280, "--output", "other", "--quiet")
        for name in ("tok", "other"):
            self.succeed("tokenize", "book.txt", "--tokenizer", name, "--output", f"of-{name}", "--quiet")

    def test_two_tokenizers_do_not_train_one_model(self):
        message = ("of-other: the tokens must be of the tokenizer of of-tok, but manifest.json names another tokenizer; "
                   "tokenize both texts with one")
        weighted = "[{ path = 'of-tok', weight = 1 }, { path = 'of-other', weight = 1 }]"
        texts = ({"data_train": '["of-tok", "of-other"]'}, {"data_train": weighted},
                 {"data_train": "of-tok", "data_validation": "of-other"})
        for keys in ({"model_vocabulary": 280}, {"data_tokenizer": "tok"}, {}):
            self.refuse_each([(65, message, "train", "--run", f"run-{number}", *small(**text, **keys))
                              for number, text in enumerate(texts)])
        self.refuse(65, message, "plan", *small(model_vocabulary=280, **texts[0]))
        self.assertEqual(list(self.folder.glob("run-*")), [])
        self.train("run", data_train="of-tok", model_vocabulary=280, train_steps=1)
        self.refuse(65, message, "eval", "--run", "run", "--set", "data.validation=of-other")

    def test_shards_without_a_tokenizer_name_both_remedies(self):
        self.refuse(65, "of-tok: token ids need the tokenizer that made them or the number of ids; set data.tokenizer or "
                    "model.vocabulary (280)", "train", "--run", "run", *small(data_train="of-tok"))

    def test_texts_and_shards_are_not_one_list(self):
        advice = "a list holds texts or token files; tokenize the texts, or give each input a weight"
        self.refuse_each([
            (65, f"of-tok: must hold texts, but holds token files (tokens-00000.npy); {advice}", "train", "--run", "run-0",
             *small(data_train='["book.txt", "of-tok"]', data_tokenizer="tok")),
            (65, f"book.txt: must be token files as of-tok, but is text; {advice}", "train", "--run", "run-1",
             *small(data_train='["of-tok", "book.txt"]', data_tokenizer="tok"))])
        self.train("run", data_train="[{ path = 'book.txt', weight = 1 }, { path = 'of-tok', weight = 1 }]",
                   data_tokenizer="tok", train_steps=1)

    def test_data_begin_of_shards_of_bytes(self):
        self.succeed("tokenize", "book.txt", "--tokenizer", "bytes", "--output", "bytes", "--quiet")
        self.train("run", data_train="bytes", data_tokenizer="bytes", data_begin="true", train_steps=1)

    def test_another_end_of_text_than_that_of_the_manifest(self):
        warning = "warning: of-tok: data.end_of_text is 5, but manifest.json says that its documents end with token 0"
        shards = {"data_train": "of-tok", "model_vocabulary": 280, "train_steps": 1}
        for end, count in ((5, 1), (0, 0)):
            error = self.succeed("train", "--run", f"run-{end}", *small(data_end_of_text=end, **shards))[1]
            self.assertEqual(error.splitlines().count(warning), count, error)

    def test_what_was_left_out_is_counted(self):
        rows = ("", " \n", None, "one", "", "\t")
        self.write("a.jsonl", "".join(json.dumps({"text": row}) + "\n" for row in rows))
        out, error = self.succeed("tokenize", "a.jsonl", "--tokenizer", REMOVED, "--output", "new", "--quiet", "--json")
        self.assertEqual(error, "note: 1 null text left out, 2 empty texts left out, 2 documents without tokens left "
                         "out\n")
        counts = {"documents": 1, "null_texts": 1, "empty_texts": 2, "documents_without_tokens": 2}
        manifest = (self.folder / "new/manifest.json").read_text()
        for found in (out, manifest, self.succeed("tokenize", "--check", "new", "--json")[0]):
            self.assertEqual({key: json.loads(found).get(key) for key in counts}, counts)
        self.assertNotIn("invalid_lines", json.loads(manifest))
        self.assertNotIn("empty_texts", json.loads((self.folder / "of-tok/manifest.json").read_text()))


class Bytes(program.Case):
    def losses(self, run, validation, **changed):
        """The validation loss of a run of one step, in nats per token and in bits per byte."""
        self.train(run, data_validation=validation, data_tokenizer=NEOX, train_steps=1, **changed)
        last = metrics(self.folder / run)[-1]
        return last["val_loss"], last["val_bits_per_byte"]

    def test_bits_per_byte_of_shards_are_those_of_the_text(self):
        for name, text in (("a", program.BOOK), ("b", program.BOOK.replace("e", "e\u0301"))):
            self.write(f"{name}.txt", text)
            self.succeed("tokenize", f"{name}.txt", "--tokenizer", NEOX, "--output", f"of-{name}", "--quiet")
        of_text = self.losses("text", "b.txt", data_train="a.txt", data_begin="false")
        self.assertEqual(self.losses("shards", "of-b", data_train="of-a"), of_text)
        file = self.folder / "of-b/manifest.json"
        manifest = json.loads(file.read_text())
        self.assertEqual(manifest["shards"][0].pop("text_bytes")["read"], len((self.folder / "b.txt").read_bytes()))
        file.write_text(json.dumps(manifest))  # as earlier versions wrote it
        loss, bits = self.losses("earlier", "of-b", data_train="of-a")
        self.assertEqual(loss, of_text[0])
        self.assertGreater(bits, of_text[1])


class Warnings(program.Case):
    def test_a_warning_of_the_texts_is_printed_once_for_all_ranks(self):
        options = small(data_validation="book.txt", train_steps=1)
        warning = ("warning: data.validation: book.txt is read for training, too (1 of 1 file), so that the validation "
                   'loss is no measure of new text; name other files, or "auto"')
        for run, ranks in (("one", ()), ("two", ("--ranks", 2))):
            error = self.succeed("train", "--quiet", "--run", run, *ranks, *options)[1]
            self.assertEqual(error.splitlines().count(warning), 1, error)
            self.assertIn(warning, (self.folder / run / "log.txt").read_text())
        for command in ("plan", "probe"):
            error = self.succeed(command, *options)[1]
            self.assertEqual(error.splitlines().count(warning), 1, error)


class Stop(program.Case):
    def write_large(self):
        """A text that takes a second or more."""
        row = json.dumps({"text": program.BOOK * 20}) + "\n"
        self.write("large.jsonl", row * (128 * 2**20 // len(row)))

    def stopped(self, number, pattern, *arguments):
        """The last line of `tokenize` after a signal that it gets once a file of this pattern is there."""
        process = self.start("tokenize", "large.jsonl", "--quiet", *arguments)
        self.until(lambda: list(self.folder.glob(pattern)), process)
        process.send_signal(number)
        code, error = self.finish(process)
        self.assertEqual(code, 130, error)
        return error.splitlines()[-1]

    def test_a_signal_while_shards_are_written(self):
        self.write_large()
        line = "evenkeel: stopped by a signal while the text was encoded; "
        for number in (signal.SIGINT, signal.SIGTERM):
            found = self.stopped(number, "one/*.part", "--tokenizer", "bytes", "--output", "one", "--shard", "1000Mt")
            self.assertEqual(found, line + "nothing was saved; run again")
            self.assertEqual(list((self.folder / "one").iterdir()), [])
        found = self.stopped(signal.SIGINT, "two/*-00000.csv.gz", "--tokenizer", "bytes", "--output", "two", "--shard",
                             "2Mt")
        self.assertRegex(found, line + r"two has \d+ shards? without manifest.json; remove the files tokens-\* in it and "
                         "run again$")
        self.assertEqual(list((self.folder / "two").glob("*.part")), [])
        self.assertFalse((self.folder / "two/manifest.json").exists())
        for each in (self.folder / "two").glob("tokens-*"):  # also the document bounds
            each.unlink()
        self.succeed("tokenize", "book.txt", "--tokenizer", "bytes", "--output", "two", "--quiet")

    def test_the_first_signal_ends_the_training_of_a_vocabulary(self):
        self.write_large()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start("tokenize", "large.jsonl", "--train-vocabulary", 300, "--output", "tok")
            self.until(lambda process=process: self.read_error(process), process)  # it names the text, then reads it
            process.send_signal(number)
            self.assertEqual(self.finish(process), (-number, "large.jsonl (1 jsonl)\n"))
            self.assertFalse((self.folder / "tok").exists())


class Names(program.Case):
    def test_a_text_with_a_wildcard_in_its_name(self):
        for name in ("book[1].txt", "star*.txt", "q?.txt"):
            (self.folder / name).write_text(program.BOOK)
            run = f"run-{len(name)}"
            self.train(run, data_train=name, train_steps=1)
            self.succeed("eval", "--run", run, "--quiet", "--set", f"data.validation={name}")

    def test_a_relative_path_of_a_run_begins_in_the_current_folder(self):
        self.train("run", train_steps=1)
        (self.folder / "book.txt").rename(self.folder / "away.txt")
        self.refuse(65, f"book.txt: {program.MISSING_OF_RUN}", "eval", "--run", "run")
        self.refuse(65, "/none/book.txt: must be a file or a folder, but is missing", "eval", "--run", "run",
                    *settings({"data.validation": "/none/book.txt"}))

    def test_a_byte_order_mark_is_no_part_of_standard_input(self):
        self.train("run", train_steps=1)
        generate = ("generate", "--run", "run", "--tokens", 4, "--temperature", 0, "--json")
        wanted = self.succeed(*generate, given=b"The")[0]
        self.assertEqual(self.succeed(*generate, given=b"\xef\xbb\xbfThe")[0], wanted)
        shown = json.loads(self.succeed("tokenize", "--show", "bytes", "--json", given=b"\xef\xbb\xbfhi")[0])
        self.assertEqual(shown["ids"], [104, 105])


if __name__ == "__main__":
    program.main()
