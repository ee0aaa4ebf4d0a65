#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`import` and `export`: files of other programs, the model card, and signals."""
import json
import os
import shutil
import signal
import struct
import tomllib

import program
from program import settings


def stop_at_the_start():
    """Called in the new process: a signal waits for the program's handler."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.kill(os.getpid(), signal.SIGINT)


def add_tensor(path, name, of, change=0):
    """Adds a tensor to a safetensors file: the values of the tensor `of`, the first one `change` more."""
    content = path.read_bytes()
    size, = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8:8 + size]), content[8 + size:]
    begin, end = header[of]["data_offsets"]
    first = struct.pack("<f", struct.unpack("<f", data[begin:begin + 4])[0] + change)
    header[name] = header[of] | {"data_offsets": [len(data), len(data) + end - begin]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data + first + data[begin + 4:end])


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

    def test_a_kept_file_names_the_special_tokens_alone(self):
        (self.folder / "model/special_tokens_map.json").unlink()  # as transformers 5 saves
        self.succeed("import", "model", "--output", "run", "--overwrite")
        self.tune("modern")
        for run in ("run", "modern"):
            self.export(run, f"{run}-out")
            self.assertFalse((self.folder / f"{run}-out/special_tokens_map.json").exists())
            self.assertEqual((self.folder / f"{run}-out/tokenizer_config.json").read_text(),
                             self.KEPT["tokenizer_config.json"])
        self.write("model/special_tokens_map.json", self.KEPT["special_tokens_map.json"])
        (self.folder / "model/tokenizer_config.json").unlink()
        self.succeed("import", "model", "--output", "map")
        self.export("map", "map-out")
        config = json.loads((self.folder / "map-out/tokenizer_config.json").read_text())
        self.assertEqual(config["tokenizer_class"], "PreTrainedTokenizerFast")
        self.assertFalse({"bos_token", "eos_token", "pad_token"} & set(config), config)

    def test_a_head_beside_a_tied_embedding_must_equal_it(self):
        weights = self.folder / "model/model.safetensors"
        shutil.copy(weights, self.folder / "weights")
        add_tensor(weights, "lm_head.weight", "model.embed_tokens.weight")
        self.succeed("import", "model", "--output", "equal")
        shutil.copy(self.folder / "weights", weights)
        add_tensor(weights, "lm_head.weight", "model.embed_tokens.weight", change=1)
        self.refuse(65, 'model: tensor "lm_head.weight" must equal "model.embed_tokens.weight" where '
                    "tie_word_embeddings is true, but differs; set tie_word_embeddings to false in config.json",
                    "import", "model", "--output", "new")
        self.change("model/config.json", tie_word_embeddings=False)
        self.succeed("import", "model", "--output", "untied")

    def test_a_text_begins_as_the_tokenizer_says(self):
        def begin(ids, config):
            self.change("model/config.json", bos_token_id=ids[0], eos_token_id=ids[1])
            self.write("model/tokenizer_config.json", json.dumps(config))
            error = self.succeed("import", "model", "--output", "run", "--overwrite")[1]
            return tomllib.loads((self.folder / "run/run.toml").read_text())["data"]["begin"], error
        self.assertEqual(begin((256, 256), {"add_bos_token": True}), (True, ""))
        self.assertEqual(begin((256, 256), {}), (True, ""))  # transformers 5 saves no add_bos_token
        self.assertEqual(begin((256, 256), {"add_bos_token": False}), (False, ""))
        warning = ("warning: model: the tokenizer begins texts with token {}, but the run begins them without it; "
                   "write it at the start of prompts and documents\n")
        self.assertEqual(begin((65, 256), {"add_bos_token": True}), (False, warning.format("65 (A)")))
        self.assertEqual(begin((65, 10), {}), (False, warning.format("256 (<|endoftext|>)")))
        self.assertEqual(begin((65, 10), {"add_bos_token": False}), (False, ""))

    def test_the_recipe_is_one_of_fine_tuning(self):
        self.change("model/config.json", max_position_embeddings=8192)
        out = self.succeed("import", "model", "--output", "long")[0]
        self.assertEqual(out.splitlines()[-1],
                         'training with train.from: schedule.peak = 2e-05, schedule.warmup = "3%", train.steps = 400, '
                         "train.batch = 8, model.context = 8192; train on shorter sequences with --set "
                         "model.context=4096")
        config = tomllib.loads((self.folder / "long/run.toml").read_text())
        self.assertEqual((config["schedule"]["peak"], config["schedule"]["warmup"], config["model"]["context"]),
                         (2e-5, "3%", 8192))
        self.export("trained", "own")  # evenkeel.json has the recipe of its training
        self.assertNotIn("2e-05", self.succeed("import", "own", "--output", "again")[0])

    def test_an_exported_mixture_keeps_the_losses_of_its_router(self):
        def router_losses(output):
            self.succeed("import", "mixture-out", "--output", output)
            experts = tomllib.loads((self.folder / output / "run.toml").read_text())["model"]["experts"]
            return experts["count"], experts["balance"], experts["router_z"]
        self.train("mixture", "--scheme", "pre_qk", train_steps=1,
                   model_experts="{ count = 4, balance = 0.03, router_z = 0.004 }")
        self.export("mixture", "mixture-out")
        config = json.loads((self.folder / "mixture-out/config.json").read_text())
        self.assertEqual((config["model_type"], config["router_aux_loss_coef"]), ("qwen3_moe", 0.015))
        self.assertEqual(router_losses("again"), (4, 0.03, 0.004))
        (self.folder / "mixture-out/evenkeel.json").unlink()  # as a model of transformers
        self.assertEqual(router_losses("other"), (4, 0.01, 0.001))

    def test_gguf_refuses_gemma(self):
        self.train("gemma", "--scheme", "gemma2", train_steps=1)
        self.refuse(64, "--as gguf: llama.cpp computes Gemma's feed-forward with GELU, and this model has SiLU; export "
                    "it as Gemma2ForCausalLM with --as gemma2",
                    "export", "--run", "gemma", "--output", "new", "--as", "gguf")
        self.assertFalse((self.folder / "new").exists())

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

    def test_a_resume_is_refused_before_texts_are_read(self):
        self.export("trained", "own")
        self.succeed("import", "own", "--output", "again")  # with the data.train of the run
        (self.folder / "book.txt").unlink()
        self.refuse(77, "again: was imported, and has no optimizer state to resume; start another run from it with "
                    "--set train.from=again", "train", "--run", "again")

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
