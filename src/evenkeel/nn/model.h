// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/nn/attention.h"
#include "evenkeel/nn/feed_forward.h"
#include "evenkeel/nn/norm_layer.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/nn/stream.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::nn {

struct ModelOptions {
  double rope_theta = 10000;
  bool tied = true;
  std::int64_t vocabulary = 0;  // entries that are scored; the matrix may have more rows
  bool fused = true;
  AttentionPath attention = AttentionPath::automatic;
};

/// How a half block adds its branch: s = skip_scale * (sum of taps) + branch_scale * branch.
struct ResidualRule {
  std::vector<norm::Tap> skip;
  double skip_scale = 1, branch_scale = 1;
};

/// Keys and values of all blocks.
using ModelCache = std::vector<KeyValueCache>;

/// A decoder transformer under a normalization scheme. Holds no numbers of its own: the tensors
/// are those of `Parameters`.
class Model {
 public:
  /// \param steps  as in at_step()
  /// \throws Error (usage) that names what of the scheme this version cannot run
  Model(norm::Scheme scheme, const ModelOptions& options, const Parameters& parameters,
        const norm::Steps& steps);

  /// Computes every expression of the scheme anew: the numbers of a scheme may change with t.
  void at_step(const norm::Steps& steps);

  /// \param ids    [B, T], int64
  /// \param cache  if given, ids continue the positions in it
  /// \return the final stream, normed where the scheme says so. [B, T, width]
  at::Tensor hidden(const at::Tensor& ids, ModelCache* cache = nullptr) const;

  /// \param x  [..., width], from hidden()
  /// \return [..., vocabulary]
  at::Tensor logits(const at::Tensor& x) const;

  /// Sum of -ln softmax(logits)[target] over all targets that are >= 0.
  /// \param ids, targets  [B, T], int64
  /// \return a scalar of at least float32, summed in a fixed order
  at::Tensor loss_sum(const at::Tensor& ids, const at::Tensor& targets) const;

  /// An empty cache for `batch` sequences of at most `capacity` positions.
  ModelCache empty_cache(std::int64_t batch, std::int64_t capacity) const;

  const norm::Scheme& scheme() const { return scheme_; }

 private:
  struct Block {
    std::optional<NormLayer> attention_input, attention_output, attention_residual;
    std::optional<NormLayer> feed_forward_input, feed_forward_output, feed_forward_residual;
    Attention attention;
    FeedForward feed_forward;
    ResidualRule attention_rule, feed_forward_rule;
  };

  using Slots = std::map<std::string, norm::Slot>;
  std::optional<NormLayer> layer(const Slots& slots, const std::string& name) const;
  Block block(const Slots& slots, std::int64_t i) const;

  norm::Scheme scheme_;
  ModelOptions options_;
  const Parameters* parameters_;
  std::vector<Block> blocks_;
  std::optional<NormLayer> embedding_norm_, final_norm_;
  double embedding_scale_ = 1, logits_scale_ = 1;
  std::optional<double> logits_softcap_;
  norm::Steps steps_;
  mutable Rotary rotary_;  // of positions 0 .. context - 1
};

}  // namespace evenkeel::nn
