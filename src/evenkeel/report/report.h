// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

/// One self-contained HTML page from the files of one or more run folders. Depends on no torch.
namespace evenkeel::report {

/// True for a file of `bench --out`: a regular file with the extension .jsonl.
bool is_bench_file(const std::filesystem::path& path);

/// Writes `page` from the files of the run folders: metrics.jsonl, probes.jsonl, status.json,
/// run.toml, provenance.json, health.jsonl, sample.txt, scheme.txt. The page names missing and
/// damaged files.
/// \param runs  one run folder, several run folders to compare, or one file (is_bench_file)
/// \throws Error (usage) for a bench file among several arguments; (data) for a folder that is no
/// run
///         folder; (io) if the page cannot be written
void write_report(const std::vector<std::filesystem::path>& runs,
                  const std::filesystem::path& page);

}  // namespace evenkeel::report
