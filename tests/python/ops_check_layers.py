# SPDX-License-Identifier: Apache-2.0
"""The part of ops_check.py for layers: linear, experts, embedding, weights, rotary embedding."""
import torch


def tensor(*shape, dtype=torch.double, grad=False):
    return torch.randn(*shape, dtype=dtype).requires_grad_(grad)


def check_kernels(ops, dtype, wide):
    """Schema, fake tensors and AOT dispatch of the operators that have kernels."""
    check = torch.library.opcheck
    x, dy = tensor(7, 8, dtype=dtype), tensor(7, 6, dtype=dtype)
    weight, offsets = tensor(2, 6, 8, dtype=dtype), torch.tensor([0, 3, 7])
    check(ops.grouped_linear_forward.default, (x, weight, offsets))
    for asked in ((True, True), (True, False), (False, True)):
        check(ops.grouped_linear_backward.default, (dy, x, weight, offsets, *asked))
    check(ops.add_grouped_weight_gradient_.default,
          (tensor(2, 6, 8, dtype=wide), dy, x, offsets))
    check(ops.deterministic_matmul.default, (dy.t(), x))
    check(ops.deterministic_matmul_out_.default, (tensor(7, 7, dtype=dtype), x, x.t(), True))
    for rows in (7, 70):
        values = torch.randint(-127, 128, (5, 8), dtype=torch.int8)
        check(ops.int8_linear.default, (tensor(rows, 8, dtype=dtype), values, torch.rand(5)))
    check(ops.embedding_forward.default, (x, torch.tensor([[1, 6], [0, 1]])))
    check(ops.add_embedding_gradient_.default,
          (tensor(9, 8, dtype=wide), x, torch.arange(7) % 3))
    check(ops.scale_rows_forward.default, (x, tensor(7, dtype=wide)))
    check(ops.scale_rows_backward.default, (x, x, tensor(7, dtype=wide)))
    check(ops.gather_sum_forward.default, (x, torch.tensor([[1, 6], [0, 2]])))
    check(ops.expert_assignment.default, (tensor(7, 4, dtype=wide), 2))
    heads, cos_sin = tensor(2, 5, 3, 8, dtype=dtype), tensor(5, 2, 4, dtype=wide)
    check(ops.apply_rotary_forward.default, (heads, cos_sin))
    check(ops.apply_rotary_backward.default, (heads, cos_sin))
    q, k, v = (tensor(2, 5, columns, dtype=dtype) for columns in (24, 16, 16))
    check(ops.qkv_rope_forward.default, (q, k, v, cos_sin))
    check(ops.qkv_rope_backward.default, (heads, heads, heads, cos_sin))
    gamma, left, right = (tensor(size, dtype=wide) for size in (1, 7, 8))
    check(ops.weight_norm_forward.default, (x, left))
    check(ops.weight_norm_backward.default, (x, x, left))
    _, sigma = ops.sigma_reparam_forward(x, gamma, left, right)
    check(ops.sigma_reparam_forward.default, (x, gamma, left, right))
    check(ops.sigma_reparam_backward.default, (x, x, gamma, left, right, sigma))
    check(ops.power_iteration_.default, (x, left, right))
    check(ops.normalize_.default, (tensor(7, 8, dtype=dtype), 0))


def check_operators(ops):
    """The same of the operators that have a gradient."""
    check = torch.library.opcheck
    rows, experts = tensor(7, 16, grad=True), tensor(2, 6, 16, grad=True)
    check(ops.swiglu_linear.default, (rows, tensor(5, 8, grad=True)))
    check(ops.deterministic_matmul.default, (rows, tensor(16, 5, grad=True)))
    check(ops.deterministic_matmul.default, (tensor(2, 3, 4, grad=True), tensor(2, 4, 5)))
    check(ops.grouped_linear.default, (rows, experts, torch.tensor([0, 3, 7])))
    check(ops.embedding.default, (rows, torch.tensor([[1, 6], [0, 1]])))
    check(ops.scale_rows.default, (rows, tensor(7, grad=True)))
    check(ops.gather_sum.default, (rows, torch.arange(7), torch.arange(7)))
    check(ops.apply_rotary.default, (tensor(2, 3, 4, 8, grad=True), tensor(3, 2, 4)))
    q, k, v = (tensor(2, 3, columns, grad=True) for columns in (24, 16, 16))
    check(ops.qkv_rope.default, (q, k, v, tensor(3, 2, 4)))
    check(ops.weight_norm.default, (rows, tensor(7, grad=True)))
    check(ops.sigma_reparam.default, (rows, tensor(1, grad=True), tensor(7), tensor(16)))


def check_gradients(ops):
    check = torch.autograd.gradcheck
    rows, vector = tensor(6, 8, grad=True), tensor(6, grad=True)
    assert check(ops.swiglu_linear, (rows, tensor(3, 4, grad=True)))
    product = rows, tensor(8, 3, grad=True)
    assert check(ops.deterministic_matmul, product)
    assert torch.autograd.gradgradcheck(ops.deterministic_matmul, product)
    assert check(lambda a, w: ops.grouped_linear(a, w, torch.tensor([0, 2, 6])),
                 (rows, tensor(2, 3, 8, grad=True)))
    assert check(lambda w: ops.embedding(w, torch.tensor([1, 5, 1])), (rows,))
    assert check(ops.scale_rows, (rows, vector))
    cos_sin = torch.full((3, 2, 4), 0.6, dtype=torch.double)
    assert check(lambda a: ops.apply_rotary(a, cos_sin),
                 (tensor(2, 3, 2, 8, grad=True),))
    q, k, v = (tensor(2, 3, columns, grad=True) for columns in (24, 16, 16))
    assert check(lambda *parts: ops.qkv_rope(*parts, cos_sin), (q, k, v))
    assert check(ops.weight_norm, (rows, vector))
    left, right = tensor(6), tensor(8)
    assert check(lambda v, g: ops.sigma_reparam(v, g, left, right), (rows, tensor(1, grad=True)))
