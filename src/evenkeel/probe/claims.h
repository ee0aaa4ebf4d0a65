// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Measurements inside models, and checks of what theory says of a normalization scheme.
namespace evenkeel::probe {

/// The relation that a measured number must have to its limit.
enum class Relation {
  at_most,   // measured <= limit
  at_least,  // measured >= limit
  near,      // |measured - limit| <= tolerance
};

/// A statement of theory with the number that tests it. The limit comes from a derivation
/// (docs/probes.md), never from results of the program.
struct Claim {
  std::string subject;    // a placement, kind or scheme: "QKV", "batch_norm"
  std::string statement;  // the quantity: "|dS/dW_Q| over its corrected bound"
  double measured = 0;
  Relation relation = Relation::at_most;
  double limit = 0;
  double tolerance = 0;  // of Relation::near

  /// Whether the relation holds; false if the measurement or the limit is NaN or infinite.
  bool holds() const;
};

using Claims = std::vector<Claim>;

/// The number of claims that do not hold.
std::size_t refuted_count(const Claims& claims);

}  // namespace evenkeel::probe
