// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/norm/scheme.h"
#include "evenkeel/probe/claims.h"

namespace evenkeel::probe {

/// What a block's gradients of W_Q, W_K and W_O do when its W_V is multiplied by c.
enum class Coupling { invariant, grows };

/// The gradients of the loss of a small model, block by block, with the W_V of that block times c,
/// for c from 1/4 to 16:
///
///   invariant  N(c v) = N(v): with a norm on v the model is the same function, and they stay
///   grows      a bare v passes c on to the branch. Where the stream is large against the branch,
///              what arrives from above does not change, and they are multiplied by c: ln
///              |gradient| is a line of slope 1 over ln c
///
/// For the second the embedding is made large. The norms on v get epsilon 0.
Claims coupling_claims(norm::Scheme scheme, Coupling expected, std::uint64_t seed);

/// pre_norm and pre_qk grow; qkv_norm, hybrid_norm and hybrid_norm_star are invariant.
Claims coupling_claims(std::uint64_t seed);

}  // namespace evenkeel::probe
