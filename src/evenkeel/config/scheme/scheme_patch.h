// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "evenkeel/config/scheme/scheme_value.h"

namespace evenkeel::config {

/// A patch: one entry of `layers`, with changes to the blocks that `where` selects.
struct Patch {
  const toml::table* table;
  Place place;  // "layers[0]"
};

/// The entries of `layers`, with checked keys. They point into `scheme`.
/// \throws SchemeError unknown_key or bad_where
std::vector<Patch> patches_of(const toml::table& scheme, const Place& place);

/// True if the patch selects block `l` (from 1) of N = shape.layers:
///
///   first(n)        l <= n
///   last(n)         l > N - n
///   fraction(a, b)  floor(a*N) < l <= floor(b*N)
///   every(k, o)     (l - 1) mod k = o; o defaults to 0
///   [1, 4]          l is in the list
///
/// \throws SchemeError bad_where, or that of an invalid expression
bool selects(const Patch& patch, std::int64_t l, const norm::Shape& shape);

/// The keys `attention`, `feed_forward` and `damp` of block `l`: those of the scheme with all
/// patches.
toml::table block_table(const toml::table& scheme, const std::vector<Patch>& patches,
                        std::int64_t l, const norm::Shape& shape);

/// The variables without t and T, for values that are evaluated once before training.
norm::Variables fixed_variables(const norm::Shape& shape);

}  // namespace evenkeel::config
