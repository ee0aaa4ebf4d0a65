// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A place of a scheme that has a norm.
struct Slot {
  std::string place;   // "attention.input", "final", "embedding.norm", ...
  std::string name;    // of its tensors: "blocks.0.attention.input_norm", "final_norm", ...
  const Norm* norm;    // never null
  std::int64_t width;  // features of its input, all heads together
  std::int64_t heads;  // 1 outside q, k, v and context
  std::int64_t block;  // from 1; 0 outside the blocks
  bool in_attention;   // one of q, k, v, context, which have heads
};

/// Every norm of the scheme in the order of the forward pass; a norm of `dual` once for each use.
/// The pointers are into `scheme`, which must outlive the slots.
std::vector<Slot> slots_of(const Scheme& scheme);

/// slots_of() by the names of their tensors.
std::map<std::string, Slot> slots_by_name(const Scheme& scheme);

/// The kinds of all norms of the scheme, each once, in the order of Kind.
std::vector<Kind> kinds_of(const Scheme& scheme);

/// The variables of a slot's expressions: those of its block, and `width`, the features of one row.
/// \param steps  t and T; without them formulas of the step have no value
Variables variables_of(const Slot& slot, const Shape& shape,
                       const std::optional<Steps>& steps = {});

}  // namespace evenkeel::norm
