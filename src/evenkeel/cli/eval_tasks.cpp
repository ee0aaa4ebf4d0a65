// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/eval_tasks.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/data/new_file.h"
#include "evenkeel/report/report.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/tasks/labels.h"
#include "evenkeel/tasks/metric.h"

namespace evenkeel::cli {

namespace {

using TableRow = std::vector<std::string>;

std::string padded_left(const std::string& cell, std::size_t width) {
  return std::string(width - std::min(width, cell.size()), ' ') + cell;
}

std::string padded_right(const std::string& cell, std::size_t width) {
  return cell + std::string(width - std::min(width, cell.size()), ' ');
}

/// Rows as text: the first two columns flush left, numbers flush right.
std::string aligned(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += i < 2 ? padded_right(row[i], widths[i]) : padded_left(row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

/// "26.31 %", or four decimals where the metric is no share; "-" for a standard error of one
/// document.
std::string value_text(double value, bool is_share) {
  constexpr double kPercent = 100;
  if (!std::isfinite(value)) return "-";
  return is_share ? with_decimals(kPercent * value, 2) + " %" : with_decimals(value, 4);
}

TableRow table_row(const evaluate::TaskResult& result) {
  const auto& score = result.score;
  const auto& headline = score.metrics.front();
  const bool is_share = score.chance.has_value() || headline.name == "f1";
  const auto bits = std::find_if(score.metrics.begin(), score.metrics.end(),
                                 [](const auto& metric) { return metric.name == "bpb"; });
  const bool has_bits = bits != score.metrics.end() && bits->name != headline.name;
  return {result.task->task.label,
          headline.name,
          value_text(headline.value, is_share),
          value_text(headline.standard_error, is_share),
          score.chance ? value_text(*score.chance, true) : std::string(),
          has_bits ? with_decimals(bits->value, 4) : std::string(),
          with_commas(static_cast<std::int64_t>(score.documents.size()))};
}

/// The unweighted mean of the accuracies of several tasks, as the tables of papers have it; "" for
/// fewer than two.
std::string mean_line(const std::vector<evaluate::TaskResult>& results) {
  double sum = 0;
  int count = 0;
  for (const auto& result : results) {
    if (!result.score.chance) continue;
    sum += result.score.metrics.front().value;
    ++count;
  }
  if (count < 2) return "";
  return text("mean of ", count, " accuracies: ", value_text(sum / count, true), "\n");
}

/// "label: " and a sentence, for what a reader of the number should know.
std::string notes_of(const evaluate::TaskResult& result) {
  const auto& [task, rows] = *result.task;
  std::string notes;
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) notes += text("  ", task.label, ": ", with_commas(count), what, "\n");
  };
  for (const auto& tag : result.score.tags) {
    notes += text("  ", task.label, ", ", tag.tag, ": ", value_text(tag.value, true), " of ",
                  with_commas(tag.documents), " documents\n");
  }
  add(rows.truncated, " rows are longer than evaluate.max_context and lose their beginning");
  add(task.skipped_rows, " rows without a context are skipped");
  add(rows.encoded_differently,
      " rows have other tokens if context and continuation are encoded together");
  add(result.score.ties, " ties, which the first choice wins");
  return notes;
}

}  // namespace

RowProgress::RowProgress(std::int64_t rows, const char* unit, bool is_shown)
    : rows_(rows), unit_(unit), is_shown_(is_shown && ::isatty(STDERR_FILENO) == 1) {}

void RowProgress::show(std::int64_t done) {
  constexpr std::chrono::milliseconds kPause(200);
  const auto now = Clock::now();
  if (!is_shown_ || now - last_ < kPause) return;
  last_ = now;
  const std::chrono::duration<double> seconds = now - started_;
  const double rate = static_cast<double>(done) / seconds.count();
  print_progress(text("\r", with_commas(done), " of ", with_commas(rows_), " ", unit_, ", ",
                      with_decimals(rate, 0), " ", unit_, "/s, ",
                      duration_text(static_cast<double>(rows_ - done) / rate), " left   "));
}

void RowProgress::finish() {
  if (is_shown_) erase_progress();
}

std::string task_table(const std::vector<evaluate::TaskResult>& results) {
  std::vector<TableRow> rows = {
      {"task", "metric", "value", "std. error", "chance", "bits per byte", "documents"}};
  std::string notes;
  for (const auto& result : results) {
    rows.push_back(table_row(result));
    notes += notes_of(result);
  }
  return aligned(rows) + mean_line(results) + notes;
}

void list_tasks(bool as_json) {
  if (as_json) {
    auto all = nlohmann::ordered_json::array();
    for (const auto& label : tasks::labels()) {
      all.push_back({{"label", label.name}, {"metric", tasks::name_of(label.metric)}});
    }
    return print_json(all);
  }
  std::vector<TableRow> rows = {{"name", "metric"}};
  for (const auto& group : tasks::label_groups()) {
    const auto count = tasks::expand_labels({group}).size();
    rows.push_back({group, text("(group of ", count, " labels)")});
  }
  for (const auto& label : tasks::labels()) {
    rows.push_back({label.name, tasks::name_of(label.metric)});
  }
  print("%s", aligned(rows).c_str());
}

void LinesFile::append(const std::vector<nlohmann::ordered_json>& lines) {
  for (const auto& each : lines) {
    const auto line = store::json_line(each);
    file_.append(line.data(), line.size());
  }
}

void check_rows_file(const std::filesystem::path& rows, const evaluate::TaskSuite& suite) {
  if (suite.tasks().empty()) {
    throw Error(Exit::usage, "--rows needs a task; set --task or evaluate.tasks");
  }
  for (const auto& each : suite.tasks()) {
    std::error_code none;
    if (!std::filesystem::equivalent(rows, each.task.source, none)) continue;
    throw Error(Exit::usage, text("--rows must be another file than the task ", rows.string(),
                                  "; name a new file"));
  }
}

std::string record_in_run(const std::filesystem::path& run,
                          const std::vector<nlohmann::ordered_json>& lines) {
  try {
    const store::Lock lock(run);
    lock.check_path();
    store::JsonLinesFile records(lock.directory(), "evaluations.jsonl");
    for (const auto& line : lines) records.append(line);
    report::write_run_report(lock.directory());
  } catch (const Error& error) {
    return text("the results are not recorded in the run: ", error.what());
  }
  return "";
}

}  // namespace evenkeel::cli
