// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::probe {

/// 4 blocks of width 32: so deep that every patch of the catalogue has its blocks.
norm::Shape small_shape();

/// A model in float64, for claims about a scheme.
struct SmallModel {
  std::unique_ptr<nn::Parameters> parameters;
  std::unique_ptr<nn::Model> model;
};

/// Matrices are normal with variance 1/d; gains and learned numbers lie around their initial
/// values, so that every one matters. The head is the scheme's, else untied.
SmallModel small_model(const norm::Scheme& scheme, std::uint64_t seed);

}  // namespace evenkeel::probe
