// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace evenkeel::tasks {

/// The metric that a task's label names: what its headline number is.
/// \source OLMo, olmo/eval/downstream.py
enum class Metric {
  acc,       // share of documents whose gold choice has the largest sum of log-probabilities
  len_norm,  // the same, of the sum divided by the characters of the choice
  ce_loss,   // nats per character of the gold choice
  bpb,       // bits per byte of the gold choice
  f1,        // F1 of choice 0 as the positive class
};

/// A context and one continuation of it, whose tokens are scored.
struct Row {
  std::string context;       // UTF-8
  std::string continuation;  // UTF-8; begins with a space in most tasks
};

/// One question with its choices. Contexts of the choices may differ (WinoGrande).
struct Document {
  std::int64_t id = 0;
  std::vector<Row> rows;  // by choice; ce_loss and bpb: the gold choice alone
  std::size_t gold = 0;   // index of the right choice in `rows`
  std::string tag;        // a subset that is reported by itself ("easy"); may be empty
};

/// A multiple-choice task, or the gold answers of one.
struct Task {
  std::string label;  // as OLMo names it; of a file that the user names: its path
  Metric metric = Metric::acc;
  std::vector<Document> documents;  // in the order of their ids
  std::int64_t skipped_rows = 0;  // rows without a context (id >= 1,000,000), which are not scored
  std::string source;             // folder or file that it was read from
  std::string digest;             // XXH3-128 of the files that it was read from, 32 hex digits
};

}  // namespace evenkeel::tasks
