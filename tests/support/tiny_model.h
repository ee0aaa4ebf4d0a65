// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>

#include "evenkeel/base/philox.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/nn/initialize.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/nn/parameters.h"
#include "support/shapes.h"

namespace evenkeel::testing {

/// A small model with parameters away from their initial values, so that gains matter.
struct TinyModel {
  static constexpr std::int64_t kPlannedSteps = 100;

  explicit TinyModel(const std::string& name, nn::Precision precision = nn::Precision::float64,
                     nn::ModelOptions options = {}, norm::Shape shape = tiny_shape(3))
      : TinyModel(config::find_scheme(name), precision, options, shape) {}

  TinyModel(const config::SchemeSource& source, nn::Precision precision, nn::ModelOptions options,
            norm::Shape shape) {
    const auto scheme = config::bind(source, shape);
    options.tied = scheme.tied.value_or(options.tied);
    options.vocabulary = shape.vocabulary;
    const auto padded_vocabulary = shape.vocabulary + 1;
    parameters = std::make_unique<nn::Parameters>(
        nn::parameter_specs(scheme, padded_vocabulary, options.tied), precision);
    nn::initialize(*parameters, scheme, "normal(0.3)", /*seed=*/7, kPlannedSteps);
    for (const auto& parameter : parameters->all()) {
      if (parameter.shape.size() != 1) continue;
      const Philox random(7, parameter.name);
      auto gain = parameter.master;
      for (std::int64_t i = 0; i < gain.numel(); ++i) {
        gain[i] += 0.2 * random.normal(static_cast<std::uint64_t>(i));
      }
    }
    parameters->copy_masters_to_values();
    model = std::make_unique<nn::Model>(scheme, options, *parameters,
                                        norm::Steps{.done = 0, .planned = kPlannedSteps});
  }

  std::unique_ptr<nn::Parameters> parameters;
  std::unique_ptr<nn::Model> model;
};

/// Token ids that depend on nothing but their place. [rows, columns]
inline at::Tensor fixed_token_ids(std::int64_t rows, std::int64_t columns,
                                  std::int64_t vocabulary = 31) {
  const auto i = at::arange(rows * columns, at::kLong);
  return (i * i * 7 + i * 3 + 1).remainder(vocabulary).view({rows, columns});
}

}  // namespace evenkeel::testing
