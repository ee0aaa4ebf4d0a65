// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// The results of a study whose runs are not at hand.
struct RecordedResults {
  Results results;                           // with verdicts; without curves and profiles
  std::vector<std::string> missing_columns;  // measures that the file does not have
  std::size_t changed_states = 0;  // runs that fail by the study's fails_above but not in the file,
                                   // or the reverse
};

/// Reads a file that runs_csv() wrote, and tests the claims of the study. Trains nothing. The state
/// of a run with a validation loss is that of failure_reason() by the study's fails_above, not that
/// of the file; a run that failed for another reason remains failed.
/// \param study       the definition; its grid must have every arm of the file
/// \param keeps_seeds false: the seeds of the study are those of the file; true: rows of other
///                    seeds are ignored
/// \throws Error (data, exit code 65) if the file is no such CSV, or has an arm that the study does
///         not have, or a failed run that finishes with the study's fails_above, without the values
///         that the claims need; (io, 74)
RecordedResults recorded_results(Study study, const std::filesystem::path& file, bool keeps_seeds);

}  // namespace evenkeel::study
