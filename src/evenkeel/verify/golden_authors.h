// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/verify/golden.h"
#include "evenkeel/verify/golden_json.h"

/// The JSON file next to a golden file of the published code.
namespace evenkeel::verify {

/// The model that the flags of each layer describe. The name of the variant is ignored.
///
///   attn_norm                           attention.input = "norm"
///   attn_residual_after_norm            attention.skip = "normed", if there is a norm
///   ffn_norm, ffn_residual_after_norm   the same for the feed-forward sublayer
///   per_head_norms, embedding_norm      the slots with these names; in a mixture of experts
///                                       use_query_norm and similar keys of official_flags
///
/// \throws Error (data, exit code 65) for an invalid shape
GoldenModel authors_model(const GoldenJson& json);

/// The optimizer, the schedule and the numbers of each step; `final` remains empty.
/// \throws Error (data, exit code 65) if a number is missing, and unless the file has the weight
///         decay that AdamW applies to each parameter of `model`, and no other
GoldenTrajectory authors_trajectory(const GoldenJson& json, const GoldenModel& model);

/// The scalars of one pass; its tensors remain empty.
/// \throws Error (data, exit code 65) if a number is missing, and unless the file has the norm of
///         the gradient of each parameter of `model`, and no other
GoldenPass authors_pass(const GoldenJson& json, const GoldenModel& model);

}  // namespace evenkeel::verify
