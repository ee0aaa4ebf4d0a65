// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/probe/layer_profile.h"

namespace evenkeel::probe {

/// The measure stream_jacobian: the gain of gradients on the way from the last block back to layer
/// l,
///
///   sqrt(mean(g_l^2) / mean(u^2)),  g_l = (dx_N/dx_l)^T u,  u standard normal
///
/// with the residual stream x_l after block l, l = 0 .. N; 1 at l = N. Its square estimates
/// |dx_N/dx_l|_F^2 / (number of values of x_l). Means are over all tokens of the batch, in float64.
/// u of a sequence is seeded by its index in the batch alone, so u does not depend on
/// `micro_batch_size`.
///
/// \param micro_batch_size  sequences per forward pass
/// \source arXiv:2503.04598, equations 8 and 9: the Jacobian of one block
LayerProfile stream_jacobian(const nn::Model& model, const data::Batch& batch,
                             std::int64_t micro_batch_size);

}  // namespace evenkeel::probe
