// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/comm/group.h"
#include "evenkeel/config/config.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/windows.h"
#include "evenkeel/evaluate/evaluation.h"
#include "evenkeel/evaluate/task_suite.h"
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
  std::vector<OfSource> texts;              // on the texts of evaluate.texts
};

/// What the progress line shows of the last evaluation; nullopt: unknown.
struct LastEvaluation {
  std::optional<double> loss;  // validation loss, nats per token
  std::optional<double> gap;   // validation loss - entropy of the text, nats per byte
};

/// The scores of a run's tasks at one step.
struct RunTaskScores {
  std::int64_t step = 0;
  std::vector<evaluate::TaskResult> results;
  std::vector<nlohmann::ordered_json> records;  // the lines of evaluations.jsonl
};

/// Called with rows that are scored, and all rows; false ends the scoring.
using OnRows = std::function<bool(std::int64_t done, std::int64_t all)>;

/// The fields of "data" in provenance.json for evaluate.texts: "evaluate_texts_digest", and
/// "evaluate_texts", name, inputs, digest and files of each text. Empty without a text.
/// \param texts  those of `named`
nlohmann::ordered_json provenance_of_texts(const std::vector<config::NamedText>& named,
                                           const std::vector<data::Source>& texts);

/// Evaluates the model of a run on its validation texts, on evaluate.texts and on its tasks.
class Evaluator {
 public:
  /// \param text        must outlive the Evaluator
  /// \param vocabulary  size of the tokenizer's vocabulary, for the evaluation batch size
  /// \param group       the ranks that share the forward passes; nullptr: this process alone. It
  /// must
  ///                    outlive the Evaluator
  Evaluator(const config::Config& config, const data::Corpora& text, std::int64_t vocabulary,
            comm::Group* group = nullptr);

  /// Evaluates the model on all validation texts. All ranks call it, and get the same result.
  /// \param step  optimizer steps that the model has taken
  RunEvaluation evaluate(const nn::Model& model, std::int64_t step);

  /// True if evaluate.tasks names a task.
  bool has_tasks() const { return !tasks_.tasks().empty(); }

  /// Scores the tasks. All ranks call it, share the rows, and get the same result.
  /// \param on_progress  called after each pack of rows with the number of rows that are scored and
  ///                     that of all rows; false ends the scoring of all ranks
  /// \return nullopt if on_progress() of a rank ended it
  std::optional<RunTaskScores> evaluate_tasks(const nn::Model& model, std::int64_t step,
                                              const OnRows& on_progress);

  /// Restores the state below when a run is resumed.
  /// \param metrics      the lines of metrics.jsonl
  /// \param evaluations  the lines of evaluations.jsonl
  void resume(const std::vector<nlohmann::json>& metrics,
              const std::vector<nlohmann::json>& evaluations);

  /// The step of the last evaluation; -1 before the first one.
  std::int64_t last_step() const { return last_step_; }
  /// The step of the last evaluate_tasks(); -1 before the first one.
  std::int64_t last_task_step() const { return last_task_step_; }

  /// The texts of evaluate.texts.
  const std::vector<data::Source>& text_sources() const { return text_sources_; }
  /// The tasks of evaluate.tasks.
  const std::vector<evaluate::EncodedTask>& tasks() const { return tasks_.tasks(); }

  /// The fields of "data" in provenance.json: provenance_of_texts(); "evaluate_ood", a list of the
  /// text data.ood with the fields of such a text; TaskSuite::provenance(). Empty without
  /// evaluate.texts, data.ood and evaluate.tasks.
  nlohmann::ordered_json provenance() const;

  /// The results of the last evaluation.
  const LastEvaluation& last() const { return last_; }

 private:
  struct Source {
    std::string name;
    double share;
    data::ValidationWindows windows;
  };
  std::vector<Source> validation_;
  std::optional<data::ValidationWindows> ood_;
  nlohmann::ordered_json ood_record_;           // of data.ood; null: there is no such text
  std::vector<config::NamedText> named_texts_;  // evaluate.texts
  std::vector<data::Source> text_sources_;      // of named_texts_
  std::vector<Source> texts_;
  evaluate::TaskSuite tasks_;
  evaluate::EvaluationShare share_;
  std::int64_t micro_batch_size_;
  std::int64_t last_step_ = -1, last_task_step_ = -1;
  LastEvaluation last_;
};

}  // namespace evenkeel::train
