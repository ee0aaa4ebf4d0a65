// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "evenkeel/config/config.h"
#include "evenkeel/study/runs/run_texts.h"

/// The cache of runs that studies share. The folder name of a run is a hash of its inputs.
namespace evenkeel::study {

/// Version of the numerical results. It increases if and only if equal configurations give
/// different numbers, which makes cached runs stale (CHANGELOG.md, "Changed numbers").
inline constexpr int kNumericsVersion = 19;

/// Computes cache keys from the inputs that determine the numbers of a run: resolved configuration
/// with scheme, digests of the data, arithmetic (precision, instruction set, LibTorch), and
/// kNumericsVersion. Keys of timed runs also include settings that affect only speed (checkpoints,
/// recomputation, threads), the program and the machine.
class RunCacheKeys {
 public:
  /// \param timing_context  program and machine of a timed run; "" for all others
  /// \return "pre_norm-0123456789abcdef", a folder of the run cache
  /// \throws Error (data) if the data cannot be read
  std::string key(const config::Config& config, const std::string& arithmetic,
                  const std::string& timing_context = "");

  /// The texts of a run, and its tasks as the last element, which key() uses.
  /// \throws Error (data) if the data cannot be read
  SharedTexts texts(const config::Config& config);

 private:
  // By [data] and evaluate.texts; by the labels and the folder of tasks; by both. Each text and
  // each task is read once.
  std::map<std::string, SharedTexts> texts_;
  std::map<std::string, RunText> tasks_;
  std::map<std::string, SharedTexts> texts_with_tasks_;
};

/// The progress of a run in the cache. damaged: the state is "finished", but the record of the last
/// evaluation is missing.
struct RunStatus {
  enum class State { absent, started, finished, diverged, damaged };
  State state = State::absent;
  std::int64_t step = 0, steps = 0;
};
RunStatus run_status(const std::filesystem::path& run);

/// Renames the folder of a damaged run to KEY.damaged, KEY.damaged2 ..., so that the run can be
/// repeated.
/// \return the new path
/// \throws Error (io) if renaming fails
std::filesystem::path rename_damaged(const std::filesystem::path& run);

}  // namespace evenkeel::study
