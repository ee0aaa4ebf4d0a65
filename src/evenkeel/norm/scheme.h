// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "evenkeel/norm/expression.h"

/// A normalization scheme as data: which norm stands in which place, and how each sublayer adds
/// its branch to the residual stream. `config::bind` makes one from TOML for a model of a given
/// shape, `nn` runs it. The terms are those of docs/schemes.md.
namespace evenkeel::norm {

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
enum class Scope { token, head };
enum class Affine { none, scalar, vector, vector_bias };
enum class GainForm { w, one_plus_w };
enum class EpsilonAt { inside, outside, clamp };
enum class PreScale { none, absmax8 };
enum class Rope { after, before };

/// One norm, complete. Fields that a kind does not have keep their defaults here.
struct Norm {
  Kind kind = Kind::rms_norm;
  Scope scope = Scope::token;
  Affine affine = Affine::vector;
  bool heads_share = true;              // one gain of dk values for all heads, else heads * dk
  Expression gain_init = 1;             // the effective gain at the start
  GainForm gain_form = GainForm::w;     // one_plus_w: the stored value is the gain minus 1
  std::optional<Expression> stored_at;  // the parameter starts here and acts times gain_init / it
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

/// A number that is trained.
struct Learned {
  enum class Size { scalar, vector, per_head };
  enum class Transform { identity, exp, abs, silu };
  Size size = Size::scalar;
  Expression init = 1;  // the effective value at the start
  Transform transform = Transform::identity;
  std::optional<Expression> at_most;
  std::optional<Expression> stored_at;

  bool operator==(const Learned&) const = default;
};

/// A number in a rule: fixed (by a formula) or trained.
using Number = std::variant<Expression, Learned>;

enum class Tap { stream, normed, block_input };
enum class Update { add, sphere, geodesic };

/// The rules by which a sublayer adds its branch to the residual stream:
///   s = skip_scale * (sum of the taps in skip) + branch_scale * branch
struct Residual {
  std::vector<Tap> skip = {Tap::stream};
  Number skip_scale = Expression(1);
  Number branch_scale = Expression(1);
  Update update = Update::add;
  Expression angle_decay = 1;  // geodesic

  bool operator==(const Residual&) const = default;
};

struct Attention {
  std::optional<Norm> input, q, k, v, context, output, residual;
  Residual add;
  std::optional<Number> score_scale;  // none: 1/sqrt(dk)
  std::optional<Expression> softcap;

  bool operator==(const Attention&) const = default;
};

struct FeedForward {
  std::optional<Norm> input, hidden, output, residual;
  bool shares_input = false;  // parallel layout: reads what attention reads
  Residual add;
  std::optional<Number> up_gate_scale;

  bool operator==(const FeedForward&) const = default;
};

struct Block {
  Attention attention;
  FeedForward feed_forward;
  std::optional<Number> damp;

  bool operator==(const Block&) const = default;
};

/// A second residual stream y beside x.
struct Dual {
  bool reads_norm_of_y = false;    // read = "x + norm(y)", else "x"
  bool norms_both_at_end = false;  // output = "norm(norm(x) + norm(y))", else "x + norm(y)"
  Norm norm;
  Expression write_y = 1;
  Expression y_init = 1;
};

/// { weights, factor }: initial values of these logical matrices are multiplied by factor.
struct InitFactor {
  std::vector<std::string> weights;  // "attention.q", ..., "feed_forward.down"
  Expression factor = 1;
};

struct Reparameterization {
  std::string rule;  // "weight_norm" or "sigma_reparam"
  std::vector<std::string> weights;
};

struct Hook {
  std::string kind;  // "unit_norm", "qk_clip" or "profile"
  std::vector<std::string> weights;
  std::string axis;  // unit_norm: "in" or "out"
  double threshold = 0;
};

/// Where a run stands: what t and T are in expressions.
struct Steps {
  std::int64_t done = 0;
  std::int64_t planned = 0;  // at least 1 in a run: a scheme may divide by it
};

/// A mixture of experts in place of one feed-forward: each token goes to some of them.
struct Experts {
  std::int64_t count = 0;         // 0: no mixture
  std::int64_t active = 0;        // that each token goes to
  std::int64_t shared = 0;        // that every token goes to besides
  std::int64_t dense_layers = 0;  // first blocks without a router
  bool renormalize = false;       // the weights of a token's experts add up to 1
  bool has_bias = false;          // on the choice, moved to balance it
  /// Experts that are active for each token: top-k and shared.
  std::int64_t per_token() const { return active + shared; }
};

/// The sizes that expressions, patches and checks need. `inner` is the width of one expert.
struct Shape {
  std::int64_t layers = 0, width = 0, heads = 0, kv_heads = 0, inner = 0, vocabulary = 0,
               context = 0;
  Experts experts = {};
  std::int64_t head_width() const { return heads > 0 ? width / heads : 0; }
  bool is_mixture() const { return experts.count > 0; }
  /// Whether block i, from 0, has a router and experts.
  bool has_router(std::int64_t i) const { return is_mixture() && i >= experts.dense_layers; }
  /// How many feed-forwards of width `inner` a block without a router has in parallel: in a
  /// mixture as many as are active for a token in the other blocks.
  std::int64_t dense_experts() const { return is_mixture() ? experts.per_token() : 1; }

  /// N, S, d, dk, f, h, kv, vocab, context; t and T have a value only if `steps` are given.
  Variables variables(const std::optional<Steps>& steps = {}) const;
  /// The same with l, the block's number from 1.
  Variables variables_of_block(std::int64_t l, const std::optional<Steps>& steps = {}) const;
};

/// The name, source and equations that a scheme states.
struct SchemeInfo {
  std::string name, title, family, source, note;
  std::string equation_attention, equation_feed_forward, equation_other;
  std::vector<std::string> warnings;  // codes that are expected
};

/// A scheme for a model of a given shape: patches applied, every norm complete.
struct Scheme {
  SchemeInfo info;
  Shape shape;
  std::vector<Block> blocks;  // [shape.layers]
  bool parallel = false;
  std::optional<Dual> dual;
  std::optional<Norm> embedding_norm, final;
  Number embedding_scale = Expression(1);
  Number logits_scale = Expression(1);
  std::optional<Expression> logits_softcap;
  std::optional<bool> tied;  // head = "tied" or "untied", if stated
  std::string base_init = "default", embedding_init = "default";
  std::vector<InitFactor> init;
  std::vector<Reparameterization> reparameterize;
  std::vector<Hook> hooks;
  std::optional<Expression> norm_parameters;  // the formula of the file, to be checked
};

/// The logical matrices that init factors and reparameterizations name.
inline constexpr std::array<const char*, 7> kWeights = {
    "attention.q",     "attention.k",       "attention.v",      "attention.output",
    "feed_forward.up", "feed_forward.gate", "feed_forward.down"};

}  // namespace evenkeel::norm
