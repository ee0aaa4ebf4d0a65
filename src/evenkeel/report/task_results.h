// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/report/series.h"

namespace evenkeel::report {

/// The scores of a task in one run.
struct TaskResults {
  std::string label, rule;
  std::string headline;                   // name of the task's own metric: "len_norm"
  std::map<std::string, Series> metrics;  // by name, over steps
  // Of the last step.
  double standard_error = 0;      // of the headline metric
  double documents = 0;           // n
  std::optional<double> chance;   // accuracy of a random choice; nullopt: the metric is no accuracy
  std::vector<bool> is_correct;   // by document; empty: unknown, or the metric is no accuracy
  std::string conditions;         // digests and options: results with others cannot be compared
  bool is_from_training = false;  // a record is of `train`, not of `eval`

  /// The last value of a metric; NaN if there is none.
  double last(const std::string& metric) const;
};

/// The records of evaluations.jsonl by task, rule and conditions, in the order of labels. A later
/// record of the same step wins. Damaged records are left out; at most 400 tasks are kept.
std::vector<TaskResults> task_results(const std::vector<nlohmann::json>& records);

/// True if label, rule and conditions are equal.
bool is_same_task(const TaskResults& a, const TaskResults& b);

/// The results with label, rule and conditions of `other`; nullptr if there are none.
const TaskResults* find(const std::vector<TaskResults>& results, const TaskResults& other);

/// The results of a task that the run recorded; nullptr if there are none.
const TaskResults* find_of_training(const std::vector<TaskResults>& results,
                                    const std::string& label);

/// Hexadecimal digits to bits, first document first; four documents a digit.
std::vector<bool> bits_of_hex(const std::string& digits, std::size_t count);

}  // namespace evenkeel::report
