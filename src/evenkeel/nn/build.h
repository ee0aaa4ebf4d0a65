// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "evenkeel/nn/block.h"
#include "evenkeel/nn/factor.h"
#include "evenkeel/nn/model_options.h"
#include "evenkeel/nn/norm_layer.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/nn/step_number.h"
#include "evenkeel/norm/scheme.h"

/// From a scheme and its parameters to the layers of a model.
namespace evenkeel::nn {

/// The layers of a model. They refer to the tensors of `Parameters` and hold none of their own.
struct Layers {
  std::optional<NormLayer> embedding_norm;
  Factor embedding_scale;
  std::vector<Block> blocks;               // [N]; their addresses stay the same
  std::optional<NormLayer> stream_x_norm;  // of x, before the sum of two streams
  std::optional<NormLayer> stream_y_norm;  // of y, before that sum
  std::optional<NormLayer> final_norm;
  Factor logits_scale;
  StepNumber y_init;                         // y starts as y_init * x, in a scheme with two streams
  std::optional<StepNumber> logits_softcap;  // c: logits become c tanh(logit / c)
  bool names_step = false;                   // a formula of the scheme names t, the step
};

/// Builds all layers, with the numbers of one step.
/// \param parameters  of the tensors that parameter_specs() lists; it must outlive the layers
/// \throws Error (usage) that names what of the scheme the options exclude
Layers build_layers(const norm::Scheme& scheme, const ModelOptions& options,
                    const Parameters& parameters, const norm::Steps& steps);

/// Evaluates every formula of the layers anew. Their objects and tensors stay the same.
/// \return whether a formula names t, the step
bool set_step(Layers& layers, const norm::Shape& shape, const norm::Steps& steps);

}  // namespace evenkeel::nn
