// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// Canonical forms of a scheme: two spellings of one function become equal.
namespace evenkeel::norm {

/// The scheme with each formula replaced by its number at its place, to twelve digits, so that
/// "1/sqrt(S)" equals "(2*N)^(-0.5)". Formulas of the step (t, T) stay as they are, and so do init
/// factors that differ from block to block.
Scheme evaluated(Scheme scheme);

/// To twelve digits, as evaluated() does it.
double rounded(double value);

/// The scheme with its norms where a patch to one block stays in that block: a norm on the sum
/// becomes the input norm of what reads the sum, with the tap "normed" for "stream".
///
///   y = n(x + A(x)), x' = y + F(y)      is  y = x + A(x), x' = n(y) + F(n(y))
///   residual norm of the last block     is  the final norm
///   embedding norm                      is  the input norm of block 1
///
/// The function and the number of parameters stay. A norm that something else reads as well
/// stays where it is, and so does one with a formula of `l`, which would change with its block.
/// \param scheme  evaluated(), in which few formulas are left
Scheme canonical(const Scheme& scheme);

/// The norms that canonical() moves: from the embedding, and from the sums of these blocks (from
/// 0).
struct NormMoves {
  bool of_embedding = false;
  std::vector<std::size_t> of_attention, of_feed_forward;
};
NormMoves norm_moves(const Scheme& evaluated);

/// The same moves in another spelling of the scheme.
Scheme with_norms_moved(Scheme scheme, const NormMoves& moves);

/// The scheme with nothing trained but matrices: what is learned beside them is fixed at its first
/// value, and the gain of a norm becomes part of its `out_scale`. Two schemes of one such form are
/// one function before the first step, and part where their gains are trained otherwise.
/// \param scheme  evaluated()
Scheme at_initialization(Scheme scheme);

}  // namespace evenkeel::norm
