# SPDX-License-Identifier: Apache-2.0
"""The configuration of an Evenkeel model: its sizes, and its normalization scheme as data."""
from transformers import PretrainedConfig

# What runs on each rank of a tensor parallel group, if no norm or number is inside of the branches.
TENSOR_PARALLEL = {
    "layers.*.self_attn.q_proj": "colwise",
    "layers.*.self_attn.k_proj": "colwise",
    "layers.*.self_attn.v_proj": "colwise",
    "layers.*.self_attn.o_proj": "rowwise",
    "layers.*.mlp.gate_proj": "colwise",
    "layers.*.mlp.up_proj": "colwise",
    "layers.*.mlp.down_proj": "rowwise",
}


class EvenkeelConfig(PretrainedConfig):
    """`scheme` is the normalization scheme with all numbers evaluated (docs/scheme_json.md of Evenkeel).

    `vocab_size` counts the rows of the embedding, `vocabulary` those that are tokens; the rest is padding.
    `intermediate_size` is the width of one expert in a mixture of experts; `num_experts` is 0 in a dense model.
    """

    model_type = "evenkeel"
    keys_to_ignore_at_inference = ["past_key_values", "cache"]
    base_model_tp_plan = TENSOR_PARALLEL

    vocab_size: int = 320
    vocabulary: int | None = None
    hidden_size: int = 64
    intermediate_size: int = 176
    num_hidden_layers: int = 3
    num_attention_heads: int = 4
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    max_position_embeddings: int = 128
    rope_theta: float = 10000.0
    tie_word_embeddings: bool = True
    use_cache: bool = True
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    pad_token_id: int | None = None
    num_experts: int = 0
    num_experts_per_tok: int = 0
    num_shared_experts: int = 0
    num_dense_layers: int = 0
    norm_topk_prob: bool = False
    initializer_range: float = 0.02
    scheme: dict | None = None

    def __post_init__(self, **kwargs):
        self.vocabulary = self.vocabulary or self.vocab_size
        self.num_key_value_heads = self.num_key_value_heads or self.num_attention_heads
        self.head_dim = self.head_dim or self.hidden_size // self.num_attention_heads
        super().__post_init__(**kwargs)
        if self.scheme is None:
            return
        if not self.scheme["causal"]:
            self.use_cache = False
        if not self.splits_by_heads():
            self.base_model_tp_plan = None

    def block(self, layer):
        """The rules of a layer, counted from 0."""
        return self.scheme["blocks"][self.scheme["layers"][layer]]

    def has_router(self, layer):
        return self.num_experts > 0 and layer >= self.num_dense_layers

    def has_softcap(self):
        """True if attention scores are capped, which eager attention can."""
        return any("softcap" in block["attention"] for block in (self.scheme or {}).get("blocks", []))

    def splits_by_heads(self):
        """True if each head and each feed-forward feature can be computed without the others."""
        for block in self.scheme["blocks"]:
            attention, feed_forward = block["attention"], block["feed_forward"]
            if any(attention[slot]["scope"] != "head" or not attention[slot]["heads_share"]
                   for slot in ("q", "k", "v", "context") if slot in attention):
                return False
            if "hidden" in feed_forward or isinstance(feed_forward.get("up_gate_scale"), dict):
                return False
            if isinstance(attention["score_scale"], dict):
                return False
        return self.num_experts == 0 and not self.scheme["reparameterize"]
