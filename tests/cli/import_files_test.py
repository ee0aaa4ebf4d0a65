#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`import` and `export`: files of other programs, the model card, and signals."""
import json
import os
import signal

import program
from program import settings


def stop_at_the_start():
    """Called in the new process: a signal waits for the program's handler."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.kill(os.getpid(), signal.SIGINT)


class Imported(program.Case):
    IDS = {"bos_token_id": 1, "eos_token_id": [256, 3], "pad_token_id": None}
    KEPT = {"generation_config.json": '{"eos_token_id": [256, 3], "temperature": 0.7}',
            "tokenizer_config.json": '{"add_bos_token": true, "bos_token": "<s>"}',
            "special_tokens_map.json": '{"bos_token": "<s>"}',
            "chat_template.jinja": "{{ messages }}"}

    def prepare(self):
        self.train("trained", "--scheme", "pre_norm", train_steps=2, checkpoint_every=1, checkpoint_keep=3)
        self.export("trained", "model")
        (self.folder / "model/evenkeel.json").unlink()
        self.change("model/config.json", **self.IDS)
        for name, content in self.KEPT.items():
            self.write(f"model/{name}", content)
        self.succeed("import", "model", "--output", "run")
        self.tune("tuned")

    def tune(self, run, **changed):
        """A run that starts with the weights of the import."""
        values = {"train.from": "run", "train.steps": 1, "train.batch": 2, "train.threads": 1,
                  "data.train": "book.txt", "evaluate.sequences": 2} | changed
        self.succeed("train", "--quiet", "--config", "run/run.toml", "--run", run, *settings(values))

    def change(self, name, **values):
        path = self.folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    def export(self, run, output, *arguments):
        self.succeed("export", "--run", run, "--output", output, *arguments)
        return (self.folder / output / "README.md").read_text()

    def ids(self, output):
        config = json.loads((self.folder / output / "config.json").read_text())
        return {key: config.get(key) for key in self.IDS}

    def test_files_of_other_programs_are_exported_again(self):
        for run in ("run", "tuned"):
            self.export(run, f"{run}-out")
            for name, content in self.KEPT.items():
                self.assertEqual((self.folder / f"{run}-out" / name).read_text(), content, name)
            self.assertEqual(self.ids(f"{run}-out"), self.IDS)

    def test_a_list_of_ids_is_imported_with_its_first_one(self):
        self.assertIn('end_of_text = "auto"', (self.folder / "run/run.toml").read_text())
        self.change("model/config.json", eos_token_id=[10, 256])
        self.succeed("import", "model", "--output", "again")
        self.assertIn('end_of_text = 10\n', (self.folder / "again/run.toml").read_text())

    def test_files_are_those_of_the_imported_tokenizer_alone(self):
        self.tune("other", **{"data.end_of_text": "10"})
        self.export("other", "out")
        self.assertEqual(self.ids("out"), dict.fromkeys(self.IDS, 10))
        self.assertFalse((self.folder / "out/chat_template.jinja").exists())

    def test_what_no_longer_fits_is_written_anew(self):
        self.change("run/imported/origin.json", token_ids={})  # a config.json without ids
        self.tune("longer", **{"model.context": 64})
        self.export("longer", "out")
        self.assertEqual(self.ids("out"), {"bos_token_id": None, "eos_token_id": 256, "pad_token_id": None})
        self.assertEqual(json.loads((self.folder / "out/tokenizer_config.json").read_text()),
                         {"add_bos_token": True, "bos_token": "<s>", "model_max_length": 64})
        self.write("longer/imported/tokenizer_config.json", '{"auto_map": {"AutoTokenizer": ["code.X", null]}}')
        self.export("longer", "out2")
        self.assertNotIn("auto_map", (self.folder / "out2/tokenizer_config.json").read_text())

    def test_the_end_of_a_text_does_not_depend_on_tokenizer_config(self):
        self.succeed("tokenize", "book.txt", "--train-vocabulary", "300", "--output", "vocabulary")
        self.train("words", "--scheme", "pre_norm", "--set", "data.tokenizer=vocabulary", train_steps=1)
        self.export("words", "words-out")
        (self.folder / "words-out/evenkeel.json").unlink()
        file = self.folder / "words-out/tokenizer.json"
        file.write_text(file.read_text().replace("<|endoftext|>", "<end>"))
        self.change("words-out/tokenizer_config.json", eos_token="<end>")
        end = json.loads((self.folder / "words-out/config.json").read_text())["eos_token_id"]
        self.succeed("import", "words-out", "--output", "words-run")
        self.assertIn(f'end_of_text = {end}\n', (self.folder / "words-run/run.toml").read_text())

    def test_the_model_card_names_the_origin(self):
        origin = json.loads((self.folder / "run/import.json").read_text())["folder"]
        imported = f"| imported model | LlamaForCausalLM in {origin} |\n"
        card = self.export("run", "out")
        self.assertIn("\nImported and exported by Evenkeel ", card)
        self.assertIn(imported, card)
        for row in ("tokens seen", "seed", "weights at the start", "validation loss"):
            self.assertNotIn(f"| {row} |", card)
        card = self.export("tuned", "out2")
        self.assertIn("\nTrained from the weights of another model and exported by Evenkeel ", card)
        self.assertIn("| weights at the start | run |\n" + imported, card)
        self.assertRegex(card, r"\| tokens seen \| [0-9,]+, in this training \|")
        self.assertIn("| validation loss |", card)

    def test_the_model_card_of_a_mean_has_no_loss_of_a_step(self):
        self.assertIn("| validation loss |", self.export("trained", "out"))
        self.assertNotIn("| validation loss |", self.export("trained", "mean", "--average", "2"))

    def test_a_signal_leaves_nothing(self):
        before = sorted(self.folder.iterdir())
        for arguments in (["import", "model", "--output", "new"], ["export", "--run", "run", "--output", "new"],
                          ["export", "--run", "run", "--output", "new", "--as", "gguf"]):
            self.refuse(130, "--output new: stopped by a signal; nothing was written", *arguments,
                        before=stop_at_the_start)
            self.assertEqual(sorted(self.folder.iterdir()), before)


if __name__ == "__main__":
    program.main()
