// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/tasks/rule.h"
#include "evenkeel/tasks/task.h"

namespace evenkeel::tasks {

/// The score of a continuation.
struct RowScore {
  double log_probability = 0;  // of the continuation after its context, nats
  bool is_greedy = false;      // each token is the most probable one
};

/// The metrics of one document.
struct DocumentScore {
  std::int64_t id = 0;
  std::size_t choice = 0;      // that the task's metric selects: the first of the largest
  bool is_correct = false;     // `choice` is gold
  bool is_tie = false;         // two choices have the largest value
  std::vector<double> values;  // of Score::names, in their order
};

/// A metric of a task with its standard error.
struct MetricValue {
  std::string name;           // "acc", "len_norm", "bpb", ...
  double value = 0;           // accuracy: a share, 0 to 1
  double standard_error = 0;  // of the mean over documents; NaN with one document
  bool is_larger_better = true;
};

/// The metrics of the documents with one tag.
struct TagScore {
  std::string tag;
  std::int64_t documents = 0;
  double value = 0;  // of the headline metric
};

/// All metrics of a task.
struct TaskScore {
  std::vector<MetricValue> metrics;      // the headline metric of the task first
  std::vector<DocumentScore> documents;  // in the order of Task::documents
  std::int64_t ties = 0;                 // documents with is_tie
  std::optional<double> chance;          // expected accuracy of a random choice; of acc, len_norm
  std::vector<TagScore> tags;            // in the order of their first documents; or empty
};

/// How scores are computed.
struct ScoreOptions {
  Rule rule = Rule::olmo;
  bool rounds_to_bfloat16 = false;  // quotients are rounded to bfloat16, as OLMo's published scores
};

/// The metrics of a task from the scores of its rows.
///
///   acc       gold = argmax_i S_i;     len_norm  gold = argmax_i S_i / characters_i
///   ce_loss   -S_gold / characters;    bpb       -S_gold / bytes / ln 2
///   soft      softmax_i(value)[gold];  soft_log  its logarithm; value as in the headline metric
///   f1        of choice 0 as the positive class, by argmax_i S_i
///
/// S is the log-probability of a continuation. Characters (code points) and bytes are counted
/// without the space before the continuation; Rule::olmo_v2 counts it. Rule::lm_eval has the names
/// of lm-evaluation-harness: acc, acc_norm (as len_norm), acc_bytes, brier.
///
/// \param rows  document by document, as tasks::encode() gives them
/// \throws Error (diverged, exit code 76), with task and document, for a score that is not a number
/// \source OLMo, olmo/eval/downstream.py (ICLMetric); ai2-olmo-eval 0.9.0, metrics.py;
///         lm-evaluation-harness 0.4, lm_eval/api/task.py (process_results)
TaskScore score(const Task& task, const std::vector<RowScore>& rows, const ScoreOptions& options);

}  // namespace evenkeel::tasks
