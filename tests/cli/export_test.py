#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`export` and `import`: files, round trips, and what they refuse, word for word.
tests/ecosystem/models_check.py compares losses with transformers.
"""
import json
import pathlib
import shutil
import struct

import program
from program import folder_of, settings

FILES = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
         "tokenizer_config.json", "special_tokens_map.json"]


def tensors(path):
    """{name: (dtype, shape, bytes)} of a safetensors file."""
    content = path.read_bytes()
    size, = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (each["dtype"], each["shape"],
                   content[8 + size + each["data_offsets"][0]:8 + size + each["data_offsets"][1]])
            for name, each in header.items()}


def floats(raw):
    return struct.unpack(f"<{len(raw) // 4}f", raw)


class Trained(program.Case):
    def prepare(self):
        self.train("run", "--scheme", "pre_norm", train_steps=5, checkpoint_every=1, checkpoint_keep=5)

    def export(self, *arguments, run="run", output="out"):
        return self.succeed("export", "--run", run, "--output", output, *arguments)[0]

    def check_equal(self, one, other, files=None):
        for name in files or FILES:
            self.assertEqual((self.folder / one / name).read_bytes(), (self.folder / other / name).read_bytes(), name)


class Export(Trained):
    def test_says_class_and_reason(self):
        self.assertEqual(self.export(), "exported as LlamaForCausalLM: the scheme is that of LlamaForCausalLM\n"
                                        "out: 11 tensors, 23.8 KiB, float32, step 5\n")
        names = sorted(file.name for file in (self.folder / "out").iterdir())
        self.assertEqual(names, sorted([*FILES, "README.md", "evenkeel.json"]))

    def test_json(self):
        result = json.loads(self.export("--json", "--checkpoint", "step-3"))
        self.assertEqual((result["class"], result["step"], result["tensors"], result["averaged"]),
                         ("LlamaForCausalLM", 3, 11, []))

    def test_best_is_the_checkpoint_of_the_lowest_validation_loss(self):
        path = self.folder / "run/metrics.jsonl"
        last = json.loads(path.read_text().splitlines()[-1])
        losses = {1: 4.5, 2: 3.5, 3: 3.25, 4: 3.25, 5: 4.0, 9: 1.0}  # step 9 has no checkpoint
        path.write_text("".join(json.dumps(last | {"step": i, "val_loss": x}) + "\n" for i, x in losses.items()))
        self.assertEqual(json.loads(self.export("--json", "--checkpoint", "best"))["step"], 4)
        self.assertIn("| validation loss | 3.2500 nats", (self.folder / "out/README.md").read_text())
        path.write_text(json.dumps(last | {"val_loss": None}) + "\n")
        self.refuse(77, "run: no step with a checkpoint (1, 2, 3, 4, 5) has a validation loss in metrics.jsonl; "
                    "name a step, or set evaluate.every to checkpoint.every", "export", "--run", "run", "--output",
                    "new", "--checkpoint", "best")

    def test_weights_are_those_of_the_checkpoint_without_padding(self):
        self.export()
        own = tensors(folder_of(self.folder / "run", 5) / "model.safetensors")
        out = tensors(self.folder / "out/model.safetensors")
        self.assertEqual(out["model.embed_tokens.weight"][1], [257, 16])
        self.assertTrue(own["embedding.weight"][2].startswith(out["model.embed_tokens.weight"][2]))
        layer = "model.layers.0.self_attn."
        self.assertEqual(b"".join(out[f"{layer}{each}_proj.weight"][2] for each in "qkv"),
                         own["blocks.0.attention.qkv.weight"][2])
        mlp = "model.layers.0.mlp."
        self.assertEqual(out[mlp + "up_proj.weight"][2] + out[mlp + "gate_proj.weight"][2],
                         own["blocks.0.feed_forward.up_gate.weight"][2])
        self.export("--padded", output="padded")
        config = json.loads((self.folder / "padded/config.json").read_text())
        self.assertEqual(config["vocab_size"], 320)
        self.assertEqual(tensors(self.folder / "padded/model.safetensors")["model.embed_tokens.weight"][2],
                         own["embedding.weight"][2])

    def test_bfloat16_is_rounded_to_nearest_even(self):
        self.export()
        self.export("--dtype", "bfloat16", output="half")
        whole = tensors(self.folder / "out/model.safetensors")
        for name, (dtype, shape, raw) in tensors(self.folder / "half/model.safetensors").items():
            self.assertEqual((dtype, shape), ("BF16", whole[name][1]))
            bits = struct.unpack(f"<{len(whole[name][2]) // 4}I", whole[name][2])
            wanted = [(each + 0x7FFF + (each >> 16 & 1)) >> 16 for each in bits]
            self.assertEqual(list(struct.unpack(f"<{len(raw) // 2}H", raw)), wanted, name)

    def test_shards_and_their_index(self):
        self.export()
        self.export("--shard", "3K", output="shards")
        whole = tensors(self.folder / "out/model.safetensors")
        index = json.loads((self.folder / "shards/model.safetensors.index.json").read_text())
        self.assertEqual(index["metadata"]["total_size"], sum(len(each[2]) for each in whole.values()))
        self.assertEqual(set(index["weight_map"]), set(whole))
        names = sorted(set(index["weight_map"].values()))
        self.assertEqual(names[0], f"model-00001-of-{len(names):05d}.safetensors")
        self.assertGreater(len(names), 2)
        for name in names:
            part = tensors(self.folder / "shards" / name)
            self.assertTrue(sum(len(each[2]) for each in part.values()) <= 3000 or len(part) == 1)
            self.assertEqual({tensor: each for tensor, each in whole.items()
                              if index["weight_map"][tensor] == name}, part)
        self.succeed("import", "shards", "--output", "again")
        self.export(run="again", output="out2")
        self.check_equal("out", "out2")

    def test_average_is_the_mean_of_the_last_checkpoints(self):
        self.export("--average", "3", "--checkpoint", "4")
        name = "blocks.0.feed_forward.down.weight"
        values = [floats(tensors(folder_of(self.folder / "run", step) / "model.safetensors")[name][2])
                  for step in (2, 3, 4)]
        mean = [struct.pack("<f", sum(each) / 3) for each in zip(*values)]
        self.assertEqual(tensors(self.folder / "out/model.safetensors")["model.layers.0.mlp.down_proj.weight"][2],
                         b"".join(mean))
        card = (self.folder / "out/README.md").read_text()
        self.assertIn("| weights | the mean of the weights of steps 2, 3, 4, float32 |", card)
        made = json.loads((self.folder / "out/evenkeel.json").read_text())
        self.assertEqual([each["step"] for each in made["checkpoints"]], [2, 3, 4])

    def test_gguf(self):
        self.assertRegex(self.export("--as", "gguf", "--dtype", "float16"), r"\nout/model\.gguf: 11 tensors, ")
        content = (self.folder / "out/model.gguf").read_bytes()
        self.assertEqual(struct.unpack("<4sIQ", content[:16]), (b"GGUF", 3, 11))
        self.assertIn(b"general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0llama", content)

    def test_remote_code_is_beside_the_weights(self):
        self.export("--as", "evenkeel")
        config = json.loads((self.folder / "out/config.json").read_text())
        self.assertEqual(config | {"architectures": ["EvenkeelForCausalLM"], "vocab_size": 320, "vocabulary": 257}, config)
        card = (self.folder / "out/README.md").read_text()  # of the model and of the tokenizer
        self.assertEqual(card.count('.from_pretrained("out", trust_remote_code=True)\n'), 2)
        for name in ("configuration_evenkeel.py", "modeling_evenkeel.py"):
            source = pathlib.Path(__file__).parents[2] / "python/evenkeel/hf" / name
            self.assertEqual((self.folder / "out" / name).read_bytes(), source.read_bytes())

    def test_a_scheme_without_a_class_is_exported_with_its_code(self):
        self.train("hybrid", train_steps=1)
        self.assertRegex(self.export(run="hybrid"), "^exported as EvenkeelForCausalLM: no class of transformers has this scheme: ")

    def test_a_scheme_that_leaks_has_a_warning_and_no_cache(self):
        self.train("leaks", "--scheme", "batch_norm", train_steps=1)
        error = self.succeed("export", "--run", "leaks", "--output", "out")[1]
        self.assertTrue(error.startswith("warning: "), error)
        self.assertFalse(json.loads((self.folder / "out/config.json").read_text())["use_cache"])

    def test_the_output_is_replaced_only_on_request(self):
        self.export()
        before = (self.folder / "out/model.safetensors").read_bytes()
        self.refuse(64, "--output out: exists; name another folder, or replace it with --overwrite",
                    "export", "--run", "run", "--output", "out")
        self.export("--checkpoint", "2", "--overwrite")
        self.assertNotEqual((self.folder / "out/model.safetensors").read_bytes(), before)
        self.refuse(64, "--output run: has no evenkeel.json, so --overwrite does not replace it; remove it yourself",
                    "export", "--run", "run", "--output", "run", "--overwrite")
        self.assertEqual([file.name for file in self.folder.iterdir() if ".new-" in file.name], [])


class RefusedExport(Trained):
    def test_bad_input(self):
        export = ["export", "--run", "run", "--output", "out"]
        self.refuse_each([
            (64, "--run is wanted: the folder of a trained model; `evenkeel runs` lists them", "export", "--output", "x"),
            (64, "--output is wanted: the folder of the new model", "export", "--run", "run"),
            (77, "none: not a run folder (no run.toml); `evenkeel runs` lists them",
             "export", "--run", "none", "--output", "out"),
            (77, "run: has no checkpoint of step 9, but of: 1, 2, 3, 4, 5", *export, "--checkpoint", "9"),
            (64, '--checkpoint must be a step, as 400 or step-400, but is "newest"; best is the one of the lowest '
             "validation loss; leave it out for the newest", *export, "--checkpoint", "newest"),
            (77, "run: --average 9 wants 9 checkpoints up to step 5, but the run has those of: 1, 2, 3, 4, 5; "
             "checkpoint.keep sets how many a run keeps", *export, "--average", "9"),
            (64, "--average must be at least 1, but is 0", *export, "--average", "0"),
            (64, '--shard must be a size in bytes, as 5G or 300M, but is "5T"', *export, "--shard", "5T"),
            (64, "--dtype float16 is for --as gguf only; take bfloat16, or float32 and convert it",
             *export, "--dtype", "float16"),
            (64, "--shard has no effect where --as is gguf; leave it out", *export, "--as", "gguf", "--shard", "5G"),
            (64, "--output is a folder; the file in it is model.gguf; wanted a name without .gguf, but found x.gguf",
             "export", "--run", "run", "--output", "x.gguf", "--as", "gguf"),
            (64, "--as qwen3: blocks.0.attention.q_norm is missing, but Qwen3ForCausalLM has it; leave --as out for "
             "the class that fits", *export, "--as", "qwen3"),
        ])
        self.assertFalse((self.folder / "out").exists())

    def test_a_damaged_checkpoint(self):
        file = folder_of(self.folder / "run", 5) / "model.safetensors"
        content = bytearray(file.read_bytes())
        content[-5] ^= 1
        file.write_bytes(content)
        export = ["export", "--run", "run", "--output", "out"]
        self.refuse(77, "run: has no usable checkpoint; checkpoints/step-00000005: model.safetensors does not match "
                    "its digest; train it, or restore the folder from a copy", *export, "--checkpoint", "5")
        error = self.succeed(*export)[1]
        self.assertEqual(error, "warning: checkpoints/step-00000005: model.safetensors does not match its digest; "
                         "skipped\n")


class RoundTrip(Trained):
    def eval(self, run):
        exact = settings({"train.precision": "float32"})
        return json.loads(self.succeed("eval", "--run", run, "--json", *exact)[0])["val_loss"]

    def check(self, run, name):
        self.export(run=run, output=f"{name}-1")
        self.succeed("import", f"{name}-1", "--output", f"{name}-run")
        self.export(run=f"{name}-run", output=f"{name}-2")
        self.check_equal(f"{name}-1", f"{name}-2")
        self.assertEqual(self.eval(f"{name}-run"), self.eval(run))

    def test_of_a_native_class(self):
        self.check("run", "native")

    def test_of_classes_and_remote_code(self):
        experts = {"model.experts.count": 4, "model.experts.dense_layers": 1, "model.layers": 2}
        for scheme, more in (("gemma2", {}), ("pre_qk", experts), ("hybrid_norm_star", experts), ("prores", {}),
                             ("weight_norm", {}), ("siamese_norm", {}), ("batch_norm", {})):
            with self.subTest(scheme=scheme):
                self.train(scheme, "--scheme", scheme, *settings(more), train_steps=3)
                self.check(scheme, scheme)

    def test_with_a_tokenizer_of_its_own(self):
        self.succeed("tokenize", "book.txt", "--train-vocabulary", "300", "--output", "vocabulary")
        self.train("words", "--scheme", "pre_norm", "--set", "data.tokenizer=vocabulary", train_steps=3)
        self.check("words", "words")
        copy, own = (json.loads((self.folder / x / "tokenizer.json").read_text()) for x in ("words-1", "vocabulary"))
        self.assertEqual(copy, own | {"post_processor": copy["post_processor"] or "that of end-of-text"})

    def test_an_import_is_trained_on(self):
        self.export()
        self.succeed("import", "out", "--output", "again")
        self.succeed("train", "--quiet", "--config", "again/run.toml", "--set", "train.from=again", "--run", "tuned",
                     "--set", "train.steps=2")
        first = tensors(folder_of(self.folder / "again", 0) / "model.safetensors")
        wanted = tensors(folder_of(self.folder / "run", 5) / "model.safetensors")
        for each in (first, wanted):  # the export has the rows of the 257 tokens, 16 values each
            each["embedding.weight"] = each["embedding.weight"][2][:4 * 257 * 16]
        self.assertEqual(first, wanted)
        done = self.evenkeel("train", "--run", "again")
        self.assertEqual((done.returncode, done.stderr.decode().splitlines()[-1]),
                         (77, "evenkeel: again: was imported, and has no optimizer state to resume; start another "
                              "run from it with --set train.from=again"))


class Golden(Trained):
    def test_models_of_transformers_have_their_losses(self):
        """tests/golden/models is from tests/ecosystem/golden_models.py."""
        golden = pathlib.Path(__file__).parents[1] / "golden/models"
        wanted = json.loads((golden / "losses.json").read_text())
        self.write("text.txt", wanted["text"])
        self.export()
        for name, loss in wanted["losses"].items():
            with self.subTest(name=name):
                shutil.copytree(golden / name, self.folder / name)
                for file in FILES[3:]:
                    shutil.copy(self.folder / "out" / file, self.folder / name)
                self.succeed("import", name, "--output", f"{name}-run")
                out = self.succeed("eval", "--run", f"{name}-run", "--json", "--set", "data.validation=text.txt",
                                   "--set", "train.precision=float32")[0]
                self.assertAlmostEqual(json.loads(out)["val_loss"], loss, delta=1e-5)
                self.export(run=f"{name}-run", output=f"{name}-out")
                self.assertEqual(tensors(self.folder / f"{name}-out/model.safetensors"),
                                 tensors(golden / name / "model.safetensors"))


class RefusedImport(Trained):
    def prepare(self):
        super().prepare()
        self.export()

    def change(self, **keys):
        path = self.folder / "out/config.json"
        config = json.loads(path.read_text()) | keys
        path.write_text(json.dumps(config))

    def refuse_import(self, message, code=65):
        self.refuse(code, message, "import", "out", "--output", "new")
        self.assertEqual([file.name for file in self.folder.iterdir() if file.name.startswith("new")], [])

    def test_missing_parts(self):
        self.refuse(64, "--output is wanted: the folder of the new run", "import", "out")
        self.refuse(64, "FOLDER is wanted: a model of Hugging Face, with a config.json, or a configuration of OLMo "
                    "(.yaml)", "import")
        for output in ([], ["--output", "new"]):
            self.refuse(65, "none: must be a folder with a Hugging Face model, but is none", "import", "none", *output)
        self.refuse(64, "--output run: exists; name another folder, or replace it with --overwrite",
                    "import", "out", "--output", "run")
        (self.folder / "out/model.safetensors").unlink()
        self.refuse_import("out: has neither model.safetensors nor model.safetensors.index.json; convert the "
                           "weights to safetensors")

    def test_sizes_that_the_weights_do_not_have(self):
        self.change(intermediate_size=25)
        self.refuse_import('out: tensor "model.layers.0.mlp.up_proj.weight" must be [25,16], but is [24,16]')
        self.change(intermediate_size=24, num_hidden_layers=2)
        self.refuse_import('out: tensor "model.layers.1.self_attn.q_proj.weight" is missing')
        self.change(num_hidden_layers=4096)
        self.refuse_import("out: config.json wants at least 4096 tensors, but there are 11")
        self.change(num_hidden_layers=1, tie_word_embeddings=False)
        self.refuse_import('out: tensor "lm_head.weight" is missing')
        self.change(tie_word_embeddings=True, vocab_size=100)
        self.refuse_import("out/config.json: vocab_size must be at least the size of the tokenizer (257), but is 100")

    def test_sizes_that_no_model_has(self):
        self.change(num_hidden_layers=10**15)
        self.refuse_import("out/config.json:8: model.layers must be an integer <= 4096, but is 1000000000000000")
        self.change(num_hidden_layers=1, rms_norm_eps=-1)
        done = self.evenkeel("import", "out", "--output", "new")
        self.assertEqual(done.returncode, 65, done.stderr)

    def test_tensors_that_the_class_does_not_have(self):
        self.change(model_type="olmo2", layer_types=["full_attention"])
        self.refuse_import('out: tensor "model.layers.0.post_feedforward_layernorm.weight" is missing')

    def test_a_truncated_file_at_every_part_of_its_header(self):
        file = self.folder / "out/model.safetensors"
        content = file.read_bytes()
        for size in [*range(0, 64, 7), 500, 1000, len(content) // 2, len(content) - 1]:
            file.write_bytes(content[:size])
            done = self.evenkeel("import", "out", "--output", "new")
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (65, 1), done.stderr)

    def test_damaged_json(self):
        for name in ("config.json", "evenkeel.json", "tokenizer.json", "tokenizer_config.json"):
            for content in ("", "{", "[]", "[" * 100000, '{"model_type": 7, "run_toml": 7}', "\0"):
                shutil.rmtree(self.folder / "copy", ignore_errors=True)
                shutil.copytree(self.folder / "out", self.folder / "copy")
                (self.folder / "copy" / name).write_text(content)
                done = self.evenkeel("import", "copy", "--output", "new")
                shutil.rmtree(self.folder / "new", ignore_errors=True)
                self.assertIn(done.returncode, (0, 65), (name, content, done.stderr))
                self.assertLessEqual(len(done.stderr.splitlines()), 1)

    def test_an_edited_model_of_evenkeel(self):
        self.export("--as", "evenkeel", "--overwrite")
        self.change(rope_theta=500.0)
        self.refuse_import("out/config.json: rope_theta must be that of evenkeel.json, but differs; put it back, or "
                           "export the run again")
        (self.folder / "out/evenkeel.json").unlink()
        self.refuse_import("out: has no evenkeel.json, which has the scheme of an Evenkeel model; export it again")


if __name__ == "__main__":
    program.main()
