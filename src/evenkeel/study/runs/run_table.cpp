// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/run_table.h"

#include <charconv>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/study/report/outcome.h"

namespace evenkeel::study {

using State = SeedRun::State;

RunTable::RunTable(const std::filesystem::path& file, const Study& study) : name_(file.string()) {
  rows_ = csv_rows(read_file(file), name_);
  if (rows_.empty()) refuse(1, "wanted the header of a runs.csv, but the file is empty");
  for (std::size_t i = 0; i < rows_.front().fields.size(); ++i) {
    columns_[rows_.front().fields[i]] = i;
  }
  std::vector<std::string> wanted = {"seed", "state", "value"};
  for (const auto& axis : study.axes) wanted.push_back(axis.name);
  for (const auto& column : wanted) {
    if (!has(column)) refuse(1, text("has no column \"", column, "\" of study ", study.name));
  }
  for (const auto& row : rows_) {
    if (row.fields.size() != rows_.front().fields.size()) {
      refuse(row.line, text("has ", row.fields.size(), " fields, but the header has ",
                            rows_.front().fields.size()));
    }
  }
  rows_.erase(rows_.begin());
  for (const auto& row : rows_) check_study(row, study);
}

std::string RunTable::cell(const CsvRow& row, const std::string& column) const {
  const auto found = columns_.find(column);
  return found == columns_.end() ? "" : row.fields[found->second];
}

double RunTable::cell_number(const CsvRow& row, const std::string& column) const {
  const auto content = cell(row, column);
  if (content.empty()) return std::nan("");
  const auto value = number_of(content);
  if (!value) refuse(row.line, text(column, " must be a number, but is \"", content, "\""));
  return *value;
}

std::int64_t RunTable::seed(const CsvRow& row) const {
  const auto content = cell(row, "seed");
  std::int64_t value = 0;
  const auto read = std::from_chars(content.data(), content.data() + content.size(), value);
  if (read.ec != std::errc() || read.ptr != content.data() + content.size()) {
    refuse(row.line, text("seed must be an integer, but is \"", content, "\""));
  }
  return value;
}

State RunTable::state(const CsvRow& row) const {
  const auto content = cell(row, "state");
  for (const auto state : {State::finished, State::failed, State::crashed, State::missing}) {
    if (to_string(state) == content) return state;
  }
  refuse(row.line,
         text("state must be finished, failed, crashed or missing, but is \"", content, "\""));
}

void RunTable::refuse(std::size_t line, const std::string& what) const {
  throw Error(Exit::data, text(name_, ", line ", line, ": ", what));
}

/// Files of earlier versions have no columns "study" and "size".
void RunTable::check_study(const CsvRow& row, const Study& study) const {
  const auto check = [&](const std::string& column, const std::string& wanted) {
    const auto found = has(column) ? cell(row, column) : wanted;
    if (found == wanted) return;
    refuse(row.line, text("is of the ", column, " \"", found, "\", but the command is for \"",
                          wanted, "\"; name it"));
  };
  check("study", study.name);
  check("size", study.size);
}

}  // namespace evenkeel::study
