// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/evaluate/task_suite.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/data/token_corpus.h"
#include "evenkeel/evaluate/row_scores.h"
#include "evenkeel/tasks/labels.h"
#include "evenkeel/tasks/load_task.h"
#include "evenkeel/tasks/task_files.h"

namespace evenkeel::evaluate {

namespace {

/// The rows of all tasks, one list after another.
std::vector<tasks::TokenRow> all_rows(const std::vector<EncodedTask>& tasks) {
  std::vector<tasks::TokenRow> rows;
  for (const auto& each : tasks) {
    rows.insert(rows.end(), each.rows.rows.begin(), each.rows.rows.end());
  }
  return rows;
}

/// Whether each document is right, first document first: a bit each, four bits a hexadecimal digit.
std::string correct_hex(const tasks::TaskScore& score) {
  constexpr std::size_t kBits = 4;
  const auto& documents = score.documents;
  std::string digits;
  for (std::size_t first = 0; first < documents.size(); first += kBits) {
    unsigned value = 0;
    for (std::size_t i = first; i < first + kBits; ++i) {
      value = value * 2 + (i < documents.size() && documents[i].is_correct ? 1 : 0);
    }
    digits += "0123456789abcdef"[value];
  }
  return digits;
}

/// A number as JSON; null if it is not finite.
nlohmann::ordered_json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace

std::int64_t max_context_of(const config::Config& config) {
  constexpr std::int64_t kMost = 2048;  // OLMo's
  const auto context = config.model.context;
  const auto wanted = config.evaluate.max_context;
  return wanted == 0 ? std::min(kMost, context) : wanted;
}

TaskSuite::TaskSuite(const config::Config& config, const data::TextEncoding& encoding,
                     std::int64_t vocabulary)
    : rule_(tasks::rule_of(config.evaluate.rule)),
      scores_in_bfloat16_(config.evaluate.score_precision == "bfloat16"),
      max_context_(max_context_of(config)),
      begins_(!encoding.prompt("").empty()),
      tokenizer_digest_(encoding.tokenizer().digest()) {
  const auto& evaluate = config.evaluate;
  if (evaluate.tasks.empty()) return;
  data::check_tokenizer_is_known(config.data, encoding, vocabulary, "evaluate.tasks");
  const auto folder = tasks::task_folder(evaluate.task_folder);
  const tasks::EncodingOptions options = {
      .rule = rule_, .max_context = max_context_, .vocabulary = vocabulary};
  for (const auto& label : tasks::expand_labels(evaluate.tasks)) {
    auto task = tasks::load_task(label, folder);
    const auto documents = static_cast<std::size_t>(evaluate.task_documents);
    if (documents > 0 && documents < task.documents.size()) task.documents.resize(documents);
    auto rows = tasks::encode(task, encoding, options);
    tasks_.push_back({std::move(task), std::move(rows)});
  }
}

std::int64_t TaskSuite::row_count() const {
  std::size_t count = 0;
  for (const auto& each : tasks_) count += each.rows.rows.size();
  return static_cast<std::int64_t>(count);
}

std::vector<TaskResult> TaskSuite::evaluate(const nn::Model& model,
                                            const std::function<bool(std::int64_t)>& on_progress,
                                            const EvaluationShare& share) const {
  const auto scores = score_rows(model, all_rows(tasks_),
                                 {.scores_in_bfloat16 = scores_in_bfloat16_,
                                  .max_context = max_context_,
                                  .on_progress = on_progress,
                                  .share = share});
  std::vector<TaskResult> results;
  if (scores.empty()) return results;
  auto first = scores.begin();
  for (const auto& each : tasks_) {
    const auto last = first + static_cast<std::ptrdiff_t>(each.rows.rows.size());
    TaskResult result{&each, {}, {first, last}};
    result.score = tasks::score(each.task, result.rows, {rule_, scores_in_bfloat16_});
    results.push_back(std::move(result));
    first = last;
  }
  return results;
}

std::vector<nlohmann::ordered_json> TaskSuite::records(const TaskResult& result, std::int64_t step,
                                                       const char* command) const {
  const auto& [task, rows] = *result.task;
  std::vector<nlohmann::ordered_json> lines;
  for (const auto& metric : result.score.metrics) {
    nlohmann::ordered_json line = {
        {"step", step},
        {"command", command},
        {"label", task.label},
        {"rule", tasks::name_of(rule_)},
        {"metric", metric.name},
        {"value", metric.value},
        {"stderr", number_or_null(metric.standard_error)},
        {"n", result.score.documents.size()},
        {"ties", result.score.ties},
        {"max_context", max_context_},
        {"truncated", rows.truncated},
        {"score_precision", scores_in_bfloat16_ ? "bfloat16" : "float32"},
        {"task_digest", task.digest},
        {"tokenizer_digest", tokenizer_digest_},
        {"begin", begins_}};
    const bool is_headline = &metric == &result.score.metrics.front();
    if (is_headline) {
      line["headline"] = true;
      line["skipped_rows"] = task.skipped_rows;
      line["encoded_differently"] = rows.encoded_differently;
    }
    if (is_headline && result.score.chance) {
      line["chance"] = *result.score.chance;
      line["correct"] = correct_hex(result.score);
    }
    lines.push_back(std::move(line));
  }
  for (const auto& tag : result.score.tags) {
    lines.front()["tags"][tag.tag] = {{"n", tag.documents}, {"value", tag.value}};
  }
  return lines;
}

nlohmann::ordered_json TaskSuite::provenance() const {
  auto out = nlohmann::ordered_json::object();
  if (tasks_.empty()) return out;
  std::vector<std::string> digests;
  auto files = nlohmann::ordered_json::array();
  for (const auto& each : tasks_) {
    digests.push_back(each.task.digest);
    const auto& task = each.task;
    files.push_back({{"label", task.label}, {"path", task.source}, {"digest", task.digest}});
  }
  out["evaluate_tasks_digest"] = tasks::digest_of_tasks(digests);
  out["evaluate_tasks"] = std::move(files);
  return out;
}

std::vector<nlohmann::ordered_json> TaskSuite::row_records(const TaskResult& result,
                                                           std::int64_t step) const {
  const auto& [task, encoded] = *result.task;
  std::vector<nlohmann::ordered_json> lines;
  std::size_t row = 0;
  for (std::size_t i = 0; i < task.documents.size(); ++i) {
    const auto& document = task.documents[i];
    for (std::size_t choice = 0; choice < document.rows.size(); ++choice, ++row) {
      const auto& score = result.rows[row];
      lines.push_back({{"step", step},
                       {"label", task.label},
                       {"document", document.id},
                       {"choice", choice},
                       {"gold", document.gold},
                       {"log_probability", number_or_null(score.log_probability)},
                       {"greedy", score.is_greedy},
                       {"tokens", encoded.rows[row].targets.size()},
                       {"correct", result.score.documents[i].is_correct}});
    }
  }
  return lines;
}

}  // namespace evenkeel::evaluate
