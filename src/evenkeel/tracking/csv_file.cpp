// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tracking/csv_file.h"

#include <algorithm>
#include <utility>

#include "evenkeel/store/json_lines.h"

namespace evenkeel::tracking {

namespace {

constexpr const char* kCsvName = "metrics.csv";

/// A cell in quotes where it needs them. \source RFC 4180
std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string out = "\"";
  for (const char each : cell) {
    if (each == '"') out += '"';
    out += each;
  }
  return out + "\"";
}

std::string joined(const std::vector<std::string>& cells, char separator) {
  std::string out;
  for (const auto& cell : cells) {
    if (&cell != &cells.front()) out += separator;
    out += cell;
  }
  return out;
}

/// The number or flag at a path of an object, as JSON has it; "" if there is none.
std::string cell_of(const nlohmann::ordered_json& line, const CsvColumn& path) {
  const auto* value = &line;
  for (const auto& name : path) {
    if (!value->is_object() || !value->contains(name)) return "";
    value = &(*value)[name];
  }
  if (!value->is_number() && !value->is_boolean()) return "";
  auto out = value->dump();
  return out == "null" ? "" : out;  // not finite
}

}  // namespace

CsvFile::CsvFile(const store::Directory& run, std::vector<CsvColumn> columns)
    : run_(run), columns_(std::move(columns)), file_(run, kCsvName), cells_(columns_.size()) {}

void CsvFile::take(const nlohmann::ordered_json& line) {
  step_ = line.at("step").get<std::int64_t>();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (auto cell = cell_of(line, columns_[i]); !cell.empty()) cells_[i] = std::move(cell);
  }
}

std::string CsvFile::row_text() const {
  return joined(cells_, ',') + "\n";
}

void CsvFile::start() {
  std::vector<std::string> names;
  names.reserve(columns_.size());
  for (const auto& column : columns_) names.push_back(quoted(joined(column, '.')));
  auto content = joined(names, ',') + "\n";
  for (const auto& record : store::read_records(run_, "metrics.jsonl").records) {
    const nlohmann::ordered_json line(record);
    if (step_ >= 0 && line.at("step") != step_) {
      content += row_text();
      std::fill(cells_.begin(), cells_.end(), "");
    }
    take(line);
  }
  run_.write(kCsvName, content);
}

void CsvFile::add(const nlohmann::ordered_json& line) {
  if (line.at("step") != step_) finish();
  take(line);
}

void CsvFile::finish() {
  if (step_ < 0) return;
  file_.append(row_text());
  step_ = -1;
  std::fill(cells_.begin(), cells_.end(), "");
}

}  // namespace evenkeel::tracking
