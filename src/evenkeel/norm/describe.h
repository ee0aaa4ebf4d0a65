// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// The enumerators as they are spelled in TOML, both ways.
std::string_view name_of(Kind kind);
std::string_view name_of(EpsilonAt at);
/// \throws SchemeError unknown_kind with the nearest name
Kind kind_named(std::string_view name);
std::vector<std::string> kind_names();

/// A norm in a few words: "rms_norm per head", "layer_norm, gain starts at 0.125".
std::string describe(const Norm& norm);

/// Where the norms sit, block by block, as text for a terminal; equal neighbours in one group:
///   embedding    -
///   block 1      attention     rms_norm -> q,k,v (rms_norm per head) -> ... + stream
std::string diagram(const Scheme& scheme);

}  // namespace evenkeel::norm
