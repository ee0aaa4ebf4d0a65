// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/task_figures.h"

#include <cmath>
#include <set>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/accuracy_difference.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/page_parts.h"

namespace evenkeel::report {

namespace {

constexpr double kPoints = 100;
constexpr int kTaskDecimals = 4;

std::string table_head(const std::string& name) {
  return element("th", name, "number");
}

std::string number_cell(const std::string& value) {
  return element("td", value, "number");
}

/// "26.3 ± 0.4" percent for an accuracy, "1.2345 ± 0.0012" else; "–" without a value.
std::string with_error(const TaskResults& task) {
  const double value = task.last(task.headline);
  if (!std::isfinite(value)) return "–";
  if (!task.chance) {
    return fixed(value, kTaskDecimals) + " ± " + fixed(task.standard_error, kTaskDecimals);
  }
  return fixed(kPoints * value, 1) + " ± " + fixed(kPoints * task.standard_error, 1) + " %";
}

std::string chance_text(const TaskResults& task) {
  return task.chance ? fixed(kPoints * *task.chance, 1) + " %" : "–";
}

std::string task_table(const std::vector<TaskResults>& tasks) {
  auto rows = element("tr", element("th", "task") + element("th", "metric") +
                                element("th", "rule") + table_head("value") + table_head("chance") +
                                table_head("bits per byte") + table_head("documents")) +
              "\n";
  for (const auto& task : tasks) {
    rows +=
        element("tr", element("td", escaped(task.label)) + element("td", escaped(task.headline)) +
                          element("td", escaped(task.rule)) + number_cell(with_error(task)) +
                          number_cell(chance_text(task)) +
                          number_cell(fixed(task.last("bpb"), kTaskDecimals)) +
                          number_cell(std::isfinite(task.documents)
                                          ? with_commas(std::llround(task.documents))
                                          : "–")) +
        "\n";
  }
  return element("div", element("table", rows), "scroll") +
         element("p",
                 "Value: the task's metric ± its standard error. Bits per byte: of the right "
                 "choices; it moves long before an accuracy leaves its chance level.",
                 "below");
}

/// Curves of one metric, one per task; at most kMostCurves.
Chart task_chart(const std::vector<TaskResults>& tasks, bool accuracies) {
  constexpr std::size_t kMostCurves = 14;
  Chart chart;
  chart.title = accuracies ? "Accuracy by task" : "Bits per byte of the right choices";
  chart.unit = accuracies ? "%" : "bits per byte";
  int number = 0;
  for (const auto& task : tasks) {
    const auto found = task.metrics.find(accuracies ? task.headline : "bpb");
    if (found == task.metrics.end() || (accuracies && !task.chance)) continue;
    if (chart.lines.size() == kMostCurves) break;
    auto points = found->second;
    if (accuracies) {
      for (auto& y : points.y) y *= kPoints;
    }
    chart.lines.push_back({task.label, std::move(points), number % kColours,
                           number / kColours % kDashes, Stroke::dotted});
    ++number;
  }
  return chart;
}

/// True if a task was scored at several steps.
bool has_curves(const std::vector<TaskResults>& tasks) {
  for (const auto& task : tasks) {
    for (const auto& [name, series] : task.metrics) {
      if (series.size() > 1) return true;
    }
  }
  return false;
}

/// The results of a run that can be compared with `other` document by document; nullptr if not.
const TaskResults* paired_with(const Run& run, const TaskResults& other) {
  const auto* const task = find(run.tasks, other.label, other.rule);
  const bool is_paired = task != nullptr && !task->is_correct.empty() &&
                         task->conditions == other.conditions &&
                         task->is_correct.size() == other.is_correct.size();
  return is_paired ? task : nullptr;
}

std::string difference_text(const AccuracyDifference& paired) {
  constexpr int kDigits = 2;
  return text(fixed(kPoints * paired.difference, 1), " [", fixed(kPoints * paired.low(), 1), ", ",
              fixed(kPoints * paired.high(), 1), "], p = ", with_digits(paired.p, kDigits));
}

/// The names of all tasks of the runs, with their rules.
std::set<std::pair<std::string, std::string>> task_names(const std::vector<Run>& runs) {
  std::set<std::pair<std::string, std::string>> names;
  for (const auto& run : runs) {
    for (const auto& task : run.tasks) names.emplace(task.label, task.rule);
  }
  return names;
}

/// Rows of differences to the first run; "" if no task of two runs can be paired.
std::string difference_rows(const std::vector<Run>& runs) {
  std::string rows;
  for (const auto& [label, rule] : task_names(runs)) {
    const auto* const first = find(runs.front().tasks, label, rule);
    if (first == nullptr || first->is_correct.empty()) continue;
    auto cells = element("td", escaped(label)) + element("td", escaped(first->headline));
    bool any = false;
    for (std::size_t i = 1; i < runs.size(); ++i) {
      const auto* const other = paired_with(runs[i], *first);
      any = any || other != nullptr;
      cells += number_cell(other == nullptr ? "–"
                                            : difference_text(accuracy_difference(
                                                  other->is_correct, first->is_correct)));
    }
    if (any) rows += element("tr", cells) + "\n";
  }
  return rows;
}

}  // namespace

std::string task_figures(const Run& run) {
  if (run.tasks.empty()) return "";
  auto out = task_table(run.tasks);
  if (!has_curves(run.tasks)) return out;
  return element("div", figure(task_chart(run.tasks, true)) + figure(task_chart(run.tasks, false)),
                 "figures") +
         out;
}

std::string text_figures(const Run& run) {
  if (run.texts.empty()) return "";
  Chart chart{"Loss by text", "nats per token"};
  int number = 0;
  for (const auto& [name, series] : run.texts) {
    chart.lines.push_back(
        {name, series, number % kColours, number / kColours % kDashes, Stroke::dotted});
    ++number;
  }
  return element("div", figure(chart), "figures");
}

std::string task_comparison(const std::vector<Run>& runs) {
  const auto names = task_names(runs);
  if (names.empty()) return "";
  auto head = element("th", "task") + element("th", "metric") + table_head("chance");
  for (const auto& run : runs) head += table_head(escaped(run.name));
  auto rows = element("tr", head) + "\n";
  for (const auto& [label, rule] : names) {
    std::string metric, chance = "–", cells;
    for (const auto& run : runs) {
      const auto* const task = find(run.tasks, label, rule);
      cells += number_cell(task == nullptr ? "–" : with_error(*task));
      if (task == nullptr) continue;
      metric = task->headline;
      chance = chance_text(*task);
    }
    rows += element("tr", element("td", escaped(label)) + element("td", escaped(metric)) +
                              number_cell(chance) + cells) +
            "\n";
  }
  auto out = element("div", element("table", rows), "scroll");
  const auto differences = difference_rows(runs);
  if (differences.empty()) return out;
  head = element("th", "task") + element("th", "metric");
  for (std::size_t i = 1; i < runs.size(); ++i) {
    head += table_head(escaped(runs[i].name) + " minus " + escaped(runs.front().name));
  }
  return out +
         element("div", element("table", element("tr", head) + "\n" + differences), "scroll") +
         element(
             "p",
             "Differences of accuracies in percentage points, paired by document: 95 % interval "
             "and exact McNemar test. An interval that contains 0 is no evidence of a "
             "difference; of twenty comparisons of equal models, one has p below 0.05. The "
             "intervals do not contain the variation between seeds.",
             "below");
}

}  // namespace evenkeel::report
