// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/config/scheme.h"
#include "evenkeel/norm/scheme_relation.h"
#include "evenkeel/norm/validate.h"

namespace evenkeel::config {

/// The small model in which schemes are looked at when no other is named.
norm::Shape usual_shape(std::int64_t layers);

/// A warning, and the depths at which it arises.
struct Occurrence {
  norm::Warning warning;
  std::vector<std::int64_t> layers;
  bool is_expected = false;  // the scheme lists its code
};

/// What there is to know of a scheme that is sound.
struct Findings {
  norm::Scheme scheme;               // at 12 blocks
  std::vector<std::int64_t> layers;  // the depths tried
  std::vector<Occurrence> warnings;  // in the order of their codes
  std::vector<std::string> idle;     // codes that the scheme expects, but that never arise
  std::vector<std::string> same_as;  // catalogue schemes of the same function
  std::vector<std::string> notes;    // what has no effect, or leaves nothing
  std::string count;                 // the formula of its norms' parameters; empty if there is none
};

/// The catalogue in usual_shape(12).
std::vector<norm::Scheme> usual_catalogue();

/// A scheme to compare others with.
struct Known {
  std::string name;
  norm::Fingerprint print;
};
std::vector<Known> known_schemes(const std::vector<norm::Scheme>& schemes);

/// Binds a scheme at several depths, widths and numbers of heads, and looks what comes of it.
/// \param known  in usual_shape(12), what may be named in `same_as`
/// \throws SchemeError; it names the shape if the scheme is sound in another one, and a right
///         formula if `norm_parameters` is wrong
Findings check_scheme(const SchemeSource& source, const std::vector<Known>& known);

}  // namespace evenkeel::config
