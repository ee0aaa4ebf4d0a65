// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/run_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/system_memory.h"
#include "evenkeel/base/utc_time.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/json_text.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

namespace {

using std::filesystem::path;

constexpr const char* kStatusName = "status.json";
constexpr const char* kMetricsName = "metrics.jsonl";
constexpr const char* kDamagedName = "metrics.jsonl.damaged";

/// True if a process with this id runs.
bool is_alive(pid_t process) {
  return ::kill(process, 0) == 0 || errno != ESRCH;
}

/// The process in the name of a temporary file, "report.html.new-4321"; 0 for another name.
pid_t owner_of_temporary(const std::string& name) {
  constexpr std::string_view kMark = ".new-";
  const auto mark = name.rfind(kMark);
  if (mark == std::string::npos || mark == 0) return 0;
  const auto* const begin = name.data() + mark + kMark.size();
  const auto* const end = name.data() + name.size();
  pid_t process = 0;
  const auto [stop, error] = std::from_chars(begin, end, process);
  return error == std::errc() && stop == end && process > 0 ? process : 0;
}

/// The string value of a key; "" if the key is missing.
std::string string_in(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

/// `started` of the run's status.json; nullopt if the file has none or cannot be read.
std::optional<std::string> started_before(const Directory& run) {
  try {
    if (!run.has_file(kStatusName)) return std::nullopt;
    const auto before = parse_json(run.read(kStatusName));
    const auto started = before.is_object() ? string_in(before, "started") : std::string();
    return started.empty() ? std::nullopt : std::optional(started);
  } catch (const Error&) {
    return std::nullopt;
  }
}

nlohmann::ordered_json host_facts() {
  nlohmann::ordered_json out = {{"cores", std::thread::hardware_concurrency()},
                                {"memory_bytes", total_bytes()}};
  double load = 0;
  if (::getloadavg(&load, 1) == 1) out["load"] = load;
  return out;
}

/// The sort key of a run: "x/a-10" becomes ("x", "a", 10), so that a-2 precedes a-10.
std::tuple<path, std::string, std::int64_t> order_of(const path& run) {
  const auto name = run.filename().string();
  const auto dash = name.rfind('-');
  std::int64_t number = -1;
  if (dash != std::string::npos) {
    std::from_chars(name.data() + dash + 1, name.data() + name.size(), number);
  }
  return {run.parent_path(), number < 0 ? name : name.substr(0, dash), number};
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

/// Sets the fields from status.json. \param locked  see shown_state()
void add_status(RunSummary& run, const Directory& folder, bool locked) {
  const auto status = read_status(folder);
  run.state = status ? shown_state(status->state, locked) : "damaged";
  if (!status) return;
  run.scheme = status->scheme;
  run.preset = status->preset;
  run.step = status->step;
  run.steps = status->steps;
}

/// Sets the last value of each metric and the last step from metrics.jsonl; status.json may be
/// older.
void add_metrics(RunSummary& run, const Directory& folder) {
  const auto lines = read_records(folder, kMetricsName);
  run.damaged_lines = static_cast<std::int64_t>(lines.damaged.size());
  if (folder.has_file(kDamagedName)) {
    const auto aside = folder.read(kDamagedName, kMaxRecordBytes);
    run.damaged_lines += std::count(aside.begin(), aside.end(), '\n');
  }
  std::vector<double> speeds;
  for (const auto& record : lines.records) {
    run.step = std::max(run.step, integer_in(record, "step"));
    run.tokens = std::max(run.tokens, integer_in(record, "tokens"));
    take_number(run.loss, record, "loss");
    take_number(run.val_gap, record, "val_gap");
    std::optional<double> validation, speed;
    take_number(validation, record, "val_loss");
    take_number(speed, record, "tokens_per_s");
    if (validation) run.val_loss = validation;
    if (validation)
      run.best_val_loss = std::min(run.best_val_loss.value_or(*validation), *validation);
    if (speed) speeds.push_back(*speed);
  }
  if (speeds.empty()) return;
  const auto middle = speeds.begin() + static_cast<std::ptrdiff_t>(speeds.size() / 2);
  std::nth_element(speeds.begin(), middle, speeds.end());
  run.tokens_per_second = *middle;
}

/// Seconds since the last write to a file; 0 if the file does not exist.
double age_of(const Directory& folder, const char* name) {
  struct stat status{};
  if (::fstatat(folder.descriptor(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  const std::chrono::duration<double> written = std::chrono::seconds(status.st_mtim.tv_sec) +
                                                std::chrono::nanoseconds(status.st_mtim.tv_nsec);
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return std::max(0.0, (now - written).count());
}

bool is_run(const Directory& folder) {
  return folder.has(kStatusName) || folder.has_file("run.toml");
}

/// The row of a run; nullopt if the folder is no run any more.
std::optional<RunSummary> summary_of(const path& folder) {
  const auto opened = Directory::find(folder);
  if (!opened || !is_run(*opened)) return std::nullopt;
  const bool has_status = opened->has(kStatusName);
  RunSummary run;
  run.folder = folder;
  run.state = "empty";
  if (has_status) add_status(run, *opened, is_locked(folder));
  run.parameters = integer_in(read_provenance(*opened), "parameters");
  try {
    if (opened->has_file(kMetricsName)) add_metrics(run, *opened);
  } catch (const Error&) {  // the other runs are listed all the same
    run.state = "damaged";
  }
  const bool has_metrics = opened->has(kMetricsName);
  run.age_seconds = age_of(*opened, has_metrics ? kMetricsName : has_status ? kStatusName : ".");
  return run;
}

/// True for a folder whose subfolders list_runs() searches.
bool is_searched(const path& folder) {
  std::error_code none;
  return !folder.filename().string().starts_with('.') &&
         is_directory(symlink_status(folder, none)) && ::access(folder.c_str(), R_OK | X_OK) == 0;
}

/// The folders that a search has found; the runs are sorted as run_folders() says.
struct FoundFolders {
  std::vector<path> runs, unreadable;
};

/// True for a folder that may have runs, but whose entries this process may not read.
bool is_unreadable_folder(const path& folder) {
  std::error_code none;
  const auto name = folder.filename().string();
  return is_directory(symlink_status(folder, none)) && name != "lost+found" &&
         !name.starts_with('.') && ::access(folder.c_str(), R_OK | X_OK) != 0;
}

/// Adds the folders in a folder. \param levels  levels of subfolders that are searched
void add_folders_in(const path& folder, int levels, FoundFolders& found) {
  for (const auto& entry : directory_entries(folder)) {
    if (is_unreadable_folder(entry)) found.unreadable.push_back(entry);
    if (::access(entry.c_str(), R_OK | X_OK) != 0) continue;
    if (const auto opened = Directory::find(entry); opened && is_run(*opened)) {
      found.runs.push_back(entry);
    } else if (levels > 0 && is_searched(entry)) {
      add_folders_in(entry, levels - 1, found);
    }
  }
}

FoundFolders search_folders(const path& runs) {
  constexpr int kLevels = 4;
  FoundFolders found;
  add_folders_in(runs, kLevels, found);
  std::stable_sort(found.runs.begin(), found.runs.end(), [](const path& one, const path& other) {
    return order_of(one) < order_of(other);
  });
  return found;
}

}  // namespace

std::string shown_state(std::string written, bool locked) {
  return written == "training" && !locked ? "interrupted" : std::move(written);
}

void make_run_folder(const path& run) {
  create_folders(kernel_calls(), run);
}

path new_run_folder(const path& runs, const std::string& stem) {
  EK_ASSERT(!stem.empty() && stem.find('/') == std::string::npos);
  const auto& system = kernel_calls();
  create_folders(system, runs);
  constexpr mode_t kModeBeforeUmask = 0777;
  for (std::int64_t number = 1;; ++number) {
    const auto run = runs / text(stem, "-", number);
    if (system.mkdirat(AT_FDCWD, run.c_str(), kModeBeforeUmask) == 0) {
      fsync_folder(system, runs);
      return run;
    }
    if (errno != EEXIST) throw_system_error(run, "make the folder", errno);
  }
}

void remove_dead_temporaries(const Directory& folder) {
  for (const auto& name : folder.entries()) {
    const auto process = owner_of_temporary(name);
    if (process == 0 || folder.has_folder(name)) continue;
    if (process == ::getpid() || !is_alive(process)) folder.remove(name);
  }
}

void write_status(const Directory& run, const Status& status) {
  EK_ASSERT(status.state == "training" || status.state == "stopped" || status.state == "finished" ||
            status.state == "diverged");
  nlohmann::ordered_json out = {{"state", status.state},
                                {"step", status.step},
                                {"steps", status.steps},
                                {"scheme", status.scheme},
                                {"preset", status.preset}};
  if (status.cpu_contention) out["others"] = *status.cpu_contention;
  const auto now = utc_now();
  out["started"] = started_before(run).value_or(now);
  out["updated"] = now;
  out["host"] = host_facts();
  run.write(kStatusName, json_text(out));
}

std::optional<Status> read_status(const Directory& run) {
  if (!run.has_file(kStatusName)) return std::nullopt;
  const auto json = parse_json(run.read(kStatusName));
  if (!json.is_object() || string_in(json, "state").empty()) return std::nullopt;
  Status status{.state = string_in(json, "state"),
                .step = integer_in(json, "step"),
                .steps = integer_in(json, "steps"),
                .scheme = string_in(json, "scheme"),
                .preset = string_in(json, "preset")};
  take_number(status.cpu_contention, json, "others");
  return status;
}

nlohmann::json read_provenance(const Directory& run) {
  constexpr const char* kName = "provenance.json";
  auto json = run.has_file(kName) ? parse_json(run.read(kName)) : nlohmann::json::object();
  return json.is_object() ? json : nlohmann::json::object();
}

std::vector<path> run_folders(const path& runs) {
  return search_folders(runs).runs;
}

std::vector<path> unreadable_folders(const path& runs) {
  std::error_code none;
  if (is_directory(runs, none) && ::access(runs.c_str(), R_OK | X_OK) != 0) return {runs};
  const auto opened = Directory::find(runs);
  if (!opened || is_run(*opened)) return {};
  return search_folders(runs).unreadable;
}

FoundRuns find_runs(const path& runs) {
  FoundRuns found;
  if (auto run = summary_of(runs)) {
    found.runs.push_back(std::move(*run));
    return found;
  }
  auto folders = search_folders(runs);
  for (const auto& folder : folders.runs) {
    if (auto run = summary_of(folder)) found.runs.push_back(std::move(*run));
  }
  found.unreadable = std::move(folders.unreadable);
  return found;
}

std::vector<RunSummary> list_runs(const path& runs) {
  return find_runs(runs).runs;
}

}  // namespace evenkeel::store
