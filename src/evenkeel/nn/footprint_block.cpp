// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/footprint_block.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "evenkeel/nn/norm_path.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/logical_matrices.h"

namespace evenkeel::nn {

namespace {

using norm::Norm;

constexpr std::int64_t kManyHeads = 2;  // any number of heads above 1 saves the same

/// Whether ops::qkv_norm_rope() computes the norm before the rotation.
bool is_fused_with_rotation(const std::optional<Norm>& norm) {
  return norm && norm->rope != norm::Rope::before && has_fused_head_norm(*norm, kManyHeads);
}

/// Whether the norm reads queries, keys or values that are split from their products before the
/// rotation: ops::qkv_norm_rope() does not have it.
bool splits_heads(const std::optional<Norm>& norm) {
  return norm && norm->rope != norm::Rope::before && !has_fused_head_norm(*norm, kManyHeads);
}

/// Bytes a token that a norm over `width` values saves besides its input. An operator saves none. A
/// formula saves its intermediate tensors, in double where the norm has no operator.
double saved_by(const std::optional<Norm>& norm, double width, const FootprintOptions& options) {
  constexpr double kSteps = 4;  // x, x^2 and two products, of 8 bytes
  const auto heads = norm && norm->scope == norm::Scope::head ? kManyHeads : 1;
  if (!norm) return 0;
  if (path_of(*norm, heads) == NormPath::formula) return kSteps * 8 * width;
  return options.fused ? 0 : 2 * wide_bytes(options) * width;  // x and x * rho
}

/// Values that a factor on a tensor of `width` values saves: its input, if the factor is trained.
double saved_by_factor(const std::optional<norm::Number>& factor, double width) {
  return factor && std::holds_alternative<norm::Learned>(*factor) ? width : 0;
}

/// Adds the input of a norm, which is saved because of the norm, and its formula's tensors.
void add_norm_input(SavedActivations& saved, const std::optional<Norm>& norm, double width,
                    const FootprintOptions& options) {
  if (!norm) return;
  saved.values += width;
  saved.bytes += saved_by(norm, width, options);
}

/// The activations of a mixture without its shared experts. For each of its top-k experts, a token
/// saves the expert's input, the products, and the hidden values before and after the factor p. The
/// formula multiplies the expert's output by p, and saves it.
SavedActivations saved_by_mixture(const norm::FeedForward& feed_forward, const norm::Shape& shape,
                                  const FootprintOptions& options) {
  const auto d = static_cast<double>(shape.width);
  const auto f = static_cast<double>(shape.inner);
  const auto& experts = shape.experts;
  SavedActivations saved;
  for (std::int64_t j = 0; j < experts.active; ++j) {
    saved.values += (options.fused ? 1 : 2) * d + 4 * f;
    add_norm_input(saved, feed_forward.hidden, f, options);
    saved.bytes += 3 * 8;  // the assignment: permutation, token_of_row, inverse_permutation
  }
  saved.bytes += 3 * wide_bytes(options) *
                 static_cast<double>(experts.count);    // logits, their softmax, its logarithm
  if (options.compute_bytes < 4) saved.bytes += 4 * d;  // the router's input in float32
  return saved;
}

/// Values of the matrices of block i, from 0, that a reparameterization computes. The whole stored
/// matrix is a new tensor, also where only some of its rows are computed.
double reparameterized_values(const norm::Scheme& scheme, std::int64_t i) {
  if (scheme.reparameterize.empty()) return 0;
  const auto is_named = [&](const std::string& matrix) {
    return std::ranges::any_of(scheme.reparameterize, [&](const auto& rule) {
      return std::ranges::find(rule.weights, matrix) != rule.weights.end();
    });
  };
  const auto matrices = norm::logical_matrices(scheme.shape, i);
  std::set<std::string> computed;
  for (const auto& each : matrices) {
    if (is_named(each.name)) computed.insert(each.stored);
  }
  double values = 0;
  for (const auto& each : matrices) {
    if (computed.contains(each.stored)) values += static_cast<double>(each.rows * each.columns);
  }
  return values;
}

/// What the backward pass of the layers that read the input of a sublayer saves of it.
enum class SavedInput {
  linear,  // the input, or under Recompute::norms what its norm reads
  always,  // the input
  none,    // copies of it, counted elsewhere
};

/// Of the feed-forward sublayer of block i. A router saves its input, which is a float32 copy with
/// bfloat16. A routed expert saves the rows that are dispatched to it, a shared one the input.
SavedInput saved_feed_forward_input(const norm::Shape& shape, std::int64_t i,
                                    const FootprintOptions& options) {
  if (!shape.has_router(i)) return SavedInput::linear;
  const bool has_copy = options.compute_bytes < 4;
  return has_copy && shape.experts.shared == 0 ? SavedInput::none : SavedInput::always;
}

/// Sums the activations that the parts of one block save, in the order of the forward pass.
class BlockSum {
 public:
  /// \param dual  the norm of the second stream, where sublayers read x + norm(y); may be null
  BlockSum(const norm::Shape& shape, const Norm* dual, const FootprintOptions& options)
      : shape_(shape), d_(static_cast<double>(shape.width)), dual_(dual), options_(options) {}

  /// The input of a sublayer: the stream, or x + norm(y), and the norm's output.
  void add_sublayer_input(const std::optional<Norm>& norm, SavedInput input) {
    normed_is_saved_ = input == SavedInput::always ||
                       (input == SavedInput::linear && (dual_ != nullptr || !is_recomputed(norm)));
    stream_is_saved_ = norm || input != SavedInput::none;
    if (stream_is_saved_) saved_.values += d_;
    add_linear_input(norm, d_, normed_is_saved_);
    if (dual_ != nullptr) add_norm_input(saved_, *dual_, d_, options_);
  }

  /// The input of the feed-forward sublayer of a parallel block, which reads the stream of
  /// attention: only the output of its own norm is another tensor.
  void add_parallel_input(const std::optional<Norm>& norm, SavedInput input) {
    add_linear_input(
        norm, d_,
        input == SavedInput::always || (input == SavedInput::linear && !is_recomputed(norm)));
  }

  /// The part of attention from the q, k, v projections to the context.
  void add_attention(const norm::Attention& rule) {
    const auto keys = static_cast<double>(shape_.kv_heads * shape_.head_width());
    saved_.values += d_ + 2 * keys;                          // products
    saved_.values += d_ + 2 * keys;                          // q, k and v, normed and rotated
    saved_.values += saved_by_factor(rule.score_scale, d_);  // q before it is scaled
    saved_.bytes += saved_by(rule.q, d_, options_) + saved_by(rule.k, keys, options_) +
                    saved_by(rule.v, keys, options_);
    if (concatenates_heads(rule)) saved_.values += d_ + 2 * keys;
    if (rule.q && rule.q->rope == norm::Rope::before) saved_.values += d_;  // rotated, not normed
    if (rule.k && rule.k->rope == norm::Rope::before) saved_.values += keys;
    saved_.bytes += 8 * static_cast<double>(shape_.heads + 2 * shape_.kv_heads);  // one a head
    saved_.values += d_;                                                          // context
    saved_.bytes += 8 * static_cast<double>(shape_.heads);  // sums of the softmax
    add_linear_input(rule.context, d_, !is_recomputed(rule.context));
  }

  /// The part of the feed-forward sublayer from the up and gate projections to the hidden values,
  /// in block i from 0.
  void add_feed_forward(const norm::FeedForward& rule, std::int64_t i) {
    const auto f = static_cast<double>(shape_.inner);
    const bool has_router = shape_.has_router(i);
    if (has_router) {
      const auto mixture = saved_by_mixture(rule, shape_, options_);
      saved_.values += mixture.values;
      saved_.bytes += mixture.bytes;
    }
    const auto always_active = has_router ? shape_.experts.shared : shape_.dense_ffn_multiple();
    for (std::int64_t j = 0; j < always_active; ++j) {
      // Up and gate, and the gate's output if a norm reads it; a formula saves it, and silu(gate).
      saved_.values += !options_.fused ? 4 * f : rule.hidden ? 3 * f : 2 * f;
      if (!has_router) saved_.values += saved_by_factor(rule.up_gate_scale, 2 * f);
      add_linear_input(rule.hidden, f, !is_recomputed(rule.hidden));
    }
  }

  /// The output norm of a sublayer and the factor of its branch.
  void add_branch(const std::optional<Norm>& output, const norm::Residual& add) {
    add_norm_input(saved_, output, d_, options_);
    // On the sphere, a trained branch_scale is the length of the step and multiplies no branch.
    if (add.update != norm::Update::sphere) saved_.values += saved_by_factor(add.branch_scale, d_);
  }

  /// The residual addition, its norm and its damping; after add_sublayer_input() of the sublayer.
  void add_residual(const norm::Residual& add, const std::optional<Norm>& residual,
                    const std::optional<norm::Number>& damp) {
    add_skip(add);
    if (add.update != norm::Update::add) saved_.values += d_;  // the target of the step
    add_norm_input(saved_, residual, d_, options_);
    saved_.values += saved_by_factor(damp, d_);
  }

  const SavedActivations& saved() const { return saved_; }

 private:
  /// Whether the backward pass computes the norm before a linear layer again.
  bool is_recomputed(const std::optional<Norm>& norm) const {
    return options_.recompute == Recompute::norms && norm && norm::buffers_of(*norm, 1, 1).empty();
  }

  /// Whether ops::qkv_norm_rope() saves q, k and v again, concatenated after norms that it does not
  /// have. Without a norm that it has, ops::qkv_rope() runs, which saves none of them.
  bool concatenates_heads(const norm::Attention& rule) const {
    return options_.fused &&
           (splits_heads(rule.q) || splits_heads(rule.k) || splits_heads(rule.v)) &&
           (is_fused_with_rotation(rule.q) || is_fused_with_rotation(rule.k) ||
            is_fused_with_rotation(rule.v));
  }

  /// The input of a linear layer after a norm; only the steps of a formula if it is not saved.
  void add_linear_input(const std::optional<Norm>& norm, double width, bool saves_input) {
    if (saves_input) add_norm_input(saved_, norm, width, options_);
    if (!saves_input) saved_.bytes += saved_by(norm, width, options_);
  }

  /// Whether a tensor that the skip connection adds is saved as the input of a norm or of a linear
  /// layer. Where sublayers read x + norm(y), x itself is not.
  bool is_saved(norm::Tap tap) const {
    if (tap == norm::Tap::normed) return normed_is_saved_;
    return dual_ == nullptr && (stream_is_saved_ || tap == norm::Tap::block_input);
  }

  /// The sum of the taps, if a trained factor multiplies it, and the start of a step on the sphere.
  /// One tap alone is a tensor that may be saved already.
  void add_skip(const norm::Residual& add) {
    const bool is_new = add.skip.size() > 1 || !is_saved(add.skip.front());
    const bool is_scaled = add.skip_scale != norm::Residual().skip_scale;
    if (is_new) saved_.values += saved_by_factor(add.skip_scale, d_);
    if (add.update != norm::Update::add && (is_new || is_scaled)) saved_.values += d_;
  }

  const norm::Shape& shape_;
  double d_;
  const Norm* dual_;
  const FootprintOptions& options_;
  SavedActivations saved_;
  bool normed_is_saved_ = true;  // the output of the input norm of the sublayer
  bool stream_is_saved_ = true;  // what that norm reads
};

}  // namespace

double wide_bytes(const FootprintOptions& options) {
  return std::max(4.0, static_cast<double>(options.compute_bytes));
}

SavedActivations saved_by_block(const norm::Scheme& scheme, std::int64_t i,
                                const FootprintOptions& options) {
  const auto& [a, f, damp] = scheme.blocks[static_cast<std::size_t>(i)];
  const bool reads_both = scheme.dual && scheme.dual->reads_norm_of_y;
  const auto input = saved_feed_forward_input(scheme.shape, i, options);
  const bool reads_attentions = f.shares_input && input == SavedInput::always;
  BlockSum sum(scheme.shape, reads_both ? &scheme.dual->norm : nullptr, options);
  sum.add_sublayer_input(a.input, reads_attentions ? SavedInput::always : SavedInput::linear);
  sum.add_attention(a);
  sum.add_branch(a.output, a.add);
  if (scheme.parallel) {
    if (!f.shares_input) sum.add_parallel_input(f.input, input);
  } else {
    sum.add_residual(a.add, a.residual, damp);
    sum.add_sublayer_input(f.input, input);
  }
  sum.add_feed_forward(f, i);
  sum.add_branch(f.output, f.add);
  if (scheme.parallel) {  // one addition, by the rule of attention
    sum.add_residual(a.add, a.residual, damp);
  } else {
    sum.add_residual(f.add, f.residual, damp);
  }
  auto saved = sum.saved();
  saved.weights = reparameterized_values(scheme, i);
  if (!options.fused) {  // gain times v and, of bfloat16, v in float32
    const double tensors = options.compute_bytes < 4 ? 2 : 1;
    saved.weights *= 1 + tensors * wide_bytes(options) / static_cast<double>(options.compute_bytes);
  }
  return saved;
}

std::int64_t output_tensors(const norm::Scheme& scheme, const norm::Block& block) {
  const auto& [a, f, damp] = block;
  const auto& update = scheme.parallel ? a.add.update : f.add.update;
  const auto& residual = scheme.parallel ? a.residual : f.residual;
  const bool is_pending = update == norm::Update::add && !residual && !damp;
  return (is_pending ? 2 : 1) + (scheme.dual ? 1 : 0);
}

}  // namespace evenkeel::nn
