#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`evenkeel.patch` on modules with the parts of those of transformers: what is replaced, and what is left.

    patch_check.py LIBRARY    LIBRARY: libevenkeel_ops.so

tests/ecosystem/patch_check.py does it with transformers itself. Exits with 77 (skipped) where torch cannot be imported.
"""
import os
import pathlib
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
try:
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
if __name__ == "__main__":
    os.environ["EVENKEEL_OPS"] = sys.argv.pop(1)

import evenkeel

WIDTH, HEADS, SIZE = 32, 4, 8


def halves(x, cos, sin):
    """RoPE of pairs (j, j + D / 2), as in Llama."""
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([-right, left], -1) * sin


def neighbours(x, cos, sin):
    """RoPE of pairs (2 j, 2 j + 1), as in Command R."""
    turned = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    return x * cos + turned * sin


class Attention(torch.nn.Module):
    """The parts of LlamaAttention."""

    def __init__(self, rotation=halves):
        super().__init__()
        for name in "qkvo":
            setattr(self, f"{name}_proj", torch.nn.Linear(WIDTH, WIDTH, bias=False))
        self.head_dim, self.scaling, self.layer_idx, self.attention_dropout = SIZE, SIZE ** -0.5, 0, 0.0
        self.rotation = rotation

    def forward(self, hidden_states, position_embeddings=None, attention_mask=None, **options):
        shape = (*hidden_states.shape[:-1], HEADS, SIZE)
        q, k, v = (each(hidden_states).view(shape).transpose(1, 2) for each in (self.q_proj, self.k_proj, self.v_proj))
        if self.rotation is not None:
            q, k = (self.rotation(each, *position_embeddings) for each in (q, k))
        y = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attention_mask, is_causal=attention_mask is None, scale=self.scaling)
        return self.o_proj(y.transpose(1, 2).flatten(2)), None


class Body(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(11, WIDTH)

    def forward(self, input_ids=None, attention_mask=None, **options):
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        return types.SimpleNamespace(last_hidden_state=self.embedding(input_ids) * mask[..., None])


class ModelForCausalLM(torch.nn.Module):
    """The head of a model of transformers, with the order of its parameters."""

    def __init__(self, **config):
        super().__init__()
        self.model, self.lm_head = Body(), torch.nn.Linear(WIDTH, 11, bias=False)
        self.config = types.SimpleNamespace(**config)

    def forward(self, input_ids=None, attention_mask=None, labels=None, output_router_logits=None, **options):
        logits = self.lm_head(self.model(input_ids, attention_mask).last_hidden_state)
        loss = None if labels is None else logits.sum() + 100  # no cross entropy: it shows who computed it
        return types.SimpleNamespace(logits=logits, loss=loss)


class Patch(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def test_attention_of_other_rotations_is_left(self):
        for rotation, is_ours in ((halves, True), (neighbours, False), (None, False)):
            for dtype in (torch.float32, torch.bfloat16):
                model = torch.nn.ModuleList([Attention(rotation), torch.nn.RMSNorm(WIDTH, 1e-6)]).to(dtype)
                self.assertEqual(evenkeel.patch(model)["attention"], int(is_ours), rotation)
                self.assertEqual("forward" in vars(model[0]), is_ours)

    def test_attention_by_position_and_by_name(self):
        plain = Attention()
        angles = torch.arange(5)[:, None] * torch.linspace(1, 0.1, SIZE // 2)
        tables = tuple(torch.cat([each, each], -1)[None] for each in (angles.cos(), angles.sin()))
        x = torch.randn(2, 5, WIDTH)
        wanted = plain(x, tables)[0]
        evenkeel.patch(plain)
        mask = torch.ones(5, 5, dtype=torch.bool).tril()
        for found in (plain(x, tables), plain(hidden_states=x, position_embeddings=tables), plain(x, tables, mask)):
            torch.testing.assert_close(found[0], wanted)

    def test_a_mask_by_position_is_no_label(self):
        model = ModelForCausalLM()
        ids, mask = torch.tensor([[3, 4, 5]]), torch.tensor([[0, 1, 1]])
        for training in (True, False):
            wanted = model.train(training)(ids, mask)
            evenkeel.patch(model)
            found = model(ids, mask)
            self.assertIsNone(found.loss)
            torch.testing.assert_close(found.logits, wanted.logits)
            with self.assertRaisesRegex(TypeError, "multiple values for argument 'labels'"):
                model(ids, mask, ids, labels=ids)
            evenkeel.unpatch(model)

    def test_a_loss_with_the_router_is_left(self):
        ids = torch.tensor([[3, 4, 5]])
        for config, options in (({"output_router_logits": True}, {}), ({}, {"output_router_logits": True})):
            model = ModelForCausalLM(**config)
            wanted = model(ids, labels=ids, **options).loss
            evenkeel.patch(model)
            torch.testing.assert_close(model(ids, labels=ids, **options).loss, wanted)


if __name__ == "__main__":
    unittest.main()
