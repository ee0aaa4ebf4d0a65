# SPDX-License-Identifier: Apache-2.0
"""Several linear layers of one input, whose outputs lie next to each other: the operands of `qkv_norm_rope` and
`swiglu`, without a copy, from weights that stay separate."""
from typing import Any, List, Optional, Sequence, Tuple

import torch
from torch import Tensor
from torch.nn.modules import module as _hooks


class _Linears(torch.autograd.Function):
    """Each product is written into its columns of the output. The backward pass reads them from there."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *weights: Tensor) -> Tensor:
        ctx.save_for_backward(x, *weights)
        y = x.new_empty(x.shape[0], sum(len(weight) for weight in weights))
        begin = 0
        for weight in weights:
            torch.mm(x, weight.t(), out=y[:, begin:begin + len(weight)])
            begin += len(weight)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tuple[Optional[Tensor], ...]:
        x, *weights = ctx.saved_tensors
        parts = dy.split([len(weight) for weight in weights], dim=1)
        dx = None
        if ctx.needs_input_grad[0]:
            dx = parts[0] @ weights[0]
            for part, weight in zip(parts[1:], weights[1:]):
                dx.addmm_(part, weight)
        needed = ctx.needs_input_grad[1:]
        return (dx, *(part.t() @ x if wanted else None for part, wanted in zip(parts, needed)))


def has_hooks(module: Any) -> bool:
    """Whether calling a module runs hooks."""
    return bool(module._forward_hooks or module._forward_pre_hooks or module._backward_hooks
                or module._backward_pre_hooks or _hooks._has_any_global_hook())


def is_plain(layer: Any) -> bool:
    """Whether calling a layer is no more than a product with its weight: no LoRA, quantization or hooks.

    torchao and tensor parallelism keep torch.nn.Linear and replace its weight by a subclass of Tensor.
    """
    return (type(layer) is torch.nn.Linear and "forward" not in layer.__dict__ and not has_hooks(layer)
            and type(layer.weight) in (Tensor, torch.nn.Parameter))


def in_autocast(*operands: Optional[Tensor]) -> Tuple[Any, ...]:
    """Operands of products in bfloat16, where autocast is on: float64 and None stay as they are.

    `ValueError` for operands that autocast would cast to another dtype, which the operators do not take.
    """
    kind = operands[0].device.type  # type: ignore[union-attr]
    if kind == "meta" or not torch.is_autocast_enabled(kind):
        return operands
    if all(each is None or each.dtype == torch.float64 for each in operands):
        return operands
    dtype = torch.get_autocast_dtype(kind)
    if dtype != torch.bfloat16:
        raise ValueError(f"wanted autocast in bfloat16, found {dtype}")
    return tuple(each if each is None or each.dtype == torch.float64 else each.to(dtype) for each in operands)


def linears(x: Tensor, weights: Sequence[Tensor], biases: Sequence[Optional[Tensor]]) -> Tensor:
    """`cat([linear(x, w, b) for w, b in zip(weights, biases)], -1)` of x `[..., D]`.

    Under torch.compile and torch.vmap the concatenation itself, which both can see through.
    """
    x, *weights = in_autocast(x, *weights)
    _, *biases = in_autocast(x, *biases)
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        each: List[Tensor] = [torch.nn.functional.linear(x, w, b) for w, b in zip(weights, biases)]
        return torch.cat(each, -1)
    y = _Linears.apply(x.reshape(-1, x.shape[-1]), *weights)
    if any(bias is not None for bias in biases):
        y = y + torch.cat([x.new_zeros(len(w)) if b is None else b for w, b in zip(weights, biases)])
    return y.view(*x.shape[:-1], y.shape[-1])
