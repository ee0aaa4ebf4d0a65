// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/footprint.h"

#include <algorithm>
#include <optional>

#include "evenkeel/memory/size_class.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/nn/norm_path.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/ops/head_chunk.h"

namespace evenkeel::nn {

namespace {

using norm::Norm;

constexpr double kProgram = 200e6;  // libraries, and the built-in corpus (150 to 220 were measured)

constexpr std::int64_t kSeveral = 2;  // heads: what is kept is the same for any number above 1

/// Whether queries, keys and values are taken apart for it, and joined again, before they are
/// turned.
bool takes_heads_apart(const std::optional<Norm>& norm) {
  return norm && norm->rope != norm::Rope::before && !has_fused_head_norm(*norm, kSeveral);
}

/// Bytes of one value where the arithmetic is at least float32.
double wide_of(const Batching& batching) {
  return std::max(4.0, static_cast<double>(batching.compute_bytes));
}

/// Bytes that a norm over `width` values of a token adds to those of its input: an operator keeps
/// nothing but the rows it reads, a formula its steps: in double where there is no operator.
double kept_by(const std::optional<Norm>& norm, double width, const Batching& batching) {
  constexpr double kSteps = 4;  // x, x^2 and two products, of 8 bytes
  const auto heads = norm && norm->scope == norm::Scope::head ? kSeveral : 1;
  if (!norm) return 0;
  if (path_of(*norm, heads) == NormPath::formula) return kSteps * 8 * width;
  return batching.fused ? 0 : 2 * wide_of(batching) * width;  // x and x * rho
}

/// Bytes of scores, S values for each query and head, where they are written down.
struct Tables {
  double kept = 0;     // for the backward pass, a block
  double passing = 0;  // made and freed
};

Tables tables_of(const norm::Block& block, const norm::Shape& shape, double tokens,
                 const Batching& batching) {
  const auto& softcap = block.attention.softcap;
  if (!batching.explicit_attention && !(batching.flash_attention && softcap)) return {};
  const double values =
      tokens * static_cast<double>(shape.context) * static_cast<double>(shape.heads);
  const double wide = wide_of(batching);
  const auto bytes = static_cast<double>(batching.compute_bytes);
  const double weights = wide + (bytes < wide ? bytes : 0);  // and rounded, beside bfloat16
  return {.kept = values * (weights + (softcap ? wide : 0)), .passing = 3 * values * wide};
}

/// What the allocator takes for a tensor of so many bytes.
double block_of(double bytes) {
  const auto asked = static_cast<std::size_t>(bytes);
  return asked == 0 ? 0 : static_cast<double>(memory::class_bytes(memory::size_class(asked)));
}

/// Values that one block keeps for every token, in units of the arithmetic's bytes, and the bytes
/// of norms that are formulas.
struct Kept {
  double values = 0, bytes = 0;

  /// A norm whose input would not be kept without it.
  void behind(const std::optional<Norm>& norm, double width, const Batching& batching) {
    if (!norm) return;
    values += width;
    bytes += kept_by(norm, width, batching);
  }
};

/// What a mixture keeps besides its shared experts: a token's row once for every expert it goes to:
/// what enters the expert, its products, and its hidden values before and after their weight.
Kept kept_by_mixture(const norm::FeedForward& half, const norm::Shape& shape,
                     const Batching& batching) {
  const auto d = static_cast<double>(shape.width);
  const auto f = static_cast<double>(shape.inner);
  const auto& experts = shape.experts;
  Kept kept;
  for (std::int64_t j = 0; j < experts.active; ++j) {
    kept.values += d + 4 * f;
    kept.behind(half.hidden, f, batching);
    kept.bytes += 3 * 8;  // order, token, place
  }
  kept.bytes += 3 * 4 * static_cast<double>(experts.count);  // logits, their softmax, its logarithm
  if (batching.compute_bytes < 4) kept.bytes += 4 * d;       // what the router reads
  return kept;
}

/// \param dual  the norm of the second stream, where halves read x + norm(y); may be null
Kept kept_by(const norm::Block& block, const norm::Shape& shape, std::int64_t i, const Norm* dual,
             const Batching& batching) {
  const bool norms_again = batching.recompute == Recompute::norms;
  const auto d = static_cast<double>(shape.width);
  const auto keys = static_cast<double>(shape.kv_heads * shape.head_width());
  const auto f = static_cast<double>(shape.inner);
  const auto& a = block.attention;
  Kept kept;
  // Of what a product reads, only the steps of the norm, if it is computed again.
  const auto read_by_a_product = [&](const std::optional<Norm>& norm, double width) {
    const bool is_again = norms_again && norm && norm::states_of(*norm, 1, 1).empty();
    if (is_again) kept.bytes += kept_by(norm, width, batching);
    if (!is_again) kept.behind(norm, width, batching);
  };
  const auto read_by_a_half = [&](const std::optional<Norm>& norm, bool may_be_again) {
    kept.values += d;  // the stream, or x + norm(y); and what is read, if that is another tensor
    if (may_be_again && dual == nullptr) read_by_a_product(norm, d);
    if (!may_be_again || dual != nullptr) kept.behind(norm, d, batching);
    if (dual != nullptr) kept.behind(*dual, d, batching);
  };
  read_by_a_half(a.input, true);
  kept.values += d + 2 * keys;  // products
  kept.values += d + 2 * keys;  // q, k and v, normed and turned
  kept.bytes +=
      kept_by(a.q, d, batching) + kept_by(a.k, keys, batching) + kept_by(a.v, keys, batching);
  if (takes_heads_apart(a.q) || takes_heads_apart(a.k) || takes_heads_apart(a.v)) {
    kept.values += d + 2 * keys;
  }
  if (a.q && a.q->rope == norm::Rope::before) kept.values += d;  // turned, before its norm
  if (a.k && a.k->rope == norm::Rope::before) kept.values += keys;
  kept.bytes += 8 * static_cast<double>(shape.heads + 2 * shape.kv_heads);  // a number a head
  kept.values += d;                                                         // context
  kept.bytes += 8 * static_cast<double>(shape.heads);                       // sums of the softmax
  read_by_a_product(a.context, d);
  kept.behind(a.output, d, batching);
  if (a.add.update != norm::Update::add) kept.values += d;  // what the step goes towards
  kept.behind(a.residual, d, batching);
  const auto& b = block.feed_forward;
  read_by_a_half(b.input, !shape.chooses(i));  // the router reads it, too
  if (shape.chooses(i)) {
    const auto mixture = kept_by_mixture(b, shape, batching);
    kept.values += mixture.values;
    kept.bytes += mixture.bytes;
  }
  const auto always = shape.chooses(i) ? shape.experts.shared : shape.dense_parts();
  for (std::int64_t j = 0; j < always; ++j) {
    // Up and gate, and what the gate writes if a norm reads it; a formula keeps it, and silu(gate).
    kept.values += !batching.fused ? 4 * f : b.hidden ? 3 * f : 2 * f;
    read_by_a_product(b.hidden, f);
  }
  kept.behind(b.output, d, batching);
  if (b.add.update != norm::Update::add) kept.values += d;
  kept.behind(b.residual, d, batching);
  return kept;
}

}  // namespace

Footprint footprint(const norm::Scheme& scheme, std::int64_t padded_vocabulary, bool tied,
                    const Batching& batching) {
  const auto& shape = scheme.shape;
  const auto bytes = static_cast<double>(batching.compute_bytes);
  const double wide = wide_of(batching);  // masters, moments, logits
  const auto counts = parameter_counts(parameter_specs(scheme, padded_vocabulary, tied));
  const auto parameters = static_cast<double>(counts.total);
  const auto gains = static_cast<double>(counts.norms);
  const auto tokens = static_cast<double>(batching.sequences * shape.context);
  const auto d = static_cast<double>(shape.width);

  Footprint out;
  const bool copies = batching.compute_bytes < 4;
  out.weights = parameters * wide + (copies ? (parameters - gains) * bytes : 0);
  out.gradients = parameters * wide;
  out.moments = 2 * parameters * wide;

  out.activations = tokens * 3 * d * bytes;  // embedding, final stream and its norm
  double all = 0, largest = 0;               // of the blocks
  double passing_tables = 0;
  std::int64_t i = 0;
  for (const auto& block : scheme.blocks) {
    const bool reads_both = scheme.dual && scheme.dual->reads_norm_of_y;
    const auto kept =
        kept_by(block, shape, i++, reads_both ? &scheme.dual->norm : nullptr, batching);
    const auto tables = tables_of(block, shape, tokens, batching);
    const double inside = tokens * (kept.values * bytes + kept.bytes) + tables.kept;
    passing_tables = std::max(passing_tables, tables.passing);
    all += inside;
    largest = std::max(largest, inside);
  }
  const auto streams = scheme.dual ? 3.0 : 2.0;  // skip and branch of a sum, and the second stream
  const auto blocks = static_cast<double>(scheme.blocks.size());
  out.activations += batching.recompute == Recompute::block
                         ? blocks * tokens * streams * d * bytes + largest
                         : all;
  const auto vocabulary = static_cast<double>(shape.vocabulary);
  const auto inner = static_cast<double>(shape.inner);
  const auto chunk =
      static_cast<double>(ops::head_chunk_tokens(shape.vocabulary, batching.compute_bytes));
  const double logits = block_of(std::min(tokens, chunk) * vocabulary * bytes);
  // That of a first part is made where gradients are summed (ops::GradientSum), unless the logits
  // have a learned scale.
  const bool is_beside =
      batching.parts > 1 || std::holds_alternative<norm::Learned>(scheme.logits_scale);
  const double head_gradients = is_beside ? static_cast<double>(padded_vocabulary) * d * wide : 0;
  const auto rows_a_token = static_cast<double>(shape.is_mixture() ? shape.experts.working() : 1);
  const double in_a_block = tokens * (rows_a_token * 4 * inner + (rows_a_token + 2) * d) * bytes;
  // Not all at one time; but the allocator keeps a block of each size for the next step.
  out.passing = logits + head_gradients + in_a_block + passing_tables;
  out.program = kProgram;
  return out;
}

}  // namespace evenkeel::nn
