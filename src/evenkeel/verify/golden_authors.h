// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/verify/golden.h"
#include "evenkeel/verify/golden_json.h"

/// Reads the JSON file next to a golden file of the published code.
namespace evenkeel::verify {

/// The model, from the flags of each layer; the name of the variant is only a label.
///
///   attn_norm                 attention.input = "norm"
///   attn_residual_after_norm  attention.skip = "normed", where there is a norm
///   ffn_norm, ffn_residual_after_norm   the same of the feed-forward sublayer
///   per_head_norms, embedding_norm      the slots of those names; of a mixture use_query_norm and
///                                       its like among the official_flags
///
/// \throws Error (data) for a shape without meaning
GoldenModel authors_model(const GoldenJson& json);

/// Optimizer, schedule and the numbers of each step; `final` stays empty.
/// \throws Error (data) if a number is missing
GoldenTrajectory authors_trajectory(const GoldenJson& json);

/// The scalars of one pass; its tensors stay empty.
/// \throws Error (data) if a number is missing
GoldenPass authors_pass(const GoldenJson& json);

}  // namespace evenkeel::verify
