// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/open_run.h"

#include <algorithm>
#include <system_error>

#include "evenkeel/base/error.h"
#include "evenkeel/plan/run_length.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::train {

namespace {

/// Keys that may change on resume, because they do not affect the weights.
const std::vector<std::string> kFreeKeys = {"evaluate", "checkpoint",    "probe",
                                            "log",      "train.threads", "model.recompute"};

bool is_length(const std::string& key) {
  return key == "train.steps" || key == "train.tokens";
}

/// Changes that an earlier call permitted with --override and that no checkpoint contains yet. They
/// need no second --override.
class UnsavedChanges {
 public:
  UnsavedChanges(const std::filesystem::path& run, const store::CheckpointSearch& newest)
      : step_(newest.found ? newest.found->step : 0),
        changes_(store::read_provenance(run).value("changes", nlohmann::json::array())) {}
  bool has(const ConfigChange& change) const {
    const nlohmann::json record = record_of(step_, change);
    return std::find(changes_.begin(), changes_.end(), record) != changes_.end();
  }

 private:
  std::int64_t step_;
  nlohmann::json changes_;
};

[[noreturn]] void refuse(const std::filesystem::path& run,
                         const config::KeyDifference& difference) {
  throw Error(Exit::differs, text(run.string(), ": the run was started with ", difference.key,
                                  " = ", difference.before, ", not ", difference.after,
                                  "; leave it out, start another run, or allow it with --override ",
                                  difference.key));
}

/// The configuration of the checkpoint, taken from its manifest: run.toml may have been edited.
config::Config configuration_of(const store::CheckpointSearch& newest,
                                const std::filesystem::path& file) {
  if (!newest.found)
    return config::resolve({.preset = {}, .files = {file}, .scheme = {}, .sets = {}});
  const auto& manifest = newest.found->manifest;
  if (!manifest.contains("config")) {
    throw Error(Exit::no_checkpoint, text(newest.found->folder.string(),
                                          ": its manifest does not say what it was made with"));
  }
  return config::read_back(manifest.at("config").get<std::string>(),
                           (newest.found->folder / "MANIFEST.json").string());
}

void resume_run(OpenRun& run, const Request& request) {
  const auto file = run.folder / "run.toml";
  run.newest = store::newest_checkpoint(run.folder);
  const auto before = configuration_of(run.newest, file);
  auto sources = request.sources;
  if (!sources.preset) sources.files.insert(sources.files.begin(), file);
  run.config = config::resolve(sources);

  const UnsavedChanges unsaved(run.folder, run.newest);
  for (const auto& difference : config::differences(before, run.config)) {
    const ConfigChange change = {difference.key, difference.before, difference.after};
    const bool is_longer =
        is_length(change.key) && plan::steps_of(run.config) >= plan::steps_of(before);
    const bool is_free = config::is_named(change.key, kFreeKeys);
    const bool allowed = config::is_named(change.key, request.overrides) || unsaved.has(change);
    if (!is_longer && !is_free && !allowed) refuse(run.folder, difference);
    run.changes.push_back(change);
  }
  if (config::is_named("schedule", request.overrides)) return;
  if (plan::steps_of(run.config) == plan::steps_of(before)) return;
  const auto planned = plan::planned_steps(before);
  if (run.config.schedule.steps == planned) return;
  run.config.schedule.steps = planned;
  for (const auto& [key, was, is] : config::differences(before, run.config)) {
    if (key == "schedule.steps") run.changes.push_back({key, was, is});
  }
}

void check_folder(const std::filesystem::path& folder) {
  std::error_code none;
  if (folder.empty() || (exists(folder, none) && !is_directory(folder, none))) {
    throw Error(Exit::usage, text("--run must name a folder, but \"", folder.string(), "\" is ",
                                  folder.empty() ? "no name" : "a file"));
  }
}

}  // namespace

nlohmann::ordered_json record_of(std::int64_t step, const ConfigChange& change) {
  return {{"step", step}, {"what", change.key}, {"before", change.before}, {"after", change.after}};
}

OpenRun open_run(const Request& request) {
  OpenRun run;
  if (request.run) {
    check_folder(*request.run);
    run.folder = *request.run;
    run.is_new = !std::filesystem::exists(run.folder);
    if (!run.is_new) run.lock = std::make_unique<store::Lock>(run.folder);
    if (std::filesystem::exists(run.folder / "run.toml")) {
      resume_run(run, request);
      return run;
    }
  }
  run.config = config::resolve(request.sources);
  if (!request.run) {
    run.is_new = true;
    run.folder = store::new_run_folder("runs", run.config.scheme.name + "-" + run.config.preset);
  } else {
    store::make_run_folder(run.folder);
  }
  if (!run.lock) run.lock = std::make_unique<store::Lock>(run.folder);
  return run;
}

}  // namespace evenkeel::train
