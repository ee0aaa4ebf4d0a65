// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "evenkeel/config/config.h"

/// The runs of all studies, each in a folder that is named after what it computes.
namespace evenkeel::study {

/// Raised when, and only when, equal configurations give other numbers than before: then
/// cached runs are stale (CHANGELOG.md, "Changed numbers").
inline constexpr int kNumericsVersion = 6;

/// Names runs by what decides their numbers: the resolved configuration with its scheme, the
/// digests of the text, the arithmetic (precision, instructions, LibTorch), kNumericsVersion. What
/// decides only how long a run takes counts where it is timed: when things are saved, what is
/// computed again, threads, and the program and machine.
class RunCacheKeys {
 public:
  /// \param timing_context  program and machine, of a run that is timed; "" of any other
  /// \return "pre_norm-0123456789abcdef", a folder of the run cache
  /// \throws Error (data) where the text cannot be read
  std::string key(const config::Config& config, const std::string& arithmetic,
                  const std::string& timing_context = "");

 private:
  std::map<std::string, std::string> digests_;  // by [data], so that a text is read once
};

/// How far a run of the run cache is. Damaged: it says that it has finished, but of its last
/// evaluation nothing is on record.
struct RunStatus {
  enum class State { absent, started, finished, diverged, damaged };
  State state = State::absent;
  std::int64_t step = 0, steps = 0;
};
RunStatus run_status(const std::filesystem::path& run);

/// Makes room for the run once more: the folder becomes KEY.damaged, or KEY.damaged2 ...
/// \return the new name
/// \throws Error (io)
std::filesystem::path rename_damaged(const std::filesystem::path& run);

}  // namespace evenkeel::study
