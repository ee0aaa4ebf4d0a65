// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::probe {

/// The shape of the small model: 4 blocks of width 32. Four blocks are enough for every catalogue
/// scheme with different rules for some blocks.
norm::Shape small_shape();

/// A model in float64, for claims about a scheme.
struct SmallModel {
  std::unique_ptr<nn::Parameters> parameters;
  std::unique_ptr<nn::Model> model;
};

/// Builds the small model at step 50 of 100. Matrices are normal with variance 1/D. Gains and other
/// vectors are random around their initial values, so that each of them has an effect. The head is
/// tied if the scheme requires it.
SmallModel small_model(const norm::Scheme& scheme, std::uint64_t seed);

}  // namespace evenkeel::probe
