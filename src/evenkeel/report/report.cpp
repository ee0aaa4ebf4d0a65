// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/report.h"

#include <set>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/report/bench_page.h"
#include "evenkeel/report/comparison_page.h"
#include "evenkeel/report/index_page.h"
#include "evenkeel/report/run.h"
#include "evenkeel/report/run_page.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::report {

namespace {

constexpr const char* kPageName = "report.html";

/// The address of a run's own page, relative to a folder; "" if the run has none: `train` writes it
/// at the end.
std::string address_from(const std::filesystem::path& base, const std::filesystem::path& run) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(run / kPageName, none)) return "";
  const auto page = std::filesystem::absolute(run).lexically_relative(base) / kPageName;
  std::string address;
  for (const auto& part : page) address += (address.empty() ? "" : "/") + url_part(part.string());
  return address;
}

/// Writes the page of a folder of runs.
std::vector<std::string> write_index(const std::filesystem::path& folder,
                                     const std::optional<std::filesystem::path>& page) {
  const auto target = page.value_or(folder / kPageName);
  const auto base = std::filesystem::absolute(target).lexically_normal().parent_path();
  std::vector<Run> runs;
  std::vector<IndexRow> rows;
  std::set<std::string> names;
  for (const auto& summary : store::list_runs(folder)) {
    try {
      runs.push_back(read_run(summary.folder));
    } catch (const Error&) {
      continue;  // a folder that has only a status
    }
    auto name = runs.back().name;  // of the folder; its path where another run has that name
    if (!names.insert(name).second) name = summary.folder.lexically_relative(folder).string();
    rows.push_back({nullptr, name, address_from(base, summary.folder)});
  }
  for (std::size_t at = 0; at < runs.size(); ++at) rows[at].run = &runs[at];
  write_file(target, index_page("Runs in " + folder.string(), rows));
  return {};
}

}  // namespace

bool is_folder_of_runs(const std::filesystem::path& folder) {
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) return false;
  for (const auto* const name : {"run.toml", "metrics.jsonl", "status.json"}) {
    if (std::filesystem::exists(folder / name, none)) return false;
  }
  return !store::run_folders(folder).empty();
}

bool is_bench_file(const std::filesystem::path& path) {
  std::error_code none;
  return path.extension() == ".jsonl" && std::filesystem::is_regular_file(path, none);
}

std::vector<std::filesystem::path> distinct_folders(
    const std::vector<std::filesystem::path>& runs) {
  std::set<std::filesystem::path> known;
  std::vector<std::filesystem::path> out;
  for (const auto& run : runs) {
    std::error_code none;
    const auto folder = std::filesystem::canonical(run, none);
    if (known.insert(none ? run : folder).second) out.push_back(run);
  }
  return out;
}

std::vector<std::string> write_report(const std::vector<std::filesystem::path>& runs,
                                      const std::optional<std::filesystem::path>& page) {
  const auto folders = distinct_folders(runs);
  EK_ASSERT(!runs.empty() && (page || folders.size() == 1));
  if (is_bench_file(runs.front())) {
    if (runs.size() > 1) {
      throw Error(Exit::usage,
                  text("report: ", runs.front().string(),
                       ", a file of a bench, must be the only argument, but ", runs.size() - 1,
                       runs.size() == 2 ? " more is named" : " more are named"));
    }
    EK_ASSERT(page.has_value());
    const auto lines = store::read_json_lines(runs.front());
    write_file(*page, bench_page(runs.front().string(), lines.records));
    return {};
  }
  if (folders.size() == 1 && is_folder_of_runs(runs.front())) {
    return write_index(runs.front(), page);
  }
  std::vector<Run> read;
  std::vector<std::string> losses;
  read.reserve(folders.size());
  for (const auto& folder : folders) {
    read.push_back(read_run(folder));
    for (const auto& each : record_losses(read.back())) {
      losses.push_back(text(folder.string(), ": ", each));
    }
  }
  const auto html = read.size() == 1 ? run_page(read.front()) : comparison_page(std::move(read));
  if (page) {
    write_file(*page, html);
  } else {
    store::Directory(runs.front()).write(kPageName, html);
  }
  return losses;
}

void write_run_report(const store::Directory& run) {
  run.write(kPageName, run_page(read_run(run)));
}

}  // namespace evenkeel::report
