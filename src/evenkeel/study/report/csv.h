// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// CSV with one row per run: arm, label on every axis, seed, state, reason, measure of the study,
/// last training and validation loss, parameters, tokens, folder in the run cache, and the measures
/// of the claims and the losses of Study::loss_shares under their names. Missing values are empty.
/// Equal results give equal bytes, so there are no times but those that a study measures.
/// \source RFC 4180, except that lines end in LF
std::string runs_csv(const Results& results);

/// In studies that time their runs: the share of CPU time that other processes took.
inline constexpr const char* kContentionColumn = "cpu_contention";

/// A row of a CSV file, and the line that it begins on, from 1.
struct CsvRow {
  std::size_t line = 0;
  std::vector<std::string> fields;
};

/// The rows of a CSV file, its header included, without a byte order mark.
/// \param name  of the file, for messages
/// \throws Error (data, exit code 65) for a quote that is not closed
/// \source RFC 4180; lines end in LF or CR LF
std::vector<CsvRow> csv_rows(std::string_view csv, const std::string& name);

/// CSV with one row per trial of the search: arm, value, fraction of the steps, state, validation
/// loss, chosen or not, folder in the run cache; "" without a search.
std::string searches_csv(const Results& results);

}  // namespace evenkeel::study
