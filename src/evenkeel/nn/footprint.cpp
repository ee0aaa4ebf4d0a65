// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/footprint.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "evenkeel/memory/size_class.h"
#include "evenkeel/nn/norm_path.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/linear/linear_cross_entropy_chunk.h"

namespace evenkeel::nn {

namespace {

using norm::Norm;

constexpr double kProgram = 200e6;  // libraries, and the built-in corpus (150 to 220 were measured)

constexpr std::int64_t kManyHeads = 2;  // any number of heads above 1 saves the same

/// Whether the norm splits queries, keys and values and concatenates them again before the
/// rotation: ops::qkv_norm_rope() does not have it.
bool splits_heads(const std::optional<Norm>& norm) {
  return norm && norm->rope != norm::Rope::before && !has_fused_head_norm(*norm, kManyHeads);
}

/// Bytes of one value of master_dtype().
double wide_bytes(const FootprintOptions& options) {
  return std::max(4.0, static_cast<double>(options.compute_bytes));
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

/// Bytes of activations.
struct SavedBytes {
  double saved = 0;      // for the backward pass
  double temporary = 0;  // allocated and freed
};

/// Bytes of the materialized scores of one block, S values for each query and head; 0 where the
/// operator has none.
SavedBytes score_bytes(const norm::Block& block, const norm::Shape& shape, double tokens,
                       const FootprintOptions& options) {
  const auto& softcap = block.attention.softcap;
  if (!options.explicit_attention && !(options.flash_attention && softcap)) return {};
  const double values =
      tokens * static_cast<double>(shape.context) * static_cast<double>(shape.heads);
  const double wide = wide_bytes(options);
  const auto bytes = static_cast<double>(options.compute_bytes);
  const double weights = wide + (bytes < wide ? bytes : 0);  // and a copy in bfloat16
  return {.saved = values * (weights + (softcap ? wide : 0)), .temporary = 3 * values * wide};
}

/// The bytes that the allocator reserves for a tensor of `bytes` bytes.
double allocated_bytes(double bytes) {
  const auto asked = static_cast<std::size_t>(bytes);
  return asked == 0 ? 0 : static_cast<double>(memory::class_bytes(memory::size_class(asked)));
}

/// The activations of one block that are saved for the backward pass, for each token.
struct SavedActivations {
  double values = 0;  // values of the compute dtype
  double bytes = 0;   // bytes of tensors in other dtypes

  /// Adds the input of a norm, which is saved because of the norm, and its formula's tensors.
  void add_norm_input(const std::optional<Norm>& norm, double width,
                      const FootprintOptions& options) {
    if (!norm) return;
    values += width;
    bytes += saved_by(norm, width, options);
  }
};

/// The activations of a mixture without its shared experts. For each of its top-k experts, a token
/// saves the expert's input, the products, and the hidden values before and after the factor p.
SavedActivations saved_by_mixture(const norm::FeedForward& feed_forward, const norm::Shape& shape,
                                  const FootprintOptions& options) {
  const auto d = static_cast<double>(shape.width);
  const auto f = static_cast<double>(shape.inner);
  const auto& experts = shape.experts;
  SavedActivations saved;
  for (std::int64_t j = 0; j < experts.active; ++j) {
    saved.values += d + 4 * f;
    saved.add_norm_input(feed_forward.hidden, f, options);
    saved.bytes += 3 * 8;  // the assignment: permutation, token_of_row, inverse_permutation
  }
  saved.bytes +=
      3 * 4 * static_cast<double>(experts.count);       // logits, their softmax, its logarithm
  if (options.compute_bytes < 4) saved.bytes += 4 * d;  // the router's input in float32
  return saved;
}

/// Sums the activations that the parts of one block save, in the order of the forward pass.
class BlockSum {
 public:
  /// \param dual  the norm of the second stream, where sublayers read x + norm(y); may be null
  BlockSum(const norm::Shape& shape, const Norm* dual, const FootprintOptions& options)
      : shape_(shape), dual_(dual), options_(options) {}

  /// The input of a sublayer: the stream, or x + norm(y), and the norm's output.
  void add_sublayer_input(const std::optional<Norm>& norm, bool may_be_recomputed) {
    const auto d = static_cast<double>(shape_.width);
    normed_is_saved_ = !may_be_recomputed || dual_ != nullptr || !is_recomputed(norm);
    saved_.values += d;
    add_linear_input(norm, d, normed_is_saved_);
    if (dual_ != nullptr) saved_.add_norm_input(*dual_, d, options_);
  }

  /// The part of attention from the q, k, v projections to the context.
  void add_attention(const norm::Attention& rule) {
    const auto d = static_cast<double>(shape_.width);
    const auto keys = static_cast<double>(shape_.kv_heads * shape_.head_width());
    saved_.values += d + 2 * keys;                          // products
    saved_.values += d + 2 * keys;                          // q, k and v, normed and rotated
    saved_.values += saved_by_factor(rule.score_scale, d);  // q before it is scaled
    saved_.bytes += saved_by(rule.q, d, options_) + saved_by(rule.k, keys, options_) +
                    saved_by(rule.v, keys, options_);
    if (splits_heads(rule.q) || splits_heads(rule.k) || splits_heads(rule.v)) {
      saved_.values += d + 2 * keys;
    }
    if (rule.q && rule.q->rope == norm::Rope::before) saved_.values += d;  // rotated, not normed
    if (rule.k && rule.k->rope == norm::Rope::before) saved_.values += keys;
    saved_.bytes += 8 * static_cast<double>(shape_.heads + 2 * shape_.kv_heads);  // one a head
    saved_.values += d;                                                           // context
    saved_.bytes += 8 * static_cast<double>(shape_.heads);  // sums of the softmax
    add_linear_input(rule.context, d, !is_recomputed(rule.context));
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
      saved_.values += saved_by_factor(rule.up_gate_scale, 2 * f);
      add_linear_input(rule.hidden, f, !is_recomputed(rule.hidden));
    }
  }

  /// The output norm of a sublayer, the residual addition and its damping; after
  /// add_sublayer_input() of the sublayer.
  void add_residual(const std::optional<Norm>& output, const norm::Residual& add,
                    const std::optional<Norm>& residual, const std::optional<norm::Number>& damp) {
    const auto d = static_cast<double>(shape_.width);
    saved_.add_norm_input(output, d, options_);
    add_skip(add);
    // On the sphere, a trained branch_scale is the length of the step and multiplies no branch.
    if (add.update != norm::Update::sphere) saved_.values += saved_by_factor(add.branch_scale, d);
    if (add.update != norm::Update::add) saved_.values += d;  // the target of the step
    saved_.add_norm_input(residual, d, options_);
    saved_.values += saved_by_factor(damp, d);
  }

  const SavedActivations& saved() const { return saved_; }

 private:
  /// Whether the backward pass computes the norm before a linear layer again.
  bool is_recomputed(const std::optional<Norm>& norm) const {
    return options_.recompute == Recompute::norms && norm && norm::buffers_of(*norm, 1, 1).empty();
  }

  /// The input of a linear layer after a norm; only the steps of a formula if it is not saved.
  void add_linear_input(const std::optional<Norm>& norm, double width, bool saves_input) {
    if (saves_input) saved_.add_norm_input(norm, width, options_);
    if (!saves_input) saved_.bytes += saved_by(norm, width, options_);
  }

  /// Whether a tensor that the skip connection adds is saved as the input of a norm or of a linear
  /// layer. Where sublayers read x + norm(y), x itself is not.
  bool is_saved(norm::Tap tap) const {
    return tap == norm::Tap::normed ? normed_is_saved_ : dual_ == nullptr;
  }

  /// The sum of the taps, if a trained factor multiplies it, and the start of a step on the sphere.
  /// One tap alone is a tensor that may be saved already.
  void add_skip(const norm::Residual& add) {
    const auto d = static_cast<double>(shape_.width);
    const bool is_new = add.skip.size() > 1 || !is_saved(add.skip.front());
    const bool is_scaled = add.skip_scale != norm::Residual().skip_scale;
    if (is_new) saved_.values += saved_by_factor(add.skip_scale, d);
    if (add.update != norm::Update::add && (is_new || is_scaled)) saved_.values += d;
  }

  const norm::Shape& shape_;
  const Norm* dual_;
  const FootprintOptions& options_;
  SavedActivations saved_;
  bool normed_is_saved_ = true;  // the output of the input norm of the sublayer
};

/// The activations that block i, from 0, saves for the backward pass.
SavedActivations saved_by(const norm::Scheme& scheme, std::int64_t i,
                          const FootprintOptions& options) {
  const auto& [a, f, damp] = scheme.blocks[static_cast<std::size_t>(i)];
  const bool reads_both = scheme.dual && scheme.dual->reads_norm_of_y;
  BlockSum sum(scheme.shape, reads_both ? &scheme.dual->norm : nullptr, options);
  sum.add_sublayer_input(a.input, true);
  sum.add_attention(a);
  sum.add_residual(a.output, a.add, a.residual, damp);
  sum.add_sublayer_input(f.input, !scheme.shape.has_router(i));  // a router reads it, too
  sum.add_feed_forward(f, i);
  sum.add_residual(f.output, f.add, f.residual, damp);
  return sum.saved();
}

/// Bytes that all blocks save for the backward pass; Footprint::temporary: scores of one block.
SavedBytes block_bytes(const norm::Scheme& scheme, double tokens, const FootprintOptions& options) {
  const auto bytes = static_cast<double>(options.compute_bytes);
  double all = 0, largest = 0;  // of the blocks
  SavedBytes out;
  std::int64_t i = 0;
  for (const auto& block : scheme.blocks) {
    const auto saved = saved_by(scheme, i++, options);
    const auto scores = score_bytes(block, scheme.shape, tokens, options);
    const double inside = tokens * (saved.values * bytes + saved.bytes) + scores.saved;
    out.temporary = std::max(out.temporary, scores.temporary);
    all += inside;
    largest = std::max(largest, inside);
  }
  const auto streams = scheme.dual ? 3.0 : 2.0;  // skip and branch of a sum, and the second stream
  const auto blocks = static_cast<double>(scheme.blocks.size());
  const auto d = static_cast<double>(scheme.shape.width);
  out.saved =
      options.recompute == Recompute::block ? blocks * tokens * streams * d * bytes + largest : all;
  return out;
}

/// Float32 copies of the operands and the result of the head's products.
double widened_bytes(const norm::Shape& shape, double tokens, const FootprintOptions& options) {
  if (!options.widened_products) return 0;
  const auto d = static_cast<double>(shape.width);
  const auto vocabulary = static_cast<double>(shape.vocabulary);
  return 4 * (vocabulary * d + tokens * (vocabulary + d));
}

/// Memory that is allocated and freed in every step, without scores. Not all of it is in use at one
/// time, but the allocator keeps a piece of each size for the next step.
double temporary_bytes(const norm::Scheme& scheme, std::int64_t padded_vocabulary, double tokens,
                       const FootprintOptions& options) {
  const auto& shape = scheme.shape;
  const auto bytes = static_cast<double>(options.compute_bytes);
  const auto d = static_cast<double>(shape.width);
  const auto vocabulary = static_cast<double>(shape.vocabulary);
  const auto inner = static_cast<double>(shape.inner);
  const auto chunk = static_cast<double>(ops::loss_chunk_tokens(
      shape.vocabulary, options.compute_bytes, ops::compute_device().is_cuda()));
  // A formula has the logits of all tokens, their logarithmic softmax, and gradients of both.
  const double logits = options.fused
                            ? allocated_bytes(std::min(tokens, chunk) * vocabulary * bytes)
                            : 3 * allocated_bytes(tokens * vocabulary * wide_bytes(options));
  // The first micro-batch writes the head's gradient into its ops::GradientBuffer, unless the
  // logits have a learned scale.
  const bool is_separate =
      options.accumulation_steps > 1 || std::holds_alternative<norm::Learned>(scheme.logits_scale);
  const double head_gradients =
      is_separate ? static_cast<double>(padded_vocabulary) * d * wide_bytes(options) : 0;
  const auto rows_per_token =
      static_cast<double>(shape.is_mixture() ? shape.experts.per_token() : 1);
  const double in_a_block =
      tokens * (rows_per_token * 4 * inner + (rows_per_token + 2) * d) * bytes;
  return logits + head_gradients + in_a_block +
         widened_bytes(shape, std::min(tokens, chunk), options);
}

}  // namespace

Footprint footprint(const norm::Scheme& scheme, std::int64_t padded_vocabulary, bool tied,
                    const FootprintOptions& options) {
  const auto bytes = static_cast<double>(options.compute_bytes);
  const double wide = wide_bytes(options);  // masters, moments, logits
  const auto counts = parameter_counts(parameter_specs(scheme, padded_vocabulary, tied));
  const auto parameters = static_cast<double>(counts.total);
  const auto gains = static_cast<double>(counts.norms);
  const auto tokens = static_cast<double>(options.micro_batch_size * scheme.shape.context);
  const auto d = static_cast<double>(scheme.shape.width);

  Footprint out;
  const bool copies = options.compute_bytes < 4;
  out.weights = parameters * wide + (copies ? (parameters - gains) * bytes : 0);
  const auto shards =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, options.gradient_shards));
  out.gradients = parameters * wide * static_cast<double>(std::bit_width(shards));
  out.moments = 2 * parameters * wide;

  const auto blocks = block_bytes(scheme, tokens, options);
  out.activations = tokens * 3 * d * bytes;  // embedding, final stream and its norm
  out.activations += blocks.saved;
  out.temporary = temporary_bytes(scheme, padded_vocabulary, tokens, options) + blocks.temporary;
  out.program = kProgram;
  return out;
}

}  // namespace evenkeel::nn
