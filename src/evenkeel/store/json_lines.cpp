// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/json_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/json_text.h"
#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

namespace {

/// Calls `use(line, record)` for each complete line that is a JSON object.
template <typename Use>
void for_each_record(const std::filesystem::path& file, const Use& use) {
  std::error_code none;
  if (!exists(file, none)) return;
  const auto content = read_file(file, kMaxRecordBytes);
  for (std::size_t begin = 0, end = 0; (end = content.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    const auto line = std::string_view(content).substr(begin, end - begin);
    auto record = parse_json(line);
    if (record.is_object()) use(line, std::move(record));
  }
}

}  // namespace

void JsonLinesFile::append(const nlohmann::ordered_json& record) {
  const auto line =
      record.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  constexpr mode_t kModeBeforeUmask = 0666;
  const int descriptor =
      ::open(file_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, kModeBeforeUmask);
  if (descriptor < 0) throw_system_error(file_, "open", errno);
  struct stat before{};
  int error = ::fstat(descriptor, &before) == 0 ? 0 : errno;
  if (error == 0) {
    const auto put = ::write(descriptor, line.data(), line.size());
    error = put < 0 ? errno : 0;
    if (put >= 0 && static_cast<std::size_t>(put) < line.size()) error = ENOSPC;
    if (error != 0 && ::ftruncate(descriptor, before.st_size) != 0) error = errno;
  }
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error != 0) throw_system_error(file_, "append", error);
}

void JsonLinesFile::truncate_after(std::int64_t step) {
  std::error_code none;
  if (!exists(file_, none)) return;
  std::string remaining;
  for_each_record(file_, [&](std::string_view line, const nlohmann::json& record) {
    const auto at = record.find("step");
    const bool later = at != record.end() && at->is_number() && *at > step;
    if (!later) remaining.append(line).append("\n");
  });
  if (remaining.size() != file_size(file_)) write_file(file_, remaining);
}

std::vector<nlohmann::json> read_json_lines(const std::filesystem::path& file) {
  std::vector<nlohmann::json> records;
  for_each_record(
      file, [&](std::string_view, nlohmann::json record) { records.push_back(std::move(record)); });
  return records;
}

}  // namespace evenkeel::store
