# SPDX-License-Identifier: Apache-2.0
"""Modules on the fused operators. Names of parameters are those of torch.nn, or of transformers where torch.nn has
no such module, so that a `state_dict` fits both.

Inputs are float32, bfloat16 or float64 tensors on the CPU. Parameters of norms may have any of these dtypes.
Autocast casts operands where it does so for torch: those of products, attention and LinearCrossEntropy.
"""
from typing import Any, List, Optional, Tuple, Union

import torch
from torch import Tensor

from . import ops
from ._linears import in_autocast, is_plain, linears

__all__ = ["AddRMSNorm", "CausalAttention", "LayerNorm", "LinearCrossEntropy", "QKVNormRope", "RMSNorm", "SwiGLU",
           "rope_table"]


def _gain(weight: Optional[Tensor], x: Tensor) -> Optional[Tensor]:
    """A gain or bias in the dtype that the operators want for x."""
    return None if weight is None else weight.to(torch.promote_types(x.dtype, torch.float32))


def _one_dimension(shape: Tuple[int, ...], name: str) -> None:
    if len(shape) != 1:
        raise ValueError(f"{name}: wanted a normalized_shape of one dimension, but found {list(shape)}")


class RMSNorm(torch.nn.RMSNorm):
    """`torch.nn.RMSNorm` over the last dimension."""

    def __init__(self, normalized_shape: Union[int, List[int]], eps: Optional[float] = None,
                 elementwise_affine: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, device, dtype)
        _one_dimension(self.normalized_shape, type(self).__name__)

    def epsilon(self, x: Tensor) -> float:
        """`eps`; where it is None, the machine epsilon of the dtype in which torch computes, at least float32."""
        return torch.finfo(torch.promote_types(x.dtype, torch.float32)).eps if self.eps is None else self.eps

    def forward(self, x: Tensor) -> Tensor:
        """The norm of x `[..., D]`, in the dtype of x."""
        return ops.rms_norm(x, _gain(self.weight, x), self.epsilon(x))


class AddRMSNorm(RMSNorm):
    """The sum of a residual stream and a branch, and its RMSNorm, in one pass."""

    def forward(self, residual: Tensor, branch: Tensor) -> Tuple[Tensor, Tensor]:  # type: ignore[override]
        """`(sum, norm(sum))` of `sum = residual + branch`; a sum of two dtypes has the wider one, as in torch."""
        if residual.dtype != branch.dtype:
            wide = torch.promote_types(residual.dtype, branch.dtype)
            residual, branch = residual.to(wide), branch.to(wide)
        return ops.add_rms_norm(residual, branch, _gain(self.weight, residual), self.epsilon(residual))


class LayerNorm(torch.nn.LayerNorm):
    """`torch.nn.LayerNorm` over the last dimension."""

    def __init__(self, normalized_shape: Union[int, List[int]], eps: float = 1e-5, elementwise_affine: bool = True,
                 bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, bias, device, dtype)
        _one_dimension(self.normalized_shape, type(self).__name__)

    def forward(self, input: Tensor) -> Tensor:  # the name that torch.nn.LayerNorm has
        """The norm of input `[..., D]`, in the dtype of input."""
        return ops.layer_norm(input, _gain(self.weight, input), _gain(self.bias, input), self.eps)


def rope_table(positions: Union[int, Tensor], head_dim: int, theta: float = 10000.0,
               dtype: torch.dtype = torch.float32, device: Any = None) -> Tensor:
    """The RoPE table `[T, 2, head_dim / 2]`: cosine, then sine, of `position * theta^(-2 i / head_dim)`.

    `positions` is T, or a tensor of T positions. `dtype` is float64 for float64 inputs, float32 otherwise.
    `device` is that of positions by default.
    """
    if head_dim < 2 or head_dim % 2:
        raise ValueError(f"rope_table: wanted an even head_dim of at least 2, but found {head_dim}")
    if not 0 < theta < float("inf"):
        raise ValueError(f"rope_table: wanted a finite theta above 0, but found {theta}")
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"rope_table: wanted the dtype float32 or float64, but found {dtype}")
    if not isinstance(positions, Tensor):
        if positions < 0:
            raise ValueError(f"rope_table: wanted at least 0 positions, but found {positions}")
        positions = torch.arange(positions, device=device)
    positions = positions.to(device=device, dtype=torch.float64)
    if positions.dim() != 1:
        raise ValueError(f"rope_table: wanted positions [T], but found {list(positions.shape)}")
    frequency = theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float64, device=positions.device) / head_dim)
    angle = positions[:, None] * frequency
    return torch.stack([angle.cos(), angle.sin()], dim=1).to(dtype)


class QKVNormRope(torch.nn.Module):
    """The heads of a QKV projection, with RMSNorm per head (`q_norm`, `k_norm`, `v_norm`) and RoPE, in one pass.

    `norms` lists which of q, k and v have a norm; "qk" is QK-Norm, "qkv" the QKV-Norm of HybridNorm.
    """

    def __init__(self, heads: int, kv_heads: int, head_dim: int, norms: str = "qk", eps: Optional[float] = 1e-5,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        if set(norms) - set("qkv"):
            raise ValueError(f'QKVNormRope: wanted norms of the letters q, k and v, but found "{norms}"')
        if len(set(norms)) != len(norms):
            raise ValueError(f'QKVNormRope: wanted each letter of norms once, but found "{norms}"')
        if head_dim < 2 or head_dim % 2:
            raise ValueError(f"QKVNormRope: wanted an even head_dim of at least 2, but found {head_dim}")
        if kv_heads < 1 or heads < 1 or heads % kv_heads:
            raise ValueError("QKVNormRope: wanted heads that are a multiple of kv_heads, but found "
                             f"heads={heads}, kv_heads={kv_heads}")
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, head_dim
        for name in "qkv":
            norm = RMSNorm(head_dim, eps, device=device, dtype=dtype) if name in norms else None
            setattr(self, f"{name}_norm", norm)

    def extra_repr(self) -> str:
        """The arguments that no submodule shows."""
        return f"heads={self.heads}, kv_heads={self.kv_heads}, head_dim={self.head_dim}"

    def forward(self, qkv: Tensor, cos_sin: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """q `[B, T, heads, D]`, k and v `[B, T, kv_heads, D]` of qkv `[B, T, (heads + 2 kv_heads) D]`.

        A table `cos_sin` of another dtype is converted: `model.bfloat16()` and FSDP make bfloat16 tables.
        """
        norms = [self.q_norm, self.k_norm, self.v_norm]
        gains = [None if norm is None else _gain(norm.weight, qkv) for norm in norms]
        epsilon = [0.0 if norm is None else norm.epsilon(qkv) for norm in norms]
        table = cos_sin.to(torch.promote_types(qkv.dtype, torch.float32))
        return ops.qkv_norm_rope(qkv, table, self.heads, self.kv_heads, *gains, epsilon)


class CausalAttention(torch.nn.Module):
    """Causal softmax attention of heads, with GQA and without a copy of keys and values; it has no parameters."""

    def __init__(self, scale: Optional[float] = None, softcap: Optional[float] = None) -> None:
        super().__init__()
        self.scale, self.softcap = scale, softcap

    def extra_repr(self) -> str:
        """The arguments."""
        return f"scale={self.scale}, softcap={self.softcap}"

    def forward(self, q: Tensor, k: Tensor, v: Tensor, document_starts: Optional[Tensor] = None) -> Tensor:
        """`[B, T, heads, D]` of q `[B, T, heads, D]`, k and v `[B, S, kv_heads, D]`; the scale is `D^-0.5` by default.

        `document_starts` `[B, T]`, int32: the first position that each query attends to.
        """
        q, k, v = in_autocast(q, k, v)
        scale = q.shape[-1] ** -0.5 if self.scale is None else self.scale
        return ops.causal_attention(q, k, v, scale, self.softcap, document_starts)


class SwiGLU(torch.nn.Module):
    """`down_proj(silu(gate_proj(x)) * up_proj(x))`, with the parameters of `LlamaMLP`."""

    def __init__(self, hidden_size: int, intermediate_size: int, bias: bool = False, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        self.gate_proj = torch.nn.Linear(hidden_size, intermediate_size, bias, **where)
        self.up_proj = torch.nn.Linear(hidden_size, intermediate_size, bias, **where)
        self.down_proj = torch.nn.Linear(intermediate_size, hidden_size, bias, **where)

    def forward(self, x: Tensor) -> Tensor:
        """The feed-forward layer of x `[..., D]`."""
        return swiglu_mlp(self, x)


def swiglu_mlp(module: Any, x: Tensor) -> Tensor:
    """The forward pass of a module with the linear layers gate_proj, up_proj and down_proj."""
    pair = [module.up_proj, module.gate_proj]
    if not all(is_plain(each) for each in (*pair, module.down_proj)):  # LoRA, quantization, hooks
        return module.down_proj(torch.nn.functional.silu(module.gate_proj(x)) * module.up_proj(x))
    products = linears(x, [each.weight for each in pair], [each.bias for each in pair])
    weight, bias = in_autocast(module.down_proj.weight, module.down_proj.bias)
    y = ops.swiglu_linear(products, weight)
    return y if bias is None else y + bias


class LinearCrossEntropy(torch.nn.Module):
    """The head of a language model and its cross entropy, without the matrix of logits; `weight` is that of the head.

    Targets below 0 are ignored. `reduction` is "mean" over the other targets, or "sum". Each of these targets adds
    `z_loss * logsumexp(logits)^2`, the z-loss of PaLM, to the loss; its default is 0.
    """

    z_loss: float = 0.0  # also of modules that older versions pickled

    def __init__(self, hidden_size: int, vocabulary: int, reduction: str = "mean", device: Any = None,
                 dtype: Any = None, z_loss: float = 0.0) -> None:
        super().__init__()
        if reduction not in ("mean", "sum"):
            raise ValueError(f'LinearCrossEntropy: wanted the reduction "mean" or "sum", but found "{reduction}"')
        if not 0 <= z_loss < float("inf"):
            raise ValueError(f"LinearCrossEntropy: wanted a finite z_loss of at least 0, but found {z_loss}")
        self.reduction, self.z_loss = reduction, z_loss
        self.weight = torch.nn.Parameter(torch.empty(vocabulary, hidden_size, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Random numbers as in torch.nn.Linear; FSDP calls it after `to_empty` of a model on the meta device."""
        torch.nn.init.kaiming_uniform_(self.weight, a=5 ** 0.5)

    def extra_repr(self) -> str:
        """The arguments."""
        vocabulary, hidden_size = self.weight.shape
        return (f"hidden_size={hidden_size}, vocabulary={vocabulary}, reduction={self.reduction!r}, "
                f"z_loss={self.z_loss}")

    def forward(self, x: Tensor, targets: Tensor) -> Tensor:
        """The loss of x `[..., D]` and targets `[...]`; targets may also be flat."""
        if targets.dim() != 1 and targets.shape != x.shape[:-1]:
            raise ValueError(f"LinearCrossEntropy: wanted targets {list(x.shape[:-1])} for x {list(x.shape)}, "
                             f"but found {list(targets.shape)}")
        flat = targets.reshape(-1)
        x, weight = in_autocast(x.reshape(-1, x.shape[-1]), self.weight)
        loss = ops.linear_cross_entropy(x, weight, flat, len(weight), z_loss=self.z_loss)
        return loss if self.reduction == "sum" else loss / (flat >= 0).sum()
