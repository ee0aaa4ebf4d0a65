// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

/// One self-contained HTML page from the files of one or more run folders. Knows no torch.
namespace evenkeel::report {

/// Writes `page` from what lies in the run folders: run.toml, provenance.json, metrics.jsonl,
/// health.jsonl, sample.txt.
/// \throws Error (data) that names a folder that is not a run's; Error (io)
void write_report(const std::vector<std::filesystem::path>& runs, const std::filesystem::path& page);

}  // namespace evenkeel::report
