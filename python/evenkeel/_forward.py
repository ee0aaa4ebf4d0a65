# SPDX-License-Identifier: Apache-2.0
"""What `evenkeel.patch` needs for all parts of a model: their forward, and the trial before it is replaced."""
import copy
import functools
import inspect
import types
from typing import Any, Callable, Dict, Tuple

import torch
from torch import Tensor

DTYPES = (torch.float32, torch.bfloat16, torch.float64)


def has_kernels(x: Tensor) -> bool:
    """Whether the operators have kernels for the device and the dtype of x."""
    return x.device.type == "cpu" and x.dtype in DTYPES


def taken(x: Tensor) -> bool:
    """Whether the operators take x."""
    return has_kernels(x) and not torch.is_autocast_enabled("cpu")


def own(module: Any, /, *arguments: Any, **options: Any) -> Any:
    """Calls the forward of the module's class, which may itself have an argument `module`.

    torch.compile traces this call, not one of a bound method.
    """
    return type(module).forward(module, *arguments, **options)


@functools.lru_cache(maxsize=None)
def _cached_signature(kind: Any) -> inspect.Signature:
    return inspect.signature(kind.forward)


def signature(kind: Any) -> inspect.Signature:
    """That of the forward of a class. Reading it takes longer than a small layer does.

    torch.compile ignores the cache, and would warn of it.
    """
    return inspect.signature(kind.forward) if torch.compiler.is_compiling() else _cached_signature(kind)


class Forward:
    """The forward of a replaced module: a function of the module and of the arguments.

    It has the signature of the class, which transformers reads, and is pickled and deep-copied with its module: a
    closure is not. torch.export reads the file and the line of `__code__`.
    """

    def __init__(self, function: Callable[..., Any], module: Any) -> None:
        self.function, self.module = function, module

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.function(self.module, *arguments, **options)

    @property
    def __code__(self) -> types.CodeType:
        return self.function.__code__

    @property
    def __signature__(self) -> inspect.Signature:
        whole = signature(type(self.module))
        return whole.replace(parameters=list(whole.parameters.values())[1:])


def by_name(module: Any, arguments: Tuple[Any, ...], options: Dict[str, Any]) -> Dict[str, Any]:
    """All arguments of the forward of the module's class by their names."""
    bound = signature(type(module)).bind(module, *arguments, **options)
    named = dict(list(bound.arguments.items())[1:])  # without the module
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= named.pop(name, {})
    return named


def close(found: Tensor, wanted: Tensor, tolerance: float) -> bool:
    return found.shape == wanted.shape and torch.allclose(found, wanted, 0, tolerance * wanted.abs().max().item())


def agrees(module: Any, wanted: Callable[[Any], Tensor], found: Callable[[Any], Tensor]) -> bool:
    """Whether both functions of a float32 copy of the module in training mode give equal values.

    They do not where one fails: it asks for more than the operators have. Dropout makes them differ, too.
    """
    try:
        trial = copy.deepcopy(module).to(torch.float32).train()
        with torch.no_grad():
            return close(found(trial), wanted(trial), 1e-3)
    except Exception:  # whatever a class unknown to us raises
        return False
