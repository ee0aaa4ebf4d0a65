// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "evenkeel/nn/key_value_cache.h"
#include "evenkeel/nn/model_options.h"
#include "evenkeel/nn/pass.h"
#include "evenkeel/nn/rotary.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::nn {

struct Block;
struct BlockState;
struct Head;
struct Layers;
struct Positions;
class Parameters;
enum class Int8Use;

/// A decoder-only transformer under a normalization scheme:
///
///   x0 = embedding[ids];  x_l = block_l(x_{l-1});  logits = head(final_norm(x_N))
///
/// The layers are built once. All tensors are those of `Parameters`.
class Model {
 public:
  /// \param parameters  must outlive the model
  /// \param steps       the optimizer step at which expressions are evaluated, as in at_step()
  /// \throws Error (usage) for a feature of the scheme that the options exclude
  Model(norm::Scheme scheme, const ModelOptions& options, const Parameters& parameters,
        const norm::Steps& steps);
  ~Model();

  /// Re-evaluates the expressions of the scheme at another optimizer step. No effect if no
  /// expression names t and `steps.planned` is unchanged. With ModelOptions::recompute, call it
  /// after the backward pass, which recomputes activations with the current values.
  void at_step(const norm::Steps& steps);

  /// The input of the head: the residual stream after the last block, and the final norm if the
  /// scheme has one.
  /// \param token_ids  [B, T], int64, on the CPU or on the device of the parameters
  /// \return [B, T, D], in the compute dtype
  at::Tensor hidden(const at::Tensor& token_ids, const Pass& pass = {}) const;

  /// cap(logits_scale * W_head x), V = ModelOptions::vocabulary.
  /// \param x  [..., D], from hidden()
  /// \return [..., V], float32 or float64
  at::Tensor logits(const at::Tensor& x) const;

  /// The sum of -ln softmax(logits)[target] over all targets that are >= 0, in nats; with
  /// Pass::z_loss the sum of -ln p + c lse^2.
  /// \param ids, targets  [B, T], int64, as for hidden(); targets < 0 are ignored
  /// \return a scalar, float32 or float64, summed in a fixed order
  at::Tensor loss_sum(const at::Tensor& ids, const at::Tensor& targets,
                      const Pass& pass = {}) const {
    return loss_sum_of(hidden(ids, pass), targets, pass.z_loss);
  }

  /// loss_sum() from the input of the head.
  /// \param x  [B, T, D], from hidden()
  at::Tensor loss_sum_of(const at::Tensor& x, const at::Tensor& targets,
                         ZLoss* z_loss = nullptr) const;

  /// An empty cache for `batch` sequences of at most `capacity` positions.
  ModelCache empty_cache(std::int64_t batch, std::int64_t capacity) const;

  /// Rounds the weights of all linear layers to int8, with one scale per row
  /// (ops::quantize_rows()). For inference: parameters of ParameterRole::matrix are not read
  /// afterwards, so that Parameters::release() may free them.
  void quantize(Int8Use use);

  const norm::Scheme& scheme() const { return scheme_; }

  /// True if an expression of the scheme names t, the step: at_step() then changes constants.
  bool names_step() const;
  /// The number of calls of at_step() that have evaluated the expressions again. A CUDA graph
  /// contains their values.
  std::int64_t evaluations() const { return evaluations_; }
  /// The rotary angles that a pass over `length` tokens reads, [length, 2, dk / 2]. This tensor
  /// keeps its memory when a longer pass replaces the table.
  at::Tensor rotary_angles(std::int64_t length) const;

  /// True if element-wise functions and sums of LibTorch compute the model (kernels.fused = false).
  /// A caller then runs the backward pass under ops::SerialLibraries, as this class runs the
  /// forward pass.
  bool uses_library_operators() const;

  /// All blocks, from l = 1. Their addresses are stable for the lifetime of the model.
  const std::vector<Block>& blocks() const;

 private:
  Head head() const;
  at::Tensor on_device(const at::Tensor& ids) const;
  at::Tensor document_starts_of(const at::Tensor& ids, std::int64_t first, ModelCache* cache) const;
  Positions positions_of(const at::Tensor& ids, const Pass& pass) const;
  bool is_checkpointed(const Pass& pass) const;
  BlockState embedded(const at::Tensor& ids, Mode mode) const;
  at::Tensor final_stream(BlockState& state, Mode mode) const;

  norm::Scheme scheme_;
  ModelOptions options_;
  const Parameters* parameters_;
  std::unique_ptr<Layers> layers_;
  norm::Steps steps_;  // step of the values in *layers_
  std::int64_t evaluations_ = 0;
  mutable RotaryTable rotary_;
};

}  // namespace evenkeel::nn
