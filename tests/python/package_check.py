#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package `evenkeel` of python/: modules against torch, types and documentation of every function.

    package_check.py LIBRARY    LIBRARY: libevenkeel_ops.so

Exits with 77 (skipped) where torch cannot be imported.
"""
import copy
import inspect
import itertools
import os
import subprocess
import sys
import typing
import unittest

from package_setup import ROOT, require

require("torch._dynamo")
import torch
import torch.utils.checkpoint

import evenkeel
from evenkeel import _library, _linears, nn, ops, optim

DTYPES = (torch.float64, torch.float32, torch.bfloat16)


def close(got, wanted):
    """torch's tolerances; sums of bfloat16 products differ by some units in the last place (2^-8)."""
    bounds = {"rtol": 4e-2, "atol": 4e-2} if got.dtype == torch.bfloat16 else {}
    torch.testing.assert_close(got, wanted, **bounds)


def same_passes(got, wanted, inputs):
    """Two modules of equal parameters give equal outputs and gradients. Outputs are tensors or tuples."""
    theirs = [each.detach().clone().requires_grad_() for each in inputs]
    ours = [each.detach().clone().requires_grad_() for each in inputs]
    results = []
    for module, leaves in ((got, ours), (wanted, theirs)):
        y = module(*leaves)
        y = torch.cat([each.flatten() for each in y]) if isinstance(y, tuple) else y
        (y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view_as(y)).sum().backward()
        results.append([y, *(each.grad for each in leaves), *(each.grad for each in module.parameters())])
    for one, other in zip(*results, strict=True):
        close(one, other)


def filled(module, dtype):
    """The module with random parameters of the dtype."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return module.to(dtype)


class Plain(torch.nn.Module):
    """A function of a module's inputs and parameters."""

    def __init__(self, module, function):
        super().__init__()
        self.module, self.function = copy.deepcopy(module), function

    def forward(self, *inputs):
        return self.function(self.module, *inputs)


def attention(q, k, v, scale):
    """Causal attention [B, T, heads, D] by torch."""
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale, enable_gqa=True)
    return y.transpose(1, 2)


def turned(x, table):
    """RoPE of x [B, T, heads, D] by its formula."""
    cosine, sine = (table[:, row][None, :, None].to(x.dtype) for row in (0, 1))
    left, right = x.chunk(2, -1)
    return torch.cat([left * cosine - right * sine, right * cosine + left * sine], -1)


class Block(torch.nn.Module):
    """A layer of a transformer."""

    def __init__(self):
        super().__init__()
        self.norm, self.add, self.mlp = nn.RMSNorm(16), nn.AddRMSNorm(16), nn.SwiGLU(16, 24)
        self.heads, self.attention = nn.QKVNormRope(2, 2, 8), nn.CausalAttention()
        self.qkv = torch.nn.Linear(16, 48)

    def forward(self, x, table):
        y = self.attention(*self.heads(self.qkv(self.norm(x)), table)).flatten(2)
        total, y = self.add(x, y)
        return total + self.mlp(y)


class Modules(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def test_rms_norm(self):
        for dtype in DTYPES:
            for arguments in ({}, {"eps": 1e-3}, {"elementwise_affine": False}):
                ours = filled(nn.RMSNorm(24, **arguments), dtype)
                theirs = torch.nn.RMSNorm(24, **arguments).to(dtype)
                theirs.load_state_dict(ours.state_dict())
                for size in (1, 1e-2):  # an epsilon that is too large shows in small values
                    same_passes(ours, theirs, [size * torch.randn(3, 5, 24, dtype=dtype)])

    def test_layer_norm(self):
        """Also on one thread. The reference of bfloat16 is torch's norm of the same numbers in float32: in bfloat16,
        torch adds the gradients of a thread's rows in bfloat16."""
        def plain(module, x):
            wide = torch.promote_types(x.dtype, torch.float32)
            weight, bias = (None if each is None else each.to(wide) for each in (module.weight, module.bias))
            return torch.nn.functional.layer_norm(x.to(wide), (24,), weight, bias, module.eps).to(x.dtype)
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        for threads, dtype in itertools.product((1, 4), DTYPES):
            torch.set_num_threads(threads)
            for arguments in ({}, {"bias": False}, {"elementwise_affine": False}):
                ours = filled(nn.LayerNorm(24, **arguments), dtype)
                theirs = torch.nn.LayerNorm(24, **arguments).to(dtype)
                theirs.load_state_dict(ours.state_dict())
                same_passes(ours, Plain(theirs, plain), [torch.randn(3, 5, 24, dtype=dtype)])

    def test_add_rms_norm(self):
        def plain(module, residual, branch):
            total = residual + branch
            return total, torch.nn.functional.rms_norm(total, (24,), module.weight, 1e-5)
        for dtype in DTYPES:
            ours = filled(nn.AddRMSNorm(24, eps=1e-5), dtype)
            same_passes(ours, Plain(ours, plain), list(torch.randn(2, 3, 5, 24, dtype=dtype)))

    def test_heads(self):
        for dtype in DTYPES:
            table = nn.rope_table(5, 8, dtype=torch.promote_types(dtype, torch.float32))
            for norms in ("", "qk", "qkv", "v"):
                def plain(module, products, norms=norms, table=table):
                    parts = products.unflatten(-1, (-1, 8)).split([4, 2, 2], 2)
                    out = []
                    for name, part in zip("qkv", parts):
                        if name in norms:
                            weight = getattr(module, f"{name}_norm").weight
                            part = torch.nn.functional.rms_norm(part, (8,), weight, 1e-5)
                        out.append(part if name == "v" else turned(part, table))
                    return tuple(out)
                ours = filled(nn.QKVNormRope(4, 2, 8, norms), dtype)
                heads = Plain(ours, lambda module, products, table=table: module(products, table))
                self.assertEqual(list(ours.state_dict()), [f"{name}_norm.weight" for name in "qkv" if name in norms])
                same_passes(heads, Plain(ours, plain), [torch.randn(2, 5, 64, dtype=dtype)])

    def test_rope_table(self):
        table = nn.rope_table(torch.tensor([0, 7]), 4, theta=100.0, dtype=torch.float64)
        torch.testing.assert_close(table[0], torch.tensor([[1.0, 1.0], [0.0, 0.0]], dtype=torch.float64))
        angle = torch.tensor([7.0, 0.7], dtype=torch.float64)
        torch.testing.assert_close(table[1], torch.stack([angle.cos(), angle.sin()]))

    def test_attention(self):
        for dtype in DTYPES:
            for scale in (None, 0.3):
                ours = nn.CausalAttention(scale)
                theirs = Plain(ours, lambda module, *qkv, scale=scale: attention(*qkv, scale))
                same_passes(ours, theirs, [torch.randn(2, 6, heads, 16, dtype=dtype) for heads in (4, 2, 2)])

    def test_swiglu(self):
        def plain(module, x):
            return module.down_proj(torch.nn.functional.silu(module.gate_proj(x)) * module.up_proj(x))
        for dtype in DTYPES:
            for bias in (False, True):
                ours = nn.SwiGLU(16, 24, bias).to(dtype)
                self.assertEqual({name.split("_")[0] for name in ours.state_dict()}, {"gate", "up", "down"})
                same_passes(ours, Plain(ours, plain), [torch.randn(2, 5, 16, dtype=dtype)])

    def test_linear_cross_entropy(self):
        targets = torch.tensor([[0, 6, -100], [3, -1, 2]])

        def plain(module, x):
            logits = torch.nn.functional.linear(x, module.weight).flatten(0, 1)
            flat = torch.where(targets < 0, -100, targets).flatten()
            loss = torch.nn.functional.cross_entropy(logits.to(torch.promote_types(x.dtype, torch.float32)), flat,
                                                     reduction=module.reduction)
            return loss.to(x.dtype)
        for dtype in DTYPES:
            for reduction in ("mean", "sum"):
                ours = nn.LinearCrossEntropy(16, 11, reduction).to(dtype)
                head = Plain(ours, lambda module, x: module(x, targets).to(x.dtype))
                same_passes(head, Plain(ours, plain), [torch.randn(2, 3, 16, dtype=dtype)])

    def test_linear_cross_entropy_with_z_loss(self):
        """Each target that counts adds z_loss * logsumexp(logits)^2; the default is no z-loss."""
        targets = torch.tensor([[0, 6, -100], [3, -1, 2]])

        def plain(module, x):
            counts, wide = targets >= 0, torch.promote_types(x.dtype, torch.float32)
            logits = torch.nn.functional.linear(x, module.weight)[counts].to(wide)
            per_token = (torch.nn.functional.cross_entropy(logits, targets[counts], reduction="none")
                         + 0.25 * logits.logsumexp(-1).square())
            return (per_token.mean() if module.reduction == "mean" else per_token.sum()).to(x.dtype)
        for dtype in DTYPES:
            for reduction in ("mean", "sum"):
                ours = nn.LinearCrossEntropy(16, 11, reduction, z_loss=0.25).to(dtype)
                head = Plain(ours, lambda module, x: module(x, targets).to(x.dtype))
                same_passes(head, Plain(ours, plain), [torch.randn(2, 3, 16, dtype=dtype)])
        self.assertEqual(nn.LinearCrossEntropy(2, 3).z_loss, 0)

    def test_gradients(self):
        x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
        weights = [torch.randn(n, 6, dtype=torch.float64, requires_grad=True) for n in (3, 5)]
        self.assertTrue(torch.autograd.gradcheck(lambda a, *w: _linears.linears(a, w, [None, None]), (x, *weights)))
        for module in (nn.RMSNorm(6, 1e-5), nn.LayerNorm(6), nn.SwiGLU(6, 4, True)):
            self.assertTrue(torch.autograd.gradcheck(module.double(), (x,)))

    def test_frozen_weights_get_no_gradient(self):
        x = torch.randn(4, 6, requires_grad=True)
        fixed, free = torch.randn(3, 6), torch.randn(5, 6, requires_grad=True)
        _linears.linears(x, [fixed, free], [None, torch.ones(5)]).sum().backward()
        self.assertIsNone(fixed.grad)
        torch.testing.assert_close(free.grad, x.detach().sum(0).expand(5, 6))

    def test_checkpointed(self):
        """torch.utils.checkpoint repeats the forward pass inside a backward pass."""
        block, table = Block(), nn.rope_table(5, 8)
        repeated = Plain(block, lambda module, x: torch.utils.checkpoint.checkpoint(module, x, table, use_reentrant=False))
        same_passes(repeated, Plain(block, lambda module, x: module(x, table)), [torch.randn(2, 5, 16)])

    def test_compiled(self):
        """One graph, with the results of eager."""
        block, table = Block(), nn.rope_table(5, 8)
        compiled = torch.compile(copy.deepcopy(block), fullgraph=True, backend="aot_eager")
        plain = Plain(block, lambda module, x: module(x, table))
        same_passes(Plain(compiled, lambda module, x: module(x, table)), plain, [torch.randn(2, 5, 16)])

    def test_operators_for_monitoring(self):
        """They have no gradient, and compile with one next to them."""
        def step(x):
            return 2 * x, ops.sum_of_squares(x), ops.largest_scores(x[None, :, None], x[None, :, None], 0.3)
        x = torch.randn(3, 8, requires_grad=True)
        for function in (step, torch.compile(step, fullgraph=True, backend="aot_eager")):
            y, squares, largest = function(x)
            self.assertFalse(squares.requires_grad or largest.requires_grad)
            y.sum().backward()
        torch.testing.assert_close(x.grad, torch.full_like(x, 4))

    def test_inference_mode(self):
        weight, offsets = torch.nn.Parameter(torch.randn(4, 8, 16)), torch.tensor([0, 5, 6, 7, 1200])
        for dtype in DTYPES:
            x = torch.randn(1200, 16).to(dtype)
            with torch.inference_mode():
                found = [ops.grouped_linear(x, weight.to(dtype), offsets) for _ in range(5)]
            for each in found:
                close(each, ops.grouped_linear(x, weight.to(dtype), offsets).detach())

    def test_gradients_of_a_mean_of_losses(self):
        """The gradients of inputs and of the head have the same scale in bfloat16."""
        x, head = torch.randn(1020, 32), nn.LinearCrossEntropy(32, 64)
        targets, scales = torch.randint(0, 64, (1020,)), []
        for dtype in (torch.float64, torch.bfloat16):
            leaf, module = x.to(dtype).requires_grad_(), copy.deepcopy(head).to(dtype)
            module(leaf, targets).backward()
            scales.append((leaf.grad.double(), module.weight.grad.double()))
        for wide, narrow in zip(*scales):
            self.assertAlmostEqual(((wide * narrow).sum() / wide.square().sum()).item(), 1, delta=2e-3)

    def test_arguments_of_other_kinds(self):
        table = nn.rope_table(5, 8).requires_grad_()
        for call, words in ((lambda: ops.apply_rotary(torch.ones(1, 5, 1, 8), table), "cos_sin has no gradient here"),
                            (lambda: ops.deterministic_matmul(*[torch.ones(2, 2, dtype=torch.complex64)] * 2),
                             r"\[deterministic_matmul\] x must be float32")):
            with self.assertRaisesRegex(RuntimeError, words):
                call()
        weight = torch.randn(3, 4, requires_grad=True)
        ops.embedding(weight, torch.tensor(2)).sum().backward()
        self.assertEqual(weight.grad.sum(1).tolist(), [0, 0, 4])
        self.assertTrue(ops.weight_norm(torch.tensor([[float("nan"), 1, 2]]), torch.ones(1)).isnan().all())

    def test_bad_arguments(self):
        for make, words in ((lambda: nn.RMSNorm([2, 3]), r"normalized_shape of one dimension, but found \[2, 3\]"),
                            (lambda: nn.QKVNormRope(1, 1, 8, "kx"), 'letters q, k and v, but found "kx"'),
                            (lambda: nn.LinearCrossEntropy(2, 3, "none"), '"mean" or "sum", but found "none"'),
                            (lambda: nn.LinearCrossEntropy(2, 3, z_loss=-0.5), "z_loss of at least 0, but found -0.5"),
                            (lambda: nn.LinearCrossEntropy(2, 3, z_loss=float("inf")), "but found inf"),
                            (lambda: nn.LinearCrossEntropy(2, 3, z_loss=float("nan")), "but found nan")):
            with self.assertRaisesRegex(ValueError, words):
                make()


class Interface(unittest.TestCase):
    def test_every_public_operator_is_a_typed_function(self):
        internal = {"cross_entropy_rows_", "linear_cross_entropy_into", "deterministic_matmul_out_",
                    "add_weight_gradient_", "add_grouped_weight_gradient_", "add_embedding_gradient_",
                    "swiglu_backward_"}
        schemas = {each.name.split("::")[1]: each for each in torch._C._jit_get_all_schemas()
                   if each.name.startswith("evenkeel::")}
        public = {name for name in schemas if not name.endswith(("_forward", "_backward"))} - internal
        self.assertEqual(public, set(ops.__all__))
        for name in public:
            signature = inspect.signature(getattr(ops, name))
            self.assertEqual(list(signature.parameters), [each.name for each in schemas[name].arguments], name)
            for each in schemas[name].arguments:
                if each.has_default_value():
                    self.assertEqual(signature.parameters[each.name].default, each.default_value, (name, each.name))

    def test_every_public_function_has_types_and_documentation(self):
        for module in (ops, nn, optim, evenkeel):
            self.assertTrue(module.__doc__)
            for name in module.__all__:
                each = getattr(module, name)
                if inspect.ismodule(each):
                    continue
                self.assertTrue(each.__doc__, name)
                functions = [each] if inspect.isfunction(each) else [
                    value for key, value in vars(each).items() if inspect.isfunction(value) and key[0] != "_"]
                for function in functions:
                    hints = typing.get_type_hints(function)
                    wanted = {key for key in inspect.signature(function).parameters if key != "self"} | {"return"}
                    self.assertEqual(set(hints), wanted, f"{name}: {function.__name__}")
                    self.assertTrue(function.__doc__, f"{name}: {function.__name__}")

    def test_versions(self):
        cmake = (ROOT / "CMakeLists.txt").read_text()
        self.assertIn(f"project(evenkeel VERSION {evenkeel.__version__} ", cmake)
        wanted = f"torch=={_library.WANTED_TORCH}.*"
        self.assertEqual((ROOT / "pyproject.toml").read_text().count(f'"{wanted}"'), 2)
        _library.check_torch(f"{_library.WANTED_TORCH}.1+cpu")
        with self.assertRaises(ImportError) as refused:
            _library.check_torch("2.1.3")
        self.assertEqual(str(refused.exception), "evenkeel: wanted torch 2.13, but found torch 2.1.3; "
                                                 'run: pip install "torch==2.13.*"')

    def test_swiglu_linear_names_itself(self):
        for dtype, w in ((torch.float32, [5, 3]), (torch.bfloat16, [5, 4])):
            words = (r"^\[swiglu_linear\] up_gate must be \[\.\.\., 2 F\] and w \[rows, F\] of one dtype, but they are "
                     rf"\[3, 8\] of float32 and \[{w[0]}, {w[1]}\] of {str(dtype)[6:]}$")
            with self.assertRaisesRegex(RuntimeError, words):
                ops.swiglu_linear(torch.randn(3, 8), torch.randn(w, dtype=dtype))

    def test_examples_name_their_arguments(self):
        for name in ("fine_tune_export", "study_pandas"):
            code = ("import runpy, sys, types; sys.modules['pandas'] = types.ModuleType('pandas'); "
                    f"sys.argv = ['x']; runpy.run_path(r'{ROOT / 'examples' / name}.py')")
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                                  env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
            self.assertEqual((done.returncode, done.stderr[:10 + len(name)]), (1, f"usage: {name}.py"))


if __name__ == "__main__":
    unittest.main()
