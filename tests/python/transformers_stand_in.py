# SPDX-License-Identifier: Apache-2.0
"""What modeling_evenkeel.py takes from transformers, as little as a forward pass needs, so that tests need torch alone.

tests/ecosystem/remote_code_check.py runs the file with transformers itself.
"""
import dataclasses
import importlib
import pathlib
import sys
import types

import torch

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "python/evenkeel/hf"


class PretrainedConfig:
    _attn_implementation = "eager"

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)
        self.__post_init__()

    def __post_init__(self, **unused):
        pass


class PreTrainedModel(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    def post_init(self):
        pass

    def resize_token_embeddings(self, new_num_tokens):
        """New rows are zeros."""
        for module in (self.model.embed_tokens, self.lm_head):
            rows = module.weight.data[:new_num_tokens]
            more = rows.new_zeros(new_num_tokens - len(rows), rows.shape[1])
            module.weight = torch.nn.Parameter(torch.cat((rows, more)))
        self.config.vocab_size = new_num_tokens
        return self.model.embed_tokens


@dataclasses.dataclass
class Output:
    last_hidden_state: object = None
    loss: object = None
    logits: object = None
    cache: object = None
    hidden_states: object = None


class AttentionFunctions(dict):
    def get_interface(self, name, default):
        return default


def causal_mask(config, x, attention_mask, cache, position_ids):
    assert attention_mask is None and cache is None
    return torch.full((x.shape[1], x.shape[1]), -torch.inf).triu(1)


def modeling():
    """The module modeling_evenkeel, with the stand-ins in place of transformers."""
    parts = {"": {"DynamicCache": lambda config: None, "GenerationMixin": object, "PreTrainedModel": PreTrainedModel,
                  "PretrainedConfig": PretrainedConfig},
             ".masking_utils": {"create_causal_mask": causal_mask},
             ".modeling_layers": {"GradientCheckpointingLayer": torch.nn.Module},
             ".modeling_outputs": {"BaseModelOutputWithPast": Output, "CausalLMOutputWithPast": Output},
             ".modeling_utils": {"ALL_ATTENTION_FUNCTIONS": AttentionFunctions()},
             ".utils": {"can_return_tuple": lambda function: function}}
    for name, values in parts.items():
        module = types.ModuleType("transformers" + name)
        vars(module).update(values)
        sys.modules[module.__name__] = module
    package = types.ModuleType("evenkeel_export")
    package.__path__ = [str(FOLDER)]
    sys.modules["evenkeel_export"] = package
    return importlib.import_module("evenkeel_export.modeling_evenkeel")
