// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/data/text_encoding.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/store/directory.h"

namespace evenkeel::train {

/// Writes RUN/sample.txt, a text that the model generates after an end-of-text token: temperature
/// 0.8, seed 1, at most 400 tokens and at most twice the context. What is no UTF-8 is U+FFFD.
/// Without a tokenizer (token files), the file has token ids.
/// \return false, without a file, if the logits are not finite
bool write_sample(const nn::Model& model, const data::TextEncoding& encoding,
                  const store::Directory& run);

}  // namespace evenkeel::train
