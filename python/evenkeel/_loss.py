# SPDX-License-Identifier: Apache-2.0
"""The loss of a model of transformers for `evenkeel.patch`: the head and the cross entropy, without logits."""
import copy
from typing import Any, Dict, Optional

import torch
from torch import Tensor

from . import ops
from ._forward import by_name, close, has_kernels, own, signature, taken
from ._linears import is_plain

IGNORED = -100  # the label of no token in torch and transformers


def _keeps_own_loss(self: Any, named: Dict[str, Any]) -> bool:
    """Whether the loss is more than the cross entropy of all labels, the logits are wanted, or the operator does not
    take the head."""
    keeps_some = not isinstance(named.get("logits_to_keep", 0), int) or named.get("logits_to_keep")
    routed = named.get("output_router_logits")  # adds the router's auxiliary loss
    routed = getattr(self.config, "output_router_logits", False) if routed is None else routed
    plain = is_plain(self.lm_head) and self.lm_head.bias is None and taken(self.lm_head.weight)
    return (named.get("labels") is None or not self.training or named.get("return_dict") is False or keeps_some
            or routed or named.get("ignore_index", IGNORED) != IGNORED or not plain)


def _targets(labels: Tensor, tokens: int) -> Tensor:
    """The labels of `tokens` tokens as targets of the operator.

    The operator ignores each target below 0, torch -100 alone.
    `IndexError`, as in torch, for another label outside the vocabulary. Where no values can be read (torch.compile, a
    subclass of Tensor, vmap), such a label becomes one that the operator refuses.
    """
    flat = labels.reshape(-1)
    is_wrong = ((flat < 0) & (flat != IGNORED)) | (flat >= tokens)
    if torch.compiler.is_compiling() or type(flat) is not Tensor or torch._C._are_functorch_transforms_active():
        return torch.where(is_wrong, tokens, flat)
    if is_wrong.any():
        raise IndexError(f"evenkeel.patch: wanted labels from 0 to {tokens - 1}, or {IGNORED} for no token, but found "
                         f"{flat[is_wrong][0].item()}")
    return flat


def _loss(self: Any, x: Tensor, labels: Tensor, items: Any = None, shifted: Optional[Tensor] = None) -> Tensor:
    """The cross entropy of the labels; its sum divided by `items`, or the mean."""
    if shifted is None:
        shifted = torch.nn.functional.pad(labels, (0, 1), value=IGNORED)[..., 1:]
    weight = self.lm_head.weight
    targets = _targets(shifted, len(weight))
    total = ops.linear_cross_entropy(x.reshape(-1, x.shape[-1]), weight, targets, len(weight), 1.0,
                                     getattr(self.config, "final_logit_softcapping", None))
    return total / ((targets >= 0).sum() if items is None else items)


def head_forward(self: Any, *arguments: Any, **options: Any) -> Any:
    """The loss of training without the matrix of logits; `logits` of the output is then None."""
    named = by_name(self, arguments, options)
    if _keeps_own_loss(self, named):
        return own(self, **named)
    labels = named.pop("labels")
    items, shifted = named.pop("num_items_in_batch", None), named.pop("shift_labels", None)
    output = self.model(**named)
    from transformers.modeling_outputs import CausalLMOutputWithPast
    return CausalLMOutputWithPast(loss=_loss(self, output.last_hidden_state, labels, items, shifted), logits=None,
                                  hidden_states=output.hidden_states, attentions=output.attentions)


class _BodyOutput:
    """The output of the body of a model in a trial: `last_hidden_state`, also by index, and no other part."""

    def __init__(self, x: Tensor) -> None:
        self.last_hidden_state = x

    def __getitem__(self, index: Any) -> Any:
        return (self.last_hidden_state,)[index]

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


class _Body:
    """The body of a model in a trial: it returns one last_hidden_state; its parts are those of the model."""

    def __init__(self, body: Any, x: Tensor) -> None:
        self.body, self.x = body, x

    def __call__(self, *arguments: Any, **options: Any) -> _BodyOutput:
        return _BodyOutput(self.x)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["body"], name)


def _same_loss(module: Any) -> bool:
    """Whether the loss is the cross entropy of the product with the head, and depends on no other parameter.

    Tried with a narrow head: small and large logits, labels that are the first and the last token.
    """
    rows, width = len(module.lm_head.weight), 8
    scale = torch.linspace(0.3, 6, 6, dtype=torch.float32)[:, None]
    x = (torch.randn(2, 6, width, dtype=torch.float32) * scale).requires_grad_()
    labels = torch.randint(rows, (2, 6))
    labels[0, 1:3], labels[1, 3] = torch.tensor([0, rows - 1]), IGNORED
    trial = copy.copy(module)
    trial.__dict__.pop("forward", None)
    head = torch.nn.Linear(width, rows, bias=False, dtype=torch.float32)
    torch.nn.init.normal_(head.weight)
    trial._modules = {**module._modules, "model": _Body(module.model, x), "lm_head": head}
    trial.training = True
    inputs, others = [x, head.weight], [each for each in module.parameters() if each.requires_grad]
    accepted = signature(type(module)).parameters.values()
    counts = (None, 7) if any(each.kind is each.VAR_KEYWORD for each in accepted) else (None,)
    for items in counts:
        options = {} if items is None else {"num_items_in_batch": items}
        wanted = own(trial, input_ids=labels.clamp(min=0), labels=labels, **options).loss
        found = _loss(trial, x, labels, items)
        gradients = torch.autograd.grad(wanted, inputs + others, allow_unused=True)
        ours = torch.autograd.grad(found, inputs)
        if any(each is not None for each in gradients[2:]) or not close(found, wanted, 1e-5):
            return False
        if not all(close(*pair, 1e-3) for pair in zip(ours, gradients)):
            return False
    return True


def has_head(module: Any) -> bool:
    """Whether a module has the parts that the patched loss needs: a body `model`, and a linear layer `lm_head`."""
    return (is_plain(module._modules.get("lm_head")) and "model" in module._modules and hasattr(module, "config")
            and type(module).__name__.endswith("ForCausalLM"))


def is_head(module: Any) -> bool:
    if not has_head(module) or module.lm_head.bias is not None or not has_kernels(module.lm_head.weight):
        return False
    try:
        with torch.enable_grad():
            return _same_loss(module)
    except Exception:  # whatever a class unknown to us raises
        return False
