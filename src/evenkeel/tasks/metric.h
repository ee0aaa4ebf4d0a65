// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/tasks/task.h"

namespace evenkeel::tasks {

/// The name of a metric in labels, files and keys of results: "len_norm".
const char* name_of(Metric metric);

/// All names, in the order of Metric.
std::vector<std::string> metric_names();

/// The metric of this name, or of the name that OLMES gives it in a config.json ("acc_per_char").
/// \source OLMo, METRIC_FROM_OE_EVAL in olmo/eval/downstream.py
std::optional<Metric> find_metric(std::string_view name);

/// True if only the gold choice of a document is scored: ce_loss and bpb.
bool scores_gold_alone(Metric metric);

}  // namespace evenkeel::tasks
