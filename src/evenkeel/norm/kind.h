// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A norm of this kind with the kind's own defaults (the table of docs/schemes.md).
Norm norm_of(Kind kind);

/// The fields that a norm of this kind may state in TOML, without "kind".
std::vector<std::string> fields_of(Kind kind);

/// Statistics over a batch or a sequence: a token sees others, later ones included.
bool sees_other_tokens(Kind kind);

/// A tensor of a norm.
struct Part {
  std::string name;  // "gain", "bias", "alpha", "shift" or "beta"
  std::int64_t size = 0;
};

/// The tensors of one norm over `heads` heads of together `width` values.
std::vector<Part> parts_of(const Norm& norm, std::int64_t width, std::int64_t heads);

/// Their values together.
std::int64_t parameters_of(const Norm& norm, std::int64_t width, std::int64_t heads);

}  // namespace evenkeel::norm
