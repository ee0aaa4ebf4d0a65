// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/disk_space.h"

#include <system_error>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/directory.h"
#include "evenkeel/study/runs/child_process.h"

namespace evenkeel::study {

std::string low_disk_warning(const std::filesystem::path& folder) {
  const auto opened = store::Directory::find(folder);
  const auto free = opened ? store::free_bytes(opened->descriptor()) : -1;
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
