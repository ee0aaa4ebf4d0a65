// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/store/checkpoint_save.h"
#include "evenkeel/store/manifest.h"

namespace evenkeel::store {

std::string step_name(std::int64_t step) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "step-%08lld", static_cast<long long>(step));
  return name.data();
}

std::vector<std::int64_t> listed_steps(const std::filesystem::path& run) {
  constexpr std::string_view kBefore = "step-";
  std::vector<std::int64_t> steps;
  for (const auto& each : directory_entries(run / "checkpoints")) {
    const auto name = each.filename().string();
    if (!name.starts_with(kBefore)) continue;
    std::int64_t step = -1;
    std::from_chars(name.data() + kBefore.size(), name.data() + name.size(), step);
    if (step >= 0 && step_name(step) == name) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

CheckpointSearch newest_checkpoint(const std::filesystem::path& run) {
  CheckpointSearch newest;
  auto steps = listed_steps(run);
  std::reverse(steps.begin(), steps.end());
  for (const auto step : steps) {
    const auto folder = run / "checkpoints" / step_name(step);
    auto found = check_checkpoint(folder, step, CheckLevel::digests);
    if (found.defect.empty()) {
      newest.found = {folder, step, std::move(found.manifest), std::move(found.state)};
      break;
    }
    newest.skipped.push_back(
        text("checkpoints/", step_name(step), ": ", found.defect, "; skipped"));
  }
  return newest;
}

CheckpointSearch find_checkpoint(const std::filesystem::path& folder) {
  const auto own = folder.has_filename() ? folder : folder.parent_path();
  const auto run = own.parent_path().parent_path();
  for (const auto step : listed_steps(run)) {
    if (own != run / "checkpoints" / step_name(step)) continue;
    auto found = check_checkpoint(own, step, CheckLevel::digests);
    if (!found.defect.empty()) return {.found = {}, .skipped = {found.defect}};
    return {.found = {{own, step, std::move(found.manifest), std::move(found.state)}},
            .skipped = {}};
  }
  return newest_checkpoint(folder);
}

std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& run) {
  auto steps = listed_steps(run);
  std::erase_if(steps, [&](std::int64_t step) {
    std::error_code none;
    return !exists(run / "checkpoints" / step_name(step) / kManifestName, none);
  });
  return steps;
}

}  // namespace evenkeel::store
