#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The golden models of tests/golden/schemes through python/evenkeel/hf/modeling_evenkeel.py, in float64.

The scheme is that of `evenkeel schemes show NAME --json`. Logits, losses and gradients are those of the files, which
share no code with either. With EVENKEEL_GOLDEN=FOLDER the files of FOLDER/schemes are checked instead.

Usage: tests/python/modeling_check.py EVENKEEL
"""
import json
import math
import os
import pathlib
import subprocess
import sys

import torch
from safetensors import safe_open

import transformers_stand_in
from export_names import exported

GOLDEN = pathlib.Path(os.environ.get("EVENKEEL_GOLDEN", pathlib.Path(__file__).parents[1] / "golden")) / "schemes"
TOLERANCE = 1e-10  # relative to the largest value of a tensor
FORMULAS = {"min": min, "max": max, "sqrt": math.sqrt, "__builtins__": {}}
# Keys whose strings are words; other strings are formulas of the training step.
WORDS = {"name", "kind", "scope", "affine", "gain_form", "epsilon_at", "pre_scale", "rope", "update", "parameter",
         "size", "transform", "rule", "detach"}


def evaluated(rules, variables):
    """The rules with formulas of the training step replaced by their values."""
    if isinstance(rules, dict):
        return {key: evaluated(each, variables) if key not in WORDS else each for key, each in rules.items()}
    if isinstance(rules, list):
        return [each if isinstance(each, str) else evaluated(each, variables) for each in rules]
    return eval(rules.replace("^", "**"), FORMULAS, variables) if isinstance(rules, str) else rules


def bound_scheme(program, sizes):
    values = {"layers": sizes["layers"], "width": sizes["d"], "heads": sizes["heads"], "kv_heads": sizes["kv_heads"],
              "inner": sizes["inner"], "context": sizes["context"]}
    options = [word for key, value in values.items() for word in ("--set", f"model.{key}={value}")]
    shown = subprocess.run([program, "schemes", "show", sizes["scheme"], "--json", *options],
                           check=True, capture_output=True)
    bound = json.loads(shown.stdout)["bound"]
    steps = {"t": sizes["t"], "T": sizes["T"]}
    blocks = [evaluated(bound["blocks"][b], steps | {"l": i + 1}) for i, b in enumerate(bound["layers"])]
    others = evaluated(bound | {"blocks": [], "layers": []}, steps)
    return others | {"blocks": blocks, "layers": list(range(len(blocks)))}


def model_of(modeling, scheme, sizes, tensors):
    config = modeling.EvenkeelConfig(
        scheme=scheme, vocab_size=sizes["vocab"], vocabulary=sizes["vocab"], hidden_size=sizes["d"],
        intermediate_size=sizes["inner"], num_hidden_layers=sizes["layers"], num_attention_heads=sizes["heads"],
        num_key_value_heads=sizes["kv_heads"], head_dim=sizes["d"] // sizes["heads"], rope_theta=sizes["rope_theta"],
        tie_word_embeddings=sizes["tied"])
    model = modeling.EvenkeelForCausalLM(config).double()
    if sizes["tied"]:
        model.lm_head.weight = model.model.embed_tokens.weight
        tensors = tensors | {"lm_head.weight": tensors["model.embed_tokens.weight"]}
    model.load_state_dict(tensors)
    return model


def largest_error(got, wanted):
    scale = wanted.abs().max().item() or 1
    return (got - wanted).abs().max().item() / scale


def golden_model(program, modeling, path):
    """(model, its sizes, the tensors of the file, those that are weights)"""
    with safe_open(path, framework="pt") as file:
        sizes = json.loads(file.metadata()["config"])
        golden = {name: file.get_tensor(name) for name in file.keys()}
    sizes["head_dim"] = sizes["d"] // sizes["heads"]
    skipped = ("grad.", "buffer", "logits", "loss", "input_ids")
    weights = {name: tensor for name, tensor in golden.items()
               if not name.startswith(skipped) or name == "logits_scale"}
    states = {name[7:]: tensor for name, tensor in golden.items() if name.startswith("buffer.")}
    model = model_of(modeling, bound_scheme(program, sizes), sizes, exported(weights | states, sizes))
    return model, sizes, golden, weights


def resize_errors(program, modeling):
    """(what, error) of nGPT, whose logits have a scale for each token, with more and with fewer tokens."""
    model, sizes, golden, _ = golden_model(program, modeling, GOLDEN / "ngpt.safetensors")
    wanted, start, vocabulary = model(golden["input_ids"]).logits, model.model.numbers["logits_scale"], sizes["vocab"]
    model.resize_token_embeddings(vocabulary + 3)
    more = model(golden["input_ids"]).logits
    yield "logits of more tokens", largest_error(more[..., :vocabulary], wanted)
    yield "number of logits", abs(more.shape[-1] - vocabulary - 3)
    new = model.model.logits_scale.detach()[vocabulary:]
    yield "scale of new tokens", (new * start["factor"] - start["init"]).abs().max().item()
    fewer = int(golden["input_ids"].max()) + 1
    model.resize_token_embeddings(fewer)
    yield "logits of fewer tokens", largest_error(model(golden["input_ids"]).logits, wanted[..., :fewer])


def errors(program, modeling, path):
    """(what, relative error) of each comparison with one file."""
    model, sizes, golden, weights = golden_model(program, modeling, path)
    logits = model(golden["input_ids"]).logits
    wanted = golden.get("logits_eval", golden["logits"])
    yield "logits", largest_error(logits, wanted)
    body = model.model(golden["input_ids"], output_hidden_states=True)
    yield "last hidden state", largest_error(body.hidden_states[-1], body.last_hidden_state)
    if "logits_eval" in golden:  # loss and gradients of these files are those of training
        return
    targets = golden["input_ids"][:, 1:]
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten())
    yield "loss", largest_error(loss, golden["loss"][0])
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.requires_grad}
    for name, wanted in exported({name: golden[f"grad.{name}"] for name in weights}, sizes).items():
        yield f"gradient of {name}", largest_error(gradients[name], wanted)


def detach_errors(modeling):
    """(what, relative error) of results and gradients of detach_norm, which no golden file has."""
    torch.manual_seed(1)
    x, upstream = torch.randn(2, 3, 8, dtype=torch.double), torch.randn(2, 3, 8, dtype=torch.double)
    centered = x - x.mean(-1, keepdim=True)
    rho = torch.rsqrt(centered.square().mean(-1, keepdim=True) + 0.1)
    y = centered * rho
    of_variance = y * (upstream * y).mean(-1, keepdim=True)
    for detach, inner in (("both", upstream), ("mean", upstream - of_variance), ("variance", upstream)):
        rule = {"kind": "detach_norm", "detach": detach, "scope": "token", "affine": "none", "epsilon": 0.1,
                "epsilon_at": "inside", "pre_scale": "none", "out_scale": 1}
        leaf = x.clone().requires_grad_()
        result = modeling.Norm(rule, 8)(leaf)
        result.backward(upstream)
        wanted = rho * (inner - inner.mean(-1, keepdim=True) if detach == "variance" else inner)
        yield f"result, {detach} detached", largest_error(result.detach(), y)
        yield f"gradient, {detach} detached", largest_error(leaf.grad, wanted)


def main():
    modeling = transformers_stand_in.modeling()
    failed = 0
    for kind, pairs in (("detach_norm", detach_errors(modeling)), ("resize", resize_errors(sys.argv[1], modeling))):
        for what, error in pairs:
            if error > TOLERANCE:
                failed += 1
                print(f"DIFFERENT: {kind}: {what} differs by {error:.1e}")
    paths = sorted(path for path in GOLDEN.glob("*.safetensors") if path.stem not in ("hooks", "kinds"))
    for path in paths:
        worst = max(errors(sys.argv[1], modeling, path), key=lambda pair: pair[1])
        good = worst[1] <= TOLERANCE
        failed += not good
        print(f"{'same' if good else 'DIFFERENT'}: {path.stem}: {worst[0]} differs by {worst[1]:.1e}", flush=True)
    print(f"{len(paths)} files, {failed} failed")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
