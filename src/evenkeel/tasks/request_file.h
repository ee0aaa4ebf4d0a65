// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "evenkeel/tasks/task.h"

namespace evenkeel::tasks {

/// The documents of a request file.
struct RequestFile {
  std::vector<Document> documents;  // in the order of their ids
  std::int64_t skipped_rows = 0;    // unconditional rows, whose id is 1,000,000 or more
};

/// Reads requests.jsonl, plain or compressed with gzip or zstd: one JSON object per row, a row per
/// choice of a document.
///
///   {"doc_id": 0, "idx": 1, "label": 1, "request": {"context": "Q", "continuation": " A"}}
///
/// A row that is repeated with equal texts counts once. ce_loss and bpb take the row of the label;
/// with a label that is null, the first row; with answers as label (a string or a list), too.
/// \source OLMo, OEEvalTask in olmo/eval/downstream.py
/// \throws Error (data, exit code 65), with the file, the line and the document: for damaged
///         compression, text that is not UTF-8, a line that is no request, a choice that is missing
///         or has two texts, a label outside of the choices, and a file without rows
RequestFile read_request_file(const std::string& path, Metric metric);

/// The config.json next to a request file, which may be missing.
std::filesystem::path config_of_requests(const std::filesystem::path& request_file);

/// The metric that the config.json next to a request file names (`task_config.primary_metric`), or
/// acc without one.
/// \throws Error (data, exit code 65) for a file that is not JSON, or another metric
Metric metric_of_config(const std::filesystem::path& request_file);

}  // namespace evenkeel::tasks
