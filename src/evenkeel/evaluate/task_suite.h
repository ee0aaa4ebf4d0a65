// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/evaluate/evaluation.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/tasks/task.h"
#include "evenkeel/tasks/task_score.h"
#include "evenkeel/tasks/token_rows.h"

namespace evenkeel::evaluate {

/// A task as tokens of a run's tokenizer.
struct EncodedTask {
  tasks::Task task;  // with at most evaluate.task_documents documents
  tasks::TokenRows rows;
};

/// The scores of a task.
struct TaskResult {
  const EncodedTask* task = nullptr;
  tasks::TaskScore score;
  std::vector<tasks::RowScore> rows;  // document by document
};

/// The tasks of evaluate.tasks for the model of a run.
class TaskSuite {
 public:
  /// Reads and encodes the tasks.
  /// \param vocabulary  of the model
  /// \throws Error (usage, data) as tasks::load_task() and tasks::encode()
  TaskSuite(const config::Config& config, const data::TextEncoding& encoding,
            std::int64_t vocabulary);

  const std::vector<EncodedTask>& tasks() const { return tasks_; }
  /// Tokens of a row at most: evaluate.max_context.
  std::int64_t max_context() const { return max_context_; }
  /// All rows of all tasks.
  std::int64_t row_count() const;

  /// Scores all tasks, in their order.
  /// \param on_progress  called with the number of rows that are scored; false ends the scoring;
  /// may
  ///                     be empty
  /// \param share  of several processes, which all get the same results: their bits are those of
  ///               one
  /// \return empty if on_progress() ended the scoring, in any process
  /// \throws Error (diverged) as tasks::score()
  std::vector<TaskResult> evaluate(const nn::Model& model,
                                   const std::function<bool(std::int64_t)>& on_progress = {},
                                   const EvaluationShare& share = {}) const;

  /// The lines of evaluations.jsonl for a result, one a metric (docs/run_folder.md).
  /// \param command  "train" or "eval"
  std::vector<nlohmann::ordered_json> records(const TaskResult& result, std::int64_t step,
                                              const char* command) const;

  /// The fields of "data" in provenance.json: "evaluate_tasks_digest", and "evaluate_tasks", label,
  /// path and digest of each task. Empty without tasks.
  nlohmann::ordered_json provenance() const;

  /// The lines of a file of rows (docs/evaluation.md): one a row of the result.
  std::vector<nlohmann::ordered_json> row_records(const TaskResult& result,
                                                  std::int64_t step) const;

 private:
  tasks::Rule rule_;
  bool scores_in_bfloat16_;
  std::int64_t max_context_;
  bool begins_;  // contexts begin with end-of-text
  std::string tokenizer_digest_;
  std::vector<EncodedTask> tasks_;
};

/// The largest length of a row in tokens: evaluate.max_context; "auto" is min(2048, model.context).
std::int64_t max_context_of(const config::Config& config);

}  // namespace evenkeel::evaluate
