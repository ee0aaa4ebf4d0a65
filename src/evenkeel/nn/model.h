// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/nn/attention.h"
#include "evenkeel/nn/factor.h"
#include "evenkeel/nn/feed_forward.h"
#include "evenkeel/nn/matrix.h"
#include "evenkeel/nn/mixture_of_experts.h"
#include "evenkeel/nn/mode.h"
#include "evenkeel/nn/norm_layer.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/nn/residual.h"
#include "evenkeel/nn/residual_stream.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::nn {

struct ModelOptions {
  double rope_theta = 10000;
  bool tied = true;
  std::int64_t vocabulary = 0;  // entries that are scored; the matrix may have more rows
  bool fused = true;
  AttentionPath attention = AttentionPath::automatic;
  Recompute recompute = Recompute::none;
  std::optional<std::int64_t>
      document_end;  // the end-of-text id, if attention stays within documents
};

/// Keys and values of all blocks.
using ModelCache = std::vector<KeyValueCache>;

/// Mode, cache and observers of a forward pass.
struct Pass {
  Mode mode = Mode::evaluation;
  ModelCache* cache = nullptr;         // if given, ids continue the positions in it
  const Observer* observer = nullptr;  // may be null
  RouterLosses* router = nullptr;  // if given, gets the means over all routers, if there are any
  std::int64_t skipped_block = 0;  // a block, from 1, that is the identity; 0: none
};

/// A decoder transformer under a normalization scheme. Holds no numbers of its own: the tensors
/// are those of `Parameters`.
class Model {
 public:
  /// \param steps  as in at_step()
  /// \throws Error (usage) that names what of the scheme this version cannot run
  Model(norm::Scheme scheme, const ModelOptions& options, const Parameters& parameters,
        const norm::Steps& steps);

  /// Computes every expression of the scheme anew: the numbers of a scheme may change with t. No
  /// loss whose backward pass is still to come may be alive: what that pass recomputes
  /// (ModelOptions::recompute) would use the new layers.
  void at_step(const norm::Steps& steps);

  /// \param ids  [B, T], int64
  /// \return the final stream, normed where the scheme says so. [B, T, width]
  at::Tensor hidden(const at::Tensor& ids, const Pass& pass = {}) const;

  /// \param x  [..., width], from hidden()
  /// \return [..., vocabulary]
  at::Tensor logits(const at::Tensor& x) const;

  /// Sum of -ln softmax(logits)[target] over all targets that are >= 0.
  /// \param ids, targets  [B, T], int64
  /// \return a scalar of at least float32, summed in a fixed order
  at::Tensor loss_sum(const at::Tensor& ids, const at::Tensor& targets,
                      const Pass& pass = {}) const;

  /// The same of what hidden() gave. \param x  [B, T, width]
  at::Tensor loss_sum_of(const at::Tensor& x, const at::Tensor& targets) const;

  /// An empty cache for `batch` sequences of at most `capacity` positions.
  ModelCache empty_cache(std::int64_t batch, std::int64_t capacity) const;

  const norm::Scheme& scheme() const { return scheme_; }

 private:
  /// Norms and residual connection around the branch of one sublayer.
  struct SublayerConnection {
    std::optional<NormLayer> dual;  // on the second stream, where the sublayer reads x + norm(y)
    std::optional<NormLayer> input, output;
    ResidualRule rule;
    double write_y = 1;  // of the branch, into the second stream
  };
  struct Block {
    SublayerConnection attention_connection, feed_forward_connection;
    Attention attention;
    FeedForward feed_forward;  // unused if there is a mixture
    std::optional<MixtureOfExperts> mixture;
    bool shares_input = false;    // parallel: the feed-forward reads what attention reads
    bool taps_its_input = false;  // a skip connection reads the block's input
  };
  /// The streams between two sublayers.
  struct State {
    ResidualStream stream;
    at::Tensor second;       // y, of a scheme with two streams
    at::Tensor block_input;  // if the block taps it
    at::Tensor router;       // [2]: sums of RouterLosses so far, if they are wanted
  };

  using Slots = std::map<std::string, norm::Slot>;
  std::optional<NormLayer> norm_layer(const Slots& slots, const std::string& name) const;
  Factor factor(const std::string& name, const norm::Number& number,
                const norm::Variables& variables) const;
  Matrix matrix(std::int64_t i, const std::string& stored) const;
  FeedForward feed_forward(const Slots& slots, std::int64_t i, const std::string& where,
                           std::int64_t expert_count) const;
  MixtureOfExperts mixture(const Slots& slots, std::int64_t i) const;
  SublayerConnection sublayer_connection(const Slots& slots, const std::string& prefix,
                                         const norm::Residual& add,
                                         const norm::Variables& variables) const;
  Block block(const Slots& slots, std::int64_t i) const;
  const Parameter& head() const;  // [rows, width]
  Rotary rotary(std::int64_t first, std::int64_t positions) const;
  at::Tensor document_starts_of(const at::Tensor& ids, std::int64_t first, ModelCache* cache) const;
  State embedded(const at::Tensor& ids, Mode mode) const;
  void run_block(State& state, const Block& block, std::int64_t l, const Pass& pass,
                 const Positions& positions) const;
  void run_block_checkpointed(State& state, const Block& block, std::int64_t l, const Pass& pass,
                              const Positions& positions) const;
  template <typename Branch>
  void run_sublayer(State& state, const SublayerConnection& connection, std::int64_t l,
                    Sublayer sublayer, const Pass& pass, const Branch& branch) const;
  at::Tensor run_feed_forward(State& state, const Block& block, std::int64_t l, const Pass& pass,
                              const Activation& read) const;
  Activation activation(const at::Tensor& read, const NormLayer* norm, const at::Tensor& x,
                        Mode mode) const;
  void run_parallel(State& state, const Block& block, std::int64_t l, const Pass& pass,
                    const Positions& positions, KeyValueCache* cache) const;

  norm::Scheme scheme_;
  ModelOptions options_;
  const Parameters* parameters_;
  std::vector<Block> blocks_;
  std::optional<NormLayer> embedding_norm_, stream_x_norm_, stream_y_norm_, final_norm_;
  Factor embedding_scale_, logits_scale_;
  double y_init_ = 1;  // of two streams
  std::optional<double> logits_softcap_;
  norm::Steps steps_;
  mutable Rotary rotary_;  // of positions 0 .. context - 1
};

}  // namespace evenkeel::nn
