// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// The relation between the functions of two schemes, the closest one first.
enum class SchemeRelation {
  same,                  // same function, same distribution of initial weights
  moved,                 // same function and initial weights after canonical() moves norms
  other_start,           // same function, perhaps after canonical(); other initial weights
  same_before_training,  // same function before the first step; then trained gains or numbers
                         // differ
  different,
};

/// The complete function and initialization of a scheme as text. Two schemes are equal if their
/// texts are equal; expressions with the same value are equal. To compare one scheme with many,
/// compute its fingerprint once.
struct Fingerprint {
  std::string function, start;     // of the scheme as written
  std::string moved, moved_start;  // of its canonical() form
  std::string untrained;           // of at_initialization() of its canonical() form
};
Fingerprint fingerprint(const Scheme& scheme);

/// The closest relation that holds between two schemes of one shape.
SchemeRelation relation(const Fingerprint& left, const Fingerprint& right);
SchemeRelation relation(const Scheme& left, const Scheme& right);

}  // namespace evenkeel::norm
