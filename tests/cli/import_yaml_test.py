#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`import` of OLMo's YAML: a configuration that trains, the list of keys, refusals."""
import json
import pathlib
import random
import struct
import tomllib
import unittest

import program

GOLDEN = pathlib.Path(__file__).parents[1] / "golden/olmo"
STAR = "model.norm_pos_special_config=_{0:{'attn_norm':True,'ffn_residual':False}}_"
# In place of the tokenizers, which are not here.
BYTES = ["--set", "data.tokenizer=bytes", "--set", "data.end_of_text=auto"]
SMALL = """
seed: 5
model:
  d_model: 16
  n_heads: 2
  n_kv_heads: 1
  n_layers: 2
  mlp_hidden_size: 48
  max_sequence_length: 16
  vocab_size: 257
  embedding_size: 320
  rope: true
  include_bias: false
  layer_norm_type: rms
  attention_dropout: 0.0
  residual_dropout: 0.0
  embedding_dropout: 0.0
  attn_norm: false
  ffn_residual_after_norm: true
  use_query_norm: true
  use_key_norm: true
  use_value_norm: true
  shiny_new_switch: 3
optimizer: {name: adamw, learning_rate: 1e-3}
scheduler: {name: cosine_with_warmup, t_warmup: 1}
max_duration: 3
global_train_batch_size: 2
precision: fp32
eval_interval: 0
evaluators:
  - label: held-out
    data: {datasets: {own-text: [b.npy]}}
data: {paths: [a.npy], memmap_dtype: uint16}
"""


def tokens(seed, count):
    """OLMo's .npy: token ids of two bytes without a header."""
    draw = random.Random(seed)
    return struct.pack(f"<{count}H", *(draw.randrange(256) for _ in range(count)))


class ImportYaml(program.Case):
    def prepare(self):
        self.write("small.yaml", SMALL)
        self.write("a.npy", tokens(1, 2000))
        self.write("b.npy", tokens(2, 200))

    def test_a_configuration_trains(self):
        output, _ = self.succeed("import", "small.yaml", "--output", "small.toml", "--argument", STAR)
        lines = output.splitlines()
        self.assertEqual(lines[0], "small.toml: a configuration with the scheme hybrid_norm_star")
        self.assertRegex(lines[1], r"^\d+ keys taken, \d+ as always here, 0 without effect, 0 that differ, 1 unknown$")
        self.assertEqual(lines[2:], ["  unknown: model.shiny_new_switch = 3"])
        self.succeed("train", "--quiet", "--config", "small.toml", "--run", "run")
        last = program.lines_of(self.folder / "run/metrics.jsonl")[-1]
        self.assertEqual(last["step"], 3)
        self.assertIn("own-text", last["texts"])
        config = tomllib.loads((self.folder / "run/run.toml").read_text())
        self.assertEqual(config["scheme"], "hybrid_norm_star")
        self.assertEqual(config["data"]["order"], "olmo")
        self.assertEqual(config["schedule"]["peak"], 1e-3)

    def test_standard_output_is_the_file(self):
        shown, _ = self.succeed("import", GOLDEN / "dense.yaml")
        self.succeed("import", GOLDEN / "dense.yaml", "--output", "dense.toml")
        self.assertEqual((self.folder / "dense.toml").read_text(), shown)
        self.assertEqual(tomllib.loads(shown)["model"]["inner"], 8192)
        printed, _ = self.succeed("config", "--config", "dense.toml", *BYTES)
        self.assertIn('scheme = "hybrid_norm"', printed)

    def test_json_has_all_keys(self):
        result = json.loads(self.succeed("import", "small.yaml", "--json")[0])
        self.assertEqual(result["scheme"], "hybrid_norm")
        self.assertEqual(tomllib.loads(result["toml"])["train"]["steps"], 3)
        uses = {key["key"]: key["use"] for key in result["keys"]}
        self.assertEqual(uses["model.d_model"], "taken")
        self.assertEqual(uses["model.rope"], "equal")
        self.assertEqual(uses["model.shiny_new_switch"], "unknown")

    def test_an_imported_mixture_is_a_configuration(self):
        self.succeed("import", GOLDEN / "mixture.yaml", "--output", "mixture.toml")
        printed, _ = self.succeed("config", "--config", "mixture.toml", *BYTES)
        self.assertEqual(tomllib.loads(printed)["model"]["experts"]["count"], 64)

    def test_refusals(self):
        self.write("old.toml", "seed = 1\n")
        self.write("twice.yaml", "a: 1\na: 2\n")
        self.refuse_each([
            (64, "--output old.toml: exists; name another file, or replace it with --overwrite",
             "import", "small.yaml", "--output", "old.toml"),
            (64, "--overwrite has no effect without --output; leave it out", "import", "small.yaml", "--overwrite"),
            (64, "--argument has no effect without a configuration of OLMo (.yaml)",
             "import", "model", "--output", "run", "--argument", "a=1"),
            (65, "twice.yaml:2: key \"a\" is there twice", "import", "twice.yaml"),
            (65, "--argument model.alibi must be false, but is true; all models have rotary embeddings",
             "import", "small.yaml", "--argument", "model.alibi=true"),
        ])
        done = self.evenkeel("import", "none.yaml")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (74, 1))
        self.succeed("import", "small.yaml", "--output", "old.toml", "--overwrite")

    def test_damaged_files_are_refused_in_one_line(self):
        draw = random.Random(3)
        source = (GOLDEN / "mixture.yaml").read_bytes()
        for _ in range(60):
            damaged = bytearray(source)
            for _ in range(draw.randrange(1, 6)):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            self.write("x.yaml", bytes(damaged))
            done = self.evenkeel("import", "x.yaml")
            self.assertIn(done.returncode, (0, 65), done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1 if done.returncode else 0)


if __name__ == "__main__":
    program.main()
