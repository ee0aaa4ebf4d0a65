// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/store/directory.h"

/// One self-contained HTML page from the files of one or more run folders. Depends on no torch.
namespace evenkeel::report {

/// True for a file of `bench --output`: a regular file with the extension .jsonl.
bool is_bench_file(const std::filesystem::path& path);

/// True for a folder that is no run, but contains runs.
/// \throws Error (io) if it cannot be read
bool is_folder_of_runs(const std::filesystem::path& folder);

/// The run folders, each once, however its path is written: by the path that names it first.
std::vector<std::filesystem::path> distinct_folders(const std::vector<std::filesystem::path>& runs);

/// Writes `page` from the files of the run folders: metrics.jsonl, probes.jsonl, status.json,
/// run.toml, provenance.json, health.jsonl, sample.txt, scheme.txt. The page names missing and
/// damaged files.
/// \param runs  one run folder, several run folders to compare (each counts once), a folder of runs
///              (is_folder_of_runs) for a table of all, with links to the report.html that exist,
///              or one file (is_bench_file)
/// \param page  output file, whose symbolic links are followed; nullopt: report.html in the only
///              run folder of distinct_folders(), where a link of this name is replaced
/// \return what the records of the runs have lost: "runs/x: metrics.jsonl: 2 lines are damaged"
/// \throws Error (usage) for a bench file among several arguments; (data) for a folder that is no
/// run
///         folder; (io) if the page cannot be written
std::vector<std::string> write_report(const std::vector<std::filesystem::path>& runs,
                                      const std::optional<std::filesystem::path>& page);

/// Writes report.html of one run into its folder.
/// \throws Error as above
void write_run_report(const store::Directory& run);

}  // namespace evenkeel::report
