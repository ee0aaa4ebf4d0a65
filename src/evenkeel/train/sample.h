// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/nn/model.h"
#include "evenkeel/store/directory.h"

namespace evenkeel::train {

/// Writes RUN/sample.txt, a text that the model generates after an end-of-text token: temperature
/// 0.8, seed 1, at most 400 tokens and at most twice the context.
/// \return false, without a file, if the logits are not finite
bool write_sample(const nn::Model& model, const store::Directory& run);

}  // namespace evenkeel::train
