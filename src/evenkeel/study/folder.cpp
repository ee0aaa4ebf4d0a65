// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/folder.h"

#include <nlohmann/json.hpp>

#include <system_error>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/number.h"

namespace evenkeel::study {

namespace {

namespace fs = std::filesystem;

/// What decides the runs, by name, as text.
nlohmann::ordered_json traits_of(const Study& study) {
  nlohmann::ordered_json traits = {{"the study", study.name},
                                   {"the size", study.size},
                                   {"[settings]", study.settings},
                                   {"seeds", study.seeds},
                                   {"fails_above", study.fails_above}};
  if (study.alone) traits["alone"] = true;
  for (const auto& axis : study.axes) {
    auto values = nlohmann::ordered_json::array();
    for (const auto& [label, sets] : axis.values) {
      const bool tells_itself = sets.size() == 1 && sets.front().starts_with(axis.name + "=");
      values.push_back(tells_itself ? nlohmann::ordered_json(label)
                                    : nlohmann::ordered_json{{label, sets}});
    }
    traits["grid." + axis.name] = std::move(values);
  }
  if (study.tune) {
    traits["[tune]"] = {study.tune->key, study.tune->values, study.tune->rungs, study.tune->seed};
  }
  return traits;
}

/// The first trait that differs: "seeds was [1,2], but is [1,2,3]"; "" if none does.
std::string difference_between(const nlohmann::ordered_json& before,
                               const nlohmann::ordered_json& now) {
  const auto shown = [](const nlohmann::ordered_json& traits, const std::string& name) {
    return traits.contains(name) ? traits.at(name).dump() : std::string("nothing");
  };
  for (const auto* const traits : {&now, &before}) {
    for (const auto& [name, value] : traits->items()) {
      const auto old_value = shown(before, name), new_value = shown(now, name);
      if (old_value != new_value) return text(name, " was ", old_value, ", but is ", new_value);
    }
  }
  return "";
}

bool is_untouched(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() != "lock" && entry.path().filename() != "logs") return false;
  }
  return true;
}

}  // namespace

Folder::Folder(const fs::path& folder, const Study& study, bool takes_over) : folder_(folder) {
  std::error_code none;
  if (exists(folder, none) && !is_directory(folder, none)) {
    throw Error(Exit::usage, text("--run must name a folder, but ", folder.string(), " is a file"));
  }
  const auto file = folder / "study.json";
  if (exists(folder, none) && !exists(file, none) && !is_untouched(folder)) {
    throw Error(Exit::usage, text(folder.string(),
                                  " holds something else than a study; name another "
                                  "folder with --run"));
  }
  store::make_run_folder(folder);
  lock_ = std::make_unique<store::Lock>(folder);
  store::make_run_folder(logs());
  const auto now = traits_of(study);
  if (exists(file, none)) {
    const auto before = nlohmann::ordered_json::parse(read_file(file), nullptr, false);
    const auto difference = before.is_object() ? difference_between(before, now) : "its study.json";
    if (!difference.empty() && !takes_over) {
      throw Error(Exit::differs,
                  text(folder.string(), ": the study was begun with something else: ", difference,
                       "; name another folder with --run (finished runs are shared), or allow it "
                       "with --override"));
    }
  }
  write_file(file, now.dump(2) + "\n");
  write_file(folder / "study.toml", study.text);
}

}  // namespace evenkeel::study
