// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/disk_space.h"

#include <system_error>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/directory.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/study/runs/child_process.h"

namespace evenkeel::study {

std::int64_t free_disk_bytes(std::filesystem::path folder) {
  std::error_code none;
  folder = absolute(folder, none);
  while (!exists(folder, none) && folder.has_relative_path()) folder = folder.parent_path();
  try {
    const auto opened = store::Directory::find(folder);
    return opened ? store::free_bytes(opened->descriptor()) : -1;
  } catch (const Error&) {  // a folder that may not be opened
    return -1;
  }
}

std::int64_t kept_checkpoints(const config::Config& config) {
  const auto usual = config::Config{}.checkpoint.keep;
  return config.checkpoint.keep == usual ? 1 : config.checkpoint.keep;
}

std::string remove_older_checkpoints(const std::filesystem::path& run) {
  try {
    if (store::checkpoint_steps(run).size() < 2) return "";
    const store::Lock lock(run);
    store::keep_newest_checkpoint(lock);
  } catch (const Error& error) {
    if (error.exit() == Exit::io) return error.what();
    if (error.exit() != Exit::busy) throw;
  }
  return "";
}

std::string low_disk_warning(const std::filesystem::path& folder) {
  const auto free = free_disk_bytes(folder);
  if (free < 0 || static_cast<double>(free) >= store::kCheckpointReserve) return "";
  return text(folder.string(), ": ", bytes_text(static_cast<double>(free)),
              " are free, but a checkpoint needs more than ", bytes_text(store::kCheckpointReserve),
              "; runs that end now wait for space");
}

std::string waiting_line(const std::filesystem::path& log) {
  std::error_code none;
  if (!exists(log, none)) return "";
  auto line = last_log_line(log);
  return line.find(store::kWaitsForSpace) != std::string::npos ? line : "";
}

}  // namespace evenkeel::study
