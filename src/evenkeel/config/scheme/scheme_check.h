// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/norm/scheme_relation.h"
#include "evenkeel/norm/validate.h"

namespace evenkeel::config {

/// The shape of the small model in which schemes are checked and shown by default.
norm::Shape default_shape(std::int64_t layers);

/// A warning, and the depths at which it arises.
struct WarningOccurrence {
  norm::Warning warning;
  std::vector<std::int64_t> depths;
  bool is_expected = false;  // the scheme lists its code
};

/// What a check finds on a scheme that is sound.
struct Findings {
  norm::Scheme scheme;                      // at 12 blocks
  std::vector<std::int64_t> depths;         // the numbers of blocks that were tried
  std::vector<WarningOccurrence> warnings;  // in the order of their codes
  std::vector<std::string> never_raised;    // codes that the scheme expects, but that never arise
  std::vector<std::string> same_as;         // catalogue schemes of the same function
  std::vector<std::string> notes;           // what has no effect, or leaves nothing
  std::string count;  // the formula of its norms' parameters; empty if there is none
};

/// The catalogue in default_shape(12).
std::vector<norm::Scheme> catalogue_in_default_shape();

/// A scheme to compare others with.
struct KnownScheme {
  std::string name;
  norm::Fingerprint print;
};
std::vector<KnownScheme> known_schemes(const std::vector<norm::Scheme>& schemes);

/// Binds a scheme at several depths, widths and numbers of heads, and collects the findings.
/// \param known  in default_shape(12), what may be named in `same_as`
/// \throws SchemeError; it names the shape if the scheme is sound in another one, and a right
///         formula if `norm_parameters` is wrong
Findings check_scheme(const SchemeSource& source, const std::vector<KnownScheme>& known);

}  // namespace evenkeel::config
