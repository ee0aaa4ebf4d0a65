// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"

namespace evenkeel::evaluate {

/// The loss of a model on a validation text.
struct Evaluation {
  double nats_per_token = 0;
  double perplexity = 0;             // e^nats_per_token
  double bits_per_byte = 0;          // end-of-text counts as one byte
  std::optional<double> floor, gap;  // nats per byte: entropy of the text, loss - entropy
  std::optional<double>
      exact_match;          // share of correct answers, 0 to 1; nullopt for a text without answers
  std::int64_t tokens = 0;  // number of scored tokens
};

/// The mean loss over all windows; only the answers of a text with answers are scored.
/// \param micro_batch_size  windows per forward pass; it changes the result by rounding only
Evaluation evaluate(const nn::Model& model, const data::ValidationWindows& windows,
                    std::int64_t micro_batch_size);

/// The fields of metrics.jsonl (docs/run_folder.md): "val_loss", "val_bits_per_byte", and if known
/// "val_floor", "val_gap" and "val_exact".
/// \param text  prefix of the fields: "val", or "ood" for data.ood
nlohmann::ordered_json record(const Evaluation& evaluation, const std::string& text);

}  // namespace evenkeel::evaluate
