# SPDX-License-Identifier: Apache-2.0
"""FLOPs of the operators for `torch.utils.flop_counter.FlopCounterMode`, by torch's rules: two for each multiply-add of
a matrix product, attention without its causal half left out, no norms and no activations.

A formula gets the shapes of the tensors among the arguments of its operator. torch's module imports triton, which takes
long and may print a warning: the formulas are registered when a program imports it, and never before.
"""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import math
import sys
import types
from typing import Any, Callable, Dict, Optional, Sequence

import torch

COUNTER = "torch.utils.flop_counter"
Shape = Sequence[int]


def _product(x: Shape, columns: int) -> int:
    """Of x `[..., depth]` with a matrix of `columns` columns."""
    return 2 * math.prod(x) * columns


def _matmul(x: Shape, w: Shape, **_: Any) -> int:
    return _product(x, w[-1])


def _matmul_out(y: Shape, x: Shape, w: Shape, *_: Any, **__: Any) -> int:
    return _product(x, w[-1])


def _weight_gradient(total: Shape, dy: Shape, x: Shape, *_: Any, **__: Any) -> int:
    """Of `dy^T x`, also where each expert has its own rows of both."""
    return _product(x, dy[-1])


def _int8_linear(x: Shape, values: Shape, *_: Any, **__: Any) -> int:
    return _product(x, values[0])


def _grouped_linear(x: Shape, weight: Shape, *_: Any, **__: Any) -> int:
    return _product(x, weight[1])


def _grouped_linear_backward(dy: Shape, x: Shape, weight: Shape, offsets: Shape, for_x: bool, for_weight: bool,
                             **_: Any) -> int:
    return (for_x + for_weight) * _product(x, weight[1])


def _scores(q: Shape, k: Shape) -> int:
    """Of the scores of all heads, q `[B, T, heads, D]` and k `[B, S, kv_heads, D]`; each other product has as many."""
    return _product(q, k[1])


def _causal_attention(q: Shape, k: Shape, *_: Any, **__: Any) -> int:
    return 2 * _scores(q, k)


def _causal_attention_backward(dy: Shape, q: Shape, k: Shape, *_: Any, **__: Any) -> int:
    """The scores again, and the gradients of q, k, v and of the weights of v."""
    return 5 * _scores(q, k)


def _largest_scores(q: Shape, k: Shape, *_: Any, **__: Any) -> int:
    return _scores(q, k)


def _loss(x: Shape, weight: Shape, targets: Shape, vocabulary: int, scale: float, softcap: Any, for_x: bool,
          for_weight: bool, *_: Any, **__: Any) -> int:
    """The forward pass computes both gradients, too."""
    return (1 + for_x + for_weight) * _product(x, vocabulary)


def _loss_into(x: Shape, weight: Shape, targets: Shape, vocabulary: int, *_: Any, **__: Any) -> int:
    return 3 * _product(x, vocabulary)


FORMULAS: Dict[str, Callable[..., int]] = {
    "add_grouped_weight_gradient_": _weight_gradient,
    "add_weight_gradient_": _weight_gradient,
    "causal_attention_backward": _causal_attention_backward,
    "causal_attention_forward": _causal_attention,
    "deterministic_matmul": _matmul,
    "deterministic_matmul_out_": _matmul_out,
    "grouped_linear_backward": _grouped_linear_backward,
    "grouped_linear_forward": _grouped_linear,
    "int8_linear": _int8_linear,
    "largest_scores": _largest_scores,
    "linear_cross_entropy_forward": _loss,
    "linear_cross_entropy_into": _loss_into,
}


def _add_to(counter: Any) -> None:
    """Registers the formulas in torch's module, once."""
    for name, formula in FORMULAS.items():
        operator = getattr(torch.ops.evenkeel, name)
        if operator not in counter.flop_registry:
            counter.register_flop_formula(operator)(formula)


class _AtImport(importlib.abc.MetaPathFinder):
    """Finds torch's module by the other finders, and registers the formulas after its import."""

    is_searching = False

    def find_spec(self, name: str, path: Any, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        if name != COUNTER or self.is_searching:
            return None
        self.is_searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.is_searching = False
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                execute(module)
                _add_to(module)
            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_at_import = _AtImport()


def register() -> None:
    """Makes the formulas known to torch, as soon as its module is imported; a second call changes nothing."""
    if COUNTER in sys.modules:
        _add_to(importlib.import_module(COUNTER))
    elif _at_import not in sys.meta_path:
        sys.meta_path.insert(0, _at_import)
