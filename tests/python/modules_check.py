#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`evenkeel.nn` as a user of torch.nn meets it: devices, autocast, compile, copies, shapes, text, refused arguments.

    modules_check.py LIBRARY    LIBRARY: libevenkeel_ops.so

Exits with 77 (skipped) where torch cannot be imported.
"""
import copy
import inspect
import pickle
import unittest

import package_setup
import torch
import torch.utils.checkpoint

from evenkeel import _linears, nn

WIDTH, VOCABULARY = 8, 11


def norm_input(batch, dtype):
    return (torch.randn(batch, 3, WIDTH, dtype=dtype),)


def cases(**where):
    """Each module, made with a device and a dtype where it has parameters, and its inputs of a batch and a dtype."""
    return {
        "RMSNorm": (lambda: nn.RMSNorm(WIDTH, **where), norm_input),
        "AddRMSNorm": (lambda: nn.AddRMSNorm(WIDTH, **where), lambda *form: norm_input(*form) + norm_input(*form)),
        "LayerNorm": (lambda: nn.LayerNorm(WIDTH, **where), norm_input),
        "QKVNormRope": (lambda: nn.QKVNormRope(4, 2, WIDTH, "qkv", **where), lambda batch, dtype: (
            torch.randn(batch, 3, 64, dtype=dtype),
            nn.rope_table(3, WIDTH, dtype=torch.promote_types(dtype, torch.float32)))),
        "CausalAttention": (nn.CausalAttention, lambda batch, dtype: tuple(
            torch.randn(batch, 3, heads, WIDTH, dtype=dtype) for heads in (4, 2, 2))),
        "SwiGLU": (lambda: nn.SwiGLU(WIDTH, 12, True, **where), norm_input),
        "LinearCrossEntropy": (lambda: nn.LinearCrossEntropy(WIDTH, VOCABULARY, **where), lambda batch, dtype: (
            *norm_input(batch, dtype), torch.randint(VOCABULARY, (batch, 3)))),
    }


def outputs(y):
    return y if isinstance(y, tuple) else (y,)


def gradients(function, parameters, inputs):
    """The outputs, and the gradients of inputs and parameters."""
    leaves = [each.detach().clone() for each in inputs]
    taken = [leaf.requires_grad_() for leaf in leaves if leaf.is_floating_point() and leaf.shape != (3, 2, WIDTH // 2)]
    found = outputs(function(*leaves))
    total = sum((each.float() * torch.linspace(-1, 1, each.numel()).view_as(each)).sum() for each in found)
    total = total + sum(each.sum().float() for each in found)
    return [*found, *torch.autograd.grad(total, [*taken, *parameters], allow_unused=True)]


class EveryModule(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def test_the_list_is_complete(self):
        self.assertEqual(set(cases()) | {"rope_table"}, set(nn.__all__))

    def test_arguments_are_those_of_torch(self):
        """Also by position; forward has torch's names of arguments."""
        for name in ("RMSNorm", "LayerNorm"):
            for method in ("__init__", "forward"):
                ours, theirs = (inspect.signature(getattr(getattr(module, name), method)).parameters
                                for module in (nn, torch.nn))
                self.assertEqual([(each.name, each.default) for each in ours.values()],
                                 [(each.name, each.default) for each in theirs.values()], (name, method))

    def test_device_and_dtype_of_parameters(self):
        for name, (make, _) in cases(device="meta", dtype=torch.bfloat16).items():
            for each in make().parameters():
                self.assertEqual((each.device.type, each.dtype), ("meta", torch.bfloat16), name)

    def test_shapes_on_the_meta_device(self):
        for name, (make, inputs) in cases().items():
            module, x = make(), inputs(2, torch.float32)
            found = outputs(module.to("meta")(*(each.to("meta") for each in x)))
            wanted = outputs(make()(*x))
            for one, other in zip(found, wanted, strict=True):
                self.assertEqual((one.shape, one.dtype, one.device.type), (other.shape, other.dtype, "meta"), name)

    def test_a_meta_model_becomes_real(self):
        """As torch.nn.Module.to_empty and FSDP do it: reset_parameters of each module that has parameters."""
        for name, (make, inputs) in cases(device="meta").items():
            module = make().to_empty(device="cpu")
            for each in module.modules():
                own = list(each.parameters(recurse=False))
                for parameter in own:
                    torch.nn.init.constant_(parameter, float("nan"))
                if own:
                    each.reset_parameters()
            self.assertTrue(all(each.isfinite().all() for each in outputs(module(*inputs(2, torch.float32)))), name)

    def test_a_batch_of_none(self):
        for name, (make, inputs) in cases().items():
            module = make()
            none, single = (outputs(module(*inputs(batch, torch.float32))) for batch in (0, 1))
            for found, one in zip(none, single, strict=True):
                self.assertEqual(found.shape[1:], one.shape[1:], name)
                self.assertEqual(found.numel(), int(found.dim() == 0), name)

    def test_a_batch_of_other_strides(self):
        for name, (make, inputs) in cases().items():
            module, x = make(), inputs(2, torch.float64)
            module = module.double()
            moved = [each.mT.contiguous().mT for each in x]
            self.assertFalse(moved[0].is_contiguous())
            for one, other in zip(outputs(module(*moved)), outputs(module(*x)), strict=True):
                torch.testing.assert_close(one, other, msg=name)

    def test_copies_and_pickles(self):
        for name, (make, inputs) in cases().items():
            module, x = make(), inputs(2, torch.float32)
            other = make()
            other.load_state_dict(module.state_dict())
            for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), other):
                self.assertEqual(repr(again), repr(module))
                for one, wanted in zip(outputs(again(*x)), outputs(module(*x)), strict=True):
                    self.assertTrue(torch.equal(one, wanted), name)

    def test_compile_checkpoint_and_functional_call_change_nothing(self):
        for name, (make, inputs) in cases().items():
            module, x = make(), inputs(2, torch.float32)
            parameters = list(module.parameters())
            wanted = gradients(module, parameters, x)
            torch._dynamo.reset()
            called = dict(module.named_parameters())
            for function in (
                    torch.compile(module, fullgraph=True, backend="aot_eager"),
                    lambda *leaves, each=module: torch.utils.checkpoint.checkpoint(each, *leaves, use_reentrant=False),
                    lambda *leaves, each=module, given=called: torch.func.functional_call(each, given, leaves)):
                torch.testing.assert_close(gradients(function, parameters, x), wanted, msg=name)

    def test_vmap_is_a_loop_over_samples(self):
        for name, (make, inputs) in cases().items():
            module, samples = make(), [inputs(2, torch.float32) for _ in range(3)]
            found = outputs(torch.vmap(module)(*(torch.stack(each) for each in zip(*samples))))
            wanted = [torch.stack(each) for each in zip(*(outputs(module(*sample)) for sample in samples))]
            torch.testing.assert_close(list(found), wanted, msg=name)

    def test_no_grad_and_inference_mode(self):
        for name, (make, inputs) in cases().items():
            module, x = make(), inputs(2, torch.float32)
            wanted = [each.detach() for each in outputs(module(*x))]
            for mode in (torch.no_grad, torch.inference_mode):
                with mode():
                    found = outputs(module(*x))
                    self.assertFalse(any(each.requires_grad for each in found), name)
                    torch.testing.assert_close(list(found), wanted, msg=name)


class Autocast(unittest.TestCase):
    """Under autocast, products and attention have the dtypes that torch gives them, and parameters stay float32."""

    def setUp(self):
        torch.manual_seed(1)

    def run_autocast(self, name, dtype):
        make, inputs = cases()[name]
        module, x = make(), inputs(2, dtype)
        plain = copy.deepcopy(module).bfloat16()
        narrow = [each.bfloat16() if each.dtype == torch.float32 and each.shape != (3, 2, 4) else each for each in x]
        with torch.autocast("cpu", torch.bfloat16):
            found = gradients(module, list(module.parameters()), x)
        return found, gradients(plain, list(plain.parameters()), narrow)

    def test_products_are_those_of_bfloat16(self):
        for name in ("SwiGLU", "CausalAttention", "LinearCrossEntropy"):
            for dtype in (torch.float32, torch.bfloat16):
                found, wanted = self.run_autocast(name, dtype)
                self.assertEqual(found[0].dtype, wanted[0].dtype, name)
                for one, other in zip(found, wanted, strict=True):
                    torch.testing.assert_close(one, other, rtol=2e-2, atol=2e-2, check_dtype=False, msg=name)
                count = len(list(cases()[name][0]().parameters()))
                self.assertTrue(all(each.dtype == torch.float32 for each in found[len(found) - count:]), name)

    def test_float64_stays(self):
        module, x = nn.SwiGLU(WIDTH, 12, True).double(), torch.randn(2, WIDTH, dtype=torch.float64)
        wanted = module(x)
        for dtype in (torch.bfloat16, torch.float16):
            with torch.autocast("cpu", dtype):
                self.assertTrue(torch.equal(module(x), wanted))

    def test_another_dtype_is_refused(self):
        """The operators have no float16."""
        for name in ("SwiGLU", "CausalAttention", "LinearCrossEntropy"):
            make, inputs = cases()[name]
            module, x = make(), inputs(2, torch.float32)
            with self.assertRaises(ValueError) as refused, torch.autocast("cpu", torch.float16):
                module(*x)
            self.assertEqual(str(refused.exception), "wanted autocast in bfloat16, found torch.float16", name)

    def test_swiglu_with_a_hook_agrees_with_one_without(self):
        module, x = nn.SwiGLU(WIDTH, 12, True), torch.randn(2, WIDTH)
        hooked = copy.deepcopy(module)
        hooked.up_proj.register_forward_hook(lambda *_: None)
        with torch.autocast("cpu", torch.bfloat16):
            torch.testing.assert_close(module(x), hooked(x), rtol=2e-2, atol=2e-2)

    def test_compiled(self):
        module, x = nn.SwiGLU(WIDTH, 12), torch.randn(2, WIDTH)
        compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
        with torch.autocast("cpu", torch.bfloat16):
            torch.testing.assert_close(compiled(x), module(x), rtol=2e-2, atol=2e-2)

    def test_a_residual_stream_of_a_wider_dtype(self):
        """float32 embeddings and bfloat16 branches: torch adds them in float32."""
        module, residual = nn.AddRMSNorm(WIDTH), torch.randn(2, WIDTH)
        for one, other in ((residual, residual.bfloat16()), (residual.bfloat16(), residual)):
            total, y = module(one, other)
            torch.testing.assert_close(total, one + other)
            torch.testing.assert_close(y, torch.nn.RMSNorm(WIDTH)(one + other))


class Weight(torch.Tensor):
    """A tensor that computes other products, as the quantized weights of torchao do."""

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None):
        result = super().__torch_function__(function, types, arguments, options or {})
        return 2 * result if function is torch.nn.functional.linear else result


class Arguments(unittest.TestCase):

    def test_a_weight_of_a_subclass_computes_by_itself(self):
        module, x = nn.SwiGLU(WIDTH, 12), torch.randn(2, WIDTH)
        wanted = 2 * module.down_proj.weight @ (
            torch.nn.functional.silu(module.gate_proj(x)) * module.up_proj(x)).T
        module.down_proj.weight = torch.nn.Parameter(module.down_proj.weight.detach().as_subclass(Weight))
        self.assertFalse(_linears.is_plain(module.down_proj))
        torch.testing.assert_close(module(x).as_subclass(torch.Tensor), wanted.T)

    def test_text(self):
        self.assertEqual(repr(nn.CausalAttention(0.5)), "CausalAttention(scale=0.5, softcap=None)")
        self.assertIn("heads=4, kv_heads=2, head_dim=8\n", repr(nn.QKVNormRope(4, 2, 8)))
        self.assertEqual(repr(nn.LinearCrossEntropy(4, 7, "sum", z_loss=0.5)),
                         "LinearCrossEntropy(hidden_size=4, vocabulary=7, reduction='sum', z_loss=0.5)")
        self.assertEqual(repr(nn.RMSNorm(4)), repr(torch.nn.RMSNorm(4)))

    def test_rope_table_has_the_device_of_positions(self):
        self.assertEqual(nn.rope_table(torch.arange(3, device="meta"), 4).device.type, "meta")
        self.assertEqual(nn.rope_table(3, 4, device="meta").device.type, "meta")
        self.assertEqual(nn.rope_table(torch.arange(3), 4, device="meta").device.type, "meta")

    def test_a_rope_table_of_another_dtype_is_converted(self):
        """model.bfloat16() and FSDP's mixed precision make bfloat16 tables."""
        for dtype in (torch.float32, torch.bfloat16, torch.float64):
            module, x, table = nn.QKVNormRope(4, 2, WIDTH), torch.randn(2, 3, 64, dtype=dtype), nn.rope_table(3, WIDTH)
            rounded = table.bfloat16()
            wanted = module(x, rounded.to(torch.promote_types(dtype, torch.float32)))
            for one, other in zip(module(x, rounded), wanted, strict=True):
                self.assertTrue(torch.equal(one, other))

    def test_epsilon_of_none(self):
        """As in torch.nn.RMSNorm: that of the dtype."""
        x = 1e-4 * torch.randn(1, 2, 3 * WIDTH)
        v = nn.QKVNormRope(1, 1, WIDTH, "v", eps=None)(x, nn.rope_table(2, WIDTH))[2]
        torch.testing.assert_close(v[:, :, 0], torch.nn.functional.rms_norm(x[..., 2 * WIDTH:], (WIDTH,)))

    def test_flat_targets(self):
        module, x, targets = nn.LinearCrossEntropy(WIDTH, 5), torch.randn(2, 3, WIDTH), torch.randint(5, (2, 3))
        self.assertTrue(torch.equal(module(x, targets.flatten()), module(x, targets)))

    def test_refused(self):
        head, x = nn.LinearCrossEntropy(WIDTH, 5), torch.randn(2, 3, WIDTH)
        for call, words in (
                (lambda: head(x, torch.zeros(3, 2, dtype=torch.long)),
                 "LinearCrossEntropy: wanted targets [2, 3] for x [2, 3, 8], but found [3, 2]"),
                (lambda: nn.QKVNormRope(3, 2, 8),
                 "QKVNormRope: wanted heads that are a multiple of kv_heads, but found heads=3, kv_heads=2"),
                (lambda: nn.QKVNormRope(2, 0, 8),
                 "QKVNormRope: wanted heads that are a multiple of kv_heads, but found heads=2, kv_heads=0"),
                (lambda: nn.QKVNormRope(2, 1, 7), "QKVNormRope: wanted an even head_dim of at least 2, but found 7"),
                (lambda: nn.QKVNormRope(2, 1, 8, "qqk"),
                 'QKVNormRope: wanted each letter of norms once, but found "qqk"'),
                (lambda: nn.rope_table(-1, 4), "rope_table: wanted at least 0 positions, but found -1"),
                (lambda: nn.rope_table(4, 4, 0.0), "rope_table: wanted a finite theta above 0, but found 0.0"),
                (lambda: nn.rope_table(4, 4, float("nan")), "rope_table: wanted a finite theta above 0, but found nan"),
                (lambda: nn.rope_table(4, 4, dtype=torch.float16),
                 "rope_table: wanted the dtype float32 or float64, but found torch.float16"),
                (lambda: nn.rope_table(4, 5), "rope_table: wanted an even head_dim of at least 2, but found 5"),
                (lambda: nn.rope_table(torch.zeros(2, 3), 4), "rope_table: wanted positions [T], but found [2, 3]")):
            with self.assertRaises(ValueError) as refused:
                call()
            self.assertEqual(str(refused.exception), words)


if __name__ == "__main__":
    unittest.main()
