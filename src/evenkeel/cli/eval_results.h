// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/evaluate/evaluation.h"
#include "evenkeel/evaluate/task_suite.h"

namespace evenkeel::cli {

/// A text and the loss on it.
struct NamedEvaluation {
  std::string name;
  evaluate::Evaluation evaluation;
  std::int64_t documents = 0;
};

/// The results of one checkpoint.
struct Evaluations {
  std::int64_t step = 0;
  std::string precision;                           // of the computation: "float32", "bfloat16", ...
  std::string quantize;                            // --quantize: "int8", or ""
  std::optional<evaluate::Evaluation> validation;  // of a mixture: the mean, weighted by share
  std::vector<NamedEvaluation> sources;            // of a mixture
  std::optional<evaluate::Evaluation> ood;         // of data.ood
  std::vector<NamedEvaluation> texts;              // of evaluate.texts
  std::vector<evaluate::TaskResult> tasks;         // of evaluate.tasks
};

/// Prints scheme, step and precision, then the results.
void print_evaluations(const std::string& scheme, const Evaluations& evaluations);

/// The fields of metrics.jsonl ("val_loss", "ood_loss", ...), with scheme, step, precision and
/// perplexity, and the lines of evaluations.jsonl under "tasks".
nlohmann::ordered_json evaluations_as_json(const std::string& scheme,
                                           const Evaluations& evaluations,
                                           const evaluate::TaskSuite& suite);

}  // namespace evenkeel::cli
