#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares exported and imported models with transformers, and GGUF files with the package gguf.

Usage: tests/ecosystem/models_check.py PROGRAM [NAME...]

Trains small models of each scheme that a class of transformers has: two sizes, tied and untied heads, one or two
query heads per key/value head. The loss of transformers on the export and `evenkeel eval` of the run differ by at most
1e-6, with bfloat16 files by at most 2e-3; windows in which two experts tie are left out. The import of the export has
the loss of the run, and its export equal bytes.
Random models of transformers are imported; their losses differ by at most 1e-5. Prints a line per case; the exit code
is 1 if a case differs.
"""
import itertools
import json
import os
import pathlib
import sys
import tempfile

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}

import gguf  # noqa: E402
import numpy  # noqa: E402
import safetensors.torch  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

import small_runs  # noqa: E402
from small_runs import EXPERTS, SMALL, loss_of_run, run, train  # noqa: E402

UNTIED_GEMMA = '{{ extends = "{}", head = "untied" }}'
SCHEMES = {  # name of the case -> scheme, class, more keys
    "pre_norm": ("pre_norm", "LlamaForCausalLM", {}),
    "layer_norm_scaling": ("layer_norm_scaling", "LlamaForCausalLM", {}),
    "pre_qk": ("pre_qk", "Qwen3ForCausalLM", {}),
    "pre_qk_pre": ("pre_qk_pre", "Qwen3ForCausalLM", {}),
    "pre_norm_bare": ("pre_norm_bare", "Qwen3ForCausalLM", {}),
    "pre_qk_pre, experts": ("pre_qk_pre", "Qwen3MoeForCausalLM", EXPERTS | {"model.experts.renormalize": "true"}),
    "pre_qk, experts, 1 dense layer": ("pre_qk", "Qwen3MoeForCausalLM", EXPERTS | {"model.experts.dense_layers": 1}),
    "olmo2": ("olmo2", "Olmo2ForCausalLM", {}),
    "gemma2": ("gemma2", "Gemma2ForCausalLM", {}),
    "gemma3": ("gemma3", "Gemma3ForCausalLM", {}),
    "pre_norm_layer_norm": ("pre_norm_layer_norm", "StableLmForCausalLM", {}),
}
SIZES = [SMALL,
         {"model.layers": 3, "model.width": 96, "model.heads": 6, "model.inner": 136, "model.context": 128}]
FILES = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
         "special_tokens_map.json"]
HEADS_OF_THEIR_OWN = {"olmo2", "stablelm"}  # architectures in which llama.cpp has no tied head
FLOAT32_LIMIT, BFLOAT16_LIMIT, IMPORT_LIMIT, TIE = 1e-6, 2e-3, 1e-5, 1e-5


def windows(text, context):
    return [torch.tensor(each) for each in small_runs.windows(text, context)]


def least_margin(model, window):
    """The least difference, over tokens and blocks, of the last expert that is taken and the first that is not."""
    taken = model.config.num_experts_per_tok
    with torch.no_grad():
        scores = model(window[None, :-1], output_router_logits=True).router_logits
    ordered = torch.cat(scores).double().sort(-1, descending=True).values
    return (ordered[:, taken - 1] - ordered[:, taken]).min().item()


def text_without_ties(model, context, stem):
    """A file like val.txt, without windows in which the rounding of float32 could decide between two experts."""
    if not hasattr(model.config, "num_experts_per_tok"):
        return "val.txt"
    kept = [window for window in windows("val.txt", context) if least_margin(model, window) > TIE]
    ids = torch.cat([window[:-1] for window in kept])
    path = pathlib.Path(f"val-{stem}.txt")
    path.write_bytes(bytes(ids[ids < 256].tolist()))
    again = windows(path, context)
    if len(again) < 0.8 * len(windows("val.txt", context)) or min(least_margin(model, each) for each in again) < TIE:
        sys.exit(f"{stem}: too many ties of experts: {len(again)} windows are left")
    return path


def loss_of_model(model, context, text="val.txt"):
    """The mean loss over the windows that `evenkeel eval` has."""
    total, scored = 0.0, 0
    with torch.no_grad():
        for window in windows(text, context):
            scored += len(window) - 1
            logits = model(window[None, :-1]).logits[0].double()
            total += torch.nn.functional.cross_entropy(logits, window[1:], reduction="sum").item()
    return total / scored


def load(folder):
    # Scores are soft-capped by "eager" alone.
    return transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager",
                                                             dtype=torch.float32).eval()


def equal_bytes(one, other):
    return [name for name in FILES if pathlib.Path(one, name).read_bytes() != pathlib.Path(other, name).read_bytes()]


def check_export(name, scheme, architecture, keys):
    """The worst difference of losses, and what is wrong, of one case."""
    stem = name.replace(" ", "_").replace(",", "")
    folder = f"run-{stem}"
    if scheme.startswith("gemma") and keys["model.tied"] == "false":
        scheme, keys = UNTIED_GEMMA.format(scheme), {k: v for k, v in keys.items() if k != "model.tied"}
    elif scheme.startswith("gemma"):
        keys = {k: v for k, v in keys.items() if k != "model.tied"}
    train(folder, scheme, keys)
    wrong = []
    result = json.loads(run("export", "--run", folder, "--output", f"out-{stem}", "--json"))
    if result["class"] != architecture:
        wrong.append(f"class {result['class']}")
    model = load(f"out-{stem}")
    text = text_without_ties(model, keys["model.context"], stem)
    own, theirs = loss_of_run(folder, text=text), loss_of_model(model, keys["model.context"], text)
    if abs(own - theirs) > FLOAT32_LIMIT:
        wrong.append("float32")
    run("export", "--run", folder, "--output", f"half-{stem}", "--dtype", "bfloat16")
    half = loss_of_model(load(f"half-{stem}"), keys["model.context"], text)
    if abs(own - half) > BFLOAT16_LIMIT:
        wrong.append(f"bfloat16 {half}")
    exported = safetensors.torch.load_file(f"out-{stem}/model.safetensors")
    for key, value in safetensors.torch.load_file(f"half-{stem}/model.safetensors").items():
        if not torch.equal(value, exported[key].to(torch.bfloat16)):
            wrong.append(f"rounding of {key}")
    run("import", f"out-{stem}", "--output", f"in-{stem}")
    run("export", "--run", f"in-{stem}", "--output", f"again-{stem}")
    wrong += equal_bytes(f"out-{stem}", f"again-{stem}")
    if abs(loss_of_run(f"in-{stem}", "--set", "train.precision=float32", text=text) - own) > FLOAT32_LIMIT:
        wrong.append("loss of the import")
    model.save_pretrained(f"saved-{stem}")
    for each in FILES[3:]:
        pathlib.Path(f"saved-{stem}", each).write_bytes(pathlib.Path(f"out-{stem}", each).read_bytes())
    run("import", f"saved-{stem}", "--output", f"back-{stem}")
    if abs(loss_of_run(f"back-{stem}", "--set", "train.precision=float32", text=text) - own) > FLOAT32_LIMIT:
        wrong.append("loss after save_pretrained")
    return own, theirs, half, wrong


def check_exports(wanted):
    failed = False
    for name, (scheme, architecture, more) in SCHEMES.items():
        if wanted and name not in wanted:
            continue
        worst, worst_half, count = (0, 0, 0), 0, 0
        for i, (sizes, tied, group) in enumerate(itertools.product(SIZES, ["true", "false"], [1, 2])):
            keys = sizes | more | {"model.tied": tied, "model.kv_heads": sizes["model.heads"] // group}
            own, theirs, half, wrong = check_export(f"{name}-{i}", scheme, architecture, keys)
            worst = max(worst, (abs(own - theirs), own, theirs))
            worst_half, count = max(worst_half, abs(own - half)), count + 1
            if wrong:
                failed = True
                print(f"{name}: {keys}: {', '.join(wrong)}: {own} {theirs}")
        print(f"| {name} | {architecture} | {count} | {worst[1]:.10f} | {worst[2]:.10f} | {worst[0]:.1e} | "
              f"{worst_half:.1e} |", flush=True)
    return failed


def random_models(changed=None):
    """Models of transformers with random weights, by name."""
    sizes = {"hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "head_dim": 12, "vocab_size": 257, "max_position_embeddings": 64,
             "bos_token_id": 256, "eos_token_id": 256, "pad_token_id": 256, "initializer_range": 0.2} | (changed or {})
    gemma = sizes | {"hidden_activation": "silu", "sliding_window": sizes["max_position_embeddings"], "query_pre_attn_scalar": 9}
    rope = {"rope_type": "default", "rope_theta": 5000.0}
    t = transformers
    plain = [
        ("llama", t.LlamaConfig(**sizes, rms_norm_eps=1e-6), t.LlamaForCausalLM),
        ("qwen3", t.Qwen3Config(**sizes, rope_parameters=rope), t.Qwen3ForCausalLM),
        ("qwen3_moe", t.Qwen3MoeConfig(**sizes, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=40,
                                       norm_topk_prob=True, tie_word_embeddings=True), t.Qwen3MoeForCausalLM),
        ("olmo2", t.Olmo2Config(**sizes), t.Olmo2ForCausalLM),
        ("gemma2", t.Gemma2Config(**gemma, attn_logit_softcapping=20.0), t.Gemma2ForCausalLM),
        ("gemma3", t.Gemma3TextConfig(**gemma, rope_parameters={"full_attention": rope, "sliding_attention": rope}),
         t.Gemma3ForCausalLM),
        ("stablelm", t.StableLmConfig(**sizes, rope_parameters=rope | {"partial_rotary_factor": 1.0}),
         t.StableLmForCausalLM),
    ]
    for name, config, kind in plain:
        torch.manual_seed(0)
        config._attn_implementation = "eager"
        yield name, kind(config).eval()


def randomize_gains(model):
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.2)


def check_imports(tokenizer):
    failed = False
    for name, model in random_models():
        randomize_gains(model)
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            model = model.to(dtype)
            stem = f"{name}-{str(dtype)[6:]}"
            model.save_pretrained(f"random-{stem}", max_shard_size="60KB")
            for each in FILES[3:]:
                pathlib.Path(f"random-{stem}", each).write_bytes(pathlib.Path(tokenizer, each).read_bytes())
            run("import", f"random-{stem}", "--output", f"imported-{stem}")
            own = loss_of_run(f"imported-{stem}", "--set", "train.precision=float32")
            theirs = loss_of_model(load(f"random-{stem}"), 64)
            bad = abs(own - theirs) > IMPORT_LIMIT
            failed |= bad
            print(f"| {name} | {str(dtype)[6:]} | {own:.10f} | {theirs:.10f} | {abs(own - theirs):.1e} |"
                  f"{' differs' if bad else ''}", flush=True)
    return failed


def expected_gguf(config, name, tensor):
    """What llama.cpp expects of a tensor of transformers."""
    if config["model_type"] == "llama" and name.endswith(("q_proj.weight", "k_proj.weight")):
        heads = tensor.shape[0] // config["head_dim"]
        return tensor.reshape(heads, 2, config["head_dim"] // 2, -1).swapaxes(1, 2).reshape(tensor.shape)
    return tensor


def check_gguf(name, scheme, keys, architecture):
    folder, wrong = f"gguf-run-{name}", []
    train(folder, scheme, SIZES[0] | {"model.kv_heads": 2} | keys)
    run("export", "--run", folder, "--output", f"{folder}-hf")
    config = json.loads(pathlib.Path(f"{folder}-hf/config.json").read_text())
    source = safetensors.torch.load_file(f"{folder}-hf/model.safetensors")
    arch = next(a for a, text in gguf.MODEL_ARCH_NAMES.items() if text == architecture)
    names = gguf.get_tensor_name_map(arch, config["num_hidden_layers"])
    wanted = {}
    for key, value in source.items():
        value = expected_gguf(config, key, value.numpy())
        if ".experts." in key:
            before, matrix = key.split(".experts.")
            index, ending = matrix.split(".", 1)
            key = names.get_name(f"{before}.experts.{ending}", (".weight",))
            wanted.setdefault(key, {})[int(index)] = value
        else:
            stem, ending = key.rsplit(".", 1)
            wanted[f"{names.get_name(stem)}.{ending}"] = value
    if architecture in HEADS_OF_THEIR_OWN:
        wanted.setdefault("output.weight", wanted["token_embd.weight"])
    for dtype in ("float32", "float16", "bfloat16"):
        run("export", "--run", folder, "--output", f"{folder}-{dtype}", "--as", "gguf", "--dtype", dtype)
        reader = gguf.GGUFReader(f"{folder}-{dtype}/model.gguf")
        found = {each.name: each for each in reader.tensors}
        if set(found) != set(wanted):
            wrong.append(f"names {set(found) ^ set(wanted)}")
            continue
        for key, value in wanted.items():
            if isinstance(value, dict):
                value = numpy.stack([value[i] for i in range(len(value))])
            got = gguf.quants.dequantize(found[key].data, found[key].tensor_type).reshape(value.shape)
            is_small = value.ndim == 1 or key.endswith("ffn_gate_inp.weight")
            rounded = value if is_small else torch.tensor(value).to(getattr(torch, dtype)).float().numpy()
            if list(found[key].shape) != list(reversed(value.shape)) or not numpy.array_equal(got, rounded):
                wrong.append(f"{dtype} {key}")
        keys_of = {key: field.contents() for key, field in reader.fields.items()}
        if keys_of["general.architecture"] != architecture or len(keys_of["tokenizer.ggml.tokens"]) != 257:
            wrong.append("keys")
    print(f"| {name} | {architecture} | {len(wanted)} tensors | {'differs: ' + ', '.join(wrong) if wrong else 'equal'} |")
    return bool(wrong)


def check_tokenizer(folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    text = "It's  a\ttest\n\n  of   CAN'T 12345 é \U0001f600"
    ids = tokenizer(text)["input_ids"]
    good = ids == [256, *text.encode()] and tokenizer.decode(ids[1:]) == text and tokenizer.eos_token_id == 256
    print(f"tokenizer: {'equal' if good else f'differs: {ids}'}")
    return not good


def main(program, *wanted):
    small_runs.PROGRAM = str(pathlib.Path(program).resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        small_runs.write_texts()
        train("run", "pre_norm", SIZES[0] | {"model.kv_heads": 2})
        run("export", "--run", "run", "--output", "model")
        failed = check_tokenizer("model")
        failed |= check_imports("model")
        for name, scheme, keys, architecture in (
                ("pre_norm", "pre_norm", {}, "llama"), ("pre_qk", "pre_qk", {"model.tied": "false"}, "qwen3"),
                ("experts", "pre_qk", EXPERTS | {"model.experts.renormalize": "true"}, "qwen3moe"),
                ("olmo2", "olmo2", {}, "olmo2"), ("layer_norm", "pre_norm_layer_norm", {}, "stablelm")):
            failed |= check_gguf(name, scheme, keys, architecture)
        failed |= check_exports(wanted)
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
