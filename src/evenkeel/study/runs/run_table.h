// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/report/csv.h"

namespace evenkeel::study {

/// The table of a runs.csv: cells by the name of their column.
class RunTable {
 public:
  /// \throws Error (data, exit code 65) if the file is no runs.csv of the study; (io, 74)
  RunTable(const std::filesystem::path& file, const Study& study);

  const std::vector<CsvRow>& rows() const { return rows_; }
  bool has(const std::string& column) const { return columns_.contains(column); }

  /// "" if the file does not have the column.
  std::string cell(const CsvRow& row, const std::string& column) const;
  /// NaN for an empty cell.
  /// \throws Error (data) for a cell that is not a number
  double cell_number(const CsvRow& row, const std::string& column) const;
  /// \throws Error (data) for a cell that is not an integer
  std::int64_t seed(const CsvRow& row) const;
  /// \throws Error (data) for a cell that is not a state
  SeedRun::State state(const CsvRow& row) const;

  /// \throws Error (data): the file, the line and `what`
  [[noreturn]] void refuse(std::size_t line, const std::string& what) const;

 private:
  void check_study(const CsvRow& row, const Study& study) const;

  std::string name_;
  std::vector<CsvRow> rows_;
  std::map<std::string, std::size_t> columns_;
};

}  // namespace evenkeel::study
