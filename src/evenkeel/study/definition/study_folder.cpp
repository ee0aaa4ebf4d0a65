// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/definition/study_folder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <sstream>
#include <system_error>
#include <thread>
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
constexpr const char* kWorkers = "workers.json";
constexpr const char* kChanges = "changed with --override";
constexpr const char* kTexts = "texts";
constexpr const char* kScheme = "scheme ";  // and its name

/// The claim as text, in one line.
std::string claim_line(const Claim& claim) {
  const auto arms = [](const Selection& selection) {
    std::string out;
    for (const auto& [axis, label] : selection) out += text(out.empty() ? "" : ", ", label);
    return out;
  };
  constexpr std::array kKindNames = {"lower", "alike", "trains", "fails", "further"};
  auto out = text(kKindNames.at(static_cast<std::size_t>(claim.kind)), ": ", arms(claim.of));
  if (!claim.than.empty()) out += " than " + arms(claim.than);
  if (!claim.at.empty()) out += " at " + arms(claim.at);
  if (!claim.than_at.empty()) out += " than at " + arms(claim.than_at);
  if (!claim.along.empty()) out += " along " + claim.along;
  if (claim.margin > 0) out += " within " + shortest(claim.margin);
  if (std::isfinite(claim.competence)) out += " below " + shortest(claim.competence);
  out += " in " + claim.measure.name();
  return claim.measure.cap > 0 ? text(out, " of at most ", shortest(claim.measure.cap)) : out;
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
    identity["[tune]"] = {study.tune->key, study.tune->values, study.tune->rungs, study.tune->seed,
                          study.tune->extend};
  }
  if (study.refine) identity["[refine]"] = {study.refine->axis, study.refine->extend};
  identity["measure"] = study.measure.name();
  identity["baseline"] = study.baseline;
  if (study.comparison) {
    identity["compare"] = {study.comparison->name(), study.comparison->cap};
  }
  identity["test"] = study.uses_bootstrap ? "bootstrap" : "t";
  identity["correction"] = study.controls_false_discoveries ? "benjamini_hochberg" : "holm";
  identity["smallest_effect"] = study.smallest_effect ? Json(*study.smallest_effect) : "default";
  identity["val_loss_at"] = study.loss_shares;
  identity["power_law"] = study.power_law;
  identity["[[claims]]"] = Json::array();
  for (const auto& claim : study.claims) identity["[[claims]]"].push_back(claim_line(claim));
  return identity;
}

/// Adds the schemes that are no names of the catalogue, each as a list of lines, and the texts.
void add_inputs(Json& identity, const StudyFolder::Options& options) {
  for (const auto& [name, toml] : options.schemes) {
    auto& lines = identity[kScheme + name] = Json::array();
    std::istringstream in(toml);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
  }
  if (!options.texts.empty()) identity[kTexts] = options.texts;
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

/// Older study folders lack some of what decides runs and verdicts, which then counts as equal.
bool is_unknown(const Json& before, const std::string& name) {
  constexpr std::array kLater = {"measure",     "baseline",   "[[claims]]",
                                 "test",        "correction", "smallest_effect",
                                 "val_loss_at", "power_law",  kTexts};
  return !before.contains(name) && (name.starts_with(kScheme) ||
                                    std::find(kLater.begin(), kLater.end(), name) != kLater.end());
}

/// "data.train" of "data.train DIGEST".
std::string name_of_text(const Json& line) {
  const auto whole = line.is_string() ? line.get<std::string>() : line.dump();
  return whole.substr(0, whole.find(' '));
}

/// The texts of a list that the other one contradicts: those of a name for which each list has a
/// digest that the other has not. A new text, a text less and another order are no other text.
Json contradicted_texts(const Json& list, const Json& other) {
  if (!list.is_array() || !other.is_array()) return list;
  const auto others = without(other, list);
  auto out = Json::array();
  for (const auto& line : without(list, other)) {
    const bool is_other = std::any_of(others.begin(), others.end(), [&](const Json& each) {
      return name_of_text(each) == name_of_text(line);
    });
    if (is_other) out.push_back(line);
  }
  return out;
}

/// The texts in a file of the study folder; none if it has none.
Json recorded_texts(const store::Directory& opened, const char* file) {
  if (!opened.has(file)) return Json::array();
  const auto content = parse_ordered_json(opened.read(file));
  return content.contains(kTexts) ? content[kTexts] : Json::array();
}

/// "this study was trained by workers with data.train aa, but here it is bb": the first of the
/// texts, and the number of the other ones.
std::string text_of_workers(const Json& theirs, const Json& mine) {
  const auto name = name_of_text(theirs.front());
  const auto here = std::find_if(mine.begin(), mine.end(),
                                 [&](const Json& line) { return name_of_text(line) == name; });
  EK_ASSERT(here != mine.end());
  const auto more = theirs.size() - 1;
  return text("this study was trained by workers with ", theirs.front().get<std::string>(),
              ", but here it is ", here->get<std::string>().substr(name.size() + 1),
              more > 0 ? text(" (and ", more, " more)") : "");
}

/// All parts of the identity that differ.
std::vector<std::string> differences_between(const Json& before, const Json& now) {
  const auto of = [](const Json& identity, const std::string& name) {
    return identity.contains(name) ? identity.at(name) : Json("nothing");
  };
  std::vector<std::string> out;
  for (const auto& [name, now_value] : now.items()) {
    auto was = of(before, name);
    auto is = Json(now_value);
    if (name == kTexts) {
      was = contradicted_texts(of(before, name), now_value);
      is = contradicted_texts(now_value, of(before, name));
    }
    if (was == is || is_unknown(before, name)) continue;
    out.push_back(study_folder_difference_of(name, was, is));
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
/// \param is_shared  temporary files may belong to processes of other machines
void make_logs(const store::Directory& study, bool is_shared) {
  study.make_folder(kLogs);
  if (is_shared) return;
  store::remove_dead_temporaries(study);
  store::remove_dead_temporaries(study.folder(kLogs));
}

/// \throws Error (usage) if the folder exists and has something else than a study
void check_is_study(const fs::path& folder) {
  const auto opened = store::Directory::find(folder);
  if (!opened || opened->has(kIdentity) || is_unused(*opened)) return;
  throw Error(Exit::usage, text(folder.string(),
                                " holds something else than a study; name another "
                                "folder with --run"));
}

}  // namespace

StudyFolder::StudyFolder(const fs::path& folder, const Study& study, const Options& options)
    : path_(folder), options_(options) {
  std::error_code none;
  if (exists(folder, none) && !is_directory(folder, none)) {
    throw Error(Exit::usage, text("--run must name a folder, but ", folder.string(), " is a file"));
  }
  // A worker may find the folder while another one makes it, and checks it again with the lock.
  if (!is_shared() || !exists(folder / "lock", none)) check_is_study(folder);
  store::make_run_folder(folder);
  lock();
  check_is_study(folder);
  const auto& opened = lock_->directory();
  make_logs(opened, is_shared());
  check_workers(opened);  // first: no --override makes workers alike
  take_changes(opened, study);
  if (is_shared()) {
    write_worker(opened);
    lock_.reset();
  }
}

/// Locks the folder. Workers hold it only while they write: another process waits for them.
void StudyFolder::lock() {
  constexpr auto kPoll = std::chrono::milliseconds(50);
  std::error_code none;
  const bool has_workers = is_shared() || exists(path_ / kWorkers, none);
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration<double>(has_workers ? options_.lock_seconds : 0);
  while (!lock_) {
    try {
      lock_ = std::make_unique<store::Lock>(path_);
    } catch (const Error& error) {
      if (error.exit() != Exit::busy || std::chrono::steady_clock::now() >= end) throw;
      std::this_thread::sleep_for(kPoll);
    }
  }
}

/// Compares the study with study.json, and writes both.
void StudyFolder::take_changes(const store::Directory& opened, const Study& study) {
  auto now = study_identity(study);
  add_inputs(now, options_);
  if (opened.has(kIdentity)) {
    const auto before = parse_ordered_json(opened.read(kIdentity));
    const auto differences = before.is_object() ? differences_between(before, now)
                                                : std::vector<std::string>{"its study.json"};
    if (!differences.empty() && !options_.allow_changes) {
      const auto more = differences.size() - 1;
      throw Error(Exit::differs,
                  text(path_.string(), ": the study was begun with something else: ",
                       differences.front(), more > 0 ? text(" (and ", more, " more)") : "",
                       "; name another folder with --run (finished runs are shared), or allow it "
                       "with --override"));
    }
    if (before.is_object()) changes_ = before.value(kChanges, changes_);
    changes_.insert(changes_.end(), differences.begin(), differences.end());
  }
  if (!changes_.empty()) now[kChanges] = changes_;
  lock_->check_path();
  opened.write(kIdentity, now.dump(2) + "\n");
  opened.write("study.toml", study.text);
}

/// Writes how this worker computes, and its texts after those that workers read before it.
void StudyFolder::write_worker(const store::Directory& opened) const {
  auto texts = recorded_texts(opened, kWorkers);
  for (const auto& line : without(Json(options_.worker_texts), texts)) texts.push_back(line);
  const Json workers = {{"arithmetic", options_.worker_arithmetic}, {"texts", texts}};
  opened.write(kWorkers, workers.dump(2) + "\n");
}

/// Compares the texts of this process, and how it computes if it is a worker, with workers.json. A
/// file of an older version has no texts. Texts that study.json has are no error of a process that
/// is no worker: older versions let --override change them after workers had trained.
void StudyFolder::check_workers(const store::Directory& opened) const {
  if (!opened.has(kWorkers)) return;
  const auto others = parse_ordered_json(opened.read(kWorkers));
  const auto theirs = others.is_object() ? others.value("arithmetic", "") : "";
  const auto file = (path_ / kWorkers).string();
  if (is_shared() && theirs != options_.worker_arithmetic) {
    throw Error(Exit::differs,
                text(file,
                     ": the workers of a study must compute alike, but "
                     "they compute with \"",
                     theirs, "\" and this machine with \"", options_.worker_arithmetic,
                     "\"; use machines of one kind, or name another "
                     "folder with --run"));
  }
  if (!others.contains(kTexts)) return;
  const auto texts = is_shared() ? Json(options_.worker_texts)
                                 : without(Json(options_.texts), recorded_texts(opened, kIdentity));
  const auto known = contradicted_texts(others[kTexts], texts);
  const auto mine = contradicted_texts(texts, others[kTexts]);
  if (known == mine) return;
  if (!is_shared() && known.is_array()) {
    throw Error(Exit::differs, text(file, ": ", text_of_workers(known, mine),
                                    ", which --override does not allow; restore the file, or name "
                                    "another folder with --run"));
  }
  throw Error(Exit::differs, text(file, ": the workers of a study must read the same files, but ",
                                  study_folder_difference_of(kTexts, known, mine),
                                  " here, which --override does not allow; give all workers the "
                                  "same files, or name another folder with --run"));
}

void StudyFolder::write(const std::vector<std::pair<std::string, std::string>>& files) {
  if (is_shared()) lock();
  lock_->check_path();
  for (const auto& [name, content] : files) lock_->directory().write(name, content);
  if (is_shared()) lock_.reset();
}

}  // namespace evenkeel::study
