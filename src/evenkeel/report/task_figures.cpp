// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/task_figures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
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

/// "26.3 ± 0.4" percent for an accuracy, "1.2345 ± 0.0012" else; "–" without a value. One
/// document has no error.
std::string with_error(const TaskResults& task) {
  const double value = task.last(task.headline);
  if (!std::isfinite(value)) return "–";
  const double scale = task.chance ? kPoints : 1;
  const int decimals = task.chance ? 1 : kTaskDecimals;
  std::string shown = fixed(scale * value, decimals);
  if (std::isfinite(task.standard_error)) {
    shown += " ± " + fixed(scale * task.standard_error, decimals);
  }
  return shown + (task.chance ? " %" : "");
}

std::string chance_text(const TaskResults& task) {
  return task.chance ? fixed(kPoints * *task.chance, 1) + " %" : "–";
}

std::string documents_text(const TaskResults& task) {
  return std::isfinite(task.documents) ? with_commas(std::llround(task.documents)) : "–";
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
    if (chart.lines.size() == kMostCurves) {
      chart.note = text("The first ", kMostCurves, " tasks.");
      break;
    }
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

/// "copa", or "copa (lm_eval)" under a rule that is not the default.
std::string name_of(const TaskResults& task) {
  return escaped(task.rule == "olmo" || task.rule.empty() ? task.label
                                                          : task.label + " (" + task.rule + ")");
}

std::string difference_text(const AccuracyDifference& paired) {
  constexpr int kDigits = 2;
  return text(fixed(kPoints * paired.difference, 1), " [", fixed(kPoints * paired.low(), 1), ", ",
              fixed(kPoints * paired.high(), 1), "], p = ", with_digits(paired.p, kDigits));
}

/// The tasks of all runs, each label, rule and conditions once.
std::vector<const TaskResults*> distinct_tasks(const std::vector<Run>& runs) {
  std::vector<const TaskResults*> tasks;
  for (const auto& run : runs) {
    for (const auto& task : run.tasks) {
      const bool is_known = std::any_of(tasks.begin(), tasks.end(), [&](const TaskResults* known) {
        return is_same_task(*known, task);
      });
      if (!is_known) tasks.push_back(&task);
    }
  }
  return tasks;
}

/// One row per task: what `cell` gives for each run from `first` on; "–" without results.
template <typename Cell>
std::string rows_by_task(const std::vector<Run>& runs, std::size_t first, const Cell& cell) {
  std::string rows;
  for (const auto* const task : distinct_tasks(runs)) {
    std::string cells;
    bool any = false;
    for (auto i = first; i < runs.size(); ++i) {
      const auto* const of_run = find(runs[i].tasks, *task);
      const auto content = of_run == nullptr ? std::string() : cell(*of_run);
      any = any || !content.empty();
      cells += number_cell(content.empty() ? "–" : content);
    }
    if (!any) continue;
    rows += element("tr", element("td", name_of(*task)) + element("td", escaped(task->headline)) +
                              number_cell(documents_text(*task)) + number_cell(chance_text(*task)) +
                              cells) +
            "\n";
  }
  return rows;
}

/// A table with the columns of rows_by_task(). \param names  of the other columns, HTML
std::string table_by_task(const std::vector<std::string>& names, const std::string& rows) {
  auto head = element("th", "task") + element("th", "metric") + table_head("documents") +
              table_head("chance");
  for (const auto& name : names) head += table_head(name);
  return element("div", element("table", element("tr", head) + "\n" + rows), "scroll");
}

/// Differences of accuracies to the first run; "" if no task of two runs can be paired.
std::string difference_rows(const std::vector<Run>& runs) {
  return rows_by_task(runs, 1, [&](const TaskResults& task) -> std::string {
    const auto* const first = find(runs.front().tasks, task);
    const bool is_paired = first != nullptr && !first->is_correct.empty() &&
                           first->is_correct.size() == task.is_correct.size();
    if (!is_paired) return "";
    return difference_text(accuracy_difference(task.is_correct, first->is_correct));
  });
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
  const auto values =
      rows_by_task(runs, 0, [](const TaskResults& task) { return with_error(task); });
  if (values.empty()) return "";
  std::vector<std::string> names, differences;
  for (const auto& run : runs) {
    names.push_back(escaped(run.name));
    differences.push_back(names.back() + " minus " + names.front());
  }
  differences.erase(differences.begin());
  const auto bits = rows_by_task(runs, 0, [](const TaskResults& task) {
    const double value = task.last("bpb");
    return std::isfinite(value) ? fixed(value, kTaskDecimals) : std::string();
  });
  auto out = table_by_task(names, values);
  if (!bits.empty()) {
    out += element("h3", "Bits per byte of the right choices") + table_by_task(names, bits);
  }
  const auto rows = difference_rows(runs);
  if (rows.empty()) return out;
  return out + element("h3", "Differences, paired by document") + table_by_task(differences, rows) +
         element(
             "p",
             "Percentage points with the 95 % interval of Agresti and Min, and the exact McNemar "
             "test. An interval that contains 0 is no evidence of a difference; of twenty "
             "comparisons of equal models, one has p below 0.05. The intervals do not contain "
             "the variation between seeds.",
             "below");
}

}  // namespace evenkeel::report
