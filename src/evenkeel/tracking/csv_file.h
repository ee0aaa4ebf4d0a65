// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/store/append_file.h"
#include "evenkeel/store/directory.h"

namespace evenkeel::tracking {

/// A column of metrics.csv: the path of a field in a line of metrics.jsonl, {"texts", "wiki",
/// "text_loss"}. Its name is the path with dots.
using CsvColumn = std::vector<std::string>;

/// RUN/metrics.csv: the numbers of metrics.jsonl, one row per step, with fixed columns. An empty
/// cell is a number that is missing or not finite.
class CsvFile {
 public:
  CsvFile(const store::Directory& run, std::vector<CsvColumn> columns);

  /// Writes the header, and the rows of metrics.jsonl, whose resume() came before. Replaces the
  /// file.
  /// \throws FullDisk, Error (io, exit code 74), as all functions of this class do
  void start();

  /// Takes a line of metrics.jsonl. A row is written when a line of another step follows, because
  /// an evaluation adds to the row of its step.
  void add(const nlohmann::ordered_json& line);

  /// Writes the last row. Lines of its step must not follow.
  void finish();

 private:
  void take(const nlohmann::ordered_json& line);
  std::string row_text() const;

  store::Directory run_;
  std::vector<CsvColumn> columns_;
  store::AppendFile file_;
  std::int64_t step_ = -1;          // of the row that is not written; -1: none
  std::vector<std::string> cells_;  // of this row
};

}  // namespace evenkeel::tracking
