// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/verify/verify_model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/parameter_specs.h"

namespace evenkeel::verify {

namespace {

/// Compares names and shapes of `tensors` with the model's parameters or buffers.
/// \param noun  "parameter" or another noun, for messages
/// \throws Error (data), with the first difference
void check_tensors(const Golden& golden, const std::vector<nn::ParameterSpec>& specs,
                   const Tensors& tensors, const std::string& noun, bool of_states = false) {
  const auto& scheme = golden.model.scheme.info.name;
  const auto refuse = [&](const std::string& name, const auto&... defect) {
    throw Error(Exit::data, text(golden.path, ": ", noun, " ", name, " ", defect...));
  };
  for (const auto& [name, shape, role] : specs) {
    if ((role == nn::ParameterRole::state) != of_states) continue;
    const at::IntArrayRef wanted(shape);
    const auto found = tensors.find(name);
    if (found == tensors.end()) refuse(name, wanted, " of scheme ", scheme, " is missing");
    if (found->second.sizes() != wanted) {
      refuse(name, "must be ", wanted, ", but is ", found->second.sizes());
    }
  }
  for (const auto& [name, tensor] : tensors) {
    const bool known =
        std::any_of(specs.begin(), specs.end(), [&, &wanted = name](const auto& each) {
          return each.name == wanted && (each.role == nn::ParameterRole::state) == of_states;
        });
    if (!known) refuse(name, tensor.sizes(), " is not of scheme ", scheme);
  }
}

std::vector<nn::ParameterSpec> specs_of(const Golden& golden) {
  const auto& [scheme, tied, theta, done, planned] = golden.model;
  auto specs = nn::parameter_specs(scheme, scheme.shape.vocabulary, tied);
  check_tensors(golden, specs, golden.parameters, "parameter");
  if (const auto* const pass = std::get_if<GoldenPass>(&golden.expected)) {
    check_tensors(golden, specs, pass->gradients, "gradient of");
    check_tensors(golden, specs, golden.states, "state", /*of_states=*/true);
    check_tensors(golden, specs, pass->states, "later state", /*of_states=*/true);
  } else {
    check_tensors(golden, specs, std::get<GoldenTrajectory>(golden.expected).final,
                  "final value of");
  }
  return specs;
}

nn::ModelOptions options_of(const Golden& golden, const VerifyOptions& options) {
  return {.rope_theta = golden.model.rope_theta,
          .tied = golden.model.tied,
          .vocabulary = golden.model.scheme.shape.vocabulary,
          .fused = options.fused,
          .attention = options.attention};
}

}  // namespace

VerifyModel::VerifyModel(const Golden& golden, const VerifyOptions& options)
    : parameters_(specs_of(golden), options.precision),
      model_(golden.model.scheme, options_of(golden, options), parameters_,
             {.done = golden.model.done, .planned = golden.model.planned}) {
  const at::NoGradGuard no_grad;
  for (const auto& parameter : parameters_.all()) {
    parameter.master.copy_(golden.parameters.at(parameter.name));
  }
  for (const auto& [name, state] : golden.states) parameters_.find_state(name).copy_(state);
  parameters_.copy_masters_to_values();
}

}  // namespace evenkeel::verify
