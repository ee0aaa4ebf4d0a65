// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/json_lines.h"

#include <system_error>

#include "evenkeel/base/file.h"
#include "evenkeel/base/json_dump.h"
#include "evenkeel/store/json_text.h"

namespace evenkeel::store {

std::string json_line(const nlohmann::ordered_json& record) {
  return json_dump(record) + "\n";
}

bool has_step(const nlohmann::json& record) {
  constexpr double kMax = 9007199254740992;  // 2^53: larger integers have gaps in double
  const auto at = record.find("step");
  if (at == record.end() || !at->is_number()) return false;
  return at->get<double>() >= 0 && at->get<double>() <= kMax;
}

JsonLines parse_json_lines(std::string_view content, bool (*is_record)(const nlohmann::json&)) {
  JsonLines lines;
  for (std::size_t begin = 0, end = 0; (end = content.find('\n', begin)) != std::string_view::npos;
       begin = end + 1) {
    const auto line = content.substr(begin, end - begin);
    auto record = parse_json(line);
    if (record.is_object() && is_record(record)) {
      lines.records.push_back(std::move(record));
    } else if (!line.empty()) {
      lines.damaged.emplace_back(line);
    }
  }
  return lines;
}

JsonLines read_json_lines(const std::filesystem::path& file) {
  std::error_code none;
  if (!exists(file, none)) return {};
  return parse_json_lines(read_file(file, kMaxRecordBytes),
                          [](const nlohmann::json&) { return true; });
}

JsonLines read_records(const Directory& run, const std::string& name) {
  if (!run.has(name)) return {};
  return parse_json_lines(run.read(name, kMaxRecordBytes), has_step);
}

}  // namespace evenkeel::store
