#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains an exported run on with PyTorch, and saves it as a model of transformers.

    ./ek export --run runs/pre_norm-tiny-1 --output model
    ./ek python -m pip install transformers safetensors
    ./ek python examples/fine_tune_export.py model tuned TEXT
"""
import pathlib
import shutil
import sys

import torch

import evenkeel

if len(sys.argv) != 4:
    sys.exit("usage: fine_tune_export.py EXPORTED_RUN NEW_FOLDER TEXT")
source, target, text = sys.argv[1:]
model = evenkeel.load_run(source).train()
tokenizer = pathlib.Path(source) / "tokenizer.json"
if tokenizer.is_file():
    from tokenizers import Tokenizer
    ids = Tokenizer.from_file(str(tokenizer)).encode(pathlib.Path(text).read_text(), add_special_tokens=False).ids
else:
    ids = list(pathlib.Path(text).read_bytes())
length = min(128, model.config.max_position_embeddings, len(ids) - 1)
tokens = torch.tensor(ids)
optimizer = evenkeel.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
torch.manual_seed(0)
losses = []
for step in range(20):
    starts = torch.randint(len(tokens) - length, (4,))
    batch = torch.stack([tokens[start:start + length] for start in starts])
    loss = model(input_ids=batch, labels=batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
print(f"loss {losses[0]:.3f} at the first step, {losses[-1]:.3f} at the last")
model.save_pretrained(target)
for file in pathlib.Path(source).iterdir():  # the tokenizer, and what `./ek import` reads
    if file.name.startswith("tokeniz") or file.name in ("special_tokens_map.json", "evenkeel.json"):
        shutil.copy(file, target)
