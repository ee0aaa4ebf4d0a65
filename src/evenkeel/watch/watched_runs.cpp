// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/watch/watched_runs.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/report/comparison_page.h"
#include "evenkeel/report/index_page.h"
#include "evenkeel/report/run_page.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::watch {

namespace {

namespace fs = std::filesystem;

constexpr const char* kEvents = "/events";

/// True for a folder that report::read_run() reads.
bool is_readable_run(const fs::path& folder) {
  std::error_code none;
  return fs::exists(folder / "run.toml", none) || fs::exists(folder / "metrics.jsonl", none);
}

/// The runs in a folder; none if a folder cannot be read, or goes away meanwhile.
std::vector<fs::path> runs_in(const fs::path& place) {
  try {
    auto out = store::run_folders(place);
    for (const auto& entry : fs::directory_iterator(place)) out.push_back(entry.path());
    std::erase_if(out, [](const fs::path& each) { return !is_readable_run(each); });
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  } catch (const Error&) {
    return {};
  } catch (const fs::filesystem_error&) {
    return {};
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

/// When a run last wrote a record or its status.
fs::file_time_type last_change(const fs::path& folder) {
  auto out = fs::file_time_type::min();
  for (const auto* const name : {"metrics.jsonl", "status.json"}) {
    std::error_code none;
    const auto time = fs::last_write_time(folder / name, none);
    if (!none) out = std::max(out, time);
  }
  return out;
}

/// The `count` folders that changed last, in the given order.
std::vector<fs::path> changed_last(const std::vector<fs::path>& folders, std::size_t count) {
  if (folders.size() <= count) return folders;
  std::vector<std::pair<fs::file_time_type, std::size_t>> newest;
  newest.reserve(folders.size());
  for (std::size_t at = 0; at < folders.size(); ++at) {
    newest.emplace_back(last_change(folders[at]), at);
  }
  std::stable_sort(newest.begin(), newest.end(),
                   [](const auto& one, const auto& other) { return one.first > other.first; });
  std::set<std::size_t> taken;
  for (std::size_t at = 0; at < count; ++at) taken.insert(newest[at].second);
  std::vector<fs::path> out;
  out.reserve(count);
  for (const auto at : taken) out.push_back(folders[at]);
  return out;
}

/// "40 of 57 runs, those changed last"; "all runs" if that many are compared.
std::string compared_text(std::size_t runs) {
  constexpr auto kMost = WatchedRuns::kMostCompared;
  return runs <= kMost ? "all runs" : text(kMost, " of ", runs, " runs, those changed last");
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
    if (is_readable_run(place)) {
      out.push_back(place);
      continue;
    }
    const auto inside = runs_in(place);
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

std::shared_ptr<const report::Run> WatchedRuns::read(const fs::path& folder) const {
  return cache_->read(folder, signature_of(folder));
}

std::string WatchedRuns::table_of(const std::vector<fs::path>& folders) const {
  std::vector<std::shared_ptr<const report::Run>> runs;
  std::vector<report::IndexRow> rows;
  std::set<std::string> names;
  for (const auto& folder : folders) {
    const auto run = read(folder);
    if (!run) continue;
    runs.push_back(run);
    const bool is_new = names.insert(run->name).second;
    rows.push_back({run.get(), is_new ? run->name : folder.string(), address_of(folder)});
  }
  const auto more = rows.size() < 2 ? std::string()
                                    : text("<p><a href=\"/compare\">Compare ",
                                           compared_text(folders.size()), "</a></p>\n");
  return report::index_page("Runs", rows, more, kEvents);
}

std::string WatchedRuns::comparison_of(const std::vector<fs::path>& folders) const {
  std::vector<report::Run> runs;
  std::set<std::string> names;
  for (const auto& folder : changed_last(folders, kMostCompared)) {
    const auto run = read(folder);
    if (!run) continue;
    runs.push_back(*run);
    if (!names.insert(run->name).second) runs.back().name = folder.string();
  }
  if (runs.size() < 2) return table_of(folders);
  const bool is_part = folders.size() > kMostCompared;
  const auto note = is_part ? text("Compared: ", compared_text(folders.size()), ".") : "";
  return report::comparison_page(std::move(runs), kEvents, note);
}

std::string WatchedRuns::signature() const {
  std::string out;
  for (const auto& folder : folders()) out += signature_of(folder) + "\n";
  return out;
}

std::optional<std::string> WatchedRuns::page(const std::string& path) const {
  const auto all = folders();
  cache_->retain(all);
  const auto folder =
      path == "/" && all.size() == 1 ? std::optional(all.front()) : folder_at(all, path);
  if (folder) {
    const auto run = read(*folder);
    return run ? std::optional(report::run_page(*run, kEvents)) : std::nullopt;
  }
  if (path == "/compare") return comparison_of(all);
  return path == "/" ? std::optional(table_of(all)) : std::nullopt;
}

}  // namespace evenkeel::watch
