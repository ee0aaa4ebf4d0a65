// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

/// One self-contained HTML page from the files of one or more run folders. Knows no torch.
namespace evenkeel::report {

/// Whether it names a file of JSON lines that benches appended to, instead of a run folder.
bool is_bench_file(const std::filesystem::path& path);

/// Writes `page` from what lies in the run folders: metrics.jsonl, status.json, run.toml,
/// provenance.json, health.jsonl, sample.txt, scheme.txt. One run gets a page of its own, several
/// are compared. A file that is missing or damaged is named in its place on the page. A file of a
/// bench (is_bench_file) stands alone.
/// \throws Error (data) that names a folder that is not a run's; Error (io)
void write_report(const std::vector<std::filesystem::path>& runs,
                  const std::filesystem::path& page);

}  // namespace evenkeel::report
