// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/store/checkpoint_save.h"
#include "evenkeel/store/manifest.h"

namespace evenkeel::store {

namespace {

/// RUN/checkpoints; nullopt if it does not exist.
/// \throws Error (io) if it is a link, or cannot be opened
std::optional<Directory> checkpoints_of(const std::optional<Directory>& run) {
  if (!run || !run->has(kCheckpointsName)) return std::nullopt;
  return run->folder(kCheckpointsName);
}

VerifiedCheckpoint verified(const Directory& checkpoints, std::int64_t step, CheckReport report) {
  return {checkpoints.folder(step_name(step)), step, std::move(report.manifest),
          std::move(report.state)};
}

CheckpointSearch search(const std::optional<Directory>& checkpoints) {
  CheckpointSearch newest;
  if (!checkpoints) return newest;
  auto steps = listed_steps(*checkpoints);
  std::reverse(steps.begin(), steps.end());
  for (const auto step : steps) {
    auto found = check_checkpoint(*checkpoints, step, CheckLevel::digests);
    if (found.defect.empty()) {
      newest.found = verified(*checkpoints, step, std::move(found));
      break;
    }
    newest.skipped.push_back(
        text("checkpoints/", step_name(step), ": ", found.defect, "; skipped"));
  }
  return newest;
}

}  // namespace

std::string step_name(std::int64_t step) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "step-%08lld", static_cast<long long>(step));
  return name.data();
}

std::vector<std::int64_t> listed_steps(const Directory& checkpoints) {
  constexpr std::string_view kBefore = "step-";
  std::vector<std::int64_t> steps;
  for (const auto& name : checkpoints.entries()) {
    if (!name.starts_with(kBefore)) continue;
    std::int64_t step = -1;
    std::from_chars(name.data() + kBefore.size(), name.data() + name.size(), step);
    if (step >= 0 && step_name(step) == name) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

CheckpointSearch newest_checkpoint(const std::filesystem::path& run) {
  return search(checkpoints_of(Directory::find(run)));
}

CheckpointSearch newest_checkpoint(const Directory& run) {
  return search(checkpoints_of(run));
}

CheckpointSearch find_checkpoint(const std::filesystem::path& folder) {
  const auto own = folder.has_filename() ? folder : folder.parent_path();
  const auto run = own.parent_path().parent_path();
  const auto checkpoints = own.parent_path().filename() == kCheckpointsName
                               ? checkpoints_of(Directory::find(run.empty() ? "." : run))
                               : std::nullopt;
  for (const auto step : checkpoints ? listed_steps(*checkpoints) : std::vector<std::int64_t>()) {
    if (own.filename() != step_name(step)) continue;
    auto found = check_checkpoint(*checkpoints, step, CheckLevel::digests);
    if (!found.defect.empty()) return {.found = {}, .skipped = {found.defect}};
    return {.found = verified(*checkpoints, step, std::move(found)), .skipped = {}};
  }
  return newest_checkpoint(folder);
}

std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& run) {
  const auto checkpoints = checkpoints_of(Directory::find(run));
  if (!checkpoints) return {};
  auto steps = listed_steps(*checkpoints);
  std::erase_if(steps, [&](std::int64_t step) {
    const auto name = step_name(step);
    return !checkpoints->has_folder(name) || !checkpoints->folder(name).has(kManifestName);
  });
  return steps;
}

CheckpointSearch checkpoint_of_step(const std::filesystem::path& run, std::int64_t step) {
  const auto steps = checkpoint_steps(run);
  if (std::find(steps.begin(), steps.end(), step) == steps.end()) {
    std::string known;
    for (const auto each : steps) known += text(known.empty() ? "" : ", ", each);
    throw Error(Exit::no_checkpoint, text(run.string(), ": has no checkpoint of step ", step,
                                          ", but of: ", known.empty() ? "(none)" : known));
  }
  const auto name = step_name(step);
  auto search = find_checkpoint(run / kCheckpointsName / name);
  for (auto& line : search.skipped) line = text("checkpoints/", name, ": ", line);
  return search;
}

}  // namespace evenkeel::store
