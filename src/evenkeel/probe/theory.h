// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "evenkeel/probe/bounds.h"
#include "evenkeel/probe/claims.h"
#include "evenkeel/probe/single_head.h"

namespace evenkeel::probe {

/// The random heads that theory is checked on.
struct TheoryOptions {
  std::int64_t seeds = 5;     // random heads: seeds 1, 2, ...
  std::int64_t sequence = 8;  // s, at least 2: with one token attention weights are constant
  std::int64_t width = 16;    // d = dk
};

/// A Jacobian against its bounds, over all seeds.
struct BoundRow {
  Placement placement = Placement::pre;
  const char* weight = "";        // "W_O"
  double norm = 0;                // Frobenius, of the seed nearest to its corrected bound
  Bound bound;                    // of that seed
  double ratio_to_corrected = 0;  // the largest share of the corrected bound, of all seeds
  double ratio_to_printed = 0;    // the largest share of the printed bound; above 1: exceeded
  std::int64_t exceeded = 0;      // seeds whose Jacobian is above the printed bound
};
using BoundRows = std::vector<BoundRow>;

/// The result of theory().
struct Theory {
  BoundRows rows;  // one a placement and matrix
  Claims claims;   // of bounds, counter-examples and scaling
};

/// Exact Jacobians of random heads against the bounds, the counter-examples to the printed ones,
/// and how Jacobians scale with their matrices (docs/probes.md).
Theory theory(const TheoryOptions& options);

/// Jacobians of random heads against their bounds: one row a placement and matrix.
BoundRows bound_rows(const TheoryOptions& options);

/// One claim a row: its corrected bound is never exceeded.
Claims bound_claims(const BoundRows& rows);

/// Counter-examples to the printed bounds: one token, W_V orthogonal, W_O the identity. Attention
/// gives the token itself, so S is linear in W_O, and
///   Pre  dS/dW_O = x_N W_V (x) I, of norm sqrt(d) sqrt(d) = d; printed bound sqrt(d)
///   QKV  dS/dW_O = N(x W_V) (x) I, of norm sqrt(dk) sqrt(d);   printed bound sqrt(d)
Claims counter_examples(std::int64_t width);

/// Claims on Jacobians when W_V or W_Q is multiplied by c, for c from 1/4 to 16:
///
///   W_V -> c W_V  dS/dW of W_Q, W_K, W_O times c for Pre and Pre + QK; unchanged for QKV
///   W_Q -> c W_Q  dS/dW_Q over c for QKV
///
/// The measured number is max |J - expected J| / max |expected J|.
Claims scaling_claims(const TheoryOptions& options);

}  // namespace evenkeel::probe
