// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Measurements inside models, and checks of what theory says of a normalization scheme.
namespace evenkeel::probe {

/// How a measured number must lie to its limit.
enum class Relation {
  at_most,   // measured <= limit
  at_least,  // measured >= limit
  near,      // |measured - limit| <= tolerance
};

/// A statement of theory with the number that tests it. The limit comes from a derivation
/// (docs/probes.md), never from results of the program.
struct Claim {
  std::string subject;    // of whom: "QKV", "batch_norm", "pre_norm, training"
  std::string statement;  // what was measured: "|dS/dW_Q| over its corrected bound"
  double measured = 0;
  Relation relation = Relation::at_most;
  double limit = 0;
  double tolerance = 0;  // near

  /// False where the measurement or the limit is no finite number.
  bool holds() const;
};

using Claims = std::vector<Claim>;

std::size_t refuted_count(const Claims& claims);

}  // namespace evenkeel::probe
