// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/norm/scheme_relation.h"
#include "evenkeel/norm/validate.h"

namespace evenkeel::config {

/// The shape of the small model in which schemes are checked and shown by default: width 128, 4
/// heads.
norm::Shape default_shape(std::int64_t layers);

/// A warning, and the depths at which it is raised.
struct WarningOccurrence {
  norm::Warning warning;
  std::vector<std::int64_t> depths;
  bool is_expected = false;  // the scheme lists its code
};

/// What a check reports about a valid scheme.
struct Findings {
  norm::Scheme scheme;                      // at 12 blocks
  std::vector<std::int64_t> depths;         // the numbers of blocks with which it was bound
  std::vector<WarningOccurrence> warnings;  // in the order of their codes
  std::vector<std::string> never_raised;    // codes that the scheme expects, but no depth raises
  std::vector<std::string> same_as;         // catalogue schemes of the same function
  std::vector<std::string> notes;           // patches without effect, a stream that is lost
  std::string count;  // formula of the norm parameters; empty: not linear in depth
};

/// All catalogue schemes bound to default_shape(12).
std::vector<norm::Scheme> catalogue_in_default_shape();

/// A scheme by name and fingerprint, for comparisons.
struct KnownScheme {
  std::string name;
  norm::Fingerprint print;
};
/// The fingerprints of these schemes.
std::vector<KnownScheme> known_schemes(const std::vector<norm::Scheme>& schemes);

/// Binds a scheme at several depths, widths and numbers of heads, and collects the findings.
/// \param known  candidates for `same_as`, bound to default_shape(12)
/// \throws SchemeError; it names the shape if the default shape is valid, and the right formula if
///         `norm_parameters` is wrong
Findings check_scheme(const SchemeSource& source, const std::vector<KnownScheme>& known);

}  // namespace evenkeel::config
