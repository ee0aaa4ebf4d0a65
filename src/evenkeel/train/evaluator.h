// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/windows.h"
#include "evenkeel/evaluate/evaluation.h"
#include "evenkeel/nn/model.h"

namespace evenkeel::train {

/// The validation losses of a run at one step.
struct RunEvaluation {
  std::int64_t step = 0;
  evaluate::Evaluation validation;  // of a mixture: the mean over sources, weighted by share
  struct OfSource {
    std::string name;
    evaluate::Evaluation evaluation;
  };
  std::vector<OfSource> sources;            // of a mixture
  std::optional<evaluate::Evaluation> ood;  // on the out-of-distribution text data.ood
};

/// Evaluates the model of a run on its validation texts.
class Evaluator {
 public:
  /// \param text        must outlive the Evaluator
  /// \param vocabulary  size of the tokenizer's vocabulary, for the evaluation batch size
  Evaluator(const config::Config& config, const data::Corpora& text, std::int64_t vocabulary);

  /// Evaluates the model on all validation texts.
  /// \param step  optimizer steps that the model has taken
  RunEvaluation evaluate(const nn::Model& model, std::int64_t step);

  /// Restores last_step() and gap() when a run is resumed.
  /// \param metrics  the lines of metrics.jsonl
  void resume(const std::vector<nlohmann::json>& metrics);

  /// The step of the last evaluation; -1 before the first one.
  std::int64_t last_step() const { return last_step_; }

  /// The last validation loss minus the entropy of the text, nats per byte; nullopt if the entropy
  /// is unknown.
  std::optional<double> gap() const { return gap_; }

 private:
  struct Source {
    std::string name;
    double share;
    data::ValidationWindows windows;
  };
  std::vector<Source> validation_;
  std::optional<data::ValidationWindows> ood_;
  std::int64_t micro_batch_size_;
  std::int64_t last_step_ = -1;
  std::optional<double> gap_;
};

}  // namespace evenkeel::train
