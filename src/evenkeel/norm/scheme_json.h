// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A bound scheme as data, all that a forward pass needs besides the sizes and the tensors.
/// docs/scheme_json.md has the keys. Equal blocks are stored once: layer i, from 0, is
/// blocks[layers[i]]. A norm that a slot does not have is missing.
///
/// A trained number is an object. Its parameter has the name of its key: the number
/// blocks[layers[0]].attention.skip_scale is the tensor blocks.0.attention.skip_scale.
///
/// \param steps  values of t and T. Without `steps`, an expression that names one of them is a
///               string: its formula
/// \throws SchemeError if an expression has no value
nlohmann::ordered_json scheme_json(const Scheme& scheme, const std::optional<Steps>& steps);

}  // namespace evenkeel::norm
