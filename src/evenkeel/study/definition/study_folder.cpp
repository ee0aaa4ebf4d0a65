// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/definition/study_folder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/number.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::study {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kIdentity = "study.json";
constexpr const char* kLogs = "logs";
constexpr const char* kChanges = "changed with --override";

/// The claim as text, in one line.
std::string claim_line(const Claim& claim) {
  const auto arms = [](const Selection& selection) {
    std::string out;
    for (const auto& [axis, label] : selection) out += text(out.empty() ? "" : ", ", label);
    return out;
  };
  constexpr std::array kKinds = {"lower", "alike", "trains", "fails", "further"};
  auto out = text(kKinds.at(static_cast<std::size_t>(claim.kind)), ": ", arms(claim.of));
  if (!claim.than.empty()) out += " than " + arms(claim.than);
  if (!claim.at.empty()) out += " at " + arms(claim.at);
  if (!claim.along.empty()) out += " along " + claim.along;
  if (claim.margin > 0) out += " within " + shortest(claim.margin);
  return out + " in " + claim.measure.name();
}

/// The settings that decide the runs, and the claims about them, by name, as text.
Json study_identity(const Study& study) {
  Json identity = {{"the study", study.name},
                   {"the size", study.size},
                   {"[settings]", study.settings},
                   {"seeds", study.seeds},
                   {"fails_above", study.fails_above}};
  if (study.exclusive) identity["alone"] = true;
  for (const auto& axis : study.axes) {
    auto values = Json::array();
    for (const auto& [label, settings] : axis.values) {
      const bool is_self_explanatory =
          settings.size() == 1 && settings.front().starts_with(axis.name + "=");
      values.push_back(is_self_explanatory ? Json(label) : Json{{label, settings}});
    }
    identity["grid." + axis.name] = std::move(values);
  }
  if (study.tune) {
    identity["[tune]"] = {study.tune->key, study.tune->values, study.tune->rungs, study.tune->seed};
  }
  identity["measure"] = study.measure.name();
  identity["baseline"] = study.baseline;
  identity["[[claims]]"] = Json::array();
  for (const auto& claim : study.claims) identity["[[claims]]"].push_back(claim_line(claim));
  return identity;
}

/// The items of a list that the other has not.
Json without(const Json& list, const Json& other) {
  auto out = Json::array();
  for (const auto& item : list) {
    if (std::find(other.begin(), other.end(), item) == other.end()) out.push_back(item);
  }
  return out;
}

/// "seeds was [1,2], but is [1,2,3]"; of longer lists only what the other has not: "[settings] had
/// ["train.steps=20"], but has ["train.steps=24"]".
std::string study_folder_difference_of(const std::string& name, const Json& before,
                                       const Json& now) {
  const bool are_lists = before.is_array() && now.is_array();
  const auto gone = are_lists ? without(before, now) : before;
  const auto come = are_lists ? without(now, before) : now;
  const bool are_texts = are_lists && std::all_of(now.begin(), now.end(), [](const Json& item) {
                           return item.is_string();
                         });
  if (are_texts && (!gone.empty() || !come.empty())) {
    return text(name, " had ", gone.dump(), ", but has ", come.dump());
  }
  return text(name, " was ", before.dump(), ", but is ", now.dump());
}

/// Older study folders hold no claims: a folder without claims counts as one with equal claims.
bool is_unknown(const Json& before, const std::string& name) {
  constexpr std::array kQuestions = {"measure", "baseline", "[[claims]]"};
  return !before.contains(name) &&
         std::find(kQuestions.begin(), kQuestions.end(), name) != kQuestions.end();
}

/// All parts of the identity that differ.
std::vector<std::string> differences_between(const Json& before, const Json& now) {
  const auto of = [](const Json& identity, const std::string& name) {
    return identity.contains(name) ? identity.at(name) : Json("nothing");
  };
  std::vector<std::string> out;
  for (const auto& [name, value] : now.items()) {
    if (of(before, name) == value || is_unknown(before, name)) continue;
    out.push_back(study_folder_difference_of(name, of(before, name), value));
  }
  for (const auto& [name, value] : before.items()) {
    if (name == kChanges || now.contains(name)) continue;
    out.push_back(study_folder_difference_of(name, value, "nothing"));
  }
  return out;
}

bool is_unused(const store::Directory& folder) {
  const auto names = folder.entries();
  return std::all_of(names.begin(), names.end(),
                     [](const std::string& name) { return name == "lock" || name == kLogs; });
}

/// Creates the folder of the logs. A symbolic link of its name is an error.
void make_logs(const store::Directory& study) {
  study.make_folder(kLogs);
  store::remove_dead_temporaries(study);
  store::remove_dead_temporaries(study.folder(kLogs));
}

}  // namespace

StudyFolder::StudyFolder(const fs::path& folder, const Study& study, bool allow_changes) {
  std::error_code none;
  if (exists(folder, none) && !is_directory(folder, none)) {
    throw Error(Exit::usage, text("--run must name a folder, but ", folder.string(), " is a file"));
  }
  const auto before_lock = store::Directory::find(folder);
  if (before_lock && !before_lock->has(kIdentity) && !is_unused(*before_lock)) {
    throw Error(Exit::usage, text(folder.string(),
                                  " holds something else than a study; name another "
                                  "folder with --run"));
  }
  store::make_run_folder(folder);
  lock_ = std::make_unique<store::Lock>(folder);
  const auto& opened = lock_->directory();
  make_logs(opened);
  auto now = study_identity(study);
  if (opened.has(kIdentity)) {
    const auto before = parse_ordered_json(opened.read(kIdentity));
    const auto differences = before.is_object() ? differences_between(before, now)
                                                : std::vector<std::string>{"its study.json"};
    if (!differences.empty() && !allow_changes) {
      const auto more = differences.size() - 1;
      throw Error(Exit::differs,
                  text(folder.string(), ": the study was begun with something else: ",
                       differences.front(), more > 0 ? text(" (and ", more, " more)") : "",
                       "; name another folder with --run (finished runs are shared), or allow it "
                       "with --override"));
    }
    if (before.is_object()) changes_ = before.value(kChanges, changes_);
    changes_.insert(changes_.end(), differences.begin(), differences.end());
  }
  if (!changes_.empty()) now[kChanges] = changes_;
  write(kIdentity, now.dump(2) + "\n");
  write("study.toml", study.text);
}

void StudyFolder::write(const std::string& name, const std::string& content) const {
  lock_->check_path();
  lock_->directory().write(name, content);
}

}  // namespace evenkeel::study
