# SPDX-License-Identifier: Apache-2.0
"""The operators as typed functions: `torch.ops.evenkeel.NAME` with defaults and documentation.

Letters in shapes: B sequences, T query positions, S key positions, D the last dimension or the head size, F the
FFN width, n rows. Gains, biases and RoPE tables are float32 for float32 and bfloat16 inputs, float64 for float64,
except where a function says float64. Gradients are of first order; docs/operators.md has the limits.
"""
from typing import Optional, Sequence, Tuple

import torch
from torch import Tensor

from . import _flops, _library

_library.load()
_flops.register()
_ops = torch.ops.evenkeel

__all__ = [
    "adamw_", "add_rms_norm", "affine", "apply_rotary", "bounded", "causal_attention", "column_norm",
    "deterministic_matmul", "embedding", "expert_assignment", "gather_sum", "geodesic_step", "grouped_linear",
    "int8_linear", "largest_scores", "layer_norm", "linear_cross_entropy", "normalize_", "power_iteration_",
    "qkv_norm_rope", "qkv_rope", "rms_norm", "row_norm", "scale_rows", "seed_norm", "sigma_reparam", "sphere_step",
    "sum_of_squares", "swiglu", "swiglu_linear", "weight_norm",
]


# Norms.


def rms_norm(x: Tensor, gain: Optional[Tensor], epsilon: float = 1e-5) -> Tensor:
    """`gain * x / sqrt(mean(x^2) + epsilon)` over the last dimension; a gain of None is ones."""
    return _ops.rms_norm(x, gain, epsilon)


def add_rms_norm(residual: Tensor, branch: Tensor, gain: Optional[Tensor],
                 epsilon: float = 1e-5) -> Tuple[Tensor, Tensor]:
    """`(sum, rms_norm(sum, gain, epsilon))` of `sum = residual + branch`, in one pass."""
    return _ops.add_rms_norm(residual, branch, gain, epsilon)


def layer_norm(x: Tensor, gain: Optional[Tensor], bias: Optional[Tensor], epsilon: float = 1e-5) -> Tensor:
    """`gain * (x - mean) / sqrt(variance + epsilon) + bias` over the last dimension."""
    return _ops.layer_norm(x, gain, bias, epsilon)


def row_norm(x: Tensor, gain: Optional[Tensor], bias: Optional[Tensor] = None, groups: int = 1,
             centred: bool = False, partial: float = 1.0, length: bool = False, epsilon: float = 1e-5,
             epsilon_at: int = 0, absmax8: bool = False) -> Tensor:
    """Any other norm over the last dimension.

    groups: equal contiguous groups of the row, each with its own statistic (GroupNorm). centred: subtract the mean.
    partial: the statistic covers the first `max(1, int(partial * D))` values (pRMSNorm); with centred it
    must be 1. length: divide by the L2 norm in place of the root mean square. epsilon_at: 0 inside
    `sqrt(s + e)`, 1 outside, 2 `max(sqrt(s), e)`. absmax8: first divide each group by an eighth of its largest
    magnitude, without gradient (CogView).
    """
    return _ops.row_norm(x, gain, bias, groups, centred, partial, length, epsilon, epsilon_at, absmax8)


def column_norm(x: Tensor, gain: Optional[Tensor], bias: Optional[Tensor] = None, epsilon: float = 1e-5,
                epsilon_at: int = 0) -> Tuple[Tensor, Tensor, Tensor]:
    """BatchNorm1d or InstanceNorm1d: each feature of x `[sequences, n, D]` normalized over its n positions.

    Returns `(y, mean, variance)`; mean and variance are `[sequences, D]`, float64, detached. Gain and bias
    are float64 for every dtype of x.
    """
    return _ops.column_norm(x, gain, bias, epsilon, epsilon_at)


def affine(x: Tensor, gain: Optional[Tensor], bias: Optional[Tensor] = None) -> Tensor:
    """`gain * x + bias`; gain and bias are `[D]`, or `[G]` with one value for each `D / G` features."""
    return _ops.affine(x, gain, bias)


def bounded(x: Tensor, alpha: Tensor, shift: Optional[Tensor] = None, gain: Optional[Tensor] = None,
            bias: Optional[Tensor] = None, erf: bool = False) -> Tensor:
    """DyT: `gain * tanh(alpha x + shift) + bias`; Derf with `erf=True`. Alpha and shift are float64 `[1]`."""
    return _ops.bounded(x, alpha, shift, gain, bias, erf)


def seed_norm(x: Tensor, alpha: Tensor, beta: Tensor, gain: Optional[Tensor] = None,
              bias: Optional[Tensor] = None, epsilon: float = 1e-5) -> Tensor:
    """SeeDNorm: `(alpha tanh(x . beta) + gain) x / rms(x) + bias`; all vectors are `[D]`."""
    return _ops.seed_norm(x, alpha, beta, gain, bias, epsilon)


def sphere_step(start: Tensor, towards: Tensor, step: Tensor) -> Tensor:
    """nGPT: `unit(u + step (v - u))`, u and v the rows of start and towards with unit L2 norm.

    Step is float64, `[D]` or `[1]`.
    """
    return _ops.sphere_step(start, towards, step)


def geodesic_step(x: Tensor, g: Tensor, scale: Tensor, bias: Tensor, decay: float = 1.0) -> Tensor:
    """GeoNorm: a step from x along the sphere through x, towards g. Scale and bias are float64 `[1]`."""
    return _ops.geodesic_step(x, g, scale, bias, decay)


# Norms of weights.


def weight_norm(v: Tensor, row_gain: Tensor) -> Tensor:
    """Each row of v `[rows, columns]` divided by its L2 norm, times its gain."""
    return _ops.weight_norm(v, row_gain)


def sigma_reparam(v: Tensor, gamma: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """`gamma / (left^T v right) * v`; left `[rows]` and right `[columns]` get no gradient."""
    return _ops.sigma_reparam(v, gamma, left, right)


def power_iteration_(v: Tensor, left: Tensor, right: Tensor) -> None:
    """`left = unit(v right)`, then `right = unit(v^T left)`, in place; call it under `torch.no_grad()`."""
    _ops.power_iteration_(v, left, right)


def normalize_(w: Tensor, dim: int = 1) -> None:
    """`torch.nn.functional.normalize(w, dim=dim)` of a matrix, in place; call it under `torch.no_grad()`."""
    _ops.normalize_(w, dim)


# Attention.


def apply_rotary(x: Tensor, cos_sin: Tensor) -> Tensor:
    """RoPE of x `[B, T, heads, D]`; the table `[T, 2, D / 2]` holds cosine, then sine, of the pairs
    `(x[i], x[i + D / 2])`, and gets no gradient."""
    return _ops.apply_rotary(x, cos_sin)


def qkv_norm_rope(qkv: Tensor, cos_sin: Tensor, heads: int, kv_heads: int, q_gain: Optional[Tensor],
                  k_gain: Optional[Tensor], v_gain: Optional[Tensor],
                  epsilon: Sequence[float]) -> Tuple[Tensor, Tensor, Tensor]:
    """QKV projection `[B, T, (heads + 2 kv_heads) D]` to q `[B, T, heads, D]`, k and v `[B, T, kv_heads, D]`.

    Each of q, k, v with a gain `[D]` gets an RMSNorm per head; q and k get RoPE by the table `cos_sin`
    (`apply_rotary`). `epsilon` has three numbers: q, k, v.
    """
    return _ops.qkv_norm_rope(qkv, cos_sin, heads, kv_heads, q_gain, k_gain, v_gain, epsilon)


def qkv_rope(q: Tensor, k: Tensor, v: Tensor, cos_sin: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    """`qkv_norm_rope` without norms, of three tensors: q `[B, T, heads D]`, k and v `[B, T, kv_heads D]`."""
    return _ops.qkv_rope(q, k, v, cos_sin)


def causal_attention(q: Tensor, k: Tensor, v: Tensor, scale: float, softcap: Optional[float] = None,
                     document_starts: Optional[Tensor] = None) -> Tensor:
    """Causal softmax attention with the scores `softcap * tanh(scale * q . k / softcap)`.

    q `[B, T, heads, D]` are the last T of S positions; k and v are `[B, S, kv_heads, D]`, and query head i reads
    key head `i div (heads / kv_heads)`. `document_starts` `[B, T]`, int32, non-decreasing along T: the first position
    that a query attends to; None is 0. Returns `[B, T, heads, D]`.
    """
    return _ops.causal_attention(q, k, v, scale, softcap, document_starts)


def largest_scores(q: Tensor, k: Tensor, scale: float, document_starts: Optional[Tensor] = None) -> Tensor:
    """`[heads]`: the largest `scale * q . k` of each head over visible positions, before soft-capping; detached."""
    return _ops.largest_scores(q, k, scale, document_starts)


# Linear layers and the loss.


def deterministic_matmul(x: Tensor, w: Tensor) -> Tensor:
    """`x @ w` of two matrices or two batches of them, with the same bits for any number of threads."""
    return _ops.deterministic_matmul(x, w)


def swiglu(up_gate: Tensor) -> Tensor:
    """`up * silu(gate)` of `[..., 2 F]`: up in the first F values, gate in the last."""
    return _ops.swiglu(up_gate)


def swiglu_linear(up_gate: Tensor, w: Tensor) -> Tensor:
    """`linear(swiglu(up_gate), w)`; the output of swiglu is not saved for the backward pass; w is `[rows, F]`."""
    return _ops.swiglu_linear(up_gate, w)


def int8_linear(x: Tensor, values: Tensor, scale: Tensor) -> Tensor:
    """`linear(x, scale[:, None] * values)` of int8 values `[rows, columns]` and float32 scales `[rows]`.

    It has no gradient: a backward pass through it raises an error. On the CPU, x of 64 rows or fewer in float32 or
    bfloat16 is rounded to 16-bit integers; larger x is multiplied with dequantized weights.
    """
    return _ops.int8_linear(x, values, scale)


def embedding(weight: Tensor, ids: Tensor) -> Tensor:
    """`weight[ids]`; the gradient of a row is summed in float32 and rounded once."""
    return _ops.embedding(weight, ids)


def linear_cross_entropy(x: Tensor, weight: Tensor, targets: Tensor, vocabulary: int, scale: float = 1.0,
                         softcap: Optional[float] = None, z_loss: float = 0.0) -> Tensor:
    """The **sum** over tokens of `-ln softmax(z)[target] + z_loss * logsumexp(z)^2`, without the matrix of logits z.

    z is `cap(scale * x w^T)`. x is `[tokens, D]`, weight `[rows, D]`; rows from `vocabulary` on are padding. Targets
    `[tokens]` below 0 are ignored. Gradients are computed in the forward pass.
    """
    return _ops.linear_cross_entropy(x, weight, targets, vocabulary, scale, softcap, z_loss)


# Mixture of experts.


def grouped_linear(x: Tensor, weight: Tensor, offsets: Tensor) -> Tensor:
    """Grouped GEMM: row m of expert e, which is `offsets[e] <= m < offsets[e + 1]`, gets `weight[e] @ x[m]`.

    x is `[M, I]`, weight `[E, O, I]`, offsets `[E + 1]`, int64.
    """
    return _ops.grouped_linear(x, weight, offsets)


def expert_assignment(scores: Tensor, k: int) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The k largest router probabilities of each token of `[N, E]`, and the `N k` rows sorted by expert.

    Returns `(top_experts, permutation, token_of_row, inverse_permutation, offsets)`.
    """
    return _ops.expert_assignment(scores, k)


def gather_sum(x: Tensor, rows: Tensor, gradient_rows: Tensor) -> Tensor:
    """`y[n] = sum_j x[rows[n, j]]`; `dx[m] = sum_j dy[gradient_rows[m, j]]`.

    x is `[M, D]`, rows `[N]` or `[N, k]`, gradient_rows `[M]` or `[M, k]` with as many values as rows, both int64.
    """
    return _ops.gather_sum(x, rows, gradient_rows)


def scale_rows(x: Tensor, weights: Tensor) -> Tensor:
    """`weights[m] * x[m]` for each row of x `[M, D]`."""
    return _ops.scale_rows(x, weights)


# Optimizer.


def adamw_(weight: Tensor, first: Tensor, second: Tensor, gradient: Tensor, copy: Optional[Tensor], lr: float,
           beta1: float, beta2: float, epsilon: float, weight_decay: float, gradient_scale: float,
           step: int, take_over: bool = False) -> None:
    """One AdamW step in place, over flat buffers; call it under `torch.no_grad()`.

    PyTorch names them `exp_avg` (first), `exp_avg_sq` (second) and `grad`. `copy` receives the weights in
    bfloat16. `gradient_scale` multiplies the gradient; `step` counts from 1. `take_over` first sets weight to
    copy where the bits of copy are not those of the rounded weight.
    """
    _ops.adamw_(weight, first, second, gradient, copy, lr, beta1, beta2, epsilon, weight_decay, gradient_scale, step,
                take_over)


def sum_of_squares(x: Tensor) -> Tensor:
    """The sum of squares, in float64 and in a fixed order; detached."""
    return _ops.sum_of_squares(x)
