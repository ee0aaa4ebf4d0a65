// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// The name of an enumerator, spelled as in TOML.
std::string_view name_of(Kind kind);
std::string_view name_of(EpsilonAt at);
std::string_view name_of(Detach detach);
std::string_view name_of(Update update);
std::string_view name_of(Tap tap);
std::string_view name_of(Learned::Size size);
std::string_view name_of(Learned::Transform transform);
/// The norm kind with this name.
/// \throws SchemeError unknown_kind, with the nearest name and all names
Kind kind_named(std::string_view name);
/// The names of all kinds, in the order of the enumerators.
std::vector<std::string> kind_names();

/// Appends an item and, before it, the separator if the list is not empty: "q" becomes "q, k".
std::string joined(const std::string& list, const std::string& more, const char* between);

/// A short description of a norm: "rms_norm per head", "layer_norm, gain starts at 0.125". It
/// states every field that differs from the defaults of the kind, so two norms are equal if their
/// descriptions are equal.
std::string describe(const Norm& norm);

/// A short description of a number: its expression, or "learned vector from 0.05, through abs".
std::string describe(const Number& number);

/// A short description of a mixture of experts: "2 of 8 experts", "2 of 8 experts and 1 shared".
std::string describe(const Experts& experts);

/// A diagram of all norms and residual rules for a terminal. Consecutive equal blocks share one
/// entry:
///   block 1      attention     rms_norm -> q, k, v: rms_norm per head -> attention -> + stream
///                feed-forward  rms_norm -> feed-forward -> + stream
///   blocks 2-12  ...
/// The last lines are the scheme's own initial weights, without those that are defaults.
std::string diagram(const Scheme& scheme);

}  // namespace evenkeel::norm
