// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/nn/footprint.h"
#include "evenkeel/norm/scheme.h"

/// The activations of one block; footprint() adds up those of all blocks.
namespace evenkeel::nn {

/// The tensors of one block that are saved for the backward pass, without materialized scores.
struct SavedActivations {
  double values = 0;   // per token, in the compute dtype
  double bytes = 0;    // per token, of tensors in other dtypes
  double weights = 0;  // values of matrices that a reparameterization computes
};

/// The activations that a block saves for the backward pass.
/// \param i  block, from 0
SavedActivations saved_by_block(const norm::Scheme& scheme, std::int64_t i,
                                const FootprintOptions& options);

/// The tensors [B, T, D] that a block returns: skip and branch of a pending sum (ResidualStream),
/// or one tensor after a norm, a damping or a step on the sphere; and the second stream.
std::int64_t output_tensors(const norm::Scheme& scheme, const norm::Block& block);

/// Bytes of one value of master_dtype().
double wide_bytes(const FootprintOptions& options);

}  // namespace evenkeel::nn
