// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/records_file.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/store/json_lines.h"

namespace evenkeel::store {

namespace {

/// The lines of a records file, sorted out for a resume from `step`.
struct SortedLines {
  std::string kept, damaged;  // complete lines
  std::int64_t damaged_count = 0;
  std::set<std::int64_t> found;  // steps of kept lines
};

std::int64_t step_of(const nlohmann::json& record) {
  return static_cast<std::int64_t>(record.at("step").get<double>());
}

SortedLines sort_lines(std::string_view content, std::int64_t step, StepRanges& steps) {
  SortedLines sorted;
  for (std::size_t begin = 0, end = 0; (end = content.find('\n', begin)) != std::string_view::npos;
       begin = end + 1) {
    const auto line = content.substr(begin, end + 1 - begin);
    const auto [records, damaged] = parse_json_lines(line, has_step);
    if (!damaged.empty()) {
      sorted.damaged += line;
      ++sorted.damaged_count;
    }
    if (records.empty() || records.front().at("step") > step) continue;
    sorted.kept += line;
    sorted.found.insert(step_of(records.front()));
    steps.add(step_of(records.front()));
  }
  return sorted;
}

/// True if the file still begins with the bytes that it had at the checkpoint, or if these are
/// unknown.
bool is_intact(std::string_view content, const nlohmann::json& saved) {
  if (!saved.is_object() || !saved.contains("size") || !saved.contains("digest")) return true;
  if (!saved["size"].is_number_unsigned() || !saved["digest"].is_string()) return true;
  const auto size = saved["size"].get<std::uint64_t>();
  return content.size() >= size &&
         digest(content.data(), size) == saved["digest"].get<std::string>();
}

/// The losses of a file since the checkpoint, as a sentence; "" if there are none.
std::string loss_text(const std::string& name, const SortedLines& lines, bool intact,
                      const nlohmann::json& saved) {
  if (intact && lines.damaged_count == 0) return "";
  std::string out = name + ":";
  if (lines.damaged_count > 0) {
    out += text(" ", lines.damaged_count, lines.damaged_count == 1 ? " line is" : " lines are",
                " damaged and moved to ", name, ".damaged", intact ? "" : ";");
  }
  if (intact) return out;
  const auto steps = saved.contains("steps") ? StepRanges::from_json(saved["steps"]) : std::nullopt;
  const auto missing = steps ? steps->missing_from(lines.found) : "";
  if (!missing.empty()) return text(out, " the records of ", missing, " are missing");
  return out + " records were changed or removed after the checkpoint was written";
}

}  // namespace

RecordsFile::RecordsFile(const Directory& run, const std::string& name)
    : run_(run), name_(name), file_(run, name) {}

void RecordsFile::take(const std::string& lines) {
  digest_->update(lines.data(), lines.size());
  size_ += lines.size();
}

void RecordsFile::append(const nlohmann::ordered_json& record) {
  const auto line = json_line(record);
  take(line);
  steps_.add(record.at("step").get<std::int64_t>());
  file_.append(line);
}

nlohmann::json RecordsFile::summary() const {
  return {{"size", size_}, {"digest", digest_->hex()}, {"steps", steps_.json()}};
}

std::string RecordsFile::resume(std::int64_t step, const nlohmann::json& saved) {
  std::error_code none;
  const auto bytes = std::filesystem::file_size(run_.path() / name_, none);
  if (!none && bytes > kMaxRecordBytes) {
    throw Error(Exit::io, text((run_.path() / name_).string(), ": must have at most ",
                               bytes_text(static_cast<double>(kMaxRecordBytes)), ", but has ",
                               bytes_text(static_cast<double>(bytes)),
                               "; move it elsewhere: the run resumes without these records"));
  }
  const auto content = run_.has(name_) ? run_.read(name_, kMaxRecordBytes) : "";
  const auto lines = sort_lines(content, step, steps_);
  if (lines.damaged_count > 0) {
    AppendFile aside(run_, name_ + ".damaged");
    aside.append(lines.damaged);
    aside.flush();
  }
  if (lines.kept.size() != content.size()) run_.write(name_, lines.kept);
  take(lines.kept);
  return loss_text(name_, lines, is_intact(content, saved), saved);
}

}  // namespace evenkeel::store
