// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// Fields, parameters, buffers and initial values of a norm, derived from its kind and fields. The
/// facts of each kind are in the table of norm/kinds.h.
namespace evenkeel::norm {

/// A norm of this kind with all fields at the defaults of the kind (docs/schemes.md, table of
/// kinds).
Norm default_norm(Kind kind);

/// The TOML keys of a norm of this kind, without "kind".
std::vector<std::string> allowed_fields(Kind kind);

/// True if the training statistics are over a batch or a sequence. The output of a token then
/// depends on other tokens, future ones included.
bool mixes_tokens(Kind kind);

/// True if the evaluation statistics are over a sequence. A kind with running statistics uses these
/// in evaluation, so a token does not depend on other tokens.
bool mixes_tokens_in_evaluation(Kind kind);

/// A trained tensor of a norm; its shape is [size].
struct NormParameter {
  std::string name;          // "gain", "bias", "alpha", "shift" or "beta"
  std::int64_t size = 0;     // number of values
  bool per_feature = false;  // alpha and beta of seed_norm: one value per feature of a row
};

/// The trained tensors of one norm: first gain and bias, as `affine` states, then those of the
/// kind.
/// \param width  features of the input, all heads together
/// \param heads  number of heads in `width`; used only under scope "head"
std::vector<NormParameter> parameters_of(const Norm& norm, std::int64_t width, std::int64_t heads);

/// The stored initial value of a parameter, the same in all entries:
///
///   | parameter    | stored initial value                                             |
///   | ------------ | ---------------------------------------------------------------- |
///   | gain         | stored_at if present; else gain_init, under "1+w" gain_init - 1  |
///   | bias         | 0                                                                |
///   | of the kind  | alpha_init, shift_init or beta_init                              |
///
/// \param parameter  NormParameter::name of a result of parameters_of()
/// \throws SchemeError if an expression has no value
double stored_initial(const Norm& norm, const std::string& parameter, const Variables& variables);

/// The ratio of effective gain to stored gain: gain_init / stored_at; 1 without stored_at.
double gain_factor(const Norm& norm, const Variables& variables);

/// A running statistic of a norm (PyTorch: a buffer); its shape is [size].
struct NormBuffer {
  std::string name;       // "running_mean", "running_var" or "running_std"
  std::int64_t size = 0;  // number of values
  double initial = 0;     // value of every entry at the start of a run
};

/// The running statistics of one norm; empty for kinds without them.
/// \param width, heads  as in parameters_of()
std::vector<NormBuffer> buffers_of(const Norm& norm, std::int64_t width, std::int64_t heads);

/// The total number of values of all parameters_of().
std::int64_t parameter_count(const Norm& norm, std::int64_t width, std::int64_t heads);

}  // namespace evenkeel::norm
