// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// How the functions of two schemes relate.
enum class SchemeRelation {
  same,         // the same function with the same distribution of initial weights
  moved,        // the same, with norms written in other places (canonical())
  other_start,  // the same function, in place or moved, with other initial weights
  until_step,   // the same function before the first step; trained gains or numbers differ
  different,
};

/// All that a scheme computes, as text: equal texts, equal schemes. Formulas with the same value
/// are equal. To compare one scheme with many, compute each fingerprint once.
struct Fingerprint {
  std::string function, start;     // with norms where they are written
  std::string moved, moved_start;  // with norms where canonical() puts them
  std::string untrained;           // moved, at_initialization()
};
Fingerprint fingerprint(const Scheme& scheme);

/// The closest relation of two schemes of one shape.
SchemeRelation relation(const Fingerprint& left, const Fingerprint& right);
SchemeRelation relation(const Scheme& left, const Scheme& right);

}  // namespace evenkeel::norm
