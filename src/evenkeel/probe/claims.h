// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Measurements inside models, and tests of theoretical statements about normalization schemes.
namespace evenkeel::probe {

/// The expected relation between a measured number and its limit.
enum class Relation {
  at_most,   // measured <= limit
  at_least,  // measured >= limit
  near,      // |measured - limit| <= tolerance
};

/// A theoretical statement and its test. The limit is derived from theory (docs/probes.md), never
/// from measurements.
struct Claim {
  std::string subject;    // a placement, kind or scheme: "QKV", "batch_norm"
  std::string statement;  // the quantity: "|dS/dW_Q| over its corrected bound"
  double measured = 0;
  Relation relation = Relation::at_most;
  double limit = 0;
  double tolerance = 0;  // only for Relation::near

  /// True if the relation holds; false if the measurement or the limit is not finite.
  bool holds() const;
};

using Claims = std::vector<Claim>;

/// The number of refuted claims.
std::size_t refuted_count(const Claims& claims);

}  // namespace evenkeel::probe
