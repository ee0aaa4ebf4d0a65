#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model of a run folder in PyTorch, for comparisons: dense models of hybrid_norm_star and pre_norm.

`ReferenceModel(run)(ids)` gives the logits [B, T, V] of ids [B, T] in the dtype of the weights. It is written from
the equations (HybridNorm, arXiv 2503.04598, eq. 5 to 7), not from the program.
"""
import glob
import tomllib

import torch
from safetensors.torch import load_file
from torch.nn import functional


def rms_norm(x, gain, epsilon=1e-5):
    return gain * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon)


class ReferenceModel:
    """The newest checkpoint of a run whose tokenizer is "bytes"."""

    vocabulary = 257

    def __init__(self, run, dtype=torch.float32):
        with open(f"{run}/run.toml", "rb") as file:
            self.sizes = tomllib.load(file)["model"]
        newest = sorted(glob.glob(f"{run}/checkpoints/step-*/model.safetensors"))[-1]
        self.weights = {name: tensor.to(dtype) for name, tensor in load_file(newest).items()}
        self.width = self.sizes["width"] // self.sizes["heads"]

    def rotated(self, x):
        """Rotary embedding of [B, heads, T, width], whose pairs are half a width apart."""
        half = self.width // 2
        rate = self.sizes["rope_theta"] ** (-torch.arange(half, dtype=torch.float64) / half)
        angle = torch.outer(torch.arange(x.shape[2], dtype=torch.float64), rate).to(x.dtype)
        left, right = x[..., :half], x[..., half:]
        return torch.cat([left * angle.cos() - right * angle.sin(), right * angle.cos() + left * angle.sin()], -1)

    def attention(self, x, block):
        weight = lambda name: self.weights.get(f"blocks.{block}.attention.{name}")  # noqa: E731
        if weight("input_norm.gain") is not None:
            x = rms_norm(x, weight("input_norm.gain"))
        heads, kv_heads = self.sizes["heads"], self.sizes["kv_heads"]
        parts = functional.linear(x, weight("qkv.weight")).split([n * self.width for n in (heads, kv_heads, kv_heads)], -1)
        q, k, v = (part.unflatten(-1, (-1, self.width)) for part in parts)
        q, k, v = (
            each if weight(f"{name}_norm.gain") is None else rms_norm(each, weight(f"{name}_norm.gain"))
            for name, each in (("q", q), ("k", k), ("v", v))
        )
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        y = functional.scaled_dot_product_attention(self.rotated(q), self.rotated(k), v, is_causal=True, enable_gqa=True)
        return functional.linear(y.transpose(1, 2).flatten(-2), weight("output.weight"))

    def feed_forward(self, x, block):
        up, gate = functional.linear(x, self.weights[f"blocks.{block}.feed_forward.up_gate.weight"]).chunk(2, -1)
        return functional.linear(up * functional.silu(gate), self.weights[f"blocks.{block}.feed_forward.down.weight"])

    def __call__(self, ids):
        x = self.weights["embedding.weight"][ids]
        for block in range(self.sizes["layers"]):
            y = x + self.attention(x, block)
            normed = rms_norm(y, self.weights[f"blocks.{block}.feed_forward.input_norm.gain"])
            # A block whose attention has an input norm is Pre-Norm; HybridNorm adds the normed stream.
            is_pre_norm = f"blocks.{block}.attention.input_norm.gain" in self.weights
            x = self.feed_forward(normed, block) + (y if is_pre_norm else normed)
        x = rms_norm(x, self.weights["final_norm.gain"])
        return functional.linear(x, self.weights["embedding.weight"][: self.vocabulary])
