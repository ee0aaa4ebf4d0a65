// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "evenkeel/probe/bounds.h"
#include "evenkeel/probe/claims.h"
#include "evenkeel/probe/single_head.h"

namespace evenkeel::probe {

struct TheoryOptions {
  std::int64_t seeds = 5;     // random heads: seeds 1, 2, ...
  std::int64_t sequence = 8;  // s, 2 or more: with one token no weight of attention can move
  std::int64_t width = 16;    // d = dk
};

/// A Jacobian against its bounds, over all seeds.
struct BoundRow {
  Placement placement = Placement::pre;
  const char* weight = "";        // "W_O"
  double norm = 0;                // Frobenius, of the seed that comes nearest its corrected bound
  Bound bound;                    // of that seed
  double ratio_to_corrected = 0;  // the largest share of the corrected bound, of all seeds
  double ratio_to_printed = 0;    // the same of the printed one: above 1 it is exceeded
  std::int64_t exceeded = 0;      // seeds whose Jacobian is above the printed bound
};
using BoundRows = std::vector<BoundRow>;

struct Theory {
  BoundRows rows;
  Claims claims;
};

/// Exact Jacobians of random heads against the bounds, the counter-examples to the printed ones,
/// and how Jacobians scale with their matrices (docs/probes.md).
Theory theory(const TheoryOptions& options);

/// Each of its parts. A row holds if its corrected bound is never exceeded.
BoundRows bound_rows(const TheoryOptions& options);
Claims bound_claims(const BoundRows& rows);

/// One token, W_V orthogonal, W_O the identity. Attention gives the token itself, so S is linear in
/// W_O, and
///   Pre  dS/dW_O = x_N W_V (x) I, of norm sqrt(d) sqrt(d) = d; printed bound sqrt(d)
///   QKV  dS/dW_O = N(x W_V) (x) I, of norm sqrt(dk) sqrt(d);   printed bound sqrt(d)
Claims counter_examples(std::int64_t width);

/// Jacobians when W_V or W_Q is multiplied by c, for c from 1/4 to 16:
///   W_V -> c W_V  those of W_Q, W_K, W_O times c for Pre and Pre + QK; unchanged for QKV
///   W_Q -> c W_Q  that of W_Q divided by c for QKV
/// Measured as the largest deviation of an entry from that, against the largest entry.
Claims scaling_claims(const TheoryOptions& options);

}  // namespace evenkeel::probe
