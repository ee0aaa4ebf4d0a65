#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`evenkeel.patch` on modules with the parts of those of transformers: what is replaced, and what is left.

    patch_check.py LIBRARY    LIBRARY: libevenkeel_ops.so

tests/ecosystem/patch_check.py does it with transformers itself. Exits with 77 (skipped) where torch cannot be imported.
"""
import copy
import dataclasses
import inspect
import io
import sys
import types
import unittest
import unittest.mock

import package_setup
import torch

import evenkeel

WIDTH, HEADS, SIZE = 32, 4, 8
outputs = types.ModuleType("transformers.modeling_outputs")  # what the patched loss takes from transformers
sys.modules |= {"transformers": types.ModuleType("transformers"), outputs.__name__: outputs}


@dataclasses.dataclass
class Output:
    loss: object = None
    logits: object = None
    last_hidden_state: object = None
    hidden_states: object = None
    attentions: object = None


outputs.CausalLMOutputWithPast = Output


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
        return Output(last_hidden_state=self.embedding(input_ids) * mask[..., None])


class ModelForCausalLM(torch.nn.Module):
    """The head of a model of transformers, with the order of its parameters."""

    def __init__(self, **config):
        super().__init__()
        self.model, self.lm_head = Body(), torch.nn.Linear(WIDTH, 11, bias=False)
        self.config = types.SimpleNamespace(**config)

    def forward(self, input_ids=None, attention_mask=None, labels=None, output_router_logits=None, ignore_index=-100,
                **options):
        logits = self.changed(self.lm_head(self.model(input_ids, attention_mask).last_hidden_state))
        loss = None
        if labels is not None:
            loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten(),
                                                     ignore_index=ignore_index, reduction="sum")
            loss = loss / options.get("num_items_in_batch", (labels[:, 1:] != ignore_index).sum())
            if output_router_logits or getattr(self.config, "output_router_logits", False):
                loss = loss + 100
        return Output(logits=logits, loss=loss)

    def changed(self, logits):
        return logits


class ScaledForCausalLM(ModelForCausalLM):
    def changed(self, logits):
        return 0.5 * logits


class CappedForCausalLM(ModelForCausalLM):
    def changed(self, logits):
        return 30 * torch.tanh(logits / 30)


class PaddedForCausalLM(ModelForCausalLM):
    """The last row of the head is no token."""
    def changed(self, logits):
        return torch.cat([logits[..., :-1], torch.full_like(logits[..., -1:], -torch.inf)], -1)


class LearnedForCausalLM(ModelForCausalLM):
    """A scale of the logits that starts with 1."""
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(11))

    def changed(self, logits):
        return self.scale * logits


class DroppedForCausalLM(ModelForCausalLM):
    def changed(self, logits):
        return torch.nn.functional.dropout(logits, 0.5, self.training)


class UnshiftedForCausalLM(ModelForCausalLM):
    def forward(self, input_ids=None, labels=None, **options):
        logits = self.lm_head(self.model(input_ids).last_hidden_state)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return Output(logits=logits, loss=loss)


class GPT2LMHeadModel(torch.nn.Module):
    """A model whose body and class have other names: its head has no bias, and its logits are those of the head."""
    def __init__(self):
        super().__init__()
        self.transformer, self.lm_head = Body(), torch.nn.Linear(WIDTH, 11, bias=False)
        self.config = types.SimpleNamespace()


class FeedForward(torch.nn.Module):
    """The parts of LlamaMLP; `factor` and `dropout` are those of Falcon-H1 and Seed-OSS."""

    def __init__(self, factor=1.0, dropout=0.0):
        super().__init__()
        self.gate_proj, self.up_proj = torch.nn.Linear(WIDTH, 48, bias=False), torch.nn.Linear(WIDTH, 48, bias=False)
        self.down_proj = torch.nn.Linear(48, WIDTH, bias=False)
        self.act_fn, self.factor, self.dropout = torch.nn.functional.silu, factor, dropout

    def forward(self, x):
        y = self.down_proj(self.up_proj(x) * self.act_fn(self.gate_proj(x)) * self.factor)
        return torch.nn.functional.dropout(y, self.dropout, self.training)


class GatedRMSNorm(torch.nn.RMSNorm):
    """As in Qwen3-Next; as in Bamba with a gate that may be left out."""
    def forward(self, x, gate=None):
        return super().forward(x if gate is None else x * torch.nn.functional.silu(gate))


class LowRank(torch.nn.Module):
    """A linear layer with an adapter, as of PEFT."""
    def __init__(self, base):
        super().__init__()
        self.base, self.adapter = base, torch.nn.Linear(base.in_features, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + self.adapter(x)


def rotation_tables():
    angles = torch.arange(5)[:, None] * torch.linspace(1, 0.1, SIZE // 2)
    return tuple(torch.cat([each, each], -1)[None] for each in (angles.cos(), angles.sin()))


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
        tables, x = rotation_tables(), torch.randn(2, 5, WIDTH)
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

    def test_an_argument_may_be_named_module(self):
        part, x, mask = Attention(), torch.randn(2, 5, WIDTH), torch.ones(5, 5, dtype=torch.bool).tril()
        wanted = part(x, rotation_tables(), mask, module="x")[0]
        evenkeel.patch(part)
        for each in (mask, None):
            torch.testing.assert_close(part(x, rotation_tables(), each, module="x")[0], wanted)

    def test_a_loss_with_the_router_is_left(self):
        ids = torch.tensor([[3, 4, 5]])
        model = ModelForCausalLM()
        wanted = model(ids, labels=ids, output_router_logits=True).loss
        evenkeel.patch(model)
        torch.testing.assert_close(model(ids, labels=ids, output_router_logits=True).loss, wanted)
        model.config.output_router_logits = True
        torch.testing.assert_close(model(ids, labels=ids).loss, wanted)

    def test_the_loss_is_replaced_where_it_is_the_cross_entropy(self):
        for kind in (ScaledForCausalLM, CappedForCausalLM, PaddedForCausalLM, LearnedForCausalLM, DroppedForCausalLM,
                     UnshiftedForCausalLM):
            with self.assertRaises(ValueError, msg=kind):
                evenkeel.patch(kind())
        model, ids = ModelForCausalLM(), torch.tensor([[3, 4, 7, 5]])
        cases = [{}, {"num_items_in_batch": 9}]
        left = [{"ignore_index": 7}]
        wanted = [model(ids, labels=ids, **options).loss for options in cases + left]
        self.assertEqual(evenkeel.patch(model)["loss"], 1)
        for options, loss in zip(cases + left, wanted):
            found = model(ids, labels=ids, **options)
            self.assertEqual(found.logits is None, options in cases)
            torch.testing.assert_close(found.loss, loss)
        with torch.autocast("cpu", torch.bfloat16):
            self.assertIsNotNone(model(ids, labels=ids).logits)
        self.assertIsNotNone(model.half()(ids, labels=ids).logits)

    def test_a_head_with_an_adapter_is_called(self):
        model, ids = ModelForCausalLM(), torch.tensor([[3, 4, 5]])
        evenkeel.patch(model)
        model.lm_head = LowRank(model.lm_head)
        model(ids, labels=ids).loss.backward()
        self.assertIsNotNone(model.lm_head.adapter.weight.grad)

    def test_feed_forward_layers_of_other_values_are_left(self):
        model = torch.nn.ModuleList([FeedForward(), FeedForward(factor=0.5), FeedForward(dropout=0.1)]).eval()
        state = torch.random.get_rng_state()
        self.assertEqual(evenkeel.patch(model)["swiglu"], 1)
        self.assertEqual(["forward" in vars(each) for each in model], [True, False, False])
        self.assertTrue(torch.equal(torch.random.get_rng_state(), state))

    def test_a_norm_with_a_gate_is_left(self):
        model = torch.nn.ModuleList([GatedRMSNorm(WIDTH), torch.nn.RMSNorm(WIDTH, 1e-6)])
        self.assertEqual(evenkeel.patch(model)["norm"], 1)
        model[0](torch.randn(2, WIDTH), torch.randn(2, WIDTH))

    def test_attention_to_later_tokens_is_left(self):
        attention, x = Attention(), torch.randn(2, 5, WIDTH)
        evenkeel.patch(attention)
        for change in ({"is_causal": False}, {"config": types.SimpleNamespace(is_causal=False)}):
            part = copy.deepcopy(attention)
            options = change if "is_causal" in change else vars(part).update(change) or {}
            with unittest.mock.patch("evenkeel.ops.causal_attention", side_effect=AssertionError("ours")):
                part(x, rotation_tables(), **options)

    def test_layers_that_are_more_than_a_product_are_called(self):
        x = torch.randn(2, 5, WIDTH)
        for make, arguments in ((FeedForward, (x,)), (Attention, (x, rotation_tables())),
                                (lambda: evenkeel.nn.SwiGLU(WIDTH, 48), (x,))):
            part, calls = make(), []
            plain = copy.deepcopy(part)
            evenkeel.patch(torch.nn.ModuleList([part, torch.nn.RMSNorm(WIDTH, 1e-6)]))
            for name in [name for name, _ in part.named_children()]:
                hook = getattr(part, name).register_forward_hook(lambda *_, name=name: calls.append(name))
                part(*arguments)
                hook.remove()
                self.assertEqual(calls.pop(), name)
                adapted = LowRank(getattr(part, name))
                setattr(part, name, adapted)
                setattr(plain, name, adapted)
            found, wanted = (each(*arguments) for each in (part, plain))
            torch.testing.assert_close(found, wanted)
            (found if torch.is_tensor(found) else found[0]).sum().backward()
            self.assertTrue(all(each.grad is not None for each in part.parameters()))

    def test_a_patched_model_has_its_signature_and_is_saved(self):
        model, ids = ModelForCausalLM(), torch.tensor([[3, 4, 5]])
        wanted, loss = inspect.signature(model.forward), model(ids, labels=ids).loss
        evenkeel.patch(model)
        self.assertEqual(inspect.signature(model.forward), wanted)
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        for other in (torch.load(file, weights_only=False), copy.deepcopy(model)):
            self.assertIs(other.forward.module, other)
            torch.testing.assert_close(other(ids, labels=ids).loss, loss)

    def test_parts_of_other_dtypes_are_left(self):
        model = torch.nn.ModuleList([torch.nn.RMSNorm(WIDTH, 1e-6), torch.nn.RMSNorm(WIDTH, 1e-6).half()])
        self.assertEqual(evenkeel.patch(model)["norm"], 1)
        self.assertEqual(["forward" in vars(each) for each in model], [True, False])

    def test_what_no_operator_takes_is_refused(self):
        loss = (r"; its loss does not fit, for example where the head has a bias or rows of padding, or the logits are "
                "scaled or capped")
        adapted, with_bias, changed = ModelForCausalLM(), ModelForCausalLM(), ModelForCausalLM()
        adapted.lm_head = LowRank(adapted.lm_head)
        with_bias.lm_head = torch.nn.Linear(WIDTH, 11)
        changed.forward = lambda **options: None
        words = r"wanted a model with RMSNorm, .* or a loss of transformers, but found none in \w+"
        for model, reason in ((ModelForCausalLM().half(),
                               r" with parameters of torch\.float16 on cpu; the operators take .* on cpu"),
                              (ModelForCausalLM().to("meta"), r" with parameters of torch\.float32 on meta; .* on cpu"),
                              (torch.nn.RMSNorm(WIDTH, 1e-6).half(), r" with parameters of torch\.float16 .*"),
                              (FeedForward().half(), r" with parameters of .*"), (Attention().half(), r" with param.*"),
                              (PaddedForCausalLM(), loss), (with_bias, loss), (adapted, ""), (changed, ""),
                              (GPT2LMHeadModel(), ""), (torch.nn.Linear(2, 2), "")):
            with self.assertRaisesRegex(ValueError, f"^evenkeel.patch: {words}{reason}$"):
                evenkeel.patch(model)
        with self.assertRaisesRegex(ValueError, f"{words}$"):
            evenkeel.patch(PaddedForCausalLM(), loss=False)
        with self.assertRaisesRegex(TypeError, "^evenkeel.patch: wanted a torch.nn.Module, but found str$"):
            evenkeel.patch("x")

    def test_a_forward_of_somebody_else_stays(self):
        layer = FeedForward()
        layer.forward = lambda x: x
        with self.assertRaises(ValueError):
            evenkeel.patch(layer)


if __name__ == "__main__":
    unittest.main()
