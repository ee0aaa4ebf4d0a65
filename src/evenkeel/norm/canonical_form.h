// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// Canonical forms of a scheme: two ways to write one function become equal.
namespace evenkeel::norm {

/// Constant folding: replaces each expression by its value in its block and norm, rounded to twelve
/// significant digits. "1/sqrt(S)" then equals "(2*N)^(-0.5)". Expressions of the step (t, T) and
/// init factors that differ between blocks are not replaced.
Scheme evaluated(Scheme scheme);

/// Rounds a value to twelve significant digits, as evaluated() does.
double rounded(double value);

/// Moves each post-add norm and the embedding norm to the input norm of the sublayer that reads the
/// normed sum. The skip input of that sublayer changes from "stream" to "normed".
///
///   y = n(x + A(x)), x' = y + F(y)      becomes  y = x + A(x), x' = n(y) + F(n(y))
///   post-add norm of the last block     becomes  the final norm
///   embedding norm                      becomes  the input norm of block 1
///
/// The function and the number of parameters do not change. After the move, a patch to one block
/// changes that block only. A norm is not moved if its output has a second reader (the skip input
/// block_input, damping), or if it has an expression of `l`, whose value would change with the
/// block.
/// \param scheme  result of evaluated(); a remaining expression of `l` prevents the move of its
///         norm
Scheme canonical(const Scheme& scheme);

/// The norms that canonical() moves. Block indices start at 0.
struct NormMoves {
  bool of_embedding = false;
  std::vector<std::size_t> of_attention, of_feed_forward;
};
NormMoves norm_moves(const Scheme& evaluated);

/// Applies `moves` to a scheme that is not evaluated: norm_moves() needs the evaluated one.
Scheme with_norms_moved(Scheme scheme, const NormMoves& moves);

/// Replaces learned numbers by their initial values and merges each gain into `out_scale`, so that
/// matrices are the only parameters. Two schemes with equal results are the same function before
/// the first optimizer step; training may make them differ.
/// \param scheme  result of evaluated()
Scheme at_initialization(Scheme scheme);

}  // namespace evenkeel::norm
