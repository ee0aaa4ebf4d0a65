// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A filled slot of a scheme: which norm, where, and what it sees.
struct Slot {
  std::string place;   // "attention.input", "final", "embedding.norm", ...
  std::string name;    // of its tensors: "blocks.0.attention.input_norm", "final_norm", ...
  const Norm* norm;    // never null
  std::int64_t width;  // values it sees, all heads together
  std::int64_t heads;  // 1 outside q, k, v and context
  std::int64_t block;  // from 1; 0 outside the blocks
  bool in_attention;   // a slot that knows heads: q, k, v, context
};

/// Every norm of the scheme, in the order of the forward pass; those of `dual` as often as they
/// occur. Pointers into `scheme`.
std::vector<Slot> slots_of(const Scheme& scheme);

/// The same under the names of their tensors.
std::map<std::string, Slot> slots_by_name(const Scheme& scheme);

/// The kinds of all norms of the scheme, each once, in the order of Kind.
std::vector<Kind> kinds_of(const Scheme& scheme);

/// The variables of a slot's expressions: those of its block, and `width`, the features of one row.
Variables variables_of(const Slot& slot, const Shape& shape,
                       const std::optional<Steps>& steps = {});

}  // namespace evenkeel::norm
