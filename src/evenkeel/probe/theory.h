// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "evenkeel/probe/bounds.h"
#include "evenkeel/probe/claims.h"
#include "evenkeel/probe/single_head.h"

namespace evenkeel::probe {

/// The random heads that test the theory.
struct TheoryOptions {
  std::int64_t seeds = 5;     // number of random heads: seeds 1, 2, ...
  std::int64_t sequence = 8;  // s, at least 2: with one token the attention weights are constant
  std::int64_t width = 16;    // d = dk
};

/// A Jacobian and its bounds over all seeds.
struct BoundRow {
  Placement placement = Placement::pre;
  const char* weight = "";        // "W_O"
  double norm = 0;                // Frobenius norm, for the seed closest to its corrected bound
  Bound bound;                    // for the same seed
  double ratio_to_corrected = 0;  // maximum of norm / corrected bound over all seeds
  double ratio_to_printed = 0;  // maximum of norm / printed bound over all seeds; above 1: violated
  std::int64_t exceeded = 0;    // number of seeds that violate the printed bound
};
using BoundRows = std::vector<BoundRow>;

/// The result of theory().
struct Theory {
  BoundRows rows;  // one per placement and matrix
  Claims claims;   // on bounds, counter-examples and scaling
};

/// Compares exact Jacobians of random heads with the bounds, computes counter-examples to the
/// printed bounds, and tests the scaling of Jacobians with the matrices (docs/probes.md).
Theory theory(const TheoryOptions& options);

/// The Jacobians of random heads and their bounds: one row per placement and matrix.
BoundRows bound_rows(const TheoryOptions& options);

/// One claim per row: no seed violates the corrected bound.
Claims bound_claims(const BoundRows& rows);

/// Counter-examples to the printed bounds: one token, W_V orthogonal, W_O the identity. The
/// attention output is the token's own value, so S is linear in W_O:
///
///   Pre  dS/dW_O = x_N W_V (x) I, norm sqrt(d) sqrt(d) = d; printed bound sqrt(d)
///   QKV  dS/dW_O = N(x W_V) (x) I, norm sqrt(dk) sqrt(d);   printed bound sqrt(d)
Claims counter_examples(std::int64_t width);

/// The effect on Jacobians if one matrix is multiplied by c.
struct ScalingRule {
  Placement placement = Placement::pre;
  at::Tensor PerWeight<at::Tensor>::* scaled = nullptr;  // the matrix, and its name
  const char* scaled_name = "";
  std::vector<std::size_t> affected;  // indices into kHeadWeights
  int power = 0;                      // the Jacobian is multiplied by c^power
};

/// The rules of the theory:
///
///   W_V -> c W_V  dS/dW of W_Q, W_K, W_O: times c for Pre and Pre + QK; unchanged for QKV
///   W_Q -> c W_Q  dS/dW_Q: divided by c for QKV
std::vector<ScalingRule> scaling_rules();

/// One claim per rule and affected Jacobian, for c from 1/4 to 16. The measured number is
/// max |J - expected J| / max |expected J|, the largest over heads and c.
Claims scaling_claims(const TheoryOptions& options,
                      const std::vector<ScalingRule>& rules = scaling_rules());

}  // namespace evenkeel::probe
