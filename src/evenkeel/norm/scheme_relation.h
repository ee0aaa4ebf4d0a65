// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// How two schemes are related.
enum class SchemeRelation {
  same,         // the same function, which starts from the same distribution
  moved,        // the same, with norms written in other places (canonical())
  other_start,  // the same function, in place or moved, but other initial weights
  until_step,   // the same function before the first step; what is trained beside matrices differs
  different,
};

/// All that a scheme computes, as text: equal texts, equal schemes. Formulas that give the same
/// number are equal. To find the relatives of a scheme among many, take each one's print once.
struct Fingerprint {
  std::string function, start;     // with norms where they are written
  std::string moved, moved_start;  // with norms where canonical() puts them
  std::string untrained;           // moved, at_initialization()
};
Fingerprint fingerprint(const Scheme& scheme);

/// Of two schemes of one shape.
SchemeRelation relation(const Fingerprint& left, const Fingerprint& right);
SchemeRelation relation(const Scheme& left, const Scheme& right);

}  // namespace evenkeel::norm
