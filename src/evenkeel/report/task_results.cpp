// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/task_results.h"

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/report/json_field.h"

namespace evenkeel::report {

namespace {

using nlohmann::json;

/// A task while its records are read.
struct TaskRecords {
  std::map<std::string, std::map<double, double>> metrics;  // by name and step
  std::map<double, json> headlines;                         // by step: the record of the headline
  std::set<std::pair<std::string, double>> trained;         // metrics and steps of the training
  bool is_from_training = false;
};

constexpr double kMostDocuments = 1e7;

/// What must be equal for a comparison of two results document by document.
std::string conditions_of(const json& record) {
  std::string conditions;
  for (const auto* const key :
       {"task_digest", "n", "max_context", "score_precision", "begin", "tokenizer_digest"}) {
    conditions += word(record, key) + " ";
  }
  return conditions;
}

/// Label, rule and conditions.
using TaskName = std::array<std::string, 3>;

TaskResults results_of(const TaskName& name, const TaskRecords& records) {
  TaskResults results{.label = name[0], .rule = name[1]};
  for (const auto& [metric, values] : records.metrics) {
    for (const auto& [step, value] : values) results.metrics[metric].add(step, value);
  }
  if (records.headlines.empty()) return results;
  const auto& last = records.headlines.rbegin()->second;
  results.headline = word(last, "metric");
  results.standard_error = number(last, "stderr");
  results.documents = number(last, "n");
  results.conditions = name[2];
  results.is_from_training = records.is_from_training;
  if (const double chance = number(last, "chance"); std::isfinite(chance)) results.chance = chance;
  if (results.documents > 0 && results.documents <= kMostDocuments) {
    results.is_correct =
        bits_of_hex(word(last, "correct"), static_cast<std::size_t>(results.documents));
  }
  return results;
}

}  // namespace

double TaskResults::last(const std::string& metric) const {
  const auto found = metrics.find(metric);
  return found == metrics.end() ? std::numeric_limits<double>::quiet_NaN()
                                : last_finite(found->second.y);
}

std::vector<TaskResults> task_results(const std::vector<json>& records) {
  constexpr std::size_t kMostTasks = 400, kMostMetrics = 16;
  std::map<TaskName, TaskRecords> tasks;
  for (const auto& record : records) {
    const double step = step_of(record), value = number(record, "value");
    const auto label = word(record, "label"), metric = word(record, "metric");
    if (!std::isfinite(step) || !std::isfinite(value) || label.empty() || metric.empty()) continue;
    const TaskName name = {label, word(record, "rule"), conditions_of(record)};
    if (!tasks.contains(name) && tasks.size() == kMostTasks) continue;
    auto& task = tasks[name];
    if (!task.metrics.contains(metric) && task.metrics.size() == kMostMetrics) continue;
    const bool is_trained = word(record, "command") == "train";
    // The weights of a step have one value; `eval` may compute it in another precision.
    if (!is_trained && task.trained.contains({metric, step})) continue;
    if (is_trained) task.trained.insert({metric, step});
    task.metrics[metric][step] = value;
    const auto is_headline = record.find("headline");
    task.is_from_training = task.is_from_training || is_trained;
    if (is_headline != record.end() && *is_headline == true) task.headlines[step] = record;
  }
  std::vector<TaskResults> results;
  results.reserve(tasks.size());
  for (const auto& [name, of_task] : tasks) results.push_back(results_of(name, of_task));
  return results;
}

bool is_same_task(const TaskResults& a, const TaskResults& b) {
  return a.label == b.label && a.rule == b.rule && a.conditions == b.conditions;
}

const TaskResults* find(const std::vector<TaskResults>& results, const TaskResults& other) {
  for (const auto& each : results) {
    if (is_same_task(each, other)) return &each;
  }
  return nullptr;
}

const TaskResults* find_of_training(const std::vector<TaskResults>& results,
                                    const std::string& label) {
  for (const auto& each : results) {
    if (each.label == label && each.is_from_training) return &each;
  }
  return nullptr;
}

std::vector<bool> bits_of_hex(const std::string& digits, std::size_t count) {
  constexpr std::size_t kDigitBits = 4;
  if (digits.size() != (count + kDigitBits - 1) / kDigitBits) return {};
  std::vector<bool> bits;
  for (std::size_t i = 0; i < count; ++i) {
    const char digit = digits[i / kDigitBits];
    const bool is_decimal = digit >= '0' && digit <= '9';
    if (!is_decimal && (digit < 'a' || digit > 'f')) return {};
    const int value = is_decimal ? digit - '0' : digit - 'a' + 10;
    bits.push_back((value >> (kDigitBits - 1 - i % kDigitBits) & 1) == 1);
  }
  return bits;
}

}  // namespace evenkeel::report
