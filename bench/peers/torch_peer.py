#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One training process in PyTorch, for `evenkeel bench peers` to compare itself with.

    torch_peer.py START.safetensors eager|compile

START holds the first weights, the batches and, as metadata, what the model is. Then one line of JSON
on standard input asks for one thing, and one line on standard output answers:

    {"do": "step"}    {"loss": 5.54}           a whole step: forward, backward, clipping, update
    {"do": "usage"}   {"peak_bytes": 1e9, "faults": 12345}

What a good PyTorch user writes today: one product for q, k and v and one for the two halves of
SwiGLU, scaled_dot_product_attention, functional.rms_norm, rotary tables made once, the fused AdamW,
gradients set to none; bfloat16 by autocast over float32 weights.
"""
import json
import os
import resource
import struct
import sys

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no helpers that outlive a compilation

import torch
from torch import nn
from torch.nn import functional

DTYPES = {"F32": torch.float32, "I64": torch.int64}


def read_safetensors(path):
    """{name: tensor}, {key: text}: header length, JSON header, bytes."""
    with open(path, "rb") as file:
        raw = bytearray(file.read())
    (length,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8:8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        flat = torch.frombuffer(raw[begin:end], dtype=DTYPES[entry["dtype"]])
        tensors[name] = flat.view(entry["shape"]).clone()
    return tensors, metadata


class Norm(nn.Module):
    """RMSNorm over the last axis, epsilon under the root."""

    def __init__(self, gain, epsilon):
        super().__init__()
        self.gain, self.epsilon = nn.Parameter(gain), epsilon

    def forward(self, x):
        return functional.rms_norm(x, self.gain.shape, self.gain, self.epsilon)


class Linear(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)

    def forward(self, x):
        return functional.linear(x, self.weight)


class Block(nn.Module):
    """One block of a scheme whose norms are in `slots`: {"attention.input": epsilon, ...}."""

    def __init__(self, tensors, prefix, setup, slots):
        super().__init__()
        def norm(slot):
            sublayer, place = slot.split(".")
            name = f"{prefix}{sublayer}.{place}_norm.gain"
            return Norm(tensors[name], slots[slot]) if slot in slots else nn.Identity()
        def linear(name):
            return Linear(tensors[f"{prefix}{name}.weight"])
        self.heads, self.kv_heads = setup["heads"], setup["kv_heads"]
        self.attention_skips_normed = "attention.skip" in slots
        self.feed_forward_skips_normed = "feed_forward.skip" in slots
        self.input, self.feed_forward_input = norm("attention.input"), norm("feed_forward.input")
        self.q, self.k, self.v = norm("attention.q"), norm("attention.k"), norm("attention.v")
        self.attention_residual = norm("attention.residual")
        self.feed_forward_residual = norm("feed_forward.residual")
        self.qkv, self.output = linear("attention.qkv"), linear("attention.output")
        self.up_gate, self.down = linear("feed_forward.up_gate"), linear("feed_forward.down")

    def attend(self, x, cos, sin):
        rows, length, width = x.shape
        dk = width // self.heads
        q, k, v = self.qkv(x).split([width, self.kv_heads * dk, self.kv_heads * dk], -1)
        q = self.q(q.view(rows, length, self.heads, dk)).transpose(1, 2)
        k = self.k(k.view(rows, length, self.kv_heads, dk)).transpose(1, 2)
        v = self.v(v.view(rows, length, self.kv_heads, dk)).transpose(1, 2)
        y = functional.scaled_dot_product_attention(
            rotated(q, cos, sin), rotated(k, cos, sin), v, is_causal=True,
            enable_gqa=self.kv_heads != self.heads)
        return self.output(y.transpose(1, 2).reshape(rows, length, width))

    def feed(self, x):
        up, gate = self.up_gate(x).chunk(2, -1)
        return self.down(functional.silu(gate) * up)

    def forward(self, x, cos, sin):
        read = self.input(x)
        y = (read if self.attention_skips_normed else x) + self.attend(read, cos, sin)
        y = self.attention_residual(y)
        read = self.feed_forward_input(y)
        return self.feed_forward_residual((read if self.feed_forward_skips_normed else y) + self.feed(read))


def rotated(x, cos, sin):
    """Half-split rotary embedding; x [B, H, T, dk], tables [T, dk / 2]."""
    a, b = x.chunk(2, -1)
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Model(nn.Module):
    def __init__(self, tensors, setup):
        super().__init__()
        self.embedding = nn.Parameter(tensors["embedding.weight"])
        self.blocks = nn.ModuleList(
            Block(tensors, f"blocks.{i}.", setup, slots) for i, slots in enumerate(setup["blocks"]))
        outside_blocks = setup["outside_blocks"]
        self.first = (Norm(tensors["embedding_norm.gain"], outside_blocks["embedding.norm"])
                      if "embedding.norm" in outside_blocks else nn.Identity())
        self.final = (Norm(tensors["final_norm.gain"], outside_blocks["final"])
                      if "final" in outside_blocks else nn.Identity())
        self.head = None if setup["tied"] else nn.Parameter(tensors["head.weight"])
        self.vocabulary = setup["vocabulary"]
        dk = setup["width"] // setup["heads"]
        rates = setup["rope_theta"] ** (-torch.arange(0, dk, 2, dtype=torch.float64) / dk)
        angles = torch.outer(torch.arange(setup["context"], dtype=torch.float64), rates)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, inputs, targets):
        x = self.first(functional.embedding(inputs, self.embedding))
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        head = self.embedding if self.head is None else self.head
        logits = functional.linear(self.final(x), head[:self.vocabulary])
        return functional.cross_entropy(logits.flatten(0, -2).float(), targets.flatten())


def optimizer_of(model, setup):
    def decays(name):
        if name.endswith(".gain"):
            return setup["decay_gains"]
        return setup["decay_embedding"] if name == "embedding" else True
    groups = [{"params": [p for name, p in model.named_parameters() if decays(name) == decay],
               "weight_decay": setup["weight_decay"] if decay else 0.0} for decay in (True, False)]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=setup["rate"],
                             betas=(setup["beta1"], setup["beta2"]), eps=setup["epsilon"], fused=True)


class Training:
    def __init__(self, path, mode):
        tensors, metadata = read_safetensors(path)
        setup = json.loads(metadata["setup"])
        self.device = torch.device(setup["device"])
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        torch.set_num_threads(setup["threads"])
        self.inputs, self.targets = (tensors.pop(name).to(self.device) for name in ("inputs", "targets"))
        self.model = Model(tensors, setup).to(self.device)
        self.optimizer = optimizer_of(self.model, setup)
        self.loss = torch.compile(self.model, dynamic=False) if mode == "compile" else self.model
        self.clip, self.autocast = setup["clip"], setup["precision"] == "bfloat16"
        self.steps = 0

    def step(self):
        at = self.steps % len(self.inputs)
        self.steps += 1
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.autocast):
            loss = self.loss(self.inputs[at], self.targets[at])
        loss.backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return {"loss": loss.item()}


def peak_bytes():
    """Of this program alone: ru_maxrss would count what its parent had when it started."""
    if torch.cuda.is_initialized():
        return torch.cuda.max_memory_reserved()
    with open("/proc/self/status") as file:
        (line,) = [line for line in file if line.startswith("VmHWM:")]
    return 1024 * int(line.split()[1])


def main():
    # Standard output is for answers: what libraries print goes with the errors.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    training = Training(sys.argv[1], sys.argv[2])
    answers.write(json.dumps({"torch": torch.__version__}) + "\n")
    for line in sys.stdin:
        if json.loads(line)["do"] == "step":
            answer = training.step()
        else:
            faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            answer = {"peak_bytes": peak_bytes(), "faults": faults}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
