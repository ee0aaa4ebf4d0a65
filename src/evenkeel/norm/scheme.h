// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "evenkeel/norm/expression.h"

/// A normalization scheme as data: which norm each place of the model has, and how each sublayer
/// adds its branch to the residual stream. `config::bind` makes a scheme from TOML for a model of a
/// given shape, and `nn` runs it. docs/schemes.md explains the terms.
namespace evenkeel::norm {

/// The norm kinds, spelled as in TOML. kinds.h has a row with the facts of each.
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
};
/// The features of one row: all D of a token, or the dk of each head.
enum class Scope { token, head };
/// The trained gain and bias after the statistic: `scalar` is one gain for all features.
enum class Affine { none, scalar, vector, vector_bias };
/// How a gain is stored: as itself, or minus 1 (so that weight decay pulls it towards 1).
enum class GainForm { w, one_plus_w };
/// The denominator of a statistic s: sqrt(s + e), sqrt(s) + e, or max(sqrt(s), e).
enum class EpsilonAt { inside, outside, clamp };
/// absmax8: rows are first divided by an eighth of their largest magnitude, without gradient.
enum class PreScale { none, absmax8 };
/// Whether the rotary embedding comes after or before a norm of q or k.
enum class Rope { after, before };

/// One norm, complete: out_scale * (gain * statistic(x) + bias). Fields that a kind does not have
/// keep their defaults here.
struct Norm {
  Kind kind = Kind::rms_norm;
  Scope scope = Scope::token;
  Affine affine = Affine::vector;
  bool heads_share = true;              // one gain of dk values for all heads, else heads * dk
  Expression gain_init = 1;             // the effective gain at the start
  GainForm gain_form = GainForm::w;     // one_plus_w: the stored value is the gain minus 1
  std::optional<Expression> stored_at;  // the parameter's initial value; the gain is the parameter
                                        // times gain_init / stored_at
  double epsilon = 1e-5;
  EpsilonAt epsilon_at = EpsilonAt::inside;
  Expression out_scale = 1;  // on the whole result, bias included
  PreScale pre_scale = PreScale::none;
  Rope rope = Rope::after;
  double partial = 1;  // rms_norm: the mean square of the first max(1, int(partial * D))
  std::optional<Expression> groups;  // group_norm
  Expression alpha_init = 0.5;       // dyt, derf (0.5), seed_norm (1)
  Expression shift_init = 0;         // derf
  Expression beta_init = 0;          // seed_norm
  double momentum = 0.1;             // batch_norm (0.1), batch_renorm (0.01)
  Expression rate_max = 1;           // batch_renorm
  Expression shift_max = 0;          // batch_renorm
  bool allow_leakage = false;        // kinds whose statistics see other tokens

  bool operator==(const Norm&) const = default;
};

/// A trained number of a rule: transform(parameter), bounded by at_most.
struct Learned {
  /// One value, one for each feature, or one for each head.
  enum class Size { scalar, vector, per_head };
  /// The function from the stored parameter to the effective value.
  enum class Transform { identity, exp, abs, silu };
  Size size = Size::scalar;
  Expression init = 1;  // the effective value at the start of a run
  Transform transform = Transform::identity;
  std::optional<Expression> at_most;  // the effective value is clamped from above
  std::optional<Expression>
      stored_at;  // the parameter's initial value; acts times init / stored_at

  bool operator==(const Learned&) const = default;
};

/// A number in a rule: fixed (by a formula) or trained.
using Number = std::variant<Expression, Learned>;

/// A term of the skip connection: the residual stream before the sublayer, the output of the
/// sublayer's input norm, or the stream that enters the block.
enum class Tap { stream, normed, block_input };
/// How branch and skip are combined: a sum, a step on the unit sphere (nGPT, arXiv:2410.01131,
/// eq. 10), or a geodesic step on the sphere through the stream (GeoNorm, arXiv:2601.22095).
enum class Update { add, sphere, geodesic };

/// How a sublayer adds its branch to the residual stream:
///   s = skip_scale * (sum of the taps in skip) + branch_scale * branch
struct Residual {
  std::vector<Tap> skip = {Tap::stream};
  Number skip_scale = Expression(1);
  Number branch_scale = Expression(1);
  Update update = Update::add;
  Expression angle_decay = 1;  // geodesic: a factor on the angle of the step

  bool operator==(const Residual&) const = default;
};

/// The attention sublayer of a block. Norms: `input` of the stream, `q`, `k` and `v` of the
/// projections, `context` before the output matrix, `output` of the branch, `residual` of the sum.
struct Attention {
  std::optional<Norm> input, q, k, v, context, output, residual;
  Residual add;
  std::optional<Number> score_scale;  // none: 1/sqrt(dk)
  std::optional<Expression> softcap;  // c: scores become c tanh(score / c)

  bool operator==(const Attention&) const = default;
};

/// The feed-forward sublayer of a block (SwiGLU). `hidden` is the norm before the down matrix.
struct FeedForward {
  std::optional<Norm> input, hidden, output, residual;
  bool shares_input = false;  // parallel layout: reads the output of attention's input norm
  Residual add;
  std::optional<Number> up_gate_scale;  // a factor on the outputs of the up and gate matrices

  bool operator==(const FeedForward&) const = default;
};

/// One transformer block.
struct Block {
  Attention attention;
  FeedForward feed_forward;
  std::optional<Number> damp;  // this fraction of the stream is subtracted after each sublayer

  bool operator==(const Block&) const = default;
};

/// A second residual stream y next to x (SiameseNorm, ResiDual).
struct Dual {
  bool reads_norm_of_y = false;    // read = "x + norm(y)", else "x"
  bool norms_both_at_end = false;  // output = "norm(norm(x) + norm(y))", else "x + norm(y)"
  Norm norm;
  Expression write_y = 1;  // y becomes y + write_y * branch
  Expression y_init = 1;   // y starts as y_init * x
};

/// { weights, factor }: initial values of these logical matrices are multiplied by factor.
struct InitFactor {
  std::vector<std::string> weights;  // "attention.q", ..., "feed_forward.down"
  Expression factor = 1;
};

/// Matrices that are computed from other parameters.
struct Reparameterization {
  std::string rule;  // "weight_norm" (arXiv:1602.07868) or "sigma_reparam" (arXiv:2303.06296)
  std::vector<std::string> weights;
};

/// A change of weights around the optimizer's step.
struct Hook {
  std::string kind;  // "unit_norm", "qk_clip" or "profile"
  std::vector<std::string> weights;
  std::string axis;      // unit_norm: "in" or "out", the axis that gets length one
  double threshold = 0;  // qk_clip: the largest allowed score
};

/// The progress of a run: the variables t and T of expressions.
struct Steps {
  std::int64_t done = 0;     // t, optimizer steps
  std::int64_t planned = 0;  // T; at least 1 in a run: a scheme may divide by it
};

/// A mixture of experts in place of one feed-forward: a router sends each token to some experts.
struct Experts {
  std::int64_t count = 0;         // routed experts; 0: no mixture
  std::int64_t active = 0;        // top-k: routed experts of each token
  std::int64_t shared = 0;        // further experts that every token goes to
  std::int64_t dense_layers = 0;  // the first blocks, without a router
  bool renormalize = false;       // the weights of a token's experts add up to 1
  bool has_bias = false;          // on the router's choice, moved to balance the load
  /// Experts that are active for each token: top-k and shared.
  std::int64_t per_token() const { return active + shared; }
};

/// The sizes of a model. `inner` is the FFN width, in a mixture that of one expert.
struct Shape {
  std::int64_t layers = 0, width = 0, heads = 0, kv_heads = 0, inner = 0, vocabulary = 0,
               context = 0;
  Experts experts = {};
  /// dk, the features of one head.
  std::int64_t head_width() const { return heads > 0 ? width / heads : 0; }
  /// Whether blocks have experts, at least some of the blocks.
  bool is_mixture() const { return experts.count > 0; }
  /// Whether block i, from 0, has a router and experts.
  bool has_router(std::int64_t i) const { return is_mixture() && i >= experts.dense_layers; }
  /// The FFN width of a block without a router, in units of `inner`: in a mixture the number of
  /// experts that a token activates elsewhere, so that all blocks cost the same.
  std::int64_t dense_experts() const { return is_mixture() ? experts.per_token() : 1; }

  /// The variables N, S, d, dk, f, h, kv, vocab and context; t and T only if `steps` are given.
  Variables variables(const std::optional<Steps>& steps = {}) const;
  /// variables() and l, the block's number from 1.
  Variables variables_of_block(std::int64_t l, const std::optional<Steps>& steps = {}) const;
};

/// Name, title, source and equations of a scheme, as its file states them.
struct SchemeInfo {
  std::string name, title, family, source, note;
  std::string equation_attention, equation_feed_forward, equation_other;
  std::vector<std::string> warnings;  // codes of the warnings that are expected
};

/// A scheme bound to a model of a given shape: patches applied, every norm complete.
struct Scheme {
  SchemeInfo info;
  Shape shape;
  std::vector<Block> blocks;  // [shape.layers]
  bool parallel = false;      // both sublayers read one stream, and one sum adds both branches
  std::optional<Dual> dual;
  std::optional<Norm> embedding_norm, final;  // of the embedded tokens; after the last block
  Number embedding_scale = Expression(1);
  Number logits_scale = Expression(1);
  std::optional<Expression> logits_softcap;  // c: logits become c tanh(logit / c)
  std::optional<bool> tied;                  // head = "tied" or "untied", if stated
  std::string base_init = "default", embedding_init = "default";  // distribution_of() reads them
  std::vector<InitFactor> init;
  std::vector<Reparameterization> reparameterize;
  std::vector<Hook> hooks;
  std::optional<Expression> norm_parameters;  // the stated count of norm parameters, to be checked
};

/// The matrices of a block that init factors, reparameterizations and hooks may name.
inline constexpr std::array<const char*, 7> kWeights = {
    "attention.q",     "attention.k",       "attention.v",      "attention.output",
    "feed_forward.up", "feed_forward.gate", "feed_forward.down"};

}  // namespace evenkeel::norm
