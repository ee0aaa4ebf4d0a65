# SPDX-License-Identifier: Apache-2.0
"""Decoder-only transformers under a normalization scheme: one interpreter for all schemes of Evenkeel.

A scheme, config.scheme, says which norm stands at which place, and how a block adds its branches to the residual
stream x. A sublayer with the branch F, attention or feed-forward, computes

    read = input_norm(x);    out = output_norm(F(read))
    x'   = residual_norm(skip_scale * skip + branch_scale * out)          skip: x, read, or a sum of them

and attention is  W_o context_norm(softmax(scale q k^T) v), with norms and rotary embedding of q and k, a norm of v.

Norms compute in float32, or in float64 for float64 inputs. A row of the batch is one document: there is no reset of
attention inside of a row, as data.mask_documents has. Norms with running statistics use them in training, too.
instance_norm sees later tokens and padding, and works without a cache.
"""
import math

import torch
from torch import nn
from torch.nn import functional
from transformers import DynamicCache, GenerationMixin, PreTrainedModel
from transformers.masking_utils import create_causal_mask
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils import can_return_tuple

from .configuration_evenkeel import EvenkeelConfig

CACHE = "cache" if "cache" in BaseModelOutputWithPast.__dataclass_fields__ else "past_key_values"  # renamed


def wide(x):
    """x in float32, or in float64 if it is."""
    return x if x.dtype == torch.float64 else x.float()


def scaled(x, value):
    """value * x, for a number or a tensor, in the dtype of x."""
    return x if isinstance(value, float) and value == 1 else (x * value).to(x.dtype)


def over(x):
    """1 where x is 0, else x: a safe denominator."""
    return torch.where(x == 0, 1, x)


def root(square):
    """The square root with derivative 0 at 0, so that rows of zeros have finite gradients."""
    return torch.where(square > 0, over(square).sqrt(), 0)


def length(x):
    return root(x.square().sum(-1, keepdim=True))


class Norm(nn.Module):
    """out_scale * (gain * normalized(x) + bias) of x [..., width]; under scope "head", of each head apart."""
    def __init__(self, rule, width, heads=1):
        super().__init__()
        self.rule, self.kind = rule, rule["kind"]
        self.heads = heads if rule["scope"] == "head" else 1
        self.gains = 1 if rule.get("heads_share", True) else self.heads  # heads with gains of their own
        features, sizes = width // self.heads, {}  # of each parameter: its size and its value in a new model
        if rule["affine"] != "none":
            gain = rule["gain_init"] / rule["gain_factor"] - (rule["gain_form"] == "1+w")
            sizes["weight"] = (self.gains * (1 if rule["affine"] == "scalar" else features), gain)
        if rule["affine"] == "vector+bias":
            sizes["bias"] = (self.gains * features, 0)
        for name in ("alpha", "shift", "beta"):
            if f"{name}_init" in rule:
                sizes[name] = (features if self.kind == "seed_norm" else 1, rule[f"{name}_init"])
        for name, (size, initial) in sizes.items():
            self.register_parameter(name, nn.Parameter(torch.full((size,), float(initial))))
        if self.kind in ("batch_norm", "batch_renorm"):
            self.register_buffer("running_mean", torch.zeros(features))
            self.register_buffer("running_var" if self.kind == "batch_norm" else "running_std", torch.ones(features))

    def divided(self, x, square):
        """x divided by the root of its mean square, its variance or its squared length."""
        epsilon, place = self.rule["epsilon"], self.rule.get("epsilon_at", "inside")
        if place == "inside":
            return x * torch.rsqrt(square + epsilon)
        return x / (root(square) + epsilon if place == "outside" else root(square).clamp_min(epsilon))

    def standardized(self, x, dim=-1, detached=()):
        """detached: "mean", "variance" or both, the statistics without a gradient."""
        mean = x.mean(dim, keepdim=True)
        centered = x - (mean.detach() if "mean" in detached else mean)
        square = centered.square().mean(dim, keepdim=True)
        return self.divided(centered, square.detach() if "variance" in detached else square)

    def normalized(self, x):
        """The norm before gain and bias, of [..., heads, features]; in instance_norm, [batch, time, ...]."""
        match self.kind:
            case "layer_norm" | "group_norm":
                return self.standardized(x.unflatten(-1, (int(self.rule.get("groups", 1)), -1))).flatten(-2)
            case "detach_norm":
                detach = self.rule["detach"]
                return self.standardized(x, detached=("mean", "variance") if detach == "both" else (detach,))
            case "rms_norm" | "seed_norm":
                part = max(1, int(self.rule.get("partial", 1) * x.shape[-1]))
                return self.divided(x, x[..., :part].square().mean(-1, keepdim=True))
            case "l2" | "scale_norm":
                return self.divided(x, x.square().sum(-1, keepdim=True))
            case "dyt":
                return torch.tanh(wide(self.alpha) * x)
            case "derf":
                return torch.erf(wide(self.alpha) * x + wide(self.shift))
            case "scale":
                return x
            case "batch_norm":
                return self.divided(x - wide(self.running_mean), wide(self.running_var))
            case "batch_renorm":
                return (x - wide(self.running_mean)) / wide(self.running_std)
            case "instance_norm":
                return self.standardized(x, dim=1)  # of each feature over the tokens of a sequence
        raise ValueError(f"unknown norm kind {self.kind!r}")

    def forward(self, x):
        rows = wide(x).unflatten(-1, (self.heads, -1))
        if self.rule["pre_scale"] == "absmax8":
            rows = rows / over(rows.detach().abs().amax(-1, keepdim=True) / 8)
        gain = wide(self.weight).view(self.gains, -1) * self.rule["gain_factor"] if "weight" in self._parameters else 1
        gain = gain + 1 if self.rule.get("gain_form") == "1+w" else gain
        if self.kind == "seed_norm":
            gain = gain + torch.tanh((rows * wide(self.beta)).sum(-1, keepdim=True)) * wide(self.alpha)
        y = gain * self.normalized(rows)
        y = y + wide(self.bias).view(self.gains, -1) if "bias" in self._parameters else y
        return (self.rule["out_scale"] * y).flatten(-2).to(x.dtype)


def add_number(module, name, rule, size=1):
    """A number of the scheme: fixed, or a parameter of the module. size: of one value for each feature or head."""
    if isinstance(rule, str):
        raise ValueError(f"{name} = {rule!r} depends on the training step; an exported checkpoint has its value")
    module.__dict__.setdefault("numbers", {})[name] = rule
    if isinstance(rule, dict):
        stored = math.log(rule["init"]) if rule["transform"] == "exp" else rule["init"]
        values = torch.full((1 if rule["size"] == "scalar" else size,), stored / rule["factor"])
        module.register_parameter(name, nn.Parameter(values))


def number(module, name):
    """Its value: fixed, or min(transform(factor * parameter), at_most)."""
    rule = module.numbers[name]
    if not isinstance(rule, dict):
        return rule
    transform = {"exp": torch.exp, "abs": torch.abs, "silu": functional.silu}.get(rule["transform"], torch.clone)
    value = transform(wide(getattr(module, name)) * rule["factor"])
    return value.clamp_max(rule["at_most"]) if "at_most" in rule else value


def resize_number(module, name, size):
    """Gives a number that has one value for each entry another size. New entries are those of a new model."""
    old = module._parameters.get(name)
    if old is None or module.numbers[name]["size"] == "scalar":
        return
    add_number(module, name, module.numbers[name], size)
    new = getattr(module, name).requires_grad_(old.requires_grad)
    new.data = torch.cat((old.data[:size], new.data[len(old):].to(old)))


def matrix_rule(config, name, rows, columns):
    """The tensors of the rule of a matrix, such as "attention.q"; empty without a rule."""
    rule = next((each["rule"] for each in config.scheme["reparameterize"] if name in each["weights"]), None)
    trained = {"weight_norm": {"row_gain": rows}, "sigma_reparam": {"gamma": 1}}.get(rule, {})
    state = {"left": rows, "right": columns} if rule == "sigma_reparam" else {}  # stays as it is in training
    return nn.ParameterDict({each: nn.Parameter(torch.full((size,), size**-0.5), requires_grad=each in trained)
                             for each, size in (trained | state).items()})


def ruled(stored, rule):
    """The matrix that acts, from the stored one, V, and the tensors of its rule."""
    v = wide(stored)
    if "row_gain" in rule:  # weight_norm: row j is row_gain_j v_j / |v_j|
        return (wide(rule["row_gain"])[:, None] * v / over(length(v))).to(stored.dtype)
    if "gamma" in rule:  # sigma_reparam: gamma V / sigma, sigma about the largest singular value
        sigma = wide(rule["left"]) @ v @ wide(rule["right"])
        return (wide(rule["gamma"]) / over(sigma) * v).to(stored.dtype)
    return stored


class Linear(nn.Linear):
    """x W^T. The tensors of a rule of W are those of the owner, as owner.q for "attention.q"."""
    def __init__(self, owner, config, name, rows, columns):
        super().__init__(columns, rows, bias=False)
        rule = matrix_rule(config, name, rows, columns)
        owner.add_module(name.split(".")[1], rule)
        self.rule = (rule,)  # a tuple registers no module

    def forward(self, x):
        return functional.linear(x, ruled(self.weight, self.rule[0]))


class Sublayer(nn.Module):
    """The norms and the residual update around a branch. sizes: (width, heads) of the norms inside of the branch."""
    def __init__(self, config, rule, sizes):
        super().__init__()
        self.config, self.rule = config, rule
        for slot, norm in rule.items():
            if isinstance(norm, dict) and "kind" in norm:
                self.add_module(f"{slot}_norm", Norm(norm, *sizes.get(slot, (config.hidden_size, 1))))
        for name in ("skip_scale", "branch_scale"):
            add_number(self, name, rule[name], config.hidden_size)
        if rule["update"] == "geodesic":
            self.angle_scale, self.angle_bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))

    def normed(self, slot, x):
        """The norm of that slot; x where the scheme has none."""
        norm = self._modules.get(f"{slot}_norm")
        return x if norm is None else norm(x)

    def read(self, x, y=None):
        """The input of the branch. y: the second stream of a scheme with two."""
        return self.normed("input", x + self.dual_norm(y) if "dual" in self.rule else x)

    def update(self, taps, out, damp, more=0.0):
        """The residual stream after the sublayer. more: the other branch of a parallel block."""
        skip = scaled(sum(taps[tap] for tap in self.rule["skip"]), number(self, "skip_scale")) + more
        if self.rule["update"] == "add":
            s = skip + scaled(out, number(self, "branch_scale"))
        elif self.rule["update"] == "sphere":
            s = self.on_sphere(wide(skip), wide(out), number(self, "branch_scale")).to(out.dtype)
        else:
            s = self.along_geodesic(wide(skip), wide(scaled(out, number(self, "branch_scale")))).to(out.dtype)
        s = self.normed("residual", s)
        return s if damp is None else s - scaled(s.detach(), damp)

    def on_sphere(self, start, end, step):
        """A step from unit(start) towards unit(end), and back to the sphere (nGPT)."""
        unit = lambda v: v / length(v).clamp_min(1e-12)  # noqa: E731
        return unit(unit(start) + step * (unit(end) - unit(start)))

    def along_geodesic(self, x, g):
        """A step along the sphere through x, in the direction of the part of g that is orthogonal to x (GeoNorm)."""
        squares, most = x.square().sum(-1, keepdim=True), math.pi / 4
        tangent = g - (x * g).sum(-1, keepdim=True) / over(squares) * x
        angle = (length(tangent) / over(root(squares))).clamp_max(most) * wide(self.angle_scale) + wide(self.angle_bias)
        angle = (angle * self.rule["angle_decay"]).clamp_max(most)
        moved = x * angle.cos() + tangent / over(length(tangent)) * root(squares) * angle.sin()
        return torch.where(squares > 0, moved, x + g)

    def forward(self, x, y, block_input, damp, *of_branch):
        read = self.read(x, y)
        out = self.normed("output", self.branch(read, *of_branch))
        y = None if y is None else y + scaled(out, self.rule["write_y"])
        return self.update({"stream": x, "normed": read, "block_input": block_input}, out, damp), y


def rotated(x, cos, sin):
    """Rotary embedding of [batch, time, heads, head_dim], whose pairs are half a head apart."""
    left, right = wide(x).chunk(2, -1)
    return torch.cat((left * cos - right * sin, right * cos + left * sin), -1).to(x.dtype)


def eager_attention(module, q, k, v, mask, scaling, softcap=None, **kwargs):
    """softmax(cap(scaling q k^T)) v with all scores in memory. q, k, v: [batch, heads, time, head_dim]"""
    k, v = (each.repeat_interleave(module.num_key_value_groups, dim=1) for each in (k, v))
    scores = wide(q) @ wide(k).transpose(2, 3) * scaling
    scores = scores if softcap is None else torch.tanh(scores / softcap) * softcap
    weights = torch.softmax(scores if mask is None else scores + mask, dim=-1).to(q.dtype)
    return (weights @ v).transpose(1, 2).contiguous(), weights


class Attention(Sublayer):
    def __init__(self, config, layer_idx):
        width, dk, heads = config.hidden_size, config.head_dim, config.num_attention_heads
        counts = {"q": heads, "k": config.num_key_value_heads, "v": config.num_key_value_heads, "context": heads}
        super().__init__(config, config.block(layer_idx)["attention"], {s: (n * dk, n) for s, n in counts.items()})
        self.layer_idx, self.head_dim, self.is_causal = layer_idx, dk, True
        self.num_key_value_groups = heads // config.num_key_value_heads
        add_number(self, "score_scale", self.rule["score_scale"], heads)
        # A trained scale multiplies q, so that every implementation of attention can take it.
        self.scaling = 1.0 if isinstance(self.rule["score_scale"], dict) else self.rule["score_scale"]
        for name in "qkv":
            self.add_module(f"{name}_proj", Linear(self, config, f"attention.{name}", counts[name] * dk, width))
        self.o_proj = Linear(self, config, "attention.output", width, heads * dk)

    def rotated_heads(self, slot, product, cos_sin):
        """Norm and rotation of q or k. [batch, heads, time, head_dim]"""
        x, rope = product.unflatten(-1, (-1, self.head_dim)), self.rule.get(slot, {}).get("rope", "after")
        x = rotated(x, *cos_sin) if rope == "before" else x
        x = self.normed(slot, x.flatten(-2)).view(x.shape)
        return (rotated(x, *cos_sin) if rope == "after" else x).transpose(1, 2)

    def branch(self, x, cos_sin, mask, cache, kwargs):
        q, k = self.rotated_heads("q", self.q_proj(x), cos_sin), self.rotated_heads("k", self.k_proj(x), cos_sin)
        v = self.normed("v", self.v_proj(x)).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
        if cache is not None:
            k, v = cache.update(k, v, self.layer_idx)
        if "score_scale" in self._parameters:
            q = scaled(q, number(self, "score_scale").view(-1, 1, 1))
        attend = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, eager_attention)
        context, _ = attend(self, q, k, v, mask, scaling=self.scaling, softcap=self.rule.get("softcap"), **kwargs)
        return self.o_proj(self.normed("context", context.reshape(*x.shape[:-1], -1)))


def stored(config, *shape):
    return nn.ParameterDict({"weight": torch.randn(*shape) * config.initializer_range})


def expert_rules(config, inner, width):
    sizes = (("up", inner, width), ("gate", inner, width), ("down", width, inner))
    return nn.ModuleDict({name: matrix_rule(config, f"feed_forward.{name}", *size) for name, *size in sizes})


class FeedForward(Sublayer):
    """W_down hidden_norm(silu(W_gate x) * W_up x), or a mixture of such experts."""
    def __init__(self, config, layer_idx):
        width, inner = config.hidden_size, config.intermediate_size
        super().__init__(config, config.block(layer_idx)["feed_forward"], {"hidden": (inner, 1)})
        if config.has_router(layer_idx):
            count, shared = config.num_experts, config.num_shared_experts * inner
            self.router = stored(config, count, width)
            if config.scheme["router_bias"]:  # it takes part in the choice of experts alone
                self.router["bias"] = nn.Parameter(torch.zeros(count), requires_grad=False)
            self.experts = nn.ModuleDict({str(i): expert_rules(config, inner, width) for i in range(count)})
            self.experts["up_gate"] = stored(config, count, 2 * inner, width)
            self.experts["down"] = stored(config, count, width, inner)
            if shared:  # experts that every token goes through; side by side, as one
                self.shared = expert_rules(config, shared, width)
                self.shared["up_gate"] = stored(config, 2 * shared, width)
                self.shared["down"].update(stored(config, width, shared))
            return
        # A dense layer of a mixture is as wide as the experts of a token; the norm has the width of one.
        self.parts = config.num_experts_per_tok + config.num_shared_experts if config.num_experts else 1
        for name in ("up", "gate"):
            self.add_module(f"{name}_proj", Linear(self, config, f"feed_forward.{name}", self.parts * inner, width))
        self.down_proj = Linear(self, config, "feed_forward.down", width, self.parts * inner)
        add_number(self, "up_gate_scale", self.rule.get("up_gate_scale", 1.0), 2 * inner)

    def hidden(self, up, gate, parts=1):
        return self.normed("hidden", (functional.silu(gate) * up).unflatten(-1, (parts, -1))).flatten(-2)

    def branch(self, x):
        if "router" in self._modules:
            return self.mixture(x.flatten(0, -2)).view_as(x)
        up, gate = self.up_proj(x), self.gate_proj(x)
        if "up_gate_scale" in self.rule:
            up, gate = scaled(torch.cat((up, gate), -1), number(self, "up_gate_scale")).chunk(2, -1)
        return self.down_proj(self.hidden(up, gate, self.parts))

    def expert(self, rows, up_gate, down, rules, weights=1.0, parts=1):
        up, gate = (functional.linear(rows, ruled(stored, rules[name]))
                    for name, stored in zip(("up", "gate"), up_gate.chunk(2)))
        return functional.linear(scaled(self.hidden(up, gate, parts), weights), ruled(down, rules["down"]))

    def mixture(self, rows):
        """The sum of each token's most probable experts, weighted; no token is dropped. rows: [tokens, width]"""
        probabilities = functional.linear(wide(rows), wide(self.router["weight"])).softmax(-1)
        scores = probabilities + self.router["bias"] if "bias" in self.router else probabilities
        chosen = scores.sort(dim=-1, descending=True, stable=True).indices[:, : self.config.num_experts_per_tok]
        weights = probabilities.gather(1, chosen)
        weights = weights / weights.sum(-1, keepdim=True) if self.config.norm_topk_prob else weights
        experts, y = self.experts, torch.zeros_like(rows)
        for i in range(self.config.num_experts):
            token, choice = (chosen == i).nonzero(as_tuple=True)
            up_gate, down = experts["up_gate"]["weight"][i], experts["down"]["weight"][i]
            out = self.expert(rows[token], up_gate, down, experts[str(i)], weights[token, choice, None])
            y = y.index_add(0, token, out)
        if "shared" in self._modules:
            up_gate, down = self.shared["up_gate"]["weight"], self.shared["down"]["weight"]
            y = y + self.expert(rows, up_gate, down, self.shared, parts=self.config.num_shared_experts)
        return y


class Block(GradientCheckpointingLayer):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.parallel = config.scheme["parallel"]
        self.self_attn, self.mlp = Attention(config, layer_idx), FeedForward(config, layer_idx)
        add_number(self, "damp", config.block(layer_idx).get("damp"))

    def forward(self, x, y, cos_sin, mask, cache=None, **kwargs):
        a, f, damp, of_attention = self.self_attn, self.mlp, number(self, "damp"), (cos_sin, mask, cache, kwargs)
        if not self.parallel:
            middle, y = a(x, y, x, damp, *of_attention)
            return f(middle, y, x, damp)
        read = a.read(x)
        attention = a.normed("output", a.branch(read, *of_attention))
        feed_forward = f.normed("output", f.branch(read if f.rule["shares_input"] else f.read(x)))
        more = scaled(feed_forward, number(f, "branch_scale"))
        return a.update({"stream": x, "normed": read, "block_input": x}, attention, damp, more), y


class EvenkeelPreTrainedModel(PreTrainedModel):
    config_class = EvenkeelConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["Block"]
    _supports_flash_attn = _supports_flex_attn = _supports_attention_backend = True
    _supports_sdpa = property(lambda self: not self.config.has_softcap())  # sdpa has no cap: eager attention


class EvenkeelModel(EvenkeelPreTrainedModel):
    """From token ids to the input of the head."""
    def __init__(self, config):
        super().__init__(config)
        scheme, width = config.scheme, config.hidden_size
        self.embed_tokens = nn.Embedding(config.vocab_size, width)
        add_number(self, "embedding_scale", scheme["embedding"]["scale"], width)
        add_number(self, "logits_scale", scheme["logits"]["scale"], config.vocabulary)  # for the head
        self.layers = nn.ModuleList(Block(config, i) for i in range(config.num_hidden_layers))
        for name, norm in (("embedding_norm", scheme["embedding"].get("norm")), ("norm", scheme.get("final")),
                           ("stream_x_norm", scheme.get("stream_x")), ("stream_y_norm", scheme.get("stream_y"))):
            self.add_module(name, Norm(norm, width) if norm else nn.Identity())
        self.post_init()

    @can_return_tuple
    def forward(self, input_ids=None, attention_mask=None, position_ids=None, past_key_values=None, inputs_embeds=None,
                use_cache=None, cache=None, output_hidden_states=None, **kwargs):
        x = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        cache = past_key_values if cache is None else cache
        use_cache = (self.config.use_cache if use_cache is None else use_cache) and self.config.scheme["causal"]
        cache = DynamicCache(config=self.config) if use_cache and cache is None and not self.training else cache
        if position_ids is None:
            seen = 0 if cache is None else cache.get_seq_length()
            position_ids = torch.arange(seen, seen + x.shape[1], device=x.device)[None]
        mask = create_causal_mask(self.config, x, attention_mask, cache, position_ids=position_ids)
        exact = torch.float32 if x.device.type == "mps" else torch.float64  # for the angles of rotary embedding
        exponent = torch.arange(0, self.config.head_dim, 2, device=x.device, dtype=exact) / -self.config.head_dim
        angle = position_ids[..., None, None] * self.config.rope_theta**exponent  # [batch, time, 1, head_dim / 2]
        cos_sin = angle.cos().to(wide(x).dtype), angle.sin().to(wide(x).dtype)
        x = scaled(self.embedding_norm(x), number(self, "embedding_scale"))
        y = scaled(x, self.config.scheme["y_init"]) if "y_init" in self.config.scheme else None
        streams = [x]
        for layer in self.layers:
            x, y = layer(x, y, cos_sin, mask, cache=cache, **kwargs)
            streams.append(x)
        if y is not None:
            x = self.stream_x_norm(x) + self.stream_y_norm(y)
        streams[-1] = self.norm(x)  # as in transformers, the last of the hidden states is normed
        return BaseModelOutputWithPast(last_hidden_state=streams[-1], **{CACHE: cache},
                                       hidden_states=tuple(streams) if output_hidden_states else None)


class EvenkeelForCausalLM(EvenkeelPreTrainedModel, GenerationMixin):
    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}

    def __init__(self, config):
        super().__init__(config)
        self.model = EvenkeelModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    @can_return_tuple
    def forward(self, input_ids=None, attention_mask=None, position_ids=None, past_key_values=None, inputs_embeds=None,
                labels=None, use_cache=None, logits_to_keep=0, cache=None, output_hidden_states=None, **kwargs):
        out = self.model(input_ids, attention_mask, position_ids, past_key_values, inputs_embeds, use_cache, cache,
                         output_hidden_states, **kwargs)
        if isinstance(logits_to_keep, int):  # the last positions; 0: all
            logits_to_keep = slice(-logits_to_keep or None, None)
        logits = wide(self.lm_head(out.last_hidden_state[:, logits_to_keep]))[..., : self.config.vocabulary]
        logits = scaled(logits, number(self.model, "logits_scale"))
        if (cap := self.config.scheme["logits"].get("softcap")) is not None:
            logits = torch.tanh(logits / cap) * cap
        # The other rows of the head are no tokens.
        logits = functional.pad(logits, (0, self.config.vocab_size - self.config.vocabulary), value=-math.inf)
        loss = None if labels is None else self.loss_function(logits, labels, self.config.vocab_size, **kwargs)
        return CausalLMOutputWithPast(loss=loss, logits=logits, hidden_states=out.hidden_states,
                                      **{CACHE: getattr(out, CACHE)})

    def resize_token_embeddings(self, new_num_tokens=None, *args, **kwargs):
        embeddings = super().resize_token_embeddings(new_num_tokens, *args, **kwargs)
        if new_num_tokens is not None:  # new rows are tokens; those beyond, to a multiple, are none
            self.config.vocabulary = new_num_tokens
            resize_number(self.model, "logits_scale", new_num_tokens)
        return embeddings

    def generate(self, *args, **kwargs):
        if not self.config.scheme["causal"]:  # cached keys would not have seen the later tokens
            kwargs["use_cache"] = False
        return super().generate(*args, **kwargs)
