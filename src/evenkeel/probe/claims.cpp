// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/claims.h"

#include <algorithm>
#include <cmath>

namespace evenkeel::probe {

bool Claim::holds() const {
  if (!std::isfinite(measured) || !std::isfinite(limit)) return false;
  switch (relation) {
    case Relation::at_most:
      return measured <= limit;
    case Relation::at_least:
      return measured >= limit;
    case Relation::near:
      break;
  }
  return std::abs(measured - limit) <= tolerance;
}

std::size_t refuted_count(const Claims& claims) {
  return static_cast<std::size_t>(std::count_if(claims.begin(), claims.end(),
                                                [](const Claim& claim) { return !claim.holds(); }));
}

}  // namespace evenkeel::probe
