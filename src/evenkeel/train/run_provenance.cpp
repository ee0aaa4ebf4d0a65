// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/run_provenance.h"

#include <algorithm>
#include <array>
#include <functional>

#include "evenkeel/base/error.h"
#include "evenkeel/data/token_corpus.h"
#include "evenkeel/data/tokenizer_record.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/leakage.h"
#include "evenkeel/norm/warnings.h"
#include "evenkeel/store/run_changes.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::train {

namespace {

[[noreturn]] void throw_no_provenance(const store::VerifiedCheckpoint& checkpoint) {
  throw Error(Exit::no_checkpoint, text(checkpoint.folder.path().string(),
                                        ": its manifest does not say what it was made from"));
}

/// The files of texts: [{path, digest}, ...].
nlohmann::ordered_json files_of(const std::vector<data::Source>& sources) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& source : sources) {
    for (const auto& file : source.corpus.files) {
      list.push_back({{"path", file.path}, {"digest", file.digest}});
    }
  }
  return list;
}

constexpr const char* kFiles = "files";                       // of the training text
constexpr const char* kValidationFiles = "validation_files";  // if it has files of its own

/// " (shard-3.npy)": the first file that differs, or is new or gone; "" if there is none.
/// \param key  of the list of files
std::string changed_file(const nlohmann::json& before, const nlohmann::json& now, const char* key) {
  const auto was = before.value(key, nlohmann::json::array());
  const auto is = now.value(key, nlohmann::json::array());
  for (std::size_t i = 0; i < std::min(was.size(), is.size()); ++i) {
    if (was[i] != is[i]) return text(" (", is[i].at("path").get<std::string>(), ")");
  }
  if (was.size() == is.size()) return "";
  const auto& more = was.size() > is.size() ? was : is;
  return text(" (", more[std::min(was.size(), is.size())].at("path").get<std::string>(),
              was.size() > is.size() ? ", gone)" : ", new)");
}

/// True for a change that an earlier call permitted with --override, and that no checkpoint has
/// yet.
bool is_unsaved_change(const OpenRun& run, const nlohmann::json& record) {
  const auto provenance = store::read_provenance(run.lock->directory());
  const auto changes = provenance.value("changes", nlohmann::json::array());
  return std::find(changes.begin(), changes.end(), record) != changes.end();
}

/// Compares a value of a checkpoint with that of now. Its last argument is that of --override.
using Compare = std::function<void(const std::string& what, const nlohmann::json& was,
                                   const nlohmann::json& is, const char* key)>;

/// Compares the tokenizer and the texts of the training.
/// \param before, now  the field "data" of MANIFEST.json
void compare_data(const nlohmann::json& before, const nlohmann::json& now, const Compare& compare) {
  const nlohmann::json none;
  if (!data::is_same_tokenizer(before, now)) {
    compare("the digest of the tokenizer", before.value("tokenizer_digest", none),
            now.value("tokenizer_digest", none), "data");
  }
  const auto compare_text = [&](const char* what, const char* digest, const char* files) {
    compare(text(what, changed_file(before, now, files)), before.at(digest), now.at(digest),
            "data");
  };
  compare_text("the digest of the training text", "train_digest", kFiles);
  // A part of the training text that is held out has the files of the training text.
  const bool has_files = now.contains(kValidationFiles) || before.contains(kValidationFiles);
  compare_text("the digest of the validation text", "validation_digest",
               has_files ? kValidationFiles : kFiles);
}

/// A list of texts or tasks in the field "data" of provenance.json. Two entries are of the same
/// text or task if their fields `name` and `place` are equal.
struct EvaluatedList {
  const char *field, *key, *name, *place;
};
constexpr std::array<EvaluatedList, 3> kEvaluatedLists = {
    {{.field = "evaluate_texts", .key = "evaluate.texts ", .name = "name", .place = "inputs"},
     {.field = "evaluate_ood", .key = "data.ood ", .name = "name", .place = "inputs"},
     {.field = "evaluate_tasks", .key = "evaluate.tasks ", .name = "label", .place = "path"}}};

/// True for an entry of such a list that can be compared: with a digest, and with the path of each
/// file.
bool is_recorded(const nlohmann::json& entry) {
  const nlohmann::json none;
  if (!entry.is_object() || !entry.value("digest", none).is_string()) return false;
  const auto files = entry.value(kFiles, nlohmann::json::array());
  const auto has_path = [&](const nlohmann::json& file) {
    return file.is_object() && file.value("path", none).is_string();
  };
  return files.is_array() && std::all_of(files.begin(), files.end(), has_path);
}

/// True for the name of a change that changed_evaluation() gave.
bool is_of_evaluation(const std::string& what) {
  return std::any_of(kEvaluatedLists.begin(), kEvaluatedLists.end(),
                     [&](const auto& list) { return what.starts_with(list.key); });
}

/// "evaluate.texts wiki (wiki.txt)", "data.ood other.txt", "evaluate.tasks quiz.jsonl",
/// "evaluate.tasks piqa (FOLDER)"
std::string evaluated_name(const EvaluatedList& list, const nlohmann::json& was,
                           const nlohmann::json& is) {
  const auto name = is.at(list.name).get<std::string>();
  const auto path = is.value("path", name);  // of a task
  if (path != name) return text(list.key, name, " (", path, ")");
  const auto file = changed_file(was, is, kFiles);
  return text(list.key, name, file == text(" (", name, ")") ? "" : file);
}

}  // namespace

std::vector<ConfigChange> changed_evaluation(const nlohmann::json& before,
                                             const nlohmann::json& now) {
  std::vector<ConfigChange> changes;
  const nlohmann::json none;
  for (const auto& list : kEvaluatedLists) {
    const auto known = before.is_object() ? before.value(list.field, none) : none;
    for (const auto& is : now.value(list.field, none)) {
      for (const auto& was : known) {
        const bool is_same = is_recorded(was) && was.value(list.name, none) == is.at(list.name) &&
                             was.value(list.place, none) == is.at(list.place);
        if (!is_same || was.at("digest") == is.at("digest")) continue;
        changes.push_back(
            {evaluated_name(list, was, is), was.at("digest").dump(), is.at("digest").dump()});
      }
    }
  }
  return changes;
}

std::string config_text_of(const store::VerifiedCheckpoint& checkpoint) {
  const auto config = checkpoint.manifest.find("config");
  if (config != checkpoint.manifest.end() && config->is_string()) return config->get<std::string>();
  throw Error(Exit::no_checkpoint, text(checkpoint.folder.path().string(),
                                        ": its manifest does not say what it was made with"));
}

RunProvenance::RunProvenance(const config::Config& config, const RunSetup& setup)
    : config_(config),
      setup_(setup),
      training_text_(data::record_of(data::training_of(config.data, *setup.text.encoding,
                                                       setup.plan.scheme.shape.vocabulary))) {}

nlohmann::ordered_json RunProvenance::json() const {
  const auto& [config, machine, text, plan] = setup_;
  const auto& scheme = plan.scheme;
  auto provenance = provenance_of(machine);
  provenance["scheme"] = config_.scheme.name;
  provenance["preset"] = config_.preset;
  provenance["parameters"] = plan.counts.total;
  provenance["flops_per_token"] = static_cast<std::int64_t>(plan.flops_per_token);
  provenance["data"] = {{"train", data::description(text.train)},
                        {"train_digest", data::digest(text.train)},
                        {"validation", data::description(text.validation)},
                        {"validation_digest", data::digest(text.validation)}};
  provenance["data"].update(training_text_);
  if (auto files = files_of(text.train); !files.empty()) provenance["data"][kFiles] = files;
  if (auto files = files_of(text.validation); !files.empty()) {
    provenance["data"][kValidationFiles] = files;
  }
  provenance["data"].update(data::tokenizer_record(text.encoding->tokenizer()));
  if (text.ood) {
    provenance["data"]["ood"] = text.ood->description;
    provenance["data"]["ood_digest"] = text.ood->digest;
  }
  for (const auto& warning : norm::unexpected_warnings(scheme)) {
    provenance["warnings"].push_back(warning.code);
  }
  for (const auto& leak : norm::leaks_of(scheme)) provenance["leaks"].push_back(leak);
  if (!changes_.empty()) provenance["changes"] = changes_;
  return provenance;
}

nlohmann::ordered_json RunProvenance::manifest(std::int64_t cursor) const {
  auto manifest = json();
  manifest["config"] = config::to_toml(config_);
  manifest["random"] = {{"generator", "philox4x32-10"}, {"key", config_.seed}};
  manifest["cursor"] = cursor;
  return manifest;
}

void RunProvenance::resume(const store::VerifiedCheckpoint& checkpoint, const OpenRun& run,
                           const std::vector<std::string>& overrides,
                           const nlohmann::ordered_json& evaluation) {
  try {
    compare_with(checkpoint, run, overrides);
  } catch (const nlohmann::json::exception&) {
    throw_no_provenance(checkpoint);
  }
  compare_evaluation(checkpoint.step, run, overrides, evaluation);
}

void RunProvenance::compare_with(const store::VerifiedCheckpoint& checkpoint, const OpenRun& run,
                                 const std::vector<std::string>& overrides) {
  const auto& before = checkpoint.manifest;
  if (before.contains("changes")) changes_ = before.at("changes");
  if (!changes_.is_array()) throw_no_provenance(checkpoint);
  for (const auto& change : run.changes) changes_.push_back(record_of(checkpoint.step, change));
  const auto now = json();
  const Compare compare = [&](const std::string& what, const nlohmann::json& was,
                              const nlohmann::json& is, const char* key) {
    if (was == is) return;
    const auto record = record_of(checkpoint.step, {what, was.dump(), is.dump()});
    if (!config::is_named(key, overrides) && !is_unsaved_change(run, record)) {
      throw Error(Exit::differs, text(run.folder.string(), ": ", what, " was ", was.dump(),
                                      " when the checkpoint was written, but is ", is.dump(),
                                      " now; allow it with --override ", key));
    }
    changes_.push_back(record);
  };
  if (!before.contains("data") || !before.contains("isa")) throw_no_provenance(checkpoint);
  compare_data(before.at("data"), now.at("data"), compare);
  for (const char* const key : {"isa", "libtorch", "libtorch_isa"}) {
    compare(key, before.at(key), now.at(key), "numerics");
  }
  constexpr auto kProducts = "float32_products";  // an older checkpoint does not say
  compare(kProducts, before.value(kProducts, now.at(kProducts)), now.at(kProducts), "numerics");
  compare("precision", before.at("precision"), now.at("precision"), "train.precision");
}

/// No checkpoint has the digests of the evaluation: they do not affect the training.
void RunProvenance::compare_evaluation(std::int64_t step, const OpenRun& run,
                                       const std::vector<std::string>& overrides,
                                       const nlohmann::ordered_json& evaluation) {
  const auto before = store::read_provenance(run.lock->directory());
  const nlohmann::json known = changes_;
  for (const auto& each : store::run_changes(before)) {
    const ConfigChange change = {each.key, each.before, each.after};
    const nlohmann::json record = record_of(each.step, change);
    const bool is_known = std::find(known.begin(), known.end(), record) != known.end();
    if (is_known || !is_of_evaluation(change.key)) continue;
    changes_.push_back(record_of(each.step, change));  // no checkpoint was saved after it
  }
  const auto data = before.value("data", nlohmann::json());
  for (const auto& change : changed_evaluation(data, evaluation)) {
    const char* const word = change.key.starts_with("data.ood") ? "data.ood" : "data";
    if (!config::is_named(word, overrides)) {
      throw Error(Exit::differs,
                  text(run.folder.string(), ": the digest of ", change.key, " was ", change.before,
                       " when provenance.json was written, but is ", change.after,
                       " now; restore it, or allow it with --override ", word));
    }
    changes_.push_back(record_of(step, change));
  }
}

void RunProvenance::write(const store::Directory& run, const nlohmann::ordered_json& more) const {
  auto provenance = json();
  provenance.update(more, /*merge_objects=*/true);
  run.write("run.toml", config::to_toml(config_));
  run.write("provenance.json", provenance.dump(2) + "\n");
  run.write("scheme.txt", norm::diagram(setup_.plan.scheme));
}

}  // namespace evenkeel::train
