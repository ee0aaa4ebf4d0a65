// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/watch/watched_runs.h"

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/report/comparison_page.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/index_page.h"
#include "evenkeel/report/run_page.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::watch {

namespace {

namespace fs = std::filesystem;

constexpr const char* kEvents = "/events";
constexpr std::size_t kMostCompared = 40;

bool is_run(const fs::path& folder) {
  std::error_code none;
  return fs::exists(folder / "run.toml", none) || fs::exists(folder / "metrics.jsonl", none);
}

/// The run of a folder; nullopt while its files do not exist yet, or are gone.
std::optional<report::Run> read_or_none(const fs::path& folder) {
  try {
    return report::read_run(folder);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The path of a run's page: "/run/1b4e28ba/". It stays while other runs begin and go.
std::string address_of(const fs::path& folder) {
  constexpr std::size_t kEnoughDigits = 8;
  const auto name = folder.string();
  return text("/run/", digest(name.data(), name.size()).substr(0, kEnoughDigits), "/");
}

/// The folder with an address.
std::optional<fs::path> folder_at(const std::vector<fs::path>& folders,
                                  const std::string& address) {
  const auto found = std::find_if(folders.begin(), folders.end(), [&](const fs::path& each) {
    return address_of(each) == address;
  });
  return found == folders.end() ? std::nullopt : std::optional(*found);
}

std::string table_of(const std::vector<fs::path>& folders) {
  std::vector<report::Run> runs;
  std::map<std::string, std::string> addresses;  // by the run's name
  for (const auto& folder : folders) {
    auto run = read_or_none(folder);
    if (!run) continue;
    if (addresses.contains(run->name)) run->name = folder.string();
    addresses[run->name] = address_of(folder);
    runs.push_back(std::move(*run));
  }
  const auto more =
      runs.size() < 2 ? std::string() : "<p><a href=\"/compare\">Compare all runs</a></p>\n";
  return report::index_page(
      "Runs", runs, [&](const report::Run& run) { return addresses[run.name]; }, more, kEvents);
}

std::string comparison_of(const std::vector<fs::path>& folders) {
  std::vector<report::Run> runs;
  for (const auto& folder : folders) {
    if (runs.size() == kMostCompared) break;
    if (auto run = read_or_none(folder)) runs.push_back(std::move(*run));
  }
  if (runs.size() < 2) return table_of(folders);
  return report::comparison_page(std::move(runs), kEvents);
}

}  // namespace

WatchedRuns::WatchedRuns(std::vector<fs::path> places) : places_(std::move(places)) {
  for (const auto& place : places_) {
    std::error_code none;
    if (fs::is_directory(place, none)) continue;
    throw Error(Exit::data, text(place.string(),
                                 ": wanted a run folder or a folder of runs, but there is none; "
                                 "`evenkeel runs` lists runs"));
  }
}

std::vector<fs::path> WatchedRuns::folders() const {
  std::vector<fs::path> out;
  for (const auto& place : places_) {
    if (is_run(place)) {
      out.push_back(place);
      continue;
    }
    std::error_code none;
    std::vector<fs::path> inside;
    for (const auto& entry : fs::directory_iterator(place, none)) {
      if (is_run(entry.path())) inside.push_back(entry.path());
    }
    std::sort(inside.begin(), inside.end());
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

std::string WatchedRuns::signature() const {
  std::string out;
  for (const auto& folder : folders()) {
    out += folder.string();
    for (const auto* const name : {"metrics.jsonl", "status.json", "probes.jsonl", "health.jsonl",
                                   "evaluations.jsonl", "sample.txt"}) {
      std::error_code none;
      const auto size = fs::file_size(folder / name, none);
      const auto time = fs::last_write_time(folder / name, none).time_since_epoch().count();
      out += text(' ', none ? 0 : size, ' ', none ? 0 : time);
    }
    out += '\n';
  }
  return out;
}

std::optional<std::string> WatchedRuns::page(const std::string& path) const {
  const auto all = folders();
  const auto folder =
      path == "/" && all.size() == 1 ? std::optional(all.front()) : folder_at(all, path);
  if (folder) {
    const auto run = read_or_none(*folder);
    return run ? std::optional(report::run_page(*run, kEvents)) : std::nullopt;
  }
  if (path == "/compare") return comparison_of(all);
  return path == "/" ? std::optional(table_of(all)) : std::nullopt;
}

}  // namespace evenkeel::watch
