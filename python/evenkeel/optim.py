# SPDX-License-Identifier: Apache-2.0
"""Optimizers with the interface of torch.optim."""
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import torch
from torch import Tensor

from . import ops

__all__ = ["AdamW"]

MOMENTS = ("exp_avg", "exp_avg_sq")
WIDE = {torch.float32: torch.float32, torch.bfloat16: torch.float32, torch.float64: torch.float64}  # dtypes of states
PLAIN = (Tensor, torch.nn.Parameter)
REFUSED = ("maximize", "amsgrad", "capturable", "differentiable")


def _check(group: Dict[str, Any]) -> None:
    """`ValueError` for options of a group that are out of range, or that change results and are not known here."""
    lr, betas, eps, weight_decay = (group[name] for name in ("lr", "betas", "eps", "weight_decay"))
    numbers = (lr, eps, weight_decay)
    if not (all(0 <= number < float("inf") for number in numbers) and all(0 <= beta < 1 for beta in betas)):
        raise ValueError("AdamW: wanted lr, eps and weight_decay >= 0 and finite, and betas in [0, 1), but found "
                         f"lr={lr}, betas={betas}, eps={eps}, weight_decay={weight_decay}")
    for name in REFUSED:
        if group.get(name):
            raise ValueError(f"AdamW: wanted a group without {name}, but found {name}=True; use torch.optim.AdamW")


def _flat(tensor: Tensor, like: Tensor) -> Tensor:
    """A view of all values of a dense tensor, in the order of memory of `like`; `ValueError` if there is none."""
    reach = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    is_dense = tensor.numel() < 2 or (reach == tensor.numel() and tensor.stride() == like.stride())
    if not is_dense:
        raise ValueError(f"AdamW: wanted a parameter without gaps in memory, but found {list(tensor.shape)} with "
                         f"strides {tensor.stride()}")
    return tensor.as_strided((tensor.numel(),), (1,))


def _local(tensor: Tensor) -> Tensor:
    """This process's part of a DTensor; another tensor itself."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """A gradient or a state with the placement and the memory format of its parameter; itself if it has them.

    `ValueError` for another shape, and for a tensor without placements of a parameter that has them.
    """
    placements = getattr(parameter, "placements", None)
    if getattr(tensor, "placements", None) != placements:
        if placements is None or not hasattr(tensor, "placements"):
            raise ValueError(f"AdamW: wanted a gradient and a state that are {type(parameter).__name__} like their "
                             f"parameter, but found {type(tensor).__name__}; load a sharded state with "
                             "torch.distributed.checkpoint.state_dict.set_optimizer_state_dict")
        tensor = tensor.redistribute(placements=placements)
    if tensor.shape != parameter.shape:  # equally many values can lie in another order, and copy_ broadcasts
        raise ValueError(f"AdamW: wanted a gradient and a state of shape {list(parameter.shape)} like their parameter, "
                         f"but found {list(tensor.shape)}")
    if _local(tensor).stride() == _local(parameter).stride():
        return tensor
    return torch.empty_like(parameter, dtype=tensor.dtype).copy_(tensor)


def _are_contiguous(tensors: List[Tensor]) -> bool:
    """Whether no tensor is a DTensor or another subclass, and all have one shape and no gaps in memory."""
    shape = tensors[0].shape
    for each in tensors:
        if type(each) not in PLAIN or not each.is_contiguous() or each.shape != shape:
            return False
    return True


def _has_form(state: Dict[str, Any], parameter: Tensor) -> bool:
    """Whether a state has the entries and the dtype for the parameter; `ValueError` for a dtype that has none."""
    wide = WIDE.get(parameter.dtype)
    if wide is None:
        raise ValueError(f"AdamW: wanted a parameter in float32, bfloat16 or float64, but found {parameter.dtype}; "
                         "use torch.optim.AdamW")
    moment = state.get(MOMENTS[0])
    return moment is not None and moment.dtype is wide and ("master" in state) is (wide is not parameter.dtype)


def _check_loaded(state_dict: Dict[str, Any], defaults: Dict[str, Any]) -> None:
    """`ValueError` for a state dictionary of another optimizer, or with options that are not known here."""
    for group in state_dict["param_groups"]:
        _check({**defaults, **group})
    wanted = ("step", *MOMENTS)
    for state in state_dict["state"].values():
        if state and not all(name in state for name in wanted):
            raise ValueError(f"AdamW: wanted a state with {', '.join(wanted)}, but found {', '.join(state)}; "
                             "load a state of AdamW")


class AdamW(torch.optim.Optimizer):
    """`torch.optim.AdamW` in one pass over memory for each parameter.

    Results are those of torch.optim.AdamW within the rounding of float32. A bfloat16 parameter has a float32 copy
    ("master weights") in its state, which the optimizer updates and rounds to the parameter; torch rounds each
    update to bfloat16 instead. The keys of the state are those of torch: `step`, `exp_avg`, `exp_avg_sq`, and
    `master` for bfloat16. A bfloat16 parameter that something else has changed, such as `load_state_dict` of the
    model, is taken over into its copy before the next update. The state follows `model.to(dtype)`. `foreach` and
    `fused` do not change results: they are accepted and have no effect. `maximize`, `amsgrad`, `capturable` and
    `differentiable` are refused.

    A DTensor parameter (FSDP2) has DTensors in its state; each process updates its own part.
    """

    def __init__(self, params: Any, lr: Union[float, Tensor] = 1e-3, betas: Tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: Optional[bool] = None, capturable: bool = False, differentiable: bool = False,
                 fused: Optional[bool] = None) -> None:
        del foreach, fused  # torch's choices between implementations with equal results
        _check({"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
                "maximize": maximize, "capturable": capturable, "differentiable": differentiable})
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        """As torch's; `ValueError` for numbers out of range, and for options that are not known here."""
        _check({**self.defaults, **param_group})
        super().add_param_group(param_group)

    def _state_of(self, parameter: Tensor) -> Dict[str, Any]:
        """The state of a parameter: zeros before its first step, converted where `model.to(dtype)` changed it."""
        state = self.state[parameter]
        if _has_form(state, parameter):
            return state
        wide = WIDE[parameter.dtype]
        state.setdefault("step", torch.tensor(0.0))
        for name in MOMENTS:
            state[name] = (state[name].to(wide) if name in state else
                           torch.zeros_like(parameter, dtype=wide, memory_format=torch.preserve_format))
        if wide == parameter.dtype:
            state.pop("master", None)
        else:
            state["master"] = parameter.detach().to(wide)
        return state

    def _flats(self, parameter: Tensor, state: Dict[str, Any], gradient: Tensor) -> List[Tensor]:
        """Views `[N]` of the parameter, its gradient and its state, in one order of memory.

        Nothing is remembered between steps: a view would keep memory that the parameter has given up.
        """
        names = [*MOMENTS, "master"] if "master" in state else MOMENTS
        parts = [parameter.detach(), gradient, *(state[name] for name in names)]
        if type(parameter) in PLAIN and _are_contiguous(parts):
            return [each.view(-1) for each in parts]
        for name in names:
            state[name] = _like(state[name], parameter)
        form = _local(parameter)
        parts = [parameter, _like(gradient, parameter), *(state[name] for name in names)]
        return [_flat(_local(each.detach()), form) for each in parts]

    def _update(self, parameter: Tensor, group: Dict[str, Any]) -> Tensor:
        """One update of a parameter; returns its `step`, which the caller increments."""
        state, gradient = self._state_of(parameter), parameter.grad
        if gradient.layout is not torch.strided:
            raise ValueError(f"AdamW: wanted a dense gradient, but found {gradient.layout}; "
                             "use torch.optim.SparseAdam")
        values, gradient, *moments = self._flats(parameter, state, gradient)
        master, copy = (moments.pop(), values) if len(moments) == 3 else (values, None)
        # Only the values show a change by something else: parameter.data and collectives leave pointer and version.
        ops.adamw_(master, *moments, gradient, copy, float(group["lr"]), *group["betas"], group["eps"],
                   group["weight_decay"], 1.0, int(state["step"]) + 1, copy is not None)
        return state["step"]

    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:  # type: ignore[override]
        """One update of all parameters that have a gradient; returns what `closure` returns."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        steps: List[Tensor] = []
        try:
            for group in self.param_groups:
                parameters: List[Tensor] = [each for each in group["params"] if each.grad is not None]
                for parameter in parameters:
                    steps.append(self._update(parameter, group))
        finally:  # one call for all costs less; where an update fails, those before it count
            if steps:
                torch._foreach_add_(steps, 1)
        return loss

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """As torch's, which would round the moments of bfloat16 parameters: they are float32 here.

        The state may be of parameters of another dtype, and of torch.optim.AdamW.
        """
        given: List[Dict[str, Any]] = []

        def check(_: Any, loaded: Dict[str, Any]) -> None:  # after the hooks of the user, which may replace it
            _check_loaded(loaded, self.defaults)
            given.append(loaded)
        hooks = [self.register_load_state_dict_pre_hook(check),
                 self.register_load_state_dict_post_hook(lambda _: self._complete(given[0]), prepend=True)]
        try:
            super().load_state_dict(state_dict)
        finally:
            for hook in hooks:
                hook.remove()

    def _complete(self, state_dict: Dict[str, Any]) -> None:
        """Replaces moments and copies that torch rounded to bfloat16 by their float32 values, and an int `step` (torch
        1.11) by a tensor."""
        parameters = [each for group in self.param_groups for each in group["params"]]
        saved = [number for group in state_dict["param_groups"] for number in group["params"]]
        for parameter, number in zip(parameters, saved):
            given = state_dict["state"].get(number)
            if not given:
                continue
            state = self.state[parameter]
            state.pop("master", None)
            if not isinstance(state["step"], Tensor):
                state["step"] = torch.tensor(float(state["step"]))
            if parameter.dtype == torch.bfloat16:
                for name, source in {"master": parameter, **given}.items():
                    if name in (*MOMENTS, "master"):
                        state[name] = source.detach().to(parameter.device, torch.float32, copy=True)
