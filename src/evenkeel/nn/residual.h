// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "evenkeel/nn/factor.h"
#include "evenkeel/nn/norm_layer.h"
#include "evenkeel/nn/residual_stream.h"
#include "evenkeel/norm/scheme.h"

/// How a sublayer adds its branch to the residual stream.
namespace evenkeel::nn {

struct ResidualRule {
  std::vector<norm::Tap> skip;
  Factor skip_scale, branch_scale;
  norm::Update update = norm::Update::add;
  double angle_decay = 1;              // geodesic
  at::Tensor angle_scale, angle_bias;  // geodesic: [1] each
  std::optional<NormLayer> residual;
  std::optional<Factor> damp;
  bool fused = true;  // false: the formulas of ops/reference.h

  bool takes(norm::Tap tap) const { return std::find(skip.begin(), skip.end(), tap) != skip.end(); }
};

/// What the taps of a skip take.
struct Taps {
  at::Tensor stream, normed, block_input;
};

/// The new residual stream after a sublayer:
///
///   skip = skip_scale * (sum of the taps: stream | normed | block_input)
///   s    = skip + branch_scale * branch          or another update, below
///   s    = residual norm(s)
///   s    = s - damp * constant(s)
///
/// sphere: s = unit(unit(skip) + branch_scale * (unit(branch) - unit(skip)));
/// geodesic: a step from skip towards the part of branch_scale * branch that is orthogonal to it,
/// along the sphere through skip.
///
/// \param second_branch  added to the sum before the norm: the second branch of a parallel block
/// \source Loshchilov et al. 2024, arXiv:2410.01131, eq. 10 (sphere); arXiv:2601.22095 (geodesic)
ResidualStream add_branch(const ResidualRule& rule, const Taps& taps, const at::Tensor& branch,
                          Mode mode, const std::optional<at::Tensor>& second_branch = std::nullopt);

}  // namespace evenkeel::nn
