// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/small_model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "evenkeel/nn/initialize.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/probe/random.h"

namespace evenkeel::probe {

namespace {

/// Half of the run: branches with an initial scale of 0 have grown.
constexpr norm::Steps kSteps = {.done = 50, .planned = 100};
constexpr double kSmallModelSpread = 0.2;  // standard deviation of the noise on vectors

}  // namespace

norm::Shape small_shape() {
  return {.layers = 4,
          .width = 32,
          .heads = 4,
          .kv_heads = 2,
          .inner = 48,
          .vocabulary = 64,
          .context = 12};
}

SmallModel small_model(const norm::Scheme& scheme, std::uint64_t seed) {
  const auto padded_vocabulary = scheme.shape.vocabulary;
  const bool tied = scheme.tied.value_or(false);
  SmallModel small;
  small.parameters = std::make_unique<nn::Parameters>(
      nn::parameter_specs(scheme, padded_vocabulary, tied), nn::Precision::float64, at::kCPU);
  nn::initialize(*small.parameters, scheme, "normal(1/sqrt(d))", seed, kSteps.planned);
  {
    const at::NoGradGuard no_grad;
    for (const auto& parameter : small.parameters->all()) {
      if (parameter.shape.size() != 1) continue;
      parameter.master.add_(randn(seed, "probe/model/" + parameter.name, parameter.shape),
                            kSmallModelSpread);
    }
  }
  small.parameters->copy_masters_to_values();
  const nn::ModelOptions options = {.tied = tied, .vocabulary = padded_vocabulary};
  small.model = std::make_unique<nn::Model>(scheme, options, *small.parameters, kSteps);
  return small;
}

}  // namespace evenkeel::probe
