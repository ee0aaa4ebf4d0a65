// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/norm/scheme.h"
#include "evenkeel/probe/claims.h"

namespace evenkeel::probe {

/// How the gradients of W_Q, W_K and W_O of a block change when its W_V is multiplied by c.
enum class Coupling { invariant, grows };

/// Claims on the gradients g(c) of W_O, W_Q and W_K of each block of a small model, where W_V of
/// that block is multiplied by c = 1/4, 1, 3, 16:
///
///   invariant  N(c v) = N(v): with a norm on v the model is the same function, so
///              max |g(c) - g(1)| / max |g(1)| is rounding
///   grows      without a norm on v the branch grows with c. If the residual stream is large
///   against
///              the branch, the gradient from the layers above does not change, so g(c) = c g(1):
///              the slope of ln |g| over ln c is 1
///
/// The embedding is multiplied by 1e4 for `grows`. The norms on v get epsilon 0.
Claims coupling_claims(norm::Scheme scheme, Coupling expected, std::uint64_t seed);

/// The claims of five schemes of the catalogue: pre_norm and pre_qk grow; qkv_norm, hybrid_norm and
/// hybrid_norm_star are invariant.
Claims coupling_claims(std::uint64_t seed);

}  // namespace evenkeel::probe
