# SPDX-License-Identifier: Apache-2.0
"""Optimizers with the interface of torch.optim."""
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch import Tensor

from . import ops

__all__ = ["AdamW"]


def _flat(tensor: Tensor, like: Tensor) -> Tensor:
    """A view of all values of a dense tensor, in the order of memory of `like`; `ValueError` if there is none."""
    reach = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    is_dense = tensor.numel() < 2 or (reach == tensor.numel() and tensor.stride() == like.stride())
    if not is_dense:
        raise ValueError(f"AdamW: wanted a parameter without gaps in memory, but found {list(tensor.shape)} with "
                         f"strides {tensor.stride()}")
    return tensor.as_strided((tensor.numel(),), (1,))


class AdamW(torch.optim.Optimizer):
    """`torch.optim.AdamW` in one pass over memory for each parameter.

    Results are those of torch.optim.AdamW within the rounding of float32. A bfloat16 parameter has a float32 copy
    ("master weights") in its state, which the optimizer updates and rounds to the parameter; torch rounds each
    update to bfloat16 instead. The keys of the state are those of torch: `step`, `exp_avg`, `exp_avg_sq`, and
    `master` for bfloat16.
    """

    def __init__(self, params: Any, lr: float = 1e-3, betas: Tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2) -> None:
        if not (lr >= 0 and eps >= 0 and weight_decay >= 0 and all(0 <= beta < 1 for beta in betas)):
            raise ValueError("AdamW: wanted lr, eps and weight_decay >= 0, and betas in [0, 1), but found "
                             f"lr={lr}, betas={betas}, eps={eps}, weight_decay={weight_decay}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def _state_of(self, parameter: Tensor) -> Dict[str, Any]:
        state = self.state[parameter]
        if not state:
            wide = torch.promote_types(parameter.dtype, torch.float32)
            state["step"] = torch.tensor(0.0)
            for name in ("exp_avg", "exp_avg_sq"):
                state[name] = torch.zeros_like(parameter, dtype=wide, memory_format=torch.preserve_format)
            if wide != parameter.dtype:
                state["master"] = parameter.detach().to(wide)
        return state

    def _update(self, parameter: Tensor, group: Dict[str, Any]) -> None:
        gradient, state = parameter.grad, self._state_of(parameter)
        if gradient.stride() != parameter.stride():
            gradient = torch.empty_like(parameter).copy_(gradient)
        state["step"] += 1
        names = ("exp_avg", "exp_avg_sq")
        master = state.get("master")
        buffers = [parameter if master is None else master, *(state[name] for name in names), gradient]
        copy: Optional[Tensor] = None if master is None else _flat(parameter.detach(), parameter)
        ops.adamw_(*(_flat(each.detach(), parameter) for each in buffers), copy, float(group["lr"]), *group["betas"],
                   group["eps"], group["weight_decay"], 1.0, int(state["step"]))

    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:  # type: ignore[override]
        """One update of all parameters that have a gradient; returns what `closure` returns."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            parameters: List[Tensor] = [each for each in group["params"] if each.grad is not None]
            for parameter in parameters:
                self._update(parameter, group)
        return loss

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """As torch's, which would round the moments of bfloat16 parameters: they stay as they are here."""
        super().load_state_dict(state_dict)
        parameters = [each for group in self.param_groups for each in group["params"]]
        saved = [number for group in state_dict["param_groups"] for number in group["params"]]
        for parameter, number in zip(parameters, saved):
            for name, value in state_dict["state"].get(number, {}).items():
                if name != "step" and isinstance(value, Tensor) and parameter.dtype == torch.bfloat16:
                    self.state[parameter][name] = value.detach().clone()
