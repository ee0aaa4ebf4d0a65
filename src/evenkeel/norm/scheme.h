// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "evenkeel/norm/expression.h"

/// A normalization scheme as data: the norm at each place of the model, and the rule by which each
/// sublayer adds its branch to the residual stream. `config::bind` makes a scheme from TOML for a
/// model of a given shape. `nn` builds the model from it. docs/schemes.md explains the terms.
namespace evenkeel::norm {

/// The norm kinds, spelled as in TOML. kinds.h has one row of facts per kind.
enum class Kind {
  layer_norm,
  rms_norm,
  l2,
  scale_norm,
  group_norm,
  dyt,
  derf,
  seed_norm,
  scale,
  batch_norm,
  batch_renorm,
  instance_norm,
  detach_norm,
};
/// The features over which a statistic is computed: all D of a token, or the dk of each head.
enum class Scope { token, head };
/// The trained gain and bias of a norm: scalar [1] gain, vector [D] gain, vector_bias [D] gain and
/// [D] bias.
enum class Affine { none, scalar, vector, vector_bias };
/// The stored parameter of a gain g: g itself (w), or g - 1 (one_plus_w), which weight decay pulls
/// towards a gain of 1.
enum class GainForm { w, one_plus_w };
/// The denominator of a row with mean square or variance s: sqrt(s + e), sqrt(s) + e, or
/// max(sqrt(s), e).
enum class EpsilonAt { inside, outside, clamp };
/// absmax8: x is first divided by max|x| / 8 of its row; no gradient flows through the divisor.
enum class PreScale { none, absmax8 };
/// The statistics of detach_norm that are constants to the gradient.
enum class Detach { mean, variance, both };
/// The order of norm and rotary embedding for q and k: rotary embedding after or before the norm.
enum class Rope { after, before };

/// One norm with all its fields: out_scale * (gain * normalized(x) + bias). A field that the kind
/// does not use has its default here.
struct Norm {
  Kind kind = Kind::rms_norm;
  Scope scope = Scope::token;
  Affine affine = Affine::vector;
  bool heads_share = true;           // scope head: one gain [dk] for all heads; else [heads * dk]
  Expression gain_init = 1;          // effective gain at the start of a run
  GainForm gain_form = GainForm::w;  // one_plus_w: stored value = gain - 1
  std::optional<Expression> stored_at;  // stored value at the start of a run; effective gain =
                                        // stored value * gain_init / stored_at
  double epsilon = 1e-5;
  EpsilonAt epsilon_at = EpsilonAt::inside;
  Expression out_scale = 1;  // a factor on the result, bias included
  PreScale pre_scale = PreScale::none;
  Rope rope = Rope::after;
  double partial = 1;  // pRMSNorm: mean square of the first max(1, int(partial * D)) features
  std::optional<Expression> groups;  // group_norm: number of groups
  Detach detach = Detach::both;      // detach_norm
  Expression alpha_init = 0.5;       // dyt, derf (0.5), seed_norm (1)
  Expression shift_init = 0;         // derf
  Expression beta_init = 0;          // seed_norm
  double momentum = 0.1;             // batch_norm (0.1), batch_renorm (0.01)
  Expression rate_max = 1;           // batch_renorm
  Expression shift_max = 0;          // batch_renorm
  bool allow_leakage = false;        // permits kinds whose statistics are over several tokens

  bool operator==(const Norm&) const = default;
};

/// A trained number of a scheme: min(transform(parameter), at_most).
struct Learned {
  /// The shape of the parameter: [1], [D], or [H].
  enum class Size { scalar, vector, per_head };
  /// The function that maps the stored parameter to the effective value.
  enum class Transform { identity, exp, abs, silu };
  Size size = Size::scalar;
  Expression init = 1;  // effective value at the start of a run
  Transform transform = Transform::identity;
  std::optional<Expression> at_most;    // upper bound of the effective value
  std::optional<Expression> stored_at;  // stored value at the start of a run; transform
                                        // acts on parameter * init / stored_at

  bool operator==(const Learned&) const = default;
};

/// A number of a scheme: fixed (an expression) or trained.
using Number = std::variant<Expression, Learned>;

/// A skip input, one summand of the skip connection: `stream` is the residual stream that enters
/// the sublayer, `normed` the output of the sublayer's input norm, `block_input` the stream that
/// enters the block.
enum class Tap { stream, normed, block_input };
/// How the residual update combines branch and skip: a sum, a step on the unit sphere (nGPT,
/// arXiv:2410.01131, eq. 10), or a geodesic step on the sphere through the stream (GeoNorm,
/// arXiv:2601.22095).
enum class Update { add, sphere, geodesic };

/// The residual update of a sublayer. With `add`:
///   s = skip_scale * (sum of the inputs in skip) + branch_scale * branch
struct Residual {
  std::vector<Tap> skip = {Tap::stream};
  Number skip_scale = Expression(1);
  Number branch_scale = Expression(1);
  Update update = Update::add;
  Expression angle_decay = 1;  // geodesic: a factor on the step's angle

  bool operator==(const Residual&) const = default;
};

/// The attention sublayer of a block. Its norms normalize: `input` the sublayer's input, `q`, `k`
/// and `v` the projections, `context` the attention output before W_O, `output` the branch,
/// `residual` the sum of skip and branch (the post-add norm, as in Post-Norm).
struct Attention {
  std::optional<Norm> input, q, k, v, context, output, residual;
  Residual add;                       // the residual update
  std::optional<Number> score_scale;  // factor on q . k; nullopt: 1/sqrt(dk)
  std::optional<Expression> softcap;  // c: scores become c tanh(score / c)

  bool operator==(const Attention&) const = default;
};

/// The feed-forward sublayer of a block (SwiGLU). `hidden` is the norm before the down-projection.
struct FeedForward {
  std::optional<Norm> input, hidden, output, residual;
  bool shares_input = false;  // parallel layout: the input is the output of attention's input norm
  Residual add;               // the residual update
  std::optional<Number> up_gate_scale;  // factor on the outputs of the up- and gate-projections

  bool operator==(const FeedForward&) const = default;
};

/// One transformer block.
struct Block {
  Attention attention;
  FeedForward feed_forward;
  std::optional<Number> damp;  // GPAS: s - damp * stop_gradient(s) after each sublayer

  bool operator==(const Block&) const = default;
};

/// A second residual stream y in addition to x (SiameseNorm, ResiDual).
struct Dual {
  bool reads_norm_of_y = false;    // read = "x + norm(y)", else "x"
  bool norms_both_at_end = false;  // output = "norm(norm(x) + norm(y))", else "x + norm(y)"
  Norm norm;
  Expression write_y = 1;  // y = y + write_y * branch after each sublayer
  Expression y_init = 1;   // y = y_init * x before the first block
};

/// An init factor: the initial values of the logical matrices `weights` are multiplied by `factor`.
struct InitFactor {
  std::vector<std::string> weights;  // "attention.q", ..., "feed_forward.down"
  Expression factor = 1;
};

/// A reparameterization: the effective matrices are computed from other parameters.
struct Reparameterization {
  std::string rule;  // "weight_norm" (arXiv:1602.07868) or "sigma_reparam" (arXiv:2303.06296)
  std::vector<std::string> weights;
};

/// A rule that changes weights outside of the optimizer (train/hooks.h).
struct Hook {
  std::string kind;  // "unit_norm", "qk_clip" or "profile"
  std::vector<std::string> weights;
  std::string axis;      // unit_norm: "in" or "out", the axis of the vectors with L2 norm 1
  double threshold = 0;  // qk_clip: upper bound of the attention scores
};

/// The progress of a run: the variables t and T of expressions.
struct Steps {
  std::int64_t done = 0;     // t: optimizer steps so far
  std::int64_t planned = 0;  // T: steps of the learning-rate schedule, at least 1 in a run
                             // (expressions may divide by T)
};

/// A mixture of experts, which replaces the feed-forward. A router sends each token to its top-k
/// experts.
struct Experts {
  std::int64_t count = 0;         // routed experts; 0: a dense model
  std::int64_t active = 0;        // top-k: routed experts per token
  std::int64_t shared = 0;        // shared experts: every token goes through them
  std::int64_t dense_layers = 0;  // number of first blocks with a dense feed-forward and no router
  bool renormalize = false;  // true: the top-k router weights of a token are scaled to a sum of 1
  bool has_bias = false;     // router bias of auxiliary-loss-free load balancing
  /// Experts per token: top-k and shared.
  std::int64_t per_token() const { return active + shared; }
};

/// The sizes of a model. `inner` is the FFN width; in a mixture of experts, that of one expert.
struct Shape {
  std::int64_t layers = 0, width = 0, heads = 0, kv_heads = 0, inner = 0, vocabulary = 0,
               context = 0;
  Experts experts = {};
  /// dk, the features of one head.
  std::int64_t head_width() const { return heads > 0 ? width / heads : 0; }
  /// True for a mixture of experts; its first blocks may be dense.
  bool is_mixture() const { return experts.count > 0; }
  /// True if block i, from 0, has a router and experts.
  bool has_router(std::int64_t i) const { return is_mixture() && i >= experts.dense_layers; }
  /// FFN width of a dense block / inner: 1 in a dense model. In a mixture of experts it is the
  /// number of experts per token, so that a dense block costs as much as a routed one.
  std::int64_t dense_ffn_multiple() const { return is_mixture() ? experts.per_token() : 1; }

  /// The variables N, S, d, dk, f, h, kv, vocab and context; t and T only with `steps`.
  Variables variables(const std::optional<Steps>& steps = {}) const;
  /// The result of variables(), and l.
  /// \param l  block, from 1
  Variables variables_of_block(std::int64_t l, const std::optional<Steps>& steps = {}) const;
};

/// The entries of a scheme file for people: name, title, source, equations.
struct SchemeInfo {
  std::string name, title, family, source, note;
  std::string equation_attention, equation_feed_forward, equation_other;
  std::vector<std::string> warnings;  // codes of the warnings that the file expects
};

/// A scheme for a model of a given shape. Patches are applied, and every norm has all its fields.
struct Scheme {
  SchemeInfo info;
  Shape shape;
  std::vector<Block> blocks;  // [shape.layers]
  bool parallel = false;      // both sublayers read the same stream; one sum adds both branches
  std::optional<Dual> dual;
  std::optional<Norm> embedding_norm, final;  // final: after the last block
  Number embedding_scale = Expression(1);
  Number logits_scale = Expression(1);
  std::optional<Expression> logits_softcap;  // c: logits become c tanh(logit / c)
  std::optional<bool> tied;                  // head = embedding matrix; nullopt: model.tied decides
  std::string base_init = "default", embedding_init = "default";  // for distribution_of()
  std::vector<InitFactor> init;
  std::vector<Reparameterization> reparameterize;
  std::vector<Hook> hooks;
  std::optional<Expression> norm_parameters;  // expected count of norm parameters, a check
};

/// The logical matrices of a block: slices of the fused weights (q, k, v, up, gate) and the output
/// and down matrices. Init factors, reparameterizations and hooks name them.
inline constexpr std::array<const char*, 7> kBlockMatrices = {
    "attention.q",     "attention.k",       "attention.v",      "attention.output",
    "feed_forward.up", "feed_forward.gate", "feed_forward.down"};

}  // namespace evenkeel::norm
