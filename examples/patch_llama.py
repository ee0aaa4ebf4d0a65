#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a Llama of transformers, as it is and patched: the same losses, and the times of both.

    ./ek python examples/patch_llama.py [bfloat16]        (./ek python -m pip install transformers)
"""
import copy
import statistics
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import evenkeel

dtype = torch.bfloat16 if "bfloat16" in sys.argv else torch.float32
torch.manual_seed(0)
config = LlamaConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
                     intermediate_size=704, vocab_size=4096, use_cache=False)
plain = LlamaForCausalLM(config).to(dtype).train()
patched = copy.deepcopy(plain)
print("replaced:", ", ".join(f"{count} {name}" for name, count in evenkeel.patch(patched).items()))
arms = [(plain, torch.optim.AdamW(plain.parameters(), lr=1e-4, fused=True)),
        (patched, evenkeel.optim.AdamW(patched.parameters(), lr=1e-4))]


def training_step(model, optimizer, tokens):
    start = time.perf_counter()
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item(), time.perf_counter() - start


ratios = []
for step in range(6):
    tokens = torch.randint(config.vocab_size, (2, 512))
    (wanted, before), (found, after) = (training_step(*arm, tokens) for arm in arms)
    print(f"step {step}: loss {wanted:.5f}, patched {found:.5f}; {before:.3f} s, patched {after:.3f} s")
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5 if dtype == torch.float32 else 0.02)
    ratios.append(before / after)
print(f"patched: {statistics.median(ratios[1:]):.2f} times as fast")
