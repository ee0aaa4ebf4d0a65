// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "evenkeel/nn/factor.h"
#include "evenkeel/nn/norm_layer.h"
#include "evenkeel/nn/residual_stream.h"
#include "evenkeel/nn/step_number.h"
#include "evenkeel/norm/scheme.h"

/// The residual update of a sublayer.
namespace evenkeel::nn {

/// The options of residual_update() that come from the scheme.
struct ResidualRule {
  std::vector<norm::Tap> skip;  // inputs of the skip connection, which are summed
  Factor skip_scale, branch_scale;
  norm::Update update = norm::Update::add;
  StepNumber angle_decay;              // geodesic
  at::Tensor angle_scale, angle_bias;  // geodesic: [1] each, float32 or float64
  std::optional<NormLayer> residual;   // norm after the residual addition (Post-Norm)
  std::optional<Factor> damp;          // residual damping (GPAS)
  bool fused = true;                   // false: reference implementations (ops/common/reference.h)

  /// True if the skip connection has this input.
  bool takes(norm::Tap tap) const { return std::find(skip.begin(), skip.end(), tap) != skip.end(); }
};

/// The tensors that a skip connection may add, all [B, T, D].
struct Taps {
  at::Tensor stream;       // the residual stream before the sublayer
  at::Tensor normed;       // the input of the branch: input_norm(stream)
  at::Tensor block_input;  // the stream before the block; undefined if no skip connection reads it
};

/// The new residual stream after a sublayer:
///
///   skip = skip_scale * (sum of its inputs: stream, normed, block_input)
///   s    = skip + branch_scale * branch          (update = add)
///   s    = residual_norm(s)
///   s    = s - damp * stop_gradient(s)
///
/// With update = sphere:   s = unit(unit(skip) + branch_scale * (unit(branch) - unit(skip))).
/// With update = geodesic: s = ops::geodesic_step(skip, branch_scale * branch), a step along the
/// sphere through skip in the direction of the part of the branch that is orthogonal to skip.
///
/// \param branch  [B, T, D]
/// \param second_branch  [B, T, D], added to skip: the second branch of a parallel block, scaled
/// \return [B, T, D]; a pending sum for update = add without norm and damping
/// \source Loshchilov et al. 2024, arXiv:2410.01131, eq. 10 (sphere); arXiv:2601.22095 (geodesic)
ResidualStream residual_update(const ResidualRule& rule, const Taps& taps, const at::Tensor& branch,
                               Mode mode,
                               const std::optional<at::Tensor>& second_branch = std::nullopt);

}  // namespace evenkeel::nn
