// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"

namespace evenkeel::evaluate {

/// How well a model predicts a text.
struct Evaluation {
  double nats_per_token = 0;
  double perplexity = 0;             // e^nats_per_token
  double bits_per_byte = 0;          // of the text; an end-of-text counts as one byte
  std::optional<double> floor, gap;  // nats a byte: the text's own entropy, and what is above it
  std::optional<double>
      exact_match;          // share of correct answers (exact match), where the text has answers
  std::int64_t tokens = 0;  // that were scored
};

/// The mean loss over validation windows, `micro_batch_size` of them at once; the result does not
/// depend on `micro_batch_size` beyond rounding. For a text with answers it is the loss of the
/// answers.
Evaluation evaluate(const nn::Model& model, const data::ValidationWindows& windows,
                    std::int64_t micro_batch_size);

/// The fields of metrics.jsonl (docs/run_folder.md): "val_loss", "val_bits_per_byte", and what
/// else is known of "val_floor", "val_gap" and "val_exact".
/// \param text  "val"; "ood" of the text of data.ood
nlohmann::ordered_json record(const Evaluation& evaluation, const std::string& text);

}  // namespace evenkeel::evaluate
