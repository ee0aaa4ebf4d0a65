// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// Canonical forms of a scheme: two spellings of one function become equal.
namespace evenkeel::norm {

/// The scheme with each formula replaced by its value at its place (constant folding), to twelve
/// digits, so that "1/sqrt(S)" equals "(2*N)^(-0.5)". Formulas of the step (t, T) and init factors
/// that differ from block to block stay formulas.
Scheme evaluated(Scheme scheme);

/// A value rounded to twelve significant digits, as in evaluated().
double rounded(double value);

/// The scheme with each norm on a sum moved to the input norm of the sublayer that reads the sum,
/// with the tap "normed" for "stream". A patch to one block then changes only that block.
///
///   y = n(x + A(x)), x' = y + F(y)      is  y = x + A(x), x' = n(y) + F(n(y))
///   residual norm of the last block     is  the final norm
///   embedding norm                      is  the input norm of block 1
///
/// The function and the number of parameters stay. A norm with a second reader stays where it is,
/// and so does a norm with a formula of `l`, whose value would change with its block.
/// \param scheme  of evaluated(), with few formulas left
Scheme canonical(const Scheme& scheme);

/// The norms that canonical() moves: of the embedding, and of the sums of these blocks, from 0.
struct NormMoves {
  bool of_embedding = false;
  std::vector<std::size_t> of_attention, of_feed_forward;
};
NormMoves norm_moves(const Scheme& evaluated);

/// Applies the moves of one spelling of a scheme to another spelling, as before evaluated().
Scheme with_norms_moved(Scheme scheme, const NormMoves& moves);

/// The scheme with trained matrices only: learned numbers are fixed at their initial values, and
/// the gain of a norm becomes part of its `out_scale`. Two schemes with one such form are the same
/// function before the first step; training may separate them.
/// \param scheme  of evaluated()
Scheme at_initialization(Scheme scheme);

}  // namespace evenkeel::norm
