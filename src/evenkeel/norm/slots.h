// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A norm of a scheme and its place.
struct Slot {
  std::string place;   // "attention.input", "final", "embedding.norm", ...
  std::string name;    // prefix of its tensors: "blocks.0.attention.input_norm", "final_norm", ...
  const Norm* norm;    // never null
  std::int64_t width;  // features of the input, all heads together
  std::int64_t heads;  // number of heads in `width`; 1 outside of q, k, v and context
  std::int64_t block;  // from 1; 0: outside the blocks
  bool in_attention;   // true for q, k, v and context, the norms over heads
};

/// Every norm of the scheme in the order of the forward pass. The norm of `dual` has one slot per
/// use. The slots point into `scheme`, which must outlive them.
std::vector<Slot> slots_of(const Scheme& scheme);

/// The result of slots_of(), keyed by Slot::name.
std::map<std::string, Slot> slots_by_name(const Scheme& scheme);

/// The kinds of all norms of the scheme, without duplicates, in the order of Kind.
std::vector<Kind> kinds_of(const Scheme& scheme);

/// The variables of a slot's expressions: those of its block, and `width`, the features of one row.
/// \param steps  values of t and T; without `steps`, expressions of t or T have no value
Variables variables_of(const Slot& slot, const Shape& shape,
                       const std::optional<Steps>& steps = {});

}  // namespace evenkeel::norm
