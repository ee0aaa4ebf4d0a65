# SPDX-License-Identifier: Apache-2.0
"""The tensors and the configuration of an exported model, from those of a checkpoint (docs/scheme_json.md)."""
import re

PLACES = {"attention": "self_attn", "feed_forward": "mlp"}


def exported_name(name):
    """The name of a tensor that is not split: "blocks.0.attention.input_norm.gain", "final_norm.gain"."""
    name = re.sub(r"\.gain$", ".weight", name)
    found = re.fullmatch(r"blocks\.(\d+)\.(.*)", name)
    if found:
        place, dot, rest = found[2].partition(".")
        return f"model.layers.{found[1]}.{PLACES.get(place, place)}{dot}{rest}"
    return {"embedding.weight": "model.embed_tokens.weight", "head.weight": "lm_head.weight"}.get(
        name, "model." + re.sub(r"^final_norm", "norm", name))


def exported(weights, sizes):
    """Tensors by their names in an export. sizes: heads, kv_heads and head_dim."""
    out = {}
    for name, tensor in weights.items():
        prefix = exported_name(name.rsplit(".", 2)[0] + ".") if name.startswith("blocks.") else ""
        if name.endswith("attention.qkv.weight"):
            rows = [sizes[each] * sizes["head_dim"] for each in ("heads", "kv_heads", "kv_heads")]
            for part, matrix in zip("qkv", tensor.split(rows)):
                out[f"{prefix}{part}_proj.weight"] = matrix.contiguous()
        elif name.endswith("attention.output.weight"):
            out[f"{prefix}o_proj.weight"] = tensor
        elif name.endswith("feed_forward.up_gate.weight"):
            for part, matrix in zip(("up", "gate"), tensor.chunk(2)):
                out[f"{prefix}{part}_proj.weight"] = matrix.contiguous()
        elif name.endswith("feed_forward.down.weight"):
            out[f"{prefix}down_proj.weight"] = tensor
        else:
            out[exported_name(name)] = tensor
    return out
