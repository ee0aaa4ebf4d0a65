// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"

namespace evenkeel::evaluate {

/// The loss of a model on a validation text.
struct Evaluation {
  double nats_per_token = 0;  // mean cross-entropy, natural logarithm
  double perplexity = 0;      // e^nats_per_token
  /// Of the text; an end-of-text token counts as one byte. nullopt: the tokens have no known text.
  std::optional<double> bits_per_byte;
  std::optional<double> floor;        // nats per byte: the entropy of a generated text, if known
  std::optional<double> gap;          // nats per byte: the loss above `floor`
  std::optional<double> exact_match;  // share of correct answers, if the text has answers
  std::int64_t tokens = 0;            // number of scored tokens
};

/// How several processes share the forward passes of an evaluation: process `rank` of `ranks` makes
/// every ranks-th one.
struct EvaluationShare {
  std::int64_t rank = 0, ranks = 1;
  /// Exchanges numbers between all processes: [n] of each, n equal, gives [ranks * n] by rank.
  /// Empty if ranks is 1.
  std::function<std::vector<double>(const std::vector<double>&)> gather = {};
};

/// Scores all validation windows, without a gradient. In a text with answers only the answers are
/// scored.
/// \param micro_batch_size  windows of one forward pass; it changes the result by rounding only
/// \param on_progress       called after each forward pass with the windows so far; may be empty
/// \param share  of several processes, which all get the same result: its bits are those of one
Evaluation evaluate(const nn::Model& model, const data::ValidationWindows& windows,
                    std::int64_t micro_batch_size,
                    const std::function<void(std::int64_t)>& on_progress = {},
                    const EvaluationShare& share = {});

/// The mean of the losses of several texts: nats per token and bits per byte. One text: itself.
/// \param shares  weights, which sum to 1
Evaluation weighted_mean(const std::vector<Evaluation>& parts, const std::vector<double>& shares);

/// The fields of metrics.jsonl (docs/run_folder.md): "val_loss" and "val_bits_per_byte"; also
/// "val_floor", "val_gap" and "val_exact" where the evaluation has these values.
/// \param text  prefix of the fields: "val", or "ood" for the text of data.ood
nlohmann::ordered_json record(const Evaluation& evaluation, const std::string& text);

}  // namespace evenkeel::evaluate
