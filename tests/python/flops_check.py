#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FLOPs that torch.utils.flop_counter counts for the operators, against those of the same computation by torch.

    flops_check.py LIBRARY    LIBRARY: libevenkeel_ops.so

Exits with 77 (skipped) where torch cannot be imported.
"""
import importlib
import os
import subprocess
import sys
import unittest

import package_setup
import torch
from torch.utils.flop_counter import FlopCounterMode, flop_registry

import evenkeel
from evenkeel import _flops, ops


def leaf(*shape):
    return torch.randn(*shape, requires_grad=True)


def counted(function, *leaves):
    """FLOPs of the forward pass, and of both passes."""
    with FlopCounterMode(display=False) as forward:
        y = function(*leaves)
    with FlopCounterMode(display=False) as both:
        function(*leaves).sum().backward()
    return forward.get_total_flops(), both.get_total_flops(), y


class Flops(unittest.TestCase):
    def same(self, ours, theirs, *leaves):
        found, wanted = counted(ours, *leaves), counted(theirs, *leaves)
        torch.testing.assert_close(found[2], wanted[2], rtol=1e-4, atol=1e-4)
        self.assertGreater(wanted[0], 0)
        self.assertEqual(found[:2], wanted[:2])

    def test_products(self):
        self.same(ops.deterministic_matmul, torch.matmul, leaf(4, 8), leaf(8, 5))
        self.same(ops.deterministic_matmul, torch.bmm, leaf(3, 4, 8), leaf(3, 8, 5))
        self.same(ops.swiglu_linear, lambda x, w: torch.nn.functional.linear(ops.swiglu(x), w), leaf(4, 16), leaf(5, 8))

    def test_grouped_products(self):
        offsets = torch.tensor([0, 1, 6])

        def each_expert(x, weight):
            return torch.cat([x[:1] @ weight[0].t(), x[1:] @ weight[1].t()])
        self.same(lambda x, weight: ops.grouped_linear(x, weight, offsets), each_expert, leaf(6, 8), leaf(2, 5, 8))

    def test_int8_products(self):
        values, scale = torch.randint(-9, 9, (5, 8), dtype=torch.int8), torch.rand(5)
        x = torch.randn(70, 8)
        with FlopCounterMode(display=False) as found:
            ops.int8_linear(x, values, scale)
        self.assertEqual(found.get_total_flops(), 2 * 70 * 8 * 5)

    def test_attention_by_the_rules_of_torch(self):
        """torch counts all scores, also those that the causal mask hides, and recomputes them in the backward pass."""
        q, k, v = leaf(2, 6, 4, 16), leaf(2, 9, 2, 16), leaf(2, 9, 2, 16)
        forward, both, _ = counted(lambda *heads: ops.causal_attention(*heads, 0.25), q, k, v)
        rules = flop_registry[torch.ops.aten._scaled_dot_product_flash_attention], \
            flop_registry[torch.ops.aten._scaled_dot_product_flash_attention_backward]
        heads = [each.detach().transpose(1, 2) for each in (q, k, v)]
        self.assertEqual(forward, rules[0](*heads))
        self.assertEqual(both - forward, rules[1](heads[0], *heads))

    def test_the_loss_head_counts_its_gradients_in_the_forward_pass(self):
        targets = torch.arange(8)

        def plain(x, weight):
            return torch.nn.functional.cross_entropy(torch.nn.functional.linear(x, weight), targets, reduction="sum")

        def fused(x, weight):
            return ops.linear_cross_entropy(x, weight, targets, 50)
        x, weight = torch.randn(8, 16), torch.randn(50, 16)
        for leaves in ((leaf(8, 16), leaf(50, 16)), (leaf(8, 16), weight), (x, leaf(50, 16))):
            ours, theirs = counted(fused, *leaves), counted(plain, *leaves)
            self.assertEqual(ours[1], theirs[1])
            self.assertEqual(ours[0], ours[1])
        with torch.no_grad():
            self.assertEqual(counted_forward(fused, *leaves), counted_forward(plain, *leaves))

    def test_buffers_of_gradients(self):
        """The internal operators of a training program that adds gradients to a buffer."""
        kernels, x, dy = torch.ops.evenkeel, torch.randn(6, 8), torch.randn(6, 5)
        for call, wanted in (
                (lambda: kernels.add_weight_gradient_(torch.zeros(5, 8), dy, x), 2 * 6 * 8 * 5),
                (lambda: kernels.add_grouped_weight_gradient_(torch.zeros(2, 5, 8), dy, x, torch.tensor([0, 2, 6])),
                 2 * 6 * 8 * 5),
                (lambda: kernels.linear_cross_entropy_into(x, torch.randn(5, 8), torch.arange(6) % 5, 5, 1.0, None,
                                                           torch.zeros(5, 8)), 3 * 2 * 6 * 8 * 5)):
            self.assertEqual(counted_forward(call), wanted)

    def test_largest_scores_count_the_scores(self):
        q, k = torch.randn(2, 6, 4, 16), torch.randn(2, 9, 2, 16)
        rows, keys = q.transpose(1, 2).flatten(0, 1), k.repeat_interleave(2, 2).permute(0, 2, 3, 1).flatten(0, 1)
        self.assertEqual(counted_forward(ops.largest_scores, q, k, 0.25), counted_forward(torch.bmm, rows, keys))

    def test_a_second_registration_changes_nothing(self):
        _flops.register()
        importlib.reload(evenkeel.ops)

    def test_formulas_wait_until_the_counter_is_imported(self):
        """It imports triton, and prints a warning in a CUDA build without triton."""
        code = """if True:
            import importlib, sys, torch, evenkeel
            evenkeel._flops.register()  # once more
            assert "torch.utils.flop_counter" not in sys.modules
            import torch.utils.flop_counter as counter
            importlib.reload(counter)
            with counter.FlopCounterMode(display=False) as mode:
                evenkeel.ops.deterministic_matmul(torch.ones(3, 4), torch.ones(4, 5))
            print(mode.get_total_flops(), sum("evenkeel" in str(each) for each in counter.flop_registry))"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                              env=os.environ | {"PYTHONPATH": str(package_setup.ROOT / "python")})
        self.assertEqual(done.stdout, f"{2 * 3 * 4 * 5} {len(_flops.FORMULAS)}\n", done.stderr)


def counted_forward(function, *arguments):
    with FlopCounterMode(display=False) as counter:
        function(*arguments)
    return counter.get_total_flops()


if __name__ == "__main__":
    unittest.main()
