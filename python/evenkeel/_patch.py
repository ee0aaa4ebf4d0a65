# SPDX-License-Identifier: Apache-2.0
"""`evenkeel.patch`: a model of transformers, computed by the fused operators.

Parts are known by what they hold, not by their class, and are replaced only if they give the same values on a trial
input, in training mode. A part goes back to its own code for inputs that the operators do not take: another device or
dtype, autocast, a mask of padding, a cache that is not dynamic; and where calling one of its linear layers is more than
a product: LoRA, quantization, hooks.
"""
from typing import Any, Dict, Iterable, Optional, Tuple

import torch
from torch import Tensor

from . import ops
from ._forward import Forward, agrees, by_name, has_kernels, own, signature, taken
from ._linears import has_hooks, is_plain, linears
from ._loss import has_head, head_forward, is_head
from .nn import swiglu_mlp

CACHES = ("cache", "past_key_values")  # the name of the argument depends on the version of transformers


# Norms.


def _epsilon(norm: Any) -> float:
    return norm.variance_epsilon if hasattr(norm, "variance_epsilon") else norm.eps


def _gain(norm: Any, x: Tensor) -> Tensor:
    """The gain of an RMSNorm; Gemma adds one to its weight."""
    weight = norm.weight.to(torch.promote_types(x.dtype, torch.float32))
    return weight + 1 if norm.evenkeel_adds_one else weight


def _norm_forward(self: Any, *arguments: Any, **options: Any) -> Tensor:
    if options or len(arguments) != 1 or not taken(arguments[0]):
        return own(self, *arguments, **options)
    return ops.rms_norm(arguments[0], _gain(self, arguments[0]), _epsilon(self))


def _is_norm(module: Any) -> bool:
    """Whether a module is an RMSNorm of one input; sets `evenkeel_adds_one`."""
    if "RMSNorm" not in type(module).__name__ or list(dict(module.named_parameters())) != ["weight"]:
        return False
    if not (hasattr(module, "variance_epsilon") or hasattr(module, "eps")) or module.weight.dim() != 1:
        return False
    if len(signature(type(module)).parameters) != 2 or not has_kernels(module.weight):  # a gate is an input
        return False
    x = torch.linspace(-2, 3, 2 * len(module.weight), dtype=torch.float32).view(2, -1)
    for adds_one in (False, True):
        if agrees(module, lambda trial: own(trial, x),
                   lambda trial: ops.rms_norm(x, trial.weight + float(adds_one), _epsilon(trial))):
            module.evenkeel_adds_one = adds_one
            return True
    return False


def _is_replaced(norm: Any) -> bool:
    """Whether calling a norm is no more than the operator."""
    return isinstance(vars(norm).get("forward"), Forward) and not has_hooks(norm)


# The feed-forward layer.


def _plain(module: Any, names: Iterable[str]) -> bool:
    """Whether the projections of these names are plain linear layers."""
    return all(is_plain(getattr(module, f"{name}_proj", None)) for name in names)


def _mlp_forward(self: Any, *arguments: Any, **options: Any) -> Tensor:
    if options or len(arguments) != 1 or not taken(arguments[0]) or not _plain(self, ("gate", "up", "down")):
        return own(self, *arguments, **options)
    return swiglu_mlp(self, arguments[0])


def _is_swiglu(module: Any) -> bool:
    if not _plain(module, ("gate", "up", "down")) or not has_kernels(module.down_proj.weight):
        return False
    x = 3 * torch.randn(5, module.up_proj.in_features, dtype=torch.float32)
    return agrees(module, lambda trial: own(trial, x), lambda trial: swiglu_mlp(trial, x))


# Attention.


def _table(cos: Tensor, sin: Tensor, dtype: torch.dtype) -> Tensor:
    """The RoPE table of the operators, of position embeddings [1, T, D] whose halves are equal."""
    half = cos.shape[-1] // 2
    return torch.stack([cos[0, :, :half], sin[0, :, :half]], 1).to(torch.promote_types(dtype, torch.float32))


def _head_norms(self: Any, x: Tensor) -> Tuple[Optional[Tensor], Optional[Tensor], float]:
    """Gains of q and k and their epsilon, where each head has an RMSNorm."""
    norm = getattr(self, "q_norm", None)
    if norm is None or len(norm.weight) != self.head_dim:
        return None, None, 0.0
    return _gain(norm, x), _gain(self.k_norm, x), _epsilon(norm)


def _heads(self: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    """q, k and v [B, T, heads, D] of x [B, T, width]."""
    three = [self.q_proj, self.k_proj, self.v_proj]
    table = _table(cos, sin, x.dtype)
    q_gain, k_gain, epsilon = _head_norms(self, x)
    if q_gain is None and hasattr(self, "q_norm"):  # OLMo 2 norms all heads together
        shape = (*x.shape[:-1], -1, self.head_dim)
        q, k, v = (each(x) for each in three)
        turned = [ops.apply_rotary(each.view(shape), table) for each in (self.q_norm(q), self.k_norm(k))]
        return (*turned, v.view(shape))
    heads, kv_heads = (len(each.weight) // self.head_dim for each in three[:2])
    products = linears(x, [each.weight for each in three], [each.bias for each in three])
    return ops.qkv_norm_rope(products, table, heads, kv_heads, q_gain, k_gain, None, [epsilon] * 3)


def _is_causal(self: Any, wanted: Any) -> bool:
    """Whether neither the module, nor its configuration, nor the call (`wanted`) asks for attention to later tokens."""
    parts = (self, getattr(self, "config", None))
    return (wanted is None or wanted) and all(getattr(each, "is_causal", True) for each in parts)


def _fits(self: Any, named: Dict[str, Any], cache: Any) -> bool:
    """Whether this is causal attention over all positions, of the same positions in each sequence."""
    x, positions = named["hidden_states"], named.get("position_embeddings")
    window = getattr(self, "sliding_window", None)
    return (taken(x) and named.get("attention_mask") is None and not named.get("output_attentions")
            and positions is not None and len(positions[0]) == 1 and positions[0].shape[-1] == self.head_dim
            and (cache is None or type(cache).__name__ == "DynamicCache") and _is_causal(self, named.get("is_causal"))
            and not (self.training and self.attention_dropout)
            and (window is None or (window >= x.shape[1] and cache is None)))


def _has_plain_parts(self: Any) -> bool:
    """Whether the weights of the projections and of the norms of heads are all that they compute with."""
    norms = (getattr(self, f"{name}_norm", None) for name in "qk")
    return _plain(self, "qkvo") and all(norm is None or _is_replaced(norm) for norm in norms)


def _attend(self: Any, x: Tensor, position_embeddings: Any, cache: Any) -> Tensor:
    """The output of causal attention over all positions."""
    q, k, v = _heads(self, x, *position_embeddings)
    if cache is not None:
        k, v = (each.transpose(1, 2) for each in cache.update(k.transpose(1, 2), v.transpose(1, 2), self.layer_idx))
    softcap = getattr(self, "attn_logit_softcapping", None)
    return self.o_proj(ops.causal_attention(q, k, v, self.scaling, softcap).flatten(2))


def _attention_forward(self: Any, *arguments: Any, **options: Any) -> Any:
    named = by_name(self, arguments, options)
    cache = next((named[name] for name in CACHES if named.get(name) is not None), None)
    if not _fits(self, named, cache) or not _has_plain_parts(self):
        return own(self, **named)
    return _attend(self, named["hidden_states"], named["position_embeddings"], cache), None


def _is_attention(module: Any) -> bool:
    known = all(hasattr(module, name) for name in ("head_dim", "scaling", "layer_idx", "attention_dropout"))
    norms = [getattr(module, f"{name}_norm", None) for name in "qk"]
    normed = norms == [None, None] or all(hasattr(each, "evenkeel_adds_one") for each in norms)
    return known and normed and _has_plain_parts(module) and _same_attention(module)


def _same_attention(module: Any) -> bool:
    """Whether the module attends as the operators do: five positions, RoPE of halves.

    Attention without RoPE in some layers, or with pairs of neighbours, has the same parts and other values.
    """
    if not has_kernels(module.q_proj.weight):
        return False
    x = 3 * torch.randn(1, 5, module.q_proj.in_features, dtype=torch.float32)
    angles = torch.arange(5)[:, None] * torch.logspace(0, -2, module.head_dim // 2, dtype=torch.float32)
    positions = tuple(torch.cat([each, each], -1)[None] for each in (angles.cos(), angles.sin()))
    mask = torch.full((1, 1, 5, 5), torch.finfo(torch.float32).min, dtype=torch.float32).triu(1)

    def wanted(trial: Any) -> Tensor:
        trial.attention_dropout = 0.0  # _fits reads it in each call
        return own(trial, hidden_states=x, position_embeddings=positions, attention_mask=mask)[0]
    return agrees(module, wanted, lambda trial: _attend(trial, x, positions, None))


def _reason(model: torch.nn.Module, loss: bool) -> str:
    """Why nothing in a model fits, where that is known; the end of a message."""
    other = next((each for each in model.parameters() if not has_kernels(each)), None)
    if other is not None:
        return (f" with parameters of {other.dtype} on {other.device}; "
                "the operators take float32, bfloat16 and float64 on cpu")
    if loss and has_head(model) and "forward" not in vars(model):
        return ("; its loss does not fit, for example where the head has a bias or rows of padding, "
                "or the logits are scaled or capped")
    return ""


def patch(model: torch.nn.Module, loss: bool = True) -> Dict[str, int]:
    """Replaces RMSNorm, SwiGLU, attention and the loss of a model of transformers by the fused operators, in place.

    Made for Llama, Qwen3, OLMo 2 and Gemma; parts of other models are replaced where they fit. Parameters and
    `state_dict` stay as they are. With `loss`, a training step with labels computes no logits.

    Returns how many parts of each kind were replaced. `ValueError` where nothing fits. Parts whose parameters are not
    float32, bfloat16 or float64 on the CPU do not fit: load and convert the model first.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"evenkeel.patch: wanted a torch.nn.Module, but found {type(model).__name__}")
    kinds = [("norm", _is_norm, _norm_forward), ("swiglu", _is_swiglu, _mlp_forward),
             ("attention", _is_attention, _attention_forward)]
    if loss:
        kinds.append(("loss", is_head, head_forward))
    counts = {name: 0 for name, _, _ in kinds}
    with torch.random.fork_rng(devices=[]), torch.autocast("cpu", enabled=False), torch.device("cpu"):
        torch.default_generator.manual_seed(1)
        for name, fits, forward in kinds:  # norms first: attention asks for those of its heads
            for module in model.modules():
                changed = "forward" in vars(module) and not isinstance(module.forward, Forward)  # by somebody else
                if not changed and fits(module):
                    module.forward = Forward(forward, module)
                    counts[name] += 1
    if not any(counts.values()):
        raise ValueError("evenkeel.patch: wanted a model with RMSNorm, SwiGLU, causal attention or a loss of "
                         f"transformers, but found none in {type(model).__name__}{_reason(model, loss)}")
    return counts


def unpatch(model: torch.nn.Module) -> torch.nn.Module:
    """Undoes `patch`; returns the model."""
    for module in model.modules():
        if isinstance(vars(module).get("forward"), Forward):
            del module.forward
        module.__dict__.pop("evenkeel_adds_one", None)
    return model
