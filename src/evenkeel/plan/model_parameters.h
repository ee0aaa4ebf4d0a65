// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::plan {

/// Rows of the embedding: the vocabulary, rounded up to a multiple of model.pad_vocabulary_to.
std::int64_t padded_vocabulary_size(const config::Model& model, std::int64_t vocabulary);

/// nn::parameter_specs() of a configuration, with padded vocabulary, and an untied head if it has
/// one.
/// \param scheme  bound to the shape of the model
std::vector<nn::ParameterSpec> parameter_specs_of(const config::Model& model,
                                                  const norm::Scheme& scheme);

}  // namespace evenkeel::plan
