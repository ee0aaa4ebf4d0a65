// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/run_folder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <system_error>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/json_text.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

namespace {

using std::filesystem::path;

constexpr const char* kStatusName = "status.json";
constexpr const char* kMetricsName = "metrics.jsonl";

bool is_file(const path& file) {
  std::error_code none;
  return is_regular_file(file, none);
}

/// The sort key of a run: "a-10" becomes ("a", 10), so that a-2 precedes a-10.
std::pair<std::string, std::int64_t> order_of(const RunSummary& run) {
  const auto name = run.folder.filename().string();
  const auto dash = name.rfind('-');
  std::int64_t number = -1;
  if (dash != std::string::npos) {
    std::from_chars(name.data() + dash + 1, name.data() + name.size(), number);
  }
  return {number < 0 ? name : name.substr(0, dash), number};
}

/// The string value of a key; "" if the key is missing.
std::string string_in(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

/// The integer value of a key; 0 if the key is missing.
std::int64_t integer_in(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
}

/// Assigns the number of a key to `value`. Does nothing if the key is missing.
void take_number(std::optional<double>& value, const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  if (at != object.end() && at->is_number()) value = at->get<double>();
}

/// Sets the fields from status.json.
/// \param locked  whether a process has the lock, read before status.json; a run that ends between
///                the two reads then counts as ended, not as interrupted
void add_status(RunSummary& run, bool locked) {
  const auto status = read_status(run.folder);
  run.state = status ? status->state : "damaged";
  if (!status) return;
  if (run.state == "training" && !locked) run.state = "interrupted";
  run.scheme = status->scheme;
  run.preset = status->preset;
  run.step = status->step;
  run.steps = status->steps;
}

/// Sets the last value of each metric and the last step from metrics.jsonl; status.json may be
/// older.
void add_metrics(RunSummary& run) {
  for (const auto& record : read_json_lines(run.folder / kMetricsName)) {
    run.step = std::max(run.step, integer_in(record, "step"));
    take_number(run.loss, record, "loss");
    take_number(run.val_loss, record, "val_loss");
    take_number(run.val_gap, record, "val_gap");
  }
}

/// Seconds since the last write to a file; 0 if the file does not exist.
double age_of(const path& file) {
  std::error_code error;
  const auto written = last_write_time(file, error);
  if (error) return 0;
  const auto age = std::filesystem::file_time_type::clock::now() - written;
  return std::max(0.0, std::chrono::duration<double>(age).count());
}

}  // namespace

void make_run_folder(const path& run) {
  create_folders(SystemCalls{}, run);
}

path new_run_folder(const path& runs, const std::string& stem) {
  EK_ASSERT(!stem.empty() && stem.find('/') == std::string::npos);
  const SystemCalls system;
  create_folders(system, runs);
  constexpr mode_t kModeBeforeUmask = 0777;
  for (std::int64_t number = 1;; ++number) {
    const auto run = runs / text(stem, "-", number);
    if (system.mkdir(run.c_str(), kModeBeforeUmask) == 0) {
      fsync_folder(system, runs);
      return run;
    }
    if (errno != EEXIST) throw_system_error(run, "make the folder", errno);
  }
}

void write_status(const path& run, const Status& status) {
  EK_ASSERT(status.state == "training" || status.state == "stopped" || status.state == "finished" ||
            status.state == "diverged");
  nlohmann::ordered_json out = {{"state", status.state},
                                {"step", status.step},
                                {"steps", status.steps},
                                {"scheme", status.scheme},
                                {"preset", status.preset}};
  if (status.cpu_contention) out["others"] = *status.cpu_contention;
  write_file(run / kStatusName, json_text(out));
}

std::optional<Status> read_status(const path& run) {
  if (!is_file(run / kStatusName)) return std::nullopt;
  const auto json = parse_json(read_file(run / kStatusName));
  if (!json.is_object() || string_in(json, "state").empty()) return std::nullopt;
  Status status{.state = string_in(json, "state"),
                .step = integer_in(json, "step"),
                .steps = integer_in(json, "steps"),
                .scheme = string_in(json, "scheme"),
                .preset = string_in(json, "preset")};
  take_number(status.cpu_contention, json, "others");
  return status;
}

nlohmann::json read_provenance(const path& run) {
  const auto file = run / "provenance.json";
  auto json = is_file(file) ? parse_json(read_file(file)) : nlohmann::json::object();
  return json.is_object() ? json : nlohmann::json::object();
}

std::vector<RunSummary> list_runs(const path& runs) {
  std::vector<RunSummary> all;
  for (const auto& folder : directory_entries(runs)) {
    const bool has_status = is_file(folder / kStatusName);
    const bool has_metrics = is_file(folder / kMetricsName);
    if (!has_status && !is_file(folder / "run.toml")) continue;
    RunSummary run;
    run.folder = folder;
    run.state = "empty";
    if (has_status) add_status(run, is_locked(folder));
    if (has_metrics) add_metrics(run);
    run.age_seconds = age_of(folder / (has_metrics ? kMetricsName : has_status ? kStatusName : ""));
    all.push_back(std::move(run));
  }
  std::stable_sort(all.begin(), all.end(), [](const RunSummary& one, const RunSummary& other) {
    return order_of(one) < order_of(other);
  });
  return all;
}

}  // namespace evenkeel::store
