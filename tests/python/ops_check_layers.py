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


def refuses(words, kind, action):
    """The action ends with an error of this kind, whose message begins with these words."""
    try:
        action()
    except kind as error:
        assert str(error).startswith(words), error
        return
    raise AssertionError(f"nothing was refused with: {words}")


def check_refusals(ops):
    """Messages name the operator, what it wants and what it found."""
    for ids in ([0, 5], [-1, 4]):
        refuses(f"[embedding] ids must be 0 to 4, but are {ids[0]} to {ids[1]}", IndexError,
                lambda ids=ids: ops.embedding(tensor(5, 3), torch.tensor(ids)))
    refuses("[gather_sum] gradient_rows must have the 3 rows of x and the 2 terms of rows, but is [3, 2], which has "
            "6 terms", RuntimeError, lambda: ops.gather_sum(tensor(3, 4), torch.zeros(1, 2, dtype=torch.long),
                                                 torch.zeros(3, 2, dtype=torch.long)))
    rows = tensor(3, 8)
    for w, dtype in ((tensor(5, 3), "float64"), (tensor(5, 4, dtype=torch.float), "float32"), (rows[0], "float64")):
        refuses("[swiglu_linear] up_gate must be [..., 2 F] and w [rows, F] of one dtype, but they are [3, 8] of "
                f"float64 and {list(w.shape)} of {dtype}", RuntimeError, lambda w=w: ops.swiglu_linear(rows, w))
    refuses("[swiglu_linear] up_gate must be [..., 2 F]", RuntimeError,
            lambda: ops.swiglu_linear(rows[0, 0], tensor(5, 4)))
    heads = tensor(1, 2, 2, 4)
    for scale in (float("nan"), float("inf")):
        refuses(f"[causal_attention] scale must be finite, but is {scale}", RuntimeError,
                lambda scale=scale: ops.causal_attention(heads, heads, heads, scale, None))
    largest = ops.largest_scores(heads[:0], heads[:0], 0.5)
    assert torch.equal(largest, torch.full((2,), -torch.inf, dtype=torch.float64)), largest


def check_double_backward(ops):
    """docs/operators.md: an error names the operator, or an internal operator. Only deterministic_matmul has one."""
    x, gain, order = tensor(4, 8, grad=True), tensor(8, grad=True), torch.arange(4)
    w = tensor(5, 4)
    for words, function in (("[embedding] can be differentiated once", lambda: ops.embedding(x, order)),
                            ("[swiglu_linear] is differentiable once", lambda: ops.swiglu_linear(x, w)),
                            ("[linear_cross_entropy] can be differentiated once",
                             lambda: ops.linear_cross_entropy(x, tensor(6, 8), order, 6)),
                            ("derivative for evenkeel::rms_norm_backward", lambda: ops.rms_norm(x, gain)),
                            ("derivative for evenkeel::rms_norm_backward", lambda: ops.add_rms_norm(x, x, gain)[1]),
                            ("derivative for evenkeel::gather_sum_forward", lambda: ops.gather_sum(x, order, order))):
        def second(function=function):
            first, = torch.autograd.grad(function().square().sum(), x, create_graph=True)
            first.sum().backward()
        refuses(words, RuntimeError, second)


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
