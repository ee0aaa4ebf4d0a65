// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tracking/event_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <functional>

#include "evenkeel/base/error.h"
#include "evenkeel/base/host_name.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/tracking/event_reader.h"

namespace evenkeel::tracking {

namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The name of this machine with the characters that every file system takes.
std::string plain_host_name() {
  auto out = host_name("host");
  for (char& each : out) {
    const bool is_plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
                          (each >= '0' && each <= '9') || each == '-' || each == '.';
    if (!is_plain) each = '-';
  }
  return out;
}

/// The names of the event files of a run, sorted.
std::vector<std::string> event_files(const store::Directory& run) {
  std::vector<std::string> out;
  for (const auto& name : run.entries()) {
    if (name.starts_with(kPrefix) && run.has_file(name)) out.push_back(name);
  }
  return out;
}

/// The seconds in the name of an event file; 0 for another name.
std::int64_t seconds_in(std::string_view name) {
  std::int64_t seconds = 0;
  name.remove_prefix(std::min(kPrefix.size(), name.size()));
  std::from_chars(name.data(), name.data() + name.size(), seconds);
  return seconds;
}

/// Identifies a value of a run: its step and tag.
std::size_t value_id(std::int64_t step, std::string_view tag) {
  constexpr std::size_t kGoldenRatio = 0x9e3779b97f4a7c15;
  return std::hash<std::string_view>()(tag) ^ (static_cast<std::size_t>(step) + 1) * kGoldenRatio;
}

using ValueIds = std::unordered_set<std::size_t>;

/// The records of a file with the values that are in `missing`, which it removes from there. Empty
/// if there are none.
std::string kept_records(std::string_view file, ValueIds& missing) {
  std::string out;
  bool has_values = false;
  for (const auto& event : read_events(file)) {
    std::vector<std::string> values;
    for (const auto& [tag, bytes] : event.values) {
      if (missing.erase(value_id(event.step, tag)) > 0) values.emplace_back(bytes);
    }
    if (out.empty()) out = version_record(event.wall_time);
    if (event.is_start) out += start_record(event.wall_time, event.step);
    if (!values.empty()) out += summary_record(event.wall_time, event.step, values);
    has_values = has_values || !values.empty();
  }
  return has_values ? out : "";
}

}  // namespace

void EventLog::add(const nlohmann::ordered_json& line, const std::vector<TaggedValue>& values) {
  std::vector<std::string> serialized;
  serialized.reserve(values.size());
  for (const auto& value : values) serialized.push_back(value.bytes);
  if (serialized.empty()) return;
  waiting_ += summary_record(seconds_since_1970(), line.at("step").get<std::int64_t>(), serialized);
  flush_if_due();
}

void EventLog::add_text(std::int64_t step, const std::string& name, const std::string& content) {
  std::string indented;  // code in Markdown
  for (const char each : content) {
    if (indented.empty() || indented.back() == '\n') indented += "    ";
    indented += each;
  }
  waiting_ +=
      summary_record(seconds_since_1970(), step, {text_value(name + "/text_summary", indented)});
}

/// The events that the records files have. Lines that `eval` and `probe` wrote are left out: their
/// process has no event file.
std::vector<EventLog::Expected> EventLog::expected_events() const {
  std::vector<Expected> out;
  const auto each = [&](const char* name, const auto& values_of) {
    for (const auto& record : store::read_records(run_, name).records) {
      const nlohmann::ordered_json line(record);
      const auto step = static_cast<std::int64_t>(record.at("step").get<double>());
      out.push_back({step, values_of(line)});
    }
  };
  each("metrics.jsonl", metric_values);
  each("probes.jsonl", [&](const nlohmann::ordered_json& line) {
    const bool is_own = line.value("on", "") == "training";
    return is_own ? probe_values(line, layers_) : std::vector<TaggedValue>();
  });
  each("evaluations.jsonl", [](const nlohmann::ordered_json& line) {
    const bool is_own = line.value("command", "") == "train";
    return is_own ? task_values(line) : std::vector<TaggedValue>();
  });
  return out;
}

void EventLog::start(std::int64_t step, const Session& session) {
  const auto files = event_files(run_);
  const auto expected = expected_events();
  ValueIds missing;
  for (const auto& event : expected) {
    for (const auto& value : event.values) missing.insert(value_id(event.step, value.tag));
  }
  std::int64_t newest = 0;
  for (const auto& name : files) {
    newest = std::max(newest, seconds_in(name));
    const auto content = run_.read(name, kMaxRecordBytes);
    const auto kept = kept_records(content, missing);
    if (kept.empty()) {
      run_.remove(name);
    } else if (kept != content) {
      run_.write(name, kept);
    }
  }
  begin_file(newest);
  const double now = seconds_since_1970();
  waiting_ = version_record(now);
  if (step > 0 || !files.empty()) waiting_ += start_record(now, step + 1);
  if (!session.hparams.empty()) {
    waiting_ += summary_record(now, step, {hparams_value(session.hparams, now)});
  }
  for (const auto& [name, content] : session.texts) add_text(step, name, content);
  for (const auto& event : expected) {
    std::vector<std::string> values;
    for (const auto& value : event.values) {
      if (missing.erase(value_id(event.step, value.tag)) > 0) values.push_back(value.bytes);
    }
    if (!values.empty()) waiting_ += summary_record(now, event.step, values);
  }
  flush();
}

/// Creates the file of this process. TensorBoard reads the files of a folder in the order of their
/// names, so this one comes after all others, also if the clock was set back.
/// \param after  seconds in the name of the newest file
void EventLog::begin_file(std::int64_t after) {
  constexpr mode_t kModeBeforeUmask = 0666;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const auto now = static_cast<std::int64_t>(seconds_since_1970());
  name_ = text(kPrefix, std::max(now, after + 1), ".", plain_host_name(), ".", ::getpid(), ".0");
  const auto& system = run_.system();
  const int file = system.openat(run_.descriptor(), name_.c_str(), kFlags, kModeBeforeUmask);
  if (file < 0) store::throw_system_error(run_.path() / name_, "make", errno);
  system.close(file);
}

void EventLog::flush_if_due() {
  constexpr auto kPeriod = std::chrono::seconds(5);
  if (waiting_.empty() || std::chrono::steady_clock::now() - written_ < kPeriod) return;
  flush();
}

void EventLog::flush() {
  if (waiting_.empty()) return;
  write(waiting_);
  waiting_.clear();
  written_ = std::chrono::steady_clock::now();
}

/// Appends to the file. After a failure the file has no part of the bytes, if possible.
void EventLog::write(std::string_view bytes) const {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const auto& system = run_.system();
  const int file = system.openat(run_.descriptor(), name_.c_str(), kFlags, 0);
  if (file < 0) store::throw_system_error(run_.path() / name_, "open", errno);
  struct stat status{};
  int error = ::fstat(file, &status) == 0 ? 0 : errno;
  while (!bytes.empty() && error == 0) {
    const auto put = system.write(file, bytes.data(), bytes.size());
    if (put > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
    } else if (put == 0 || errno != EINTR) {
      error = put == 0 ? ENOSPC : errno;
    }
  }
  if (error != 0) system.ftruncate(file, status.st_size);
  if (system.close(file) != 0 && error == 0) error = errno;
  if (error != 0) store::throw_system_error(run_.path() / name_, "append", error);
}

}  // namespace evenkeel::tracking
