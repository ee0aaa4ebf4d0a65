# SPDX-License-Identifier: Apache-2.0
"""Evenkeel in Python: fused operators for the CPU, modules and an optimizer on them, and readers of runs.

    evenkeel.ops           the operators as typed functions
    evenkeel.nn            modules with the parameters of torch.nn and transformers
    evenkeel.optim         AdamW in one pass over memory
    evenkeel.patch         replaces parts of a model of transformers
    evenkeel.load_run      the model of an exported run
    evenkeel.read_metrics  the metrics of a run

`import evenkeel` loads the operators into torch; docs/python.md has an example of each. Without a torch that fits them,
`load_run`, `read_metrics` and `python -m evenkeel.wandb` work, and each other name raises `ImportError` with the reason.
"""
from typing import Any, List

from . import _library
from .runs import load_run, read_metrics

try:
    _library.load()
except ImportError as error:
    _reason = str(error)
else:
    from . import nn, ops, optim
    from ._patch import patch, unpatch

__version__ = _library.VERSION
__all__ = ["load_run", "nn", "ops", "optim", "patch", "read_metrics", "unpatch"]


def __getattr__(name: str) -> Any:
    """Names that need the operators, where these could not be loaded."""
    if name in __all__:
        raise ImportError(_reason)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
