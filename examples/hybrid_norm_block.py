#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A HybridNorm block (arXiv 2503.04598) as a module of PyTorch: QKV-Norm in attention, Post-Norm in the FFN.

    ./ek python examples/hybrid_norm_block.py
"""
import torch

from evenkeel import nn, optim


class HybridNormBlock(torch.nn.Module):
    """y = x + attention(x) with RMSNorm on q, k and v of each head; z = norm(y); the output is z + ffn(z)."""

    def __init__(self, width, heads, kv_heads, ffn_width):
        super().__init__()
        head_dim = width // heads
        self.qkv_proj = torch.nn.Linear(width, (heads + 2 * kv_heads) * head_dim, bias=False)
        self.heads = nn.QKVNormRope(heads, kv_heads, head_dim, norms="qkv")
        self.attention = nn.CausalAttention()
        self.o_proj = torch.nn.Linear(width, width, bias=False)
        self.norm = nn.AddRMSNorm(width, eps=1e-5)
        self.mlp = nn.SwiGLU(width, ffn_width)

    def forward(self, x, table):
        q, k, v = self.heads(self.qkv_proj(x), table)
        _, z = self.norm(x, self.o_proj(self.attention(q, k, v).flatten(2)))
        return z + self.mlp(z)


torch.manual_seed(0)
width, length, vocabulary = 64, 48, 32
embedding = torch.nn.Embedding(vocabulary, width)
blocks = torch.nn.ModuleList(HybridNormBlock(width, 4, 2, 176) for _ in range(3))
head = nn.LinearCrossEntropy(width, vocabulary)
table = nn.rope_table(length, width // 4)
optimizer = optim.AdamW([*embedding.parameters(), *blocks.parameters(), *head.parameters()], lr=3e-3)
for step in range(41):
    start = torch.randint(vocabulary, (8, 1))
    tokens = (start + 5 * torch.arange(length + 1)) % vocabulary  # each token follows from the one before
    x = embedding(tokens[:, :-1])
    for block in blocks:
        x = block(x, table)
    loss = head(x, tokens[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step}: loss {loss.item():.3f}")
assert loss.item() < 0.5
