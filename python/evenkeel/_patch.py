# SPDX-License-Identifier: Apache-2.0
"""`evenkeel.patch`: a model of transformers, computed by the fused operators.

Parts are known by what they hold, not by their class, and norms and attention are replaced only if they give the same
values on a trial input. A part goes back to its own code for inputs that the operators do not take: another device or
dtype, autocast, a mask of padding, a cache that is not dynamic.
"""
import copy
import functools
import inspect
import types
from typing import Any, Callable, Dict, Optional, Tuple

import torch
from torch import Tensor

from . import ops
from ._linears import linears
from .nn import swiglu_mlp

DTYPES = (torch.float32, torch.bfloat16, torch.float64)
CACHES = ("cache", "past_key_values")  # the name of the argument depends on the version of transformers


def _taken(x: Tensor) -> bool:
    """Whether the operators take x."""
    return x.device.type == "cpu" and x.dtype in DTYPES and not torch.is_autocast_enabled("cpu")


def _own(module: Any) -> Callable[..., Any]:
    """The forward of the module's class."""
    return types.MethodType(type(module).forward, module)


@functools.lru_cache(maxsize=None)
def _signature(kind: type) -> inspect.Signature:
    """That of the forward of a class. Reading it takes longer than a small layer does."""
    return inspect.signature(kind.forward)


def _by_name(module: Any, arguments: Tuple[Any, ...], options: Dict[str, Any]) -> Dict[str, Any]:
    """All arguments of the forward of the module's class by their names."""
    bound = _signature(type(module)).bind(module, *arguments, **options)
    named = dict(list(bound.arguments.items())[1:])  # without the module
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= named.pop(name, {})
    return named


# Norms.


def _epsilon(norm: Any) -> float:
    return norm.variance_epsilon if hasattr(norm, "variance_epsilon") else norm.eps


def _gain(norm: Any, x: Tensor) -> Tensor:
    """The gain of an RMSNorm; Gemma adds one to its weight."""
    weight = norm.weight.to(torch.promote_types(x.dtype, torch.float32))
    return weight + 1 if norm.evenkeel_adds_one else weight


def _norm_forward(self: Any, x: Tensor) -> Tensor:
    if not _taken(x):
        return _own(self)(x)
    return ops.rms_norm(x, _gain(self, x), _epsilon(self))


def _is_norm(module: Any) -> bool:
    """Whether a module is an RMSNorm; sets `evenkeel_adds_one`."""
    if "RMSNorm" not in type(module).__name__ or list(dict(module.named_parameters())) != ["weight"]:
        return False
    if not (hasattr(module, "variance_epsilon") or hasattr(module, "eps")) or module.weight.dim() != 1:
        return False
    weight = module.weight
    x = torch.linspace(-2, 3, 2 * len(weight), dtype=weight.dtype, device=weight.device).view(2, -1)
    with torch.no_grad():
        wanted = _own(module)(x)
        for module.evenkeel_adds_one in (False, True):
            if weight.device.type == "cpu" and torch.allclose(_norm_forward(module, x), wanted, 2e-2, 1e-3):
                return True
    del module.evenkeel_adds_one
    return False


# The feed-forward layer.


def _mlp_forward(self: Any, x: Tensor) -> Tensor:
    return swiglu_mlp(self, x) if _taken(x) else _own(self)(x)


def _is_swiglu(module: Any) -> bool:
    if not all(isinstance(getattr(module, f"{name}_proj", None), torch.nn.Linear) for name in ("gate", "up", "down")):
        return False
    activation = getattr(module, "act_fn", None)
    x = torch.linspace(-3, 3, 7)
    return callable(activation) and torch.allclose(activation(x), torch.nn.functional.silu(x))


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


def _fits(self: Any, x: Tensor, position_embeddings: Any, mask: Any, cache: Any) -> bool:
    """Whether this is causal attention over all positions, of the same positions in each sequence."""
    window = getattr(self, "sliding_window", None)
    return (_taken(x) and mask is None and position_embeddings is not None and len(position_embeddings[0]) == 1
            and position_embeddings[0].shape[-1] == self.head_dim
            and (cache is None or type(cache).__name__ == "DynamicCache") and getattr(self, "is_causal", True)
            and not (self.training and self.attention_dropout) and (window is None or window >= x.shape[1]))


def _attend(self: Any, x: Tensor, position_embeddings: Any, cache: Any) -> Tensor:
    """The output of causal attention over all positions."""
    q, k, v = _heads(self, x, *position_embeddings)
    if cache is not None:
        k, v = (each.transpose(1, 2) for each in cache.update(k.transpose(1, 2), v.transpose(1, 2), self.layer_idx))
    softcap = getattr(self, "attn_logit_softcapping", None)
    return self.o_proj(ops.causal_attention(q, k, v, self.scaling, softcap).flatten(2))


def _attention_forward(self: Any, *arguments: Any, **options: Any) -> Tuple[Tensor, None]:
    named = _by_name(self, arguments, options)
    x, position_embeddings = named["hidden_states"], named.get("position_embeddings")
    cache = next((named[name] for name in CACHES if named.get(name) is not None), None)
    windowed = getattr(self, "sliding_window", None) is not None and cache is not None
    if windowed or named.get("output_attentions") or not _fits(self, x, position_embeddings,
                                                               named.get("attention_mask"), cache):
        return _own(self)(**named)
    return _attend(self, x, position_embeddings, cache), None


def _is_attention(module: Any) -> bool:
    linear = all(isinstance(getattr(module, f"{name}_proj", None), torch.nn.Linear) for name in "qkvo")
    known = all(hasattr(module, name) for name in ("head_dim", "scaling", "layer_idx", "attention_dropout"))
    norms = [getattr(module, f"{name}_norm", None) for name in "qk"]
    normed = norms == [None, None] or all(hasattr(each, "evenkeel_adds_one") for each in norms)
    return linear and known and normed and _same_attention(module)


def _same_attention(module: Any) -> bool:
    """Whether a float32 copy of the module attends as the operators do: five positions, RoPE of halves.

    Attention without RoPE in some layers, or with pairs of neighbours, has the same parts and other values.
    """
    if module.q_proj.weight.device.type != "cpu":
        return False
    trial = copy.deepcopy(module).to(torch.float32).eval()
    x = 3 * torch.randn(1, 5, trial.q_proj.in_features, generator=torch.Generator().manual_seed(1))
    angles = torch.arange(5)[:, None] * torch.logspace(0, -2, trial.head_dim // 2)
    positions = tuple(torch.cat([each, each], -1)[None] for each in (angles.cos(), angles.sin()))
    mask = torch.full((1, 1, 5, 5), torch.finfo(torch.float32).min).triu(1)
    with torch.no_grad():
        try:
            wanted = _own(trial)(hidden_states=x, position_embeddings=positions, attention_mask=mask)[0]
        except (AttributeError, KeyError, RuntimeError, TypeError, ValueError):
            return False  # asks for more than Llama's attention
        found = _attend(trial, x, positions, None)
    return found.shape == wanted.shape and torch.allclose(found, wanted, 0, 1e-3 * wanted.abs().max().item())


# The loss.


def _keeps_own_loss(self: Any, named: Dict[str, Any]) -> bool:
    """Whether the loss is more than the cross entropy of all labels, or the logits are wanted."""
    keeps_some = not isinstance(named.get("logits_to_keep", 0), int) or named.get("logits_to_keep")
    routed = named.get("output_router_logits")  # adds the router's auxiliary loss
    routed = getattr(self.config, "output_router_logits", False) if routed is None else routed
    return named.get("labels") is None or not self.training or named.get("return_dict") is False or keeps_some or routed


def _head_forward(self: Any, *arguments: Any, **options: Any) -> Any:
    """The loss of training without the matrix of logits; `logits` of the output is then None."""
    named = _by_name(self, arguments, options)
    if _keeps_own_loss(self, named):
        return _own(self)(**named)
    labels = named.pop("labels")
    items, shifted = named.pop("num_items_in_batch", None), named.pop("shift_labels", None)
    output = self.model(**named)
    x = output.last_hidden_state
    if not _taken(x):
        raise RuntimeError(f"evenkeel.patch: wanted {x.dtype} on the CPU without autocast for the loss; "
                           "patch(model, loss=False) leaves the loss to transformers")
    if shifted is None:
        shifted = torch.nn.functional.pad(labels, (0, 1), value=-100)[..., 1:]
    targets = shifted.reshape(-1)
    weight = self.lm_head.weight
    total = ops.linear_cross_entropy(x.reshape(-1, x.shape[-1]), weight, targets, len(weight), 1.0,
                                     getattr(self.config, "final_logit_softcapping", None))
    from transformers.modeling_outputs import CausalLMOutputWithPast
    loss = total / ((targets >= 0).sum() if items is None else items)
    return CausalLMOutputWithPast(loss=loss, logits=None, hidden_states=output.hidden_states,
                                  attentions=output.attentions)


def _is_head(module: Any) -> bool:
    head = getattr(module, "lm_head", None)
    config = getattr(module, "config", None)
    plain = not any(getattr(config, name, 1) != 1 for name in ("logit_scale", "logits_scaling"))
    return (isinstance(head, torch.nn.Linear) and head.bias is None and hasattr(module, "model")
            and type(module).__name__.endswith("ForCausalLM") and plain)


def patch(model: torch.nn.Module, loss: bool = True) -> Dict[str, int]:
    """Replaces RMSNorm, SwiGLU, attention and the loss of a model of transformers by the fused operators, in place.

    Made for Llama, Qwen3, OLMo 2 and Gemma; parts of other models are replaced where they fit. Parameters and
    `state_dict` stay as they are. With `loss`, a training step with labels computes no logits.

    Returns how many parts of each kind were replaced. `ValueError` where nothing fits.
    """
    kinds = [("norm", _is_norm, _norm_forward), ("swiglu", _is_swiglu, _mlp_forward),
             ("attention", _is_attention, _attention_forward)]
    if loss:
        kinds.append(("loss", _is_head, _head_forward))
    counts = {name: 0 for name, _, _ in kinds}
    for name, fits, forward in kinds:  # norms first: attention asks for those of its heads
        for module in model.modules():
            if fits(module):
                module.forward = types.MethodType(forward, module)
                counts[name] += 1
    if not any(counts.values()):
        raise ValueError(f"evenkeel.patch: wanted a model with RMSNorm, SwiGLU or causal attention of transformers, "
                         f"but found none in {type(model).__name__}")
    return counts


def unpatch(model: torch.nn.Module) -> torch.nn.Module:
    """Undoes `patch`; returns the model."""
    ours = (_norm_forward, _mlp_forward, _attention_forward, _head_forward)
    for module in model.modules():
        if getattr(module.__dict__.get("forward"), "__func__", None) in ours:
            del module.forward
        module.__dict__.pop("evenkeel_adds_one", None)
    return model
