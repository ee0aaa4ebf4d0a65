// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/probe/layer_profile.h"

namespace evenkeel::probe {

/// The residual streams of the first micro-batch of a batch, before an update of the weights. It
/// holds all of them: N + 1 times the values of one stream.
class StreamSnapshot {
 public:
  /// \param micro_batch_size  sequences per forward pass
  StreamSnapshot(const nn::Model& model, const nn::Parameters& parameters, const data::Batch& batch,
                 std::int64_t micro_batch_size);

  /// The measure stream_shift of the update since the snapshot, for the residual stream x_l after
  /// block l, l = 0 .. N. Sums are over all tokens of the micro-batch, in float64.
  ///
  /// | part         | value                                                                    |
  /// | ------------ | ------------------------------------------------------------------------ |
  /// |              | |x_l(after) - x_l(before)| / |x_l(before)|, L2 norms                     |
  /// | distribution | the 2-Wasserstein distance of normal distributions with the mean and the |
  /// |              | standard deviation of each feature, over |x_l(before)|:                  |
  /// |              | sqrt(tokens sum_j (d mean_j)^2 + (d std_j)^2) / |x_l(before)|            |
  ///
  /// \source Ioffe and Szegedy 2015, arXiv:1502.03167, section 2: internal covariate shift, "the
  ///         change in the distribution of network activations"
  std::vector<LayerProfile> shifts(const nn::Model& model) const;

 private:
  std::vector<at::Tensor> streams(const nn::Model& model) const;

  const nn::Parameters& parameters_;
  data::Batch batch_;               // the first micro-batch
  std::vector<at::Tensor> before_;  // layers 0 to N, [tokens, D]
};

}  // namespace evenkeel::probe
