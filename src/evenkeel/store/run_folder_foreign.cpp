// SPDX-License-Identifier: Apache-2.0
// Folders that are no run, or whose run.toml is missing.
#include <algorithm>
#include <initializer_list>
#include <system_error>

#include "evenkeel/base/error.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

bool is_foreign_folder(const std::filesystem::path& folder) {
  const auto entries = directory_entries(folder);
  const auto has = [](const auto& entry, std::initializer_list<const char*> names) {
    return std::ranges::find(names, entry.filename().string()) != names.end();
  };
  const auto begins = [](const auto& entry, std::initializer_list<const char*> names) {
    const auto name = entry.filename().string();
    return std::ranges::any_of(names, [&](const char* each) { return name.starts_with(each); });
  };
  const auto is_of_run = [&](const auto& entry) {
    return has(entry, {"run.toml", "provenance.json"});
  };
  if (std::ranges::any_of(entries, is_of_run) || !checkpoint_steps(folder).empty()) return false;
  // What a start leaves that ended before it wrote run.toml.
  return !std::ranges::all_of(entries, [&](const auto& entry) {
    if (has(entry, {"checkpoints"}) && is_directory(symlink_status(entry))) {
      return std::ranges::all_of(directory_entries(entry), [&](const auto& each) {
        return begins(each, {".tmp-", ".trash-"});
      });
    }
    return has(entry, {"lock", ".ranks"}) || begins(entry, {"log-rank-"}) ||
           entry.filename().string().find(".new-") != std::string::npos;
  });
}

std::string import_hint(const std::filesystem::path& folder) {
  std::error_code none;
  const auto has = [&](const char* name) { return exists(folder / name, none); };
  if (!has("config.json")) return "";
  if (!has("model.safetensors") && !has("model.safetensors.index.json")) return "";
  return text("; it is a model of Hugging Face: `evenkeel import ", shell_word(folder.string()),
              " --output RUN` makes a run of it");
}

std::string no_run_hint(const std::filesystem::path& folder) {
  std::error_code none;
  const bool has_checkpoints =
      exists(folder / "checkpoints/.", none) && !checkpoint_steps(folder).empty();
  if (!has_checkpoints || exists(folder / "run.toml", none)) return import_hint(folder);
  return text("; it has checkpoints: `evenkeel train --run ", shell_word(folder.string()),
              "` writes run.toml anew, and trains the steps that are left");
}

}  // namespace evenkeel::store
