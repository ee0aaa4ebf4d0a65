// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>

#include "evenkeel/base/error.h"
#include "evenkeel/study/study.h"

/// What `study` prints at its end.
namespace evenkeel::cli {

/// Prints one verdict per claim, or the differences from the baseline if there are no claims.
/// \param folder       of the study
/// \param is_recorded  of a runs.csv, so that no command resumes the runs
void print_results(const study::Results& results, const std::filesystem::path& folder,
                   bool is_recorded);

/// The verdicts as JSON. "difference", "low" and "high" are arm minus reference with its 95 %
/// interval; "p" is absent for a claim that is not tested.
nlohmann::ordered_json results_json(const study::Results& results,
                                    const std::filesystem::path& folder);

/// Writes the figures of the report as SVG files, and names the folder unless `quiet`.
/// \throws Error (io, exit code 74)
void write_figures(const study::Results& results, const std::filesystem::path& folder, bool quiet);

/// The exit code: 70 (internal) if a run crashed twice; 1 (check_failed) if `strict` and a claim is
/// contradicted; else 0.
Exit exit_of(const study::Results& results, bool strict);

}  // namespace evenkeel::cli
