# SPDX-License-Identifier: Apache-2.0
"""Evenkeel in Python: fused operators for the CPU, modules and an optimizer on them, and readers of runs.

    evenkeel.ops           the operators as typed functions
    evenkeel.nn            modules with the parameters of torch.nn and transformers
    evenkeel.optim         AdamW in one pass over memory
    evenkeel.patch         replaces parts of a model of transformers
    evenkeel.load_run      the model of an exported run
    evenkeel.read_metrics  the metrics of a run

`import evenkeel` loads the operators into torch; docs/python.md has an example of each.
"""
from . import _library

_library.load()

from . import nn, ops, optim  # noqa: E402  (they need the operators)
from ._patch import patch, unpatch  # noqa: E402
from .runs import load_run, read_metrics  # noqa: E402

__version__ = _library.VERSION
__all__ = ["load_run", "nn", "ops", "optim", "patch", "read_metrics", "unpatch"]
