// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// Defaults, tensors and initial values of a norm, from its kind and fields.
/// The table of norm/kinds.h has the facts.
namespace evenkeel::norm {

/// A norm of this kind with the kind's own defaults (the table of docs/schemes.md).
Norm default_norm(Kind kind);

/// The fields that a norm of this kind may state in TOML, without "kind".
std::vector<std::string> allowed_fields(Kind kind);

/// Whether, in training, the statistics run over a batch or a sequence: the output of a token then
/// depends on other tokens, later ones included.
bool sees_other_tokens(Kind kind);

/// The same in evaluation, where a kind with running values takes those.
bool sees_other_tokens_in_evaluation(Kind kind);

/// A trained tensor of a norm, one-dimensional.
struct NormParameter {
  std::string name;          // "gain", "bias", "alpha", "shift" or "beta"
  std::int64_t size = 0;     // number of values
  bool per_feature = false;  // alpha and beta of seed_norm: one value for each feature of a row
};

/// The trained tensors of one norm: gain and bias by `affine`, then those of its kind.
/// \param width  features that the norm sees, all heads together
/// \param heads  heads of which `width` consists; only read under scope "head"
std::vector<NormParameter> parameters_of(const Norm& norm, std::int64_t width, std::int64_t heads);

/// The initial value that is stored in all entries of a parameter. A gain is stored minus 1 under
/// gain_form "1+w", and starts at `stored_at` where that is stated; a bias starts at 0.
/// \param parameter  its name, as parameters_of() gives it
/// \throws SchemeError if a formula has no value
double stored_initial(const Norm& norm, const std::string& parameter, const Variables& variables);

/// The effective gain over the stored one: gain_init / stored_at, or 1 without stored_at.
double gain_factor(const Norm& norm, const Variables& variables);

/// A running value of a norm over the batch (PyTorch: a buffer), one-dimensional.
struct NormState {
  std::string name;       // "running_mean", "running_var" or "running_std"
  std::int64_t size = 0;  // number of values
  double initial = 0;     // of every entry, at the start of a run
};

/// The running values of one norm; none for kinds without.
/// \param width, heads  as of parameters_of()
std::vector<NormState> states_of(const Norm& norm, std::int64_t width, std::int64_t heads);

/// The number of values in all parameters_of() together.
std::int64_t parameter_count(const Norm& norm, std::int64_t width, std::int64_t heads);

}  // namespace evenkeel::norm
