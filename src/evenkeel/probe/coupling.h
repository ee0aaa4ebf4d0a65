// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/norm/scheme.h"
#include "evenkeel/probe/claims.h"

namespace evenkeel::probe {

/// The effect of W_V -> c W_V on the gradients of W_Q, W_K and W_O of the same block.
enum class Coupling { invariant, grows };

/// Claims on the gradients g(c) of W_O, W_Q and W_K of each block of a small model, with W_V of
/// that block multiplied by c = 1/4, 1, 3, 16:
///
///   invariant  with a norm on v: N(c v) = N(v), so the model is the same function, and
///              max |g(c) - g(1)| / max |g(1)| is a rounding error
///   grows      without a norm on v: the branch grows with c. If the residual stream is much larger
///              than the branch, the gradient from later layers is constant, so g(c) = c g(1), and
///              the slope of ln |g| over ln c is 1
///
/// For `grows`, the embedding is multiplied by 1e4. Norms on v have epsilon 0.
Claims coupling_claims(norm::Scheme scheme, Coupling expected, std::uint64_t seed);

/// The claims of five catalogue schemes: pre_norm and pre_qk grow; qkv_norm, hybrid_norm and
/// hybrid_norm_star are invariant.
Claims coupling_claims(std::uint64_t seed);

}  // namespace evenkeel::probe
