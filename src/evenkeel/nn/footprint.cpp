// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/footprint.h"

#include <algorithm>
#include <optional>

#include "evenkeel/memory/size_class.h"
#include "evenkeel/nn/norm_path.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/ops/linear/linear_cross_entropy_chunk.h"

namespace evenkeel::nn {

namespace {

using norm::Norm;

constexpr double kProgram = 200e6;  // libraries, and the built-in corpus (150 to 220 were measured)

constexpr std::int64_t kManyHeads = 2;  // heads: what is saved is the same for any number above 1

/// Whether queries, keys and values are split for it, and concatenated again, before they are
/// rotated.
bool splits_heads(const std::optional<Norm>& norm) {
  return norm && norm->rope != norm::Rope::before && !has_fused_head_norm(*norm, kManyHeads);
}

/// Bytes of one value where the arithmetic is at least float32.
double wide_bytes(const FootprintOptions& options) {
  return std::max(4.0, static_cast<double>(options.compute_bytes));
}

/// Bytes that a norm over `width` values of a token adds to those of its input: an operator saves
/// only the rows it reads, a formula its steps: in double where there is no operator.
double saved_by(const std::optional<Norm>& norm, double width, const FootprintOptions& options) {
  constexpr double kSteps = 4;  // x, x^2 and two products, of 8 bytes
  const auto heads = norm && norm->scope == norm::Scope::head ? kManyHeads : 1;
  if (!norm) return 0;
  if (path_of(*norm, heads) == NormPath::formula) return kSteps * 8 * width;
  return options.fused ? 0 : 2 * wide_bytes(options) * width;  // x and x * rho
}

/// Bytes of materialized scores, S values for each query and head.
struct ScoreBytes {
  double saved = 0;      // for the backward pass, per block
  double temporary = 0;  // allocated and freed
};

ScoreBytes score_bytes(const norm::Block& block, const norm::Shape& shape, double tokens,
                       const FootprintOptions& options) {
  const auto& softcap = block.attention.softcap;
  if (!options.explicit_attention && !(options.flash_attention && softcap)) return {};
  const double values =
      tokens * static_cast<double>(shape.context) * static_cast<double>(shape.heads);
  const double wide = wide_bytes(options);
  const auto bytes = static_cast<double>(options.compute_bytes);
  const double weights = wide + (bytes < wide ? bytes : 0);  // and rounded, beside bfloat16
  return {.saved = values * (weights + (softcap ? wide : 0)), .temporary = 3 * values * wide};
}

/// What the allocator takes for a tensor of so many bytes.
double allocated_bytes(double bytes) {
  const auto asked = static_cast<std::size_t>(bytes);
  return asked == 0 ? 0 : static_cast<double>(memory::class_bytes(memory::size_class(asked)));
}

/// What one block saves for every token: values of the compute dtype, and bytes of the steps
/// of norms that run as formulas.
struct SavedActivations {
  double values = 0, bytes = 0;

  /// The input of a norm that would not be saved without it.
  void add_norm_input(const std::optional<Norm>& norm, double width,
                      const FootprintOptions& options) {
    if (!norm) return;
    values += width;
    bytes += saved_by(norm, width, options);
  }
};

/// What a mixture saves besides its shared experts: a token's row once for every expert it goes to:
/// what enters the expert, its products, and its hidden values before and after their weight.
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
  if (options.compute_bytes < 4) saved.bytes += 4 * d;  // what the router reads
  return saved;
}

/// \param dual  the norm of the second stream, where sublayers read x + norm(y); may be null
SavedActivations saved_by(const norm::Block& block, const norm::Shape& shape, std::int64_t i,
                          const Norm* dual, const FootprintOptions& options) {
  const bool recomputes_norms = options.recompute == Recompute::norms;
  const auto d = static_cast<double>(shape.width);
  const auto keys = static_cast<double>(shape.kv_heads * shape.head_width());
  const auto f = static_cast<double>(shape.inner);
  const auto& a = block.attention;
  SavedActivations saved;
  // The input of a linear layer; of a norm that is recomputed only its steps.
  const auto add_linear_input = [&](const std::optional<Norm>& norm, double width) {
    const bool is_recomputed = recomputes_norms && norm && norm::states_of(*norm, 1, 1).empty();
    if (is_recomputed) saved.bytes += saved_by(norm, width, options);
    if (!is_recomputed) saved.add_norm_input(norm, width, options);
  };
  const auto add_sublayer_input = [&](const std::optional<Norm>& norm, bool may_be_recomputed) {
    saved.values += d;  // the stream, or x + norm(y); and what is read, if that is another tensor
    if (may_be_recomputed && dual == nullptr) add_linear_input(norm, d);
    if (!may_be_recomputed || dual != nullptr) saved.add_norm_input(norm, d, options);
    if (dual != nullptr) saved.add_norm_input(*dual, d, options);
  };
  add_sublayer_input(a.input, true);
  saved.values += d + 2 * keys;  // products
  saved.values += d + 2 * keys;  // q, k and v, normed and rotated
  saved.bytes +=
      saved_by(a.q, d, options) + saved_by(a.k, keys, options) + saved_by(a.v, keys, options);
  if (splits_heads(a.q) || splits_heads(a.k) || splits_heads(a.v)) {
    saved.values += d + 2 * keys;
  }
  if (a.q && a.q->rope == norm::Rope::before) saved.values += d;  // rotated, before its norm
  if (a.k && a.k->rope == norm::Rope::before) saved.values += keys;
  saved.bytes += 8 * static_cast<double>(shape.heads + 2 * shape.kv_heads);  // a number a head
  saved.values += d;                                                         // context
  saved.bytes += 8 * static_cast<double>(shape.heads);                       // sums of the softmax
  add_linear_input(a.context, d);
  saved.add_norm_input(a.output, d, options);
  if (a.add.update != norm::Update::add) saved.values += d;  // what the step goes towards
  saved.add_norm_input(a.residual, d, options);
  const auto& b = block.feed_forward;
  add_sublayer_input(b.input, !shape.has_router(i));  // the router reads it, too
  if (shape.has_router(i)) {
    const auto mixture = saved_by_mixture(b, shape, options);
    saved.values += mixture.values;
    saved.bytes += mixture.bytes;
  }
  const auto always_active = shape.has_router(i) ? shape.experts.shared : shape.dense_experts();
  for (std::int64_t j = 0; j < always_active; ++j) {
    // Up and gate, and the gate's output if a norm reads it; a formula saves it, and silu(gate).
    saved.values += !options.fused ? 4 * f : b.hidden ? 3 * f : 2 * f;
    add_linear_input(b.hidden, f);
  }
  saved.add_norm_input(b.output, d, options);
  if (b.add.update != norm::Update::add) saved.values += d;
  saved.add_norm_input(b.residual, d, options);
  return saved;
}

}  // namespace

Footprint footprint(const norm::Scheme& scheme, std::int64_t padded_vocabulary, bool tied,
                    const FootprintOptions& options) {
  const auto& shape = scheme.shape;
  const auto bytes = static_cast<double>(options.compute_bytes);
  const double wide = wide_bytes(options);  // masters, moments, logits
  const auto counts = parameter_counts(parameter_specs(scheme, padded_vocabulary, tied));
  const auto parameters = static_cast<double>(counts.total);
  const auto gains = static_cast<double>(counts.norms);
  const auto tokens = static_cast<double>(options.micro_batch_size * shape.context);
  const auto d = static_cast<double>(shape.width);

  Footprint out;
  const bool copies = options.compute_bytes < 4;
  out.weights = parameters * wide + (copies ? (parameters - gains) * bytes : 0);
  out.gradients = parameters * wide;
  out.moments = 2 * parameters * wide;

  out.activations = tokens * 3 * d * bytes;  // embedding, final stream and its norm
  double all = 0, largest = 0;               // of the blocks
  double temporary_scores = 0;
  std::int64_t i = 0;
  for (const auto& block : scheme.blocks) {
    const bool reads_both = scheme.dual && scheme.dual->reads_norm_of_y;
    const auto saved =
        saved_by(block, shape, i++, reads_both ? &scheme.dual->norm : nullptr, options);
    const auto scores = score_bytes(block, shape, tokens, options);
    const double inside = tokens * (saved.values * bytes + saved.bytes) + scores.saved;
    temporary_scores = std::max(temporary_scores, scores.temporary);
    all += inside;
    largest = std::max(largest, inside);
  }
  const auto streams = scheme.dual ? 3.0 : 2.0;  // skip and branch of a sum, and the second stream
  const auto blocks = static_cast<double>(scheme.blocks.size());
  out.activations +=
      options.recompute == Recompute::block ? blocks * tokens * streams * d * bytes + largest : all;
  const auto vocabulary = static_cast<double>(shape.vocabulary);
  const auto inner = static_cast<double>(shape.inner);
  const auto chunk =
      static_cast<double>(ops::loss_chunk_tokens(shape.vocabulary, options.compute_bytes));
  const double logits = allocated_bytes(std::min(tokens, chunk) * vocabulary * bytes);
  // That of a first part is made where gradients are summed (ops::GradientBuffer), unless the
  // logits have a learned scale.
  const bool is_separate =
      options.accumulation_steps > 1 || std::holds_alternative<norm::Learned>(scheme.logits_scale);
  const double head_gradients = is_separate ? static_cast<double>(padded_vocabulary) * d * wide : 0;
  const auto rows_per_token =
      static_cast<double>(shape.is_mixture() ? shape.experts.per_token() : 1);
  const double in_a_block =
      tokens * (rows_per_token * 4 * inner + (rows_per_token + 2) * d) * bytes;
  // Not all at one time; but the allocator keeps a block of each size for the next step.
  out.temporary = logits + head_gradients + in_a_block + temporary_scores;
  out.program = kProgram;
  return out;
}

}  // namespace evenkeel::nn
