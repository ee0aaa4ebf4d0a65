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


def taken(x: Tensor) -> bool:
    """Whether the operators take x."""
    return x.device.type == "cpu" and x.dtype in DTYPES and not torch.is_autocast_enabled("cpu")


def own(module: Any) -> Callable[..., Any]:
    """The forward of the module's class."""
    return types.MethodType(type(module).forward, module)


@functools.lru_cache(maxsize=None)
def signature(kind: type) -> inspect.Signature:
    """That of the forward of a class. Reading it takes longer than a small layer does."""
    return inspect.signature(kind.forward)


class Forward:
    """The forward of a replaced module: a function of the module and of the arguments.

    It has the signature of the class, which transformers reads, and is pickled and deep-copied with its module.
    """

    def __init__(self, function: Callable[..., Any], module: Any) -> None:
        self.function, self.module = function, module

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.function(self.module, *arguments, **options)

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
