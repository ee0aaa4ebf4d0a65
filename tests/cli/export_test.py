#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export: files, tensors and messages. tests/ecosystem and tests/python check what a model computes."""
import json
import math

import numpy
from safetensors.numpy import load_file

import program


class ExportedModel(program.Case):
    """Runs of three schemes; exports only read them."""

    def prepare(self):
        changed = {"train_steps": 6, "checkpoint_every": 2, "checkpoint_keep": 3, "model_layers": 2}
        self.train("llama", "--scheme", "pre_norm", **changed)
        self.train("scaled", "--scheme", "layer_norm_scaling", **changed)
        self.train("hybrid", "--scheme", "hybrid_norm_star", **changed)

    def export(self, run, *arguments):
        said = json.loads(self.succeed("export", "--run", run, "--output", "out", "--json", *arguments)[0])
        return said, self.folder / "out"

    def weights(self, run, step=6):
        return load_file(self.folder / run / f"checkpoints/step-{step:08}/model.safetensors")

    def test_pre_norm_is_llama(self):
        said, out = self.export("llama")
        self.assertEqual(said["class"], "LlamaForCausalLM")
        config = json.loads((out / "config.json").read_text())
        self.assertEqual((config["architectures"], config["vocab_size"]), (["LlamaForCausalLM"], 257))
        self.assertFalse((out / "modeling_evenkeel.py").exists())
        ours, theirs = self.weights("llama"), load_file(out / "model.safetensors")
        numpy.testing.assert_array_equal(theirs["model.embed_tokens.weight"], ours["embedding.weight"][:257])
        rows = {"q": slice(0, 16), "k": slice(16, 24), "v": slice(24, 32)}  # two heads of 8, one for keys and values
        for part, of in rows.items():
            numpy.testing.assert_array_equal(theirs[f"model.layers.1.self_attn.{part}_proj.weight"],
                                             ours["blocks.1.attention.qkv.weight"][of])
        up_gate = ours["blocks.0.feed_forward.up_gate.weight"]
        numpy.testing.assert_array_equal(theirs["model.layers.0.mlp.up_proj.weight"], up_gate[:24])
        numpy.testing.assert_array_equal(theirs["model.layers.0.mlp.gate_proj.weight"], up_gate[24:])
        numpy.testing.assert_array_equal(theirs["model.norm.weight"], ours["final_norm.gain"])
        self.assertEqual(len(theirs), 2 * 9 + 2)

    def test_fixed_factors_are_part_of_the_gains(self):
        _, out = self.export("scaled")
        theirs = load_file(out / "model.safetensors")["model.layers.1.input_layernorm.weight"]
        ours = self.weights("scaled")["blocks.1.attention.input_norm.gain"]
        numpy.testing.assert_allclose(theirs, ours / math.sqrt(2), rtol=1e-6)

    def test_other_schemes_carry_their_model_code(self):
        said, out = self.export("hybrid")
        self.assertEqual(said["class"], "EvenkeelForCausalLM")
        config = json.loads((out / "config.json").read_text())
        self.assertEqual(config["auto_map"]["AutoModelForCausalLM"], "modeling_evenkeel.EvenkeelForCausalLM")
        self.assertEqual(len(config["scheme"]["layers"]), 2)
        self.assertIn("class EvenkeelForCausalLM", (out / "modeling_evenkeel.py").read_text())
        self.assertIn("class EvenkeelConfig", (out / "configuration_evenkeel.py").read_text())
        theirs = load_file(out / "model.safetensors")
        numpy.testing.assert_array_equal(theirs["model.layers.1.self_attn.q_norm.weight"],
                                         self.weights("hybrid")["blocks.1.attention.q_norm.gain"])

    def test_shards_hold_the_same_tensors(self):
        whole = load_file(self.export("hybrid")[1] / "model.safetensors")
        _, out = self.export("hybrid", "--shard", "20K", "--overwrite")
        index = json.loads((out / "model.safetensors.index.json").read_text())["weight_map"]
        self.assertGreater(len(set(index.values())), 1)
        self.assertEqual(set(index), set(whole))
        for name, file in index.items():
            numpy.testing.assert_array_equal(load_file(out / file)[name], whole[name])

    def test_average_is_the_mean_of_the_last_checkpoints(self):
        said, out = self.export("llama", "--average", 3)
        self.assertEqual(said["averaged"], [2, 4, 6])
        mean = sum(self.weights("llama", step)["final_norm.gain"].astype("float64") for step in (2, 4, 6)) / 3
        numpy.testing.assert_array_equal(load_file(out / "model.safetensors")["model.norm.weight"],
                                         mean.astype("float32"))

    def test_gguf_has_a_header_and_all_tensors(self):
        said, out = self.export("llama", "--as", "gguf")
        file = (out / next(name for name in said["files"] if name.endswith(".gguf"))).read_bytes()
        self.assertEqual(file[:8], b"GGUF\3\0\0\0")
        self.assertEqual(int.from_bytes(file[8:16], "little"), said["tensors"])

    def test_exports_are_refused(self):
        self.export("llama")
        wanted = ["export", "--run", "llama", "--output"]
        self.refuse_each([
            (64, "--output out: exists; name another folder, or replace it with --overwrite", *wanted, "out"),
            (64, "--output llama: has no evenkeel.json, so --overwrite does not replace it; remove it yourself",
             *wanted, "llama", "--overwrite"),
            (64, '--shard must be a size in bytes, as 5G or 300M, but is "5X"', *wanted, "new", "--shard", "5X"),
            (64, "--dtype float16 is for --as gguf only; take bfloat16, or float32 and convert it",
             *wanted, "new", "--dtype", "float16"),
            (77, "nowhere: not a run folder (no run.toml); `evenkeel runs` lists them",
             "export", "--run", "nowhere", "--output", "new"),
            (77, "llama: has no checkpoint of step 5, but of: 2, 4, 6", *wanted, "new", "--checkpoint", 5),
        ])
        self.assertFalse((self.folder / "new").exists())

    def test_a_class_that_does_not_fit_says_the_difference(self):
        done = self.evenkeel("export", "--run", "hybrid", "--output", "new", "--as", "llama")
        self.assertEqual(done.returncode, 64)
        self.assertRegex(done.stderr.decode(), r"^evenkeel: --as llama: .+; leave --as out for the class that fits\n$")


if __name__ == "__main__":
    program.main()
