// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/norm/scheme_relation.h"
#include "evenkeel/norm/validate.h"

namespace evenkeel::config {

/// The default shape for checks and displays of schemes: width 128, 4 heads.
norm::Shape default_shape(std::int64_t layers);

/// A warning, and the depths that raise it.
struct WarningOccurrence {
  norm::Warning warning;
  std::vector<std::int64_t> depths;
  bool is_expected = false;  // the scheme lists its code as expected
};

/// The result of checking a valid scheme.
struct Findings {
  norm::Scheme scheme;                      // bound to 12 blocks
  std::vector<std::int64_t> depths;         // all checked numbers of blocks
  std::vector<WarningOccurrence> warnings;  // sorted by code
  std::vector<std::string> never_raised;    // expected codes that no depth raises
  std::vector<std::string> same_as;         // catalogue schemes with the same function
  std::vector<std::string> notes;  // patches without effect, a residual stream that is lost
  std::string count;  // number of norm parameters as an expression; empty: not linear in depth
};

/// All catalogue schemes, bound to default_shape(12).
std::vector<norm::Scheme> catalogue_in_default_shape();

/// The name and fingerprint of a scheme, for comparisons.
struct KnownScheme {
  std::string name;
  norm::Fingerprint print;
};
/// The fingerprints of these schemes.
std::vector<KnownScheme> known_schemes(const std::vector<norm::Scheme>& schemes);

/// Binds a scheme at several depths, widths and numbers of heads, and collects the findings.
/// \param known  candidates for `same_as`, bound to default_shape(12)
/// \throws SchemeError. It names the shape if only other shapes than the default fail, and the
///         correct expression if `norm_parameters` is wrong.
Findings check_scheme(const SchemeSource& source, const std::vector<KnownScheme>& known);

}  // namespace evenkeel::config
