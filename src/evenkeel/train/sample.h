// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "evenkeel/nn/model.h"

namespace evenkeel::train {

/// Writes RUN/sample.txt: text that the model generates from an end-of-text, at temperature 0.8
/// with seed 1, at most 400 tokens and twice the context.
/// \return false if the weights give no finite logits; nothing is written then
bool write_sample(const nn::Model& model, const std::filesystem::path& run);

}  // namespace evenkeel::train
