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

/// Builds the layers of a model from a scheme and its parameters.
namespace evenkeel::nn {

/// The layers of a model. Their tensors are those of `Parameters`.
struct Layers {
  std::optional<NormLayer> embedding_norm;
  Factor embedding_scale;
  std::vector<Block> blocks;               // [N]; addresses are stable
  std::optional<NormLayer> stream_x_norm;  // norm of x before x + y; two streams only
  std::optional<NormLayer> stream_y_norm;  // norm of y before x + y
  std::optional<NormLayer> final_norm;
  Factor logits_scale;
  StepNumber y_init;                         // initial y = y_init * x; two streams only
  std::optional<StepNumber> logits_softcap;  // c: logits become c tanh(logit / c)
  bool names_step = false;                   // an expression of the scheme names t, the step
  // Of quantize(): the rows of the vocabulary of the head's weight.
  std::optional<ops::Int8Weight> int8_head;  // Int8Use::decoding
  at::Tensor rounded_head;                   // Int8Use::evaluation
};

/// Builds all layers, with expressions evaluated at one optimizer step.
/// \param parameters  the tensors of parameter_specs(); must outlive the layers
/// \throws Error (usage) for a feature of the scheme that the options exclude
Layers build_layers(const norm::Scheme& scheme, const ModelOptions& options,
                    const Parameters& parameters, const norm::Steps& steps);

/// Re-evaluates all expressions of the layers. Objects and tensors are not replaced.
/// \return true if an expression names t, the step
bool set_step(Layers& layers, const norm::Shape& shape, const norm::Steps& steps);

/// Rounds the matrices of all blocks and of the head to int8: Matrix::quantize(). Embeddings, gains
/// and routers keep their values.
/// \param head  the weight of the head, [rows, D]; its first `vocabulary` rows are quantized
void quantize(Layers& layers, const at::Tensor& head, std::int64_t vocabulary, Int8Use use);

}  // namespace evenkeel::nn
