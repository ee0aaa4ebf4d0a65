#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operators as Python sees them: opcheck, gradcheck, and torch.compile against eager.

    ops_check.py LIBRARY    LIBRARY: libevenkeel_ops.so

Exits with 77 (skipped) where no whole torch can be imported: opcheck and torch.compile need more
than the library (sympy, jinja2 and others).
"""
import pathlib
import shutil
import sys

try:
    import torch
    from torch._dynamo.utils import counters
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import ops_check_layers

torch.ops.load_library(sys.argv[1])
ops = torch.ops.evenkeel
EPSILON = 1e-5

# groups, centred, partial, length, epsilon, where (inside, outside, clamp), absmax8
ROW_NORMS = [(1, False, 0.25, False, EPSILON, 0, False), (2, True, 1.0, False, EPSILON, 1, True),
             (1, False, 1.0, True, EPSILON, 2, False)]


def tensor(*shape, dtype=torch.double, grad=False):
    return torch.randn(*shape, dtype=dtype).requires_grad_(grad)


def check_kernels(dtype, gain, bias):
    """Schema, fake tensors and AOT dispatch of the operators that have kernels."""
    check = torch.library.opcheck
    x, dy = tensor(4, 8, 16, dtype=dtype), tensor(4, 8, 16, dtype=dtype)
    _, rstd = ops.rms_norm_forward(x, gain, EPSILON)
    check(ops.rms_norm_forward.default, (x, gain, EPSILON))
    check(ops.rms_norm_backward.default, (dy, dy if bias is None else None, x, gain, rstd))
    check(ops.add_rms_norm_forward.default, (x, dy, gain, EPSILON))
    _, mean, rstd = ops.layer_norm_forward(x, gain, bias, EPSILON)
    check(ops.layer_norm_forward.default, (x, gain, bias, EPSILON))
    check(ops.layer_norm_backward.default, (dy, x, gain, bias, mean, rstd))
    check(ops.affine_forward.default, (x, gain, bias))
    check(ops.affine_backward.default, (dy, x, gain, bias))
    for form in ROW_NORMS:
        check(ops.row_norm_forward.default, (x, gain, bias, *form))
        check(ops.row_norm_backward.default, (dy, x, gain, bias, *form))
    wide = [None if each is None else each.double() for each in (gain, bias)]
    _, mean, _, rho, slope = ops.column_norm_forward(x, *wide, EPSILON, 1)
    check(ops.column_norm_forward.default, (x, *wide, EPSILON, 1))
    check(ops.column_norm_backward.default, (dy, x, *wide, mean, rho, slope))
    step, one = torch.rand(16, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    check(ops.sphere_step_forward.default, (x, dy, step))
    check(ops.sphere_step_backward.default, (dy, x, dy, step))
    check(ops.geodesic_step_forward.default, (x, dy, one, one, 0.5))
    check(ops.geodesic_step_backward.default, (dy, x, dy, one, one, 0.5))
    for erf in (False, True):
        check(ops.bounded_forward.default, (x, one, one, gain, bias, erf))
        check(ops.bounded_backward.default, (dy, x, one, None, gain, bias, erf))
    if gain is not None:
        check(ops.seed_norm_forward.default, (x, gain, gain, None, bias, EPSILON))
        check(ops.seed_norm_backward.default, (dy, x, gain, gain, gain, bias, EPSILON))
    check(ops.sum_of_squares.default, (x,))
    check(ops.swiglu_forward.default, (x,))
    check(ops.swiglu_backward.default, (dy[..., :8].contiguous(), x))
    check(ops.swiglu_backward_.default, (dy[..., :8].contiguous(), x))


def check_heads(dtype, wide):
    """2 heads, 1 key head, of width 8: some normed, some not."""
    check = torch.library.opcheck
    products, turn = tensor(2, 3, 32, dtype=dtype), tensor(3, 2, 4, dtype=wide)
    gain = tensor(8, dtype=wide)
    for gains in ((gain, gain, gain), (gain, None, gain), (None, None, None)):
        arguments = (products, turn, 2, 1, *gains)
        epsilon = [EPSILON] * 3
        q, k, v, rstd = ops.qkv_norm_rope_forward(*arguments, epsilon)
        # rstd of a head without a norm is not written: only rstd of normed heads is compared
        if gains[1] is not None:
            check(ops.qkv_norm_rope_forward.default, (*arguments, epsilon))
        check(ops.qkv_norm_rope_backward.default, (q, k, v, *arguments, rstd))


def check_attention(dtype):
    """5 queries after 3 cached positions, two heads for each key head, with and without a cap, as one
    document and as two."""
    q, k, v = (tensor(2, *sizes, 8, dtype=dtype) for sizes in ((5, 4), (8, 2), (8, 2)))
    two = torch.tensor([[0, 0, 5, 5, 5], [2, 2, 2, 2, 7]], dtype=torch.int32)
    for cap, document_starts in ((None, None), (2.0, None), (None, two)):
        torch.library.opcheck(ops.causal_attention_forward.default, (q, k, v, 0.3, cap, document_starts))
        y, lse = ops.causal_attention_forward(q, k, v, 0.3, cap, document_starts)
        torch.library.opcheck(ops.largest_scores.default, (q, k, 0.3, document_starts))
        torch.library.opcheck(
            ops.causal_attention_backward.default, (y, q, k, v, y, lse, 0.3, cap, document_starts)
        )


def check_head_of_model(dtype):
    x, weight = tensor(6, 8, dtype=dtype), tensor(12, 8, dtype=dtype)
    targets = torch.tensor([0, 9, -1, 3, 3, 7])
    for asked in ((True, True), (True, False), (False, True), (False, False)):
        torch.library.opcheck(ops.linear_cross_entropy_forward.default,
                              (x, weight, targets, 10, 0.5, 3.0, *asked))
        torch.library.opcheck(ops.linear_cross_entropy_forward.default,
                              (x, weight, targets, 10, 0.5, 3.0, *asked, 0.1))
    sum_dtype = torch.float32 if dtype == torch.bfloat16 else dtype
    torch.library.opcheck(ops.linear_cross_entropy_into.default,
                          (x, weight, targets, 10, 0.5, 3.0, tensor(12, 8, dtype=sum_dtype)))
    torch.library.opcheck(ops.cross_entropy_rows_.default,
                          (tensor(6, 10, dtype=dtype), targets, 1.0, None, True))


def check_update(dtype, gradient, copy):
    buffers = [tensor(9, dtype=dtype), tensor(9, dtype=dtype), torch.rand(9, dtype=dtype)]
    numbers = (1e-3, 0.9, 0.95, 1e-8, 0.1, 0.5, 3)
    torch.library.opcheck(
        ops.adamw_.default, (*buffers, tensor(9, dtype=gradient), copy, *numbers, copy is not None))


def check_operators():
    gain, bias = tensor(16), tensor(16)
    check_kernels(torch.double, gain, bias)
    check_kernels(torch.double, None, None)
    check_kernels(torch.float, gain.float(), None)
    check_kernels(torch.bfloat16, gain.float(), bias.float())
    for dtype, wide in ((torch.double, torch.double), (torch.bfloat16, torch.float)):
        check_heads(dtype, wide)
        check_head_of_model(dtype)
        check_attention(dtype)
        ops_check_layers.check_kernels(ops, dtype, wide)
    check_update(torch.float, torch.bfloat16, torch.empty(9, dtype=torch.bfloat16))
    check_update(torch.double, torch.double, None)

    check = torch.library.opcheck  # these have a gradient, too
    x, y = tensor(4, 8, 16, grad=True), tensor(4, 8, 16, grad=True)
    gain, bias = tensor(16, grad=True), tensor(16, grad=True)
    check(ops.rms_norm.default, (x, gain, EPSILON))
    check(ops.add_rms_norm.default, (x, y, gain, EPSILON))
    check(ops.layer_norm.default, (x, gain, bias, EPSILON))
    check(ops.affine.default, (x, gain, bias))
    for form in ROW_NORMS:
        check(ops.row_norm.default, (x, gain, bias, *form))
    check(ops.column_norm.default, (x, gain, bias, EPSILON))
    check(ops.sphere_step.default, (x, y, gain))
    check(ops.geodesic_step.default, (x, y, gain[:1], bias[:1], 0.5))
    check(ops.bounded.default, (x, gain[:1], bias[:1], gain, bias, True))
    check(ops.seed_norm.default, (x, gain, bias, gain, bias, EPSILON))
    check(ops.swiglu.default, (x,))
    products, turn = tensor(2, 3, 32, grad=True), tensor(3, 2, 4)
    gains = [tensor(8, grad=True) for _ in range(3)]
    check(ops.qkv_norm_rope.default, (products, turn, 2, 1, *gains, [EPSILON] * 3))
    q, k, v = (tensor(2, 3, heads, 8, grad=True) for heads in (4, 2, 2))
    check(ops.causal_attention.default, (q, k, v, 0.3, None))
    weight, targets = tensor(12, 16, grad=True), torch.arange(32) % 10
    check(ops.linear_cross_entropy.default,
          (x.detach().flatten(0, 1).requires_grad_(), weight, targets, 10))


def check_gradients():
    x, y = tensor(2, 3, 5, grad=True), tensor(2, 3, 5, grad=True)
    gain, bias = tensor(5, grad=True), tensor(5, grad=True)
    check = torch.autograd.gradcheck
    assert check(lambda a, g: ops.rms_norm(a, g, EPSILON), (x, gain))
    assert check(lambda a: ops.rms_norm(a, None, EPSILON), (x,))
    assert check(lambda a, b, g: ops.add_rms_norm(a, b, g, EPSILON), (x, y, gain))
    assert check(lambda a, g, b: ops.layer_norm(a, g, b, EPSILON), (x, gain, bias))
    assert check(ops.affine, (x, gain, bias))
    for where in (0, 1, 2):
        assert check(lambda a, g, b: ops.column_norm(a, g, b, EPSILON, where)[0], (x, gain, bias))
    assert check(ops.sphere_step, (x, y, gain))
    angle = tensor(1, grad=True), tensor(1, grad=True)
    assert check(lambda *of: ops.geodesic_step(*of, 0.1), (x, y, *angle))
    for erf in (False, True):
        assert check(lambda a, *of: ops.bounded(a, *of, erf), (x, *angle, gain, bias))
    vectors = [tensor(5, grad=True) for _ in range(4)]
    assert check(lambda a, *of: ops.seed_norm(a, *of, EPSILON), (x, *vectors))
    wide = tensor(2, 3, 8, grad=True)
    for form in ROW_NORMS:
        if not form[-1]:  # absmax8 is a constant to the gradient, and none to finite differences
            assert check(lambda a, g, b: ops.row_norm(a, g, b, *form),
                         (wide, tensor(8, grad=True), tensor(8, grad=True)))
    assert check(ops.swiglu, (tensor(2, 3, 6, grad=True),))
    heads, turn = tensor(2, 3, 16, grad=True), tensor(3, 2, 2)
    gains = [tensor(4, grad=True) for _ in range(3)]
    assert check(lambda a, *g: ops.qkv_norm_rope(a, turn, 2, 1, *g, [EPSILON] * 3),
                 (heads, *gains))
    q, k, v = (tensor(2, 4, heads, 4, grad=True) for heads in (2, 1, 1))
    assert check(lambda *qkv: ops.causal_attention(*qkv, 0.5, 1.5), (q, k, v))
    rows, targets = tensor(6, 5, grad=True), torch.tensor([0, 6, -1, 3, 3, 2])
    head = tensor(8, 5, grad=True)
    for more in ((0.5, 2.0), (0.5, 2.0, 0.3), (1.0, None, 0.3)):
        assert check(lambda a, w: ops.linear_cross_entropy(a, w, targets, 7, *more), (rows, head))


def refuses(words, action):
    """The action ends with an error that has these words."""
    try:
        action()
    except RuntimeError as error:
        assert words in str(error), error
        return
    raise AssertionError(f"nothing was refused with: {words}")


def written_between(write):
    """y = a * b, then something is written into a, then the gradient of b is wanted: it needs a."""
    a, b = tensor(6, 8), tensor(6, 8, grad=True)
    y = (a * b).sum()
    with torch.no_grad():
        write(a)
    refuses("modified by an inplace operation", lambda: torch.autograd.grad(y, b))


def check_writes():
    """What an operator writes into has another version, and no gradient goes through it."""
    numbers = (1e-3, 0.9, 0.95, 1e-8, 0.1, 1.0, 1)
    x, weight, targets = tensor(5, 8), tensor(6, 8), torch.arange(5)
    written_between(lambda a: ops.swiglu_backward_(a, tensor(6, 16)))
    written_between(lambda a: ops.cross_entropy_rows_(a, torch.arange(6), 1.0, None, True))
    written_between(lambda a: ops.add_weight_gradient_(a, tensor(5, 6), x))
    written_between(lambda a: ops.linear_cross_entropy_into(x, weight, targets, 6, 1.0, None, a))
    written_between(lambda a: ops.adamw_(a.view(-1), *torch.rand(3, 48).double(), None, *numbers))
    leaf = torch.rand(9, dtype=torch.double, requires_grad=True)
    refuses("a leaf Variable that requires grad",
            lambda: ops.adamw_(leaf, *torch.rand(3, 9).double(), None, *numbers))


def check_refusals():
    x, weight = tensor(5, 8, grad=True), tensor(6, 8, grad=True)
    loss = ops.linear_cross_entropy(x, weight, torch.arange(5), 6)
    refuses("can be differentiated once", lambda: torch.autograd.grad(loss, x, create_graph=True))
    refuses("[add_weight_gradient_] sum must be",
            lambda: ops.add_weight_gradient_(tensor(4, 8), tensor(5, 6), tensor(5, 9)))
    meta = torch.zeros(2, dtype=torch.int64, device="meta")
    refuses("targets must be on cpu",
            lambda: ops.cross_entropy_rows_(tensor(2, 9), meta, 1.0, None, True))
    refuses("cos_sin has no gradient", lambda: ops.qkv_norm_rope(
        tensor(1, 3, 16), tensor(3, 2, 2, grad=True), 2, 1, None, None, None, [EPSILON] * 3))


def check_frozen():
    """Only the gradients that are wanted are made, and they are the same."""
    x, weight, targets = tensor(5, 8), tensor(6, 8), torch.arange(5)
    wanted = [leaf.clone().requires_grad_() for leaf in (x, weight)]
    both = torch.autograd.grad(ops.linear_cross_entropy(*wanted, targets, 6), wanted)
    for alone, other in ((0, 1), (1, 0)):
        leaves = [x.clone(), weight.clone()]
        leaves[alone].requires_grad_()
        saved = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
            loss = ops.linear_cross_entropy(*leaves, targets, 6)
        assert [t.numel() for t in saved][other] == 0, [t.shape for t in saved]
        assert torch.equal(torch.autograd.grad(loss, leaves[alone])[0], both[alone])


def sublayers(x, gain, bias):
    """Every norm between operations that a compiler likes to fuse and to reorder."""
    total, y = ops.add_rms_norm(2 * x, x.sin(), gain, EPSILON)
    z = ops.layer_norm(total.transpose(0, 1) + 1, gain, bias, EPSILON).transpose(0, 1)
    return (ops.rms_norm(y * z, None, EPSILON) + total).sin().sum()


def check_compile(backend):
    """One dynamic trace gives what eager gives, forward and backward, for every batch."""
    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(sublayers, fullgraph=True, backend=backend, dynamic=True)
    gain, bias = tensor(16, grad=True), tensor(16, grad=True)
    for batch in (3, 5, 6):
        x = tensor(batch, 8, 16, grad=True)
        loss, wanted = compiled(x, gain, bias), sublayers(x, gain, bias)
        torch.testing.assert_close(loss, wanted)
        leaves = (x, gain, bias)
        torch.testing.assert_close(
            torch.autograd.grad(loss, leaves), torch.autograd.grad(wanted, leaves))
    assert counters["stats"]["unique_graphs"] == 1, counters["stats"]


def check_compiled_update():
    """torch.compile sees what adamw_ writes."""
    def update(weight, first, second, gradient):
        ops.adamw_(weight, first, second, gradient, None, 1e-3, 0.9, 0.95, 1e-8, 0.1, 1.0, 1)
        return weight * 2
    torch._dynamo.reset()
    start = [tensor(9), tensor(9), torch.rand(9, dtype=torch.double), tensor(9)]
    eager, compiled = [t.clone() for t in start], [t.clone() for t in start]
    wanted = update(*eager)
    got = torch.compile(update, fullgraph=True, backend="aot_eager")(*compiled)
    torch.testing.assert_close([got, *compiled], [wanted, *eager])
    assert not torch.equal(compiled[0], start[0])


def check_compiled_backward():
    """Under compiled autograd, which traces backward passes, too."""
    def losses(x, gain):
        y = ops.column_norm(ops.row_norm(x, gain), None)[0]
        y.square().sum().backward()
    torch._dynamo.reset()
    x, gain = tensor(2, 3, 8, grad=True), tensor(8, grad=True)
    losses(x, gain)
    wanted, x.grad, gain.grad = (x.grad, gain.grad), None, None
    with torch._dynamo.config.patch(compiled_autograd=True):
        torch.compile(losses, backend="aot_eager")(x, gain)
    torch.testing.assert_close((x.grad, gain.grad), wanted)


def check_reference():
    """docs/operators.md names every operator, in a row of its table if it is a user's."""
    page = (pathlib.Path(__file__).parents[2] / "docs/operators.md").read_text()
    schemas = (str(schema) for schema in torch._C._jit_get_all_schemas())
    for schema in filter(lambda one: one.startswith("evenkeel::"), schemas):
        name = schema.split("::")[1].split("(")[0]
        if not name.endswith(("_forward", "_backward")):
            assert f"| `{name}(" in page or f"`{name}`" in page, name


def main():
    torch.manual_seed(0)
    check_reference()
    check_operators()
    check_gradients()
    ops_check_layers.check_operators(ops)
    ops_check_layers.check_gradients(ops)
    check_writes()
    check_refusals()
    ops_check_layers.check_refusals(ops)
    ops_check_layers.check_double_backward(ops)
    check_frozen()
    backends = ["aot_eager"] + ["inductor"] * any(map(shutil.which, ("c++", "g++", "clang++")))
    for backend in backends:
        check_compile(backend)
    check_compiled_update()
    check_compiled_backward()
    print(f"opcheck, gradcheck and torch.compile ({', '.join(backends)}) agree with eager")


if __name__ == "__main__":
    main()
