#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/models: small random models of transformers, and their losses on a text.

Usage: tests/ecosystem/golden_models.py [FOLDER]

tests/cli/export_test.py imports them. Each folder has config.json and model.safetensors as `save_pretrained` writes
them; losses.json has the text and the loss of each model in float32.
"""
import json
import os
import pathlib
import sys

import models_check

TEXT = "The old baker sees the river. Nobody paints two dogs. A cat follows the moon.\n" * 3
SIZES = {"hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2,
         "num_key_value_heads": 1, "head_dim": 4, "max_position_embeddings": 32}


def main(folder=pathlib.Path(__file__).resolve().parents[1] / "golden/models"):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    losses, text = {}, pathlib.Path("text.txt")
    text.write_text(TEXT)
    for name, model in models_check.random_models(SIZES):
        models_check.randomize_gains(model)
        model.save_pretrained(name)
        pathlib.Path(name, "generation_config.json").unlink()
        losses[name] = models_check.loss_of_model(models_check.load(name), 32, text)
    text.unlink()
    pathlib.Path("losses.json").write_text(json.dumps({"text": TEXT, "losses": losses}, indent=2) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
