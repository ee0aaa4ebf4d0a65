// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A norm of this kind with the kind's own defaults (the table of docs/schemes.md).
Norm default_norm(Kind kind);

/// The fields that a norm of this kind may state in TOML, without "kind".
std::vector<std::string> allowed_fields(Kind kind);

/// Statistics over a batch or a sequence: a token sees others, later ones included.
bool sees_other_tokens(Kind kind);

/// A tensor of a norm.
struct NormParameter {
  std::string name;  // "gain", "bias", "alpha", "shift" or "beta"
  std::int64_t size = 0;
};

/// The tensors of one norm over `heads` heads of together `width` values.
std::vector<NormParameter> parameters_of(const Norm& norm, std::int64_t width, std::int64_t heads);

/// What all values of a parameter start at. A gain is stored less 1 under gain_form "1+w", and
/// starts at `stored_at` where that is stated.
double stored_initial(const Norm& norm, const std::string& parameter, const Variables& variables);

/// By what a stored gain is multiplied before it acts: gain_init / stored_at, or 1.
double gain_factor(const Norm& norm, const Variables& variables);

/// The states of a norm (torch: buffers), and where they start:
/// running values of the kinds over a batch.
struct NormState {
  std::string name;  // "running_mean", "running_var" or "running_std"
  std::int64_t size = 0;
  double initial = 0;
};
std::vector<NormState> states_of(const Norm& norm, std::int64_t width, std::int64_t heads);

/// The values of all parameters_of() together.
std::int64_t parameter_count(const Norm& norm, std::int64_t width, std::int64_t heads);

}  // namespace evenkeel::norm
